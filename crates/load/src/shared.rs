//! State shared by the clients of a trial and its coordinating thread: the plan, the clock, and the phases.

use crate::coordinator::Coordinator;
use crate::error::TrialError;
use crate::pacing::Timer;
use crate::preloaded::Preloaded;
use dbdyno_engine::changes::Changes;
use dbdyno_engine::{Engine, Failure};
use dbdyno_probes::Clock;
use dbdyno_program::Programs;
use dbdyno_protocol::plan::document::{Arrival, Trial};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

/// How often a client that shares its thread checks whether a phase starts.
const POLL_INTERVAL: Duration = Duration::from_millis(2);

/// State shared by the clients of a trial.
pub struct Shared<'a, E: Engine> {
    pub(crate) engine: &'a E,
    pub(crate) trial: &'a Trial,
    pub(crate) programs: &'a Programs,
    pub(crate) seed: u64,
    pub(crate) clock: Clock,
    pub(crate) stop: &'a AtomicBool,
    /// Changes to calls in the clients' threads, and in the server.
    pub(crate) changes: Option<&'static Changes>,
    pub(crate) preloaded: Option<&'a Preloaded>,
    /// Number of statements that the clients use. The statements of the work beside them follow.
    pub(crate) prepared: usize,
    /// Number of threads that run the clients.
    pub(crate) threads: u32,
    /// When the other interleaved trials had ended, in nanoseconds of the clock; 0 until then.
    pub(crate) alone: Arc<AtomicU64>,
    /// Whether these threads avoid preempting a server.
    pub(crate) give_way: bool,
    /// Clients that have connected or failed to connect.
    pub(crate) connected: AtomicU32,
    /// Clients that have warmed up.
    pub(crate) warm: AtomicU32,
    /// When the warm-up starts; 0: not known yet; `u64::MAX`: never.
    pub(crate) warmup_start: AtomicU64,
    /// When the window's phase starts, with the same special values.
    pub(crate) window_start: AtomicU64,
    /// Clients that have completed a lead-in transaction.
    pub(crate) led_in: AtomicU32,
    /// When the window began, after the lead-in; 0 until then. In the clients' clock, which stops between slices.
    pub(crate) measured_from: AtomicU64,
    /// Clients that have completed all counted transactions.
    pub(crate) settled: AtomicU32,
    /// Set between the first and the last reading of the machine's counters.
    pub(crate) watched: AtomicBool,
    pub(crate) refused: AtomicBool,
    /// Set at the end: the clients' threads, whose CPU times are read until then, may exit.
    pub(crate) released: AtomicBool,
    /// Wakes the clients' threads that wait for one of the two starts or for their release.
    pub(crate) announced: (Mutex<()>, Condvar),
    /// The coordinating thread, to unpark it after an event.
    pub(crate) coordinator: std::thread::Thread,
}

impl<'a, E: Engine> Shared<'a, E> {
    /// The state of a trial before it begins.
    pub(crate) fn new(
        engine: &'a E,
        trial: &'a Trial,
        programs: &'a Programs,
        seed: u64,
        stop: &'a AtomicBool,
    ) -> Self {
        Self {
            engine,
            trial,
            programs,
            seed,
            clock: if trial.interleaving.is_some() {
                Clock::get().that_stands_still()
            } else {
                Clock::get()
            },
            stop,
            changes: None,
            preloaded: None,
            prepared: trial.statements.len(),
            threads: 1,
            alone: Arc::default(),
            give_way: false,
            connected: AtomicU32::new(0),
            warm: AtomicU32::new(0),
            warmup_start: AtomicU64::new(0),
            window_start: AtomicU64::new(0),
            led_in: AtomicU32::new(0),
            measured_from: AtomicU64::new(0),
            settled: AtomicU32::new(0),
            watched: AtomicBool::new(false),
            refused: AtomicBool::new(false),
            released: AtomicBool::new(false),
            announced: Default::default(),
            coordinator: std::thread::current(),
        }
    }

    /// Whether the trial must end early.
    #[inline(always)]
    pub(crate) fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Counts a client that has reached a phase.
    pub(crate) fn arrive(&self, at: &AtomicU32, result: &Result<(), Failure>) {
        if result.is_err() {
            self.refused.store(true, Ordering::Relaxed);
        }
        at.fetch_add(1, Ordering::Release);
    }

    /// Sets when a phase starts, and wakes the clients that wait for it.
    pub(crate) fn announce(&self, start: &AtomicU64, at: u64) {
        start.store(at, Ordering::Release);
        self.wake_clients();
    }

