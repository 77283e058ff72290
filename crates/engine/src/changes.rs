//! Deliberate changes of a trial in its clients' threads: delays of calls, active during the warm-up and the window,
//! and counts of these calls.
//!
//! A delay is added at the call itself: in an engine's file layer, in a connection, or in the client's loop. The caller
//! uses [`active_changes`] to get the changes for its thread. Threads that don't run clients have no changes.

pub use dbdyno_delays::Counts;
use dbdyno_delays::{Lateness, spin};
use dbdyno_probes::Clock;
use dbdyno_protocol::plan::changes::Changes as Plan;
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};

/// The kinds of calls that an engine's own layers can change.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Changeable {
    /// Device flushes, reads and writes, if the worker's process makes them.
    pub files: bool,
    /// Messages to the server.
    pub messages: bool,
    /// The database file that a client opens: each can have its own copy.
    pub copies: bool,
}

/// A kind of call that is changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A device flush.
    Sync,
    /// A read from a data file.
    Read,
    /// A write to a data file.
    Write,
    /// A message to the server with its answer.
    Message,
    /// Opening a session.
    Connect,
    /// A transaction.
    Transaction,
}

const KINDS: usize = 6;

/// Counts by kind of call.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CallCounts([Counts; KINDS]);

impl CallCounts {
    /// Adds the counts of `other`.
    pub fn add(&mut self, other: &Self) {
        self.0.iter_mut().zip(&other.0).for_each(|(sum, more)| sum.add(more));
    }

    /// The increase since an earlier reading.
    pub fn since(&self, earlier: &Self) -> Self {
        let mut rise = *self;
        rise.0
            .iter_mut()
            .zip(&earlier.0)
            .for_each(|(now, then)| *now = now.since(then));
        rise
    }

    /// The counts of one kind.
    pub fn of(&self, kind: Kind) -> Counts {
        self.0[kind as usize]
    }
}

/// The changes of a trial. They live as long as the process, which runs only one trial.
#[derive(Debug)]
pub struct Changes {
    in_force: AtomicBool,
    /// Nanoseconds by kind.
    delays: [Option<u64>; KINDS],
    skip_sync: bool,
}

/// Wake-up lateness in this process.
static LATENESS: Lateness = Lateness::new();

thread_local! {
    static CHANGES: Cell<Option<&'static Changes>> = const { Cell::new(None) };
    static COUNTED: [Cell<Counts>; KINDS] = const { [const { Cell::new(Counts { calls: 0, own_ns: 0, added_ns: 0 }) }; KINDS] };
}

impl Changes {
    /// The changes of a plan, inactive at first. A server's flushes, reads and writes are not included.
    pub fn of(plan: &Plan) -> &'static Self {
        let nanoseconds = |delay_us: f64| (delay_us * 1e3).round() as u64;
        let files = plan.server.is_none();
        let delay =
            |delay: Option<dbdyno_protocol::plan::changes::Delay>| delay.map(|delay| nanoseconds(delay.delay_us));
        let sync = plan.sync.filter(|_| files);
        Box::leak(Box::new(Self {
            in_force: AtomicBool::new(false),
            delays: [
                sync.map(|sync| nanoseconds(sync.delay_us)),
                delay(plan.read.filter(|_| files)),
                delay(plan.write.filter(|_| files)),
                delay(plan.message),
                delay(plan.connect),
                delay(plan.transaction),
            ],
            skip_sync: sync.is_some_and(|sync| sync.skip),
        }))
    }

    /// Whether calls of a kind are changed or counted.
    pub fn has(&self, kind: Kind) -> bool {
        self.delays[kind as usize].is_some()
    }

    /// Activates or deactivates the changes in enrolled threads.
    pub fn enforce(&self, on: bool) {
        self.in_force.store(on, Ordering::Release);
    }

    /// Whether flushes are skipped.
    pub fn skips_sync(&self) -> bool {
        self.skip_sync
    }

    /// Nanoseconds of delay for calls of a kind; `None` if the kind isn't changed.
    pub fn delay(&self, kind: Kind) -> Option<u64> {
        self.delays[kind as usize]
    }
}

