//! What a trial changes on purpose, as the threads of its clients find it: delays of calls, which are in force in the
//! warm-up and the window, and counts of them.
//!
//! A delay is made where the call is made: in an engine's file layer, in a connection, in the client's loop. Who makes one asks
//! [`here`] what is in force for the calling thread; for threads that are none of clients, nothing ever is.

pub use dbdyno_delays::Counts;
use dbdyno_delays::{Lateness, hold, spin};
use dbdyno_plan::changes::Changes as Plan;
use dbdyno_probes::Clock;
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};

/// Which kinds of calls an engine's own layers can change.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Changeable {
    /// Flushes of the device, reads and writes: they are made by the worker's process.
    pub files: bool,
    /// Messages to the server.
    pub messages: bool,
    /// Which file a client opens: each can have a copy of the database.
    pub copies: bool,
}

/// A kind of call that is changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A flush of the device.
    Sync,
    /// A read from a data file.
    Read,
    /// A write to a data file.
    Write,
    /// A message to the server and the answer.
    Message,
    /// An opening of a session.
    Connect,
    /// A transaction.
    Transaction,
}

const KINDS: usize = 6;

/// What was counted of each kind of call.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counted([Counts; KINDS]);

impl Counted {
    /// Adds another's.
    pub fn add(&mut self, other: &Self) {
        self.0.iter_mut().zip(&other.0).for_each(|(sum, more)| sum.add(more));
    }

    /// What has come since an earlier reading.
    pub fn since(&self, earlier: &Self) -> Self {
        let mut rise = *self;
        rise.0
            .iter_mut()
            .zip(&earlier.0)
            .for_each(|(now, then)| *now = now.since(then));
        rise
    }

    /// What was counted of a kind.
    pub fn of(&self, kind: Kind) -> Counts {
        self.0[kind as usize]
    }
}

/// What a trial changes; it lives as long as the process, in which there is one trial.
#[derive(Debug)]
pub struct Changes {
    in_force: AtomicBool,
    /// Nanoseconds, by kind.
    delays: [Option<u64>; KINDS],
    skip_sync: bool,
}

/// How late this process's sleepers woke up.
static LATENESS: Lateness = Lateness::new();

thread_local! {
    static HERE: Cell<Option<&'static Changes>> = const { Cell::new(None) };
    static COUNTED: [Cell<Counts>; KINDS] = const { [const { Cell::new(Counts { calls: 0, own_ns: 0, added_ns: 0 }) }; KINDS] };
}

impl Changes {
    /// Those of a plan; they are not in force yet. Flushes, reads and writes of a server are not among them.
    pub fn of(plan: &Plan) -> &'static Self {
        let nanoseconds = |delay_us: f64| (delay_us * 1e3).round() as u64;
        let files = plan.server.is_none();
        let delay = |delay: Option<dbdyno_plan::changes::Delay>| delay.map(|delay| nanoseconds(delay.delay_us));
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

    /// Whether a kind of call is changed, if only by being counted.
    pub fn has(&self, kind: Kind) -> bool {
        self.delays[kind as usize].is_some()
    }

    /// From now on they are in force in the threads that take part, or no longer.
    pub fn enforce(&self, on: bool) {
        self.in_force.store(on, Ordering::Release);
    }

    /// Whether flushes are left out.
    pub fn skips_sync(&self) -> bool {
        self.skip_sync
    }

    /// Nanoseconds by which a call of a kind is delayed; `None`: the kind is not changed.
    pub fn delay(&self, kind: Kind) -> Option<u64> {
        self.delays[kind as usize]
    }
}

/// The calling thread is one of clients, whose calls are changed.
pub fn take_part(changes: Option<&'static Changes>) {
    HERE.set(changes);
}

/// What is changed in the calling thread, once it has been said to take part; in force or not yet.
pub fn part() -> Option<&'static Changes> {
    HERE.get()
}

/// What is in force in the calling thread now.
pub fn here() -> Option<&'static Changes> {
    HERE.get().filter(|changes| changes.in_force.load(Ordering::Acquire))
}

/// Counts a call that took so many nanoseconds by itself, and so many more.
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

/// What was counted in the calling thread since it began.
pub fn counted() -> Counted {
    COUNTED.with(|kinds| Counted(std::array::from_fn(|kind| kinds[kind].get())))
}

/// Holds up the calling thread for so many nanoseconds of its own time; gives how many it were.
pub fn wait(nanoseconds: u64) -> u64 {
    if nanoseconds == 0 {
        return 0;
    }
    let clock = Clock::get();
    hold(nanoseconds, &LATENESS, || clock.now())
}

/// Delays the calling thread as a call of this kind is delayed now, and counts the call, which took `own_ns`.
pub fn delay(kind: Kind, own_ns: u64) {
    let Some(changes) = here() else { return };
    if let Some(delay) = changes.delay(kind) {
        count(kind, own_ns, wait(delay));
    }
}

/// Computes for as long as a client is to compute at each transaction; gives how many nanoseconds it were.
pub fn compute() -> u64 {
    let Some(delay) = here().and_then(|changes| changes.delay(Kind::Transaction)) else {
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
    fn changes_are_in_force_where_and_while_they_are_to_be() {
        let plan = serde_json::from_str(r#"{"sync": {"delay_us": 20}, "transaction": {"delay_us": 0}}"#).unwrap();
        let changes = Changes::of(&plan);
        changes.enforce(true);
        delay(Kind::Sync, 5);
        assert_eq!(counted(), Counted::default(), "this thread does not take part");
        take_part(Some(changes));
        delay(Kind::Sync, 5);
        delay(Kind::Read, 5);
        compute();
        changes.enforce(false);
        delay(Kind::Sync, 5);
        let sync = counted().of(Kind::Sync);
        assert_eq!((sync.calls, sync.own_ns), (1, 5));
        assert!(sync.added_ns >= 20_000);
        assert_eq!(counted().of(Kind::Read), Counts::default(), "it is not changed");
        assert_eq!(counted().of(Kind::Transaction).calls, 1, "counted, if not delayed");
        let before = counted();
        count(Kind::Sync, 1, 2);
        let mut twice = counted().since(&before);
        twice.add(&twice.clone());
        assert_eq!((twice.of(Kind::Sync).calls, twice.of(Kind::Sync).added_ns), (2, 4));
    }

    #[test]
    fn a_server_s_calls_are_not_the_worker_s() {
        let plan =
            serde_json::from_str(r#"{"sync": {"skip": true}, "message": {"delay_us": 1}, "server": {"file": "/f"}}"#);
        let changes = Changes::of(&plan.unwrap());
        assert!(!changes.has(Kind::Sync) && !changes.skips_sync());
        assert_eq!(changes.delay(Kind::Message), Some(1000));
    }
}