    /// Lets the clients' threads exit.
    pub(crate) fn release(&self) {
        self.released.store(true, Ordering::Release);
        self.wake_clients();
    }

    fn wake_clients(&self) {
        // Take the lock first: a thread about to wait holds it, and would miss the notification.
        drop(self.announced.0.lock().unwrap_or_else(PoisonError::into_inner));
        self.announced.1.notify_all();
    }

    /// Blocks a client's own thread until the condition holds. Polling would take the CPU from the clients that are
    /// still running: with hundreds of threads, nearly all of it.
    fn wait_until(&self, announced: impl Fn() -> bool) {
        let mut lock = self.announced.0.lock().unwrap_or_else(PoisonError::into_inner);
        while !announced() {
            lock = self.announced.1.wait(lock).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Blocks a client's own thread until it may exit.
    pub(crate) fn wait_for_release(&self) {
        self.wait_until(|| self.released.load(Ordering::Acquire));
    }

    /// Counts all clients as arrived, because one never will: its thread panicked.
    pub(crate) fn break_off(&self) {
        self.refused.store(true, Ordering::Relaxed);
        self.connected.fetch_add(self.trial.clients, Ordering::Release);
        self.warm.fetch_add(self.trial.clients, Ordering::Release);
    }

    /// Waits until a start has been set and reached.
    pub(crate) async fn wait_for<T: Timer>(&self, timer: &T, start: &AtomicU64) -> u64 {
        loop {
            match start.load(Ordering::Acquire) {
                // The thread has no other clients.
                0 if !E::REMOTE => self.wait_until(|| start.load(Ordering::Acquire) != 0),
                0 => tokio::time::sleep(POLL_INTERVAL).await,
                u64::MAX => return u64::MAX,
                at => {
                    timer.sleep_until(at).await;
                    return at;
                }
            }
        }
    }

    /// Blocks a thread without clients until the window begins. Returns false if it won't.
    pub(crate) fn wait_for_window(&self) -> bool {
        while !self.watched.load(Ordering::Acquire) {
            if self.released.load(Ordering::Acquire) {
                return false;
            }
            std::thread::sleep(POLL_INTERVAL);
        }
        true
    }

    /// Whether the window begins and ends while all clients are busy; see `client`.
    pub(crate) fn leads_in(&self) -> bool {
        let window = &self.trial.window;
        matches!(self.trial.arrival, Arrival::Closed)
            && window.seconds.is_some()
            && window.transactions.is_none()
            && window.statements.is_none()
            && window.rows.is_none()
    }

    /// Begins the window at `moment` of the clients' clock, unless it has begun.
    pub(crate) fn begin_measuring(&self, moment: u64) {
        let begun = self
            .measured_from
            .compare_exchange(0, moment.max(1), Ordering::AcqRel, Ordering::Acquire);
        if begun.is_ok() {
            self.coordinator.unpark();
        }
    }

    /// When the window began in the clients' clock; `None` if it hasn't.
    pub(crate) fn measured_from(&self) -> Option<u64> {
        match self.measured_from.load(Ordering::Acquire) {
            0 => None,
            moment => Some(moment),
        }
    }

    /// Asks the coordinator when a phase starts. If that fails, cancels the phase so that the clients stop waiting.
    pub(crate) fn start(
        &self,
        coordinator: &mut impl Coordinator,
        phase: &'static str,
        at: &AtomicU64,
    ) -> Result<u64, TrialError> {
        coordinator.start(phase, self.clock, notice::<E>()).map_err(|error| {
            self.announce(at, u64::MAX);
            TrialError::Coordinator(error)
        })
    }

    /// The number of a client among the clients of all processes, from its number in this one, and the total.
    pub(crate) fn place_of(&self, client: u32) -> (u32, u32) {
        match self.trial.part {
            None => (client, self.trial.clients),
            Some(part) => (part.first + client, part.of),
        }
    }

    /// Blocks the coordinating thread until all clients have arrived.
    pub(crate) fn gather(&self, at: &AtomicU32) {
        while at.load(Ordering::Acquire) < self.trial.clients {
            std::thread::sleep(std::time::Duration::from_micros(200));
        }
    }
}

/// Nanoseconds between the announcement of a start and the start itself, so that every client is ready.
fn notice<E: Engine>() -> u64 {
    if E::REMOTE { 10_000_000 } else { 2_000_000 }
}