/// Enrolls the calling thread, which runs clients, in the changes.
pub fn enroll_thread(changes: Option<&'static Changes>) {
    CHANGES.set(changes);
}

/// The changes in which the calling thread is enrolled, active or not.
pub fn thread_changes() -> Option<&'static Changes> {
    CHANGES.get()
}

/// The changes that are active in the calling thread.
pub fn active_changes() -> Option<&'static Changes> {
    CHANGES.get().filter(|changes| changes.in_force.load(Ordering::Acquire))
}

/// Counts a call: its own time and the added delay.
pub fn count(kind: Kind, own_ns: u64, added_ns: u64) {
    COUNTED.with(|kinds| {
        let mut counts = kinds[kind as usize].get();
        counts.add(&Counts {
            calls: 1,
            own_ns,
            added_ns,
        });
        kinds[kind as usize].set(counts);
    });
}

/// Counts of the calling thread since it started.
pub fn call_counts() -> CallCounts {
    COUNTED.with(|kinds| CallCounts(std::array::from_fn(|kind| kinds[kind].get())))
}

/// Delays the calling thread by the given nanoseconds of its own time. Returns the actual delay.
pub fn wait(nanoseconds: u64) -> u64 {
    if nanoseconds == 0 {
        return 0;
    }
    let clock = Clock::get();
    dbdyno_delays::delay(nanoseconds, &LATENESS, || clock.now())
}

/// Applies the active delay for this kind of call, and counts the call, which took `own_ns`.
pub fn delay(kind: Kind, own_ns: u64) {
    let Some(changes) = active_changes() else { return };
    if let Some(delay) = changes.delay(kind) {
        count(kind, own_ns, wait(delay));
    }
}

/// Computes for the extra time that the plan adds to each transaction. Returns the actual nanoseconds.
pub fn compute() -> u64 {
    let Some(delay) = active_changes().and_then(|changes| changes.delay(Kind::Transaction)) else {
        return 0;
    };
    let clock = Clock::get();
    let added = spin(delay, || clock.now());
    count(Kind::Transaction, 0, added);
    added
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_apply_to_enrolled_threads_while_active() {
        let plan = serde_json::from_str(r#"{"sync": {"delay_us": 20}, "transaction": {"delay_us": 0}}"#).unwrap();
        let changes = Changes::of(&plan);
        changes.enforce(true);
        delay(Kind::Sync, 5);
        assert_eq!(call_counts(), CallCounts::default(), "this thread is not enrolled");
        enroll_thread(Some(changes));
        delay(Kind::Sync, 5);
        delay(Kind::Read, 5);
        compute();
        changes.enforce(false);
        delay(Kind::Sync, 5);
        let sync = call_counts().of(Kind::Sync);
        assert_eq!((sync.calls, sync.own_ns), (1, 5));
        assert!(sync.added_ns >= 20_000);
        assert_eq!(call_counts().of(Kind::Read), Counts::default(), "not a changed kind");
        assert_eq!(call_counts().of(Kind::Transaction).calls, 1, "counted but not delayed");
        let before = call_counts();
        count(Kind::Sync, 1, 2);
        let mut twice = call_counts().since(&before);
        twice.add(&twice.clone());
        assert_eq!((twice.of(Kind::Sync).calls, twice.of(Kind::Sync).added_ns), (2, 4));
    }

    #[test]
    fn changes_of_a_server_are_not_made_in_the_worker() {
        let plan =
            serde_json::from_str(r#"{"sync": {"skip": true}, "message": {"delay_us": 1}, "server": {"file": "/f"}}"#);
        let changes = Changes::of(&plan.unwrap());
        assert!(!changes.has(Kind::Sync) && !changes.skips_sync());
        assert_eq!(changes.delay(Kind::Message), Some(1000));
    }
}
