//! Gives each statement to its session when it is due.

use crate::ReplayError;
use crate::input::{Line, Recorded};
use crate::lateness::{self, Lateness};
use crate::order::Unit;
use crate::report::Report;
use crate::session::{Opened, Shared, Statement};
use std::collections::HashMap;
use std::sync::mpsc::{Receiver, Sender};
use std::time::Duration;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

/// A segment begins this long after its line was read, so that its first statements have arrived.
const LEAD: u64 = 20_000_000;

/// Gives statements to sessions.
pub struct Dispatcher<'a, O> {
    shared: &'a Shared,
    speed: Option<f64>,
    results: Sender<Report>,
    open: O,
    sessions: HashMap<u32, UnboundedSender<Statement>>,
    /// Open units, if units have an order.
    units: HashMap<u32, Unit>,
    /// The segment's beginning: microseconds of the recording, and nanoseconds of the clock.
    begin: (u64, u64),
    /// How long the controller waited for a CPU, as far as that has not made statements late yet.
    queued: u64,
    /// The number of the next statement.
    number: u64,
    /// When the previous statement was given to its session.
    previous: u64,
    /// By how much that was late.
    late: Lateness,
}

impl<'a, O: Fn(Opened, u32)> Dispatcher<'a, O> {
    /// `open`: begins a session.
    pub fn new(shared: &'a Shared, speed: Option<f64>, results: Sender<Report>, open: O) -> Self {
        Self {
            shared,
            speed,
            results,
            open,
            sessions: HashMap::new(),
            units: HashMap::new(),
            begin: (0, shared.clock.now()),
            queued: 0,
            number: 0,
            previous: 0,
            late: Lateness::default(),
        }
    }

    /// Dispatches statements until the input ends.
    pub fn run(mut self, lines: &Receiver<Result<Line, ReplayError>>) -> Result<(), ReplayError> {
        lateness::begin_thread();
        sleep_precisely();
        let clock = self.shared.clock;
        let mut asked = clock.now();
        loop {
            let Ok(line) = lines.recv() else { return Ok(()) };
            match line? {
                Line::Begin(at) => {
                    self.begin = (at, clock.now() + LEAD);
                    (self.previous, self.late) = (0, Lateness::default());
                }
                Line::Statement(recorded) => {
                    self.dispatch(recorded, clock.now() - asked);
                    asked = clock.now();
                }
                Line::Queued(nanoseconds) => self.queued += nanoseconds,
                Line::End => {
                    let unfinished = self.shared.progress.drain();
                    // The writer ends first only if the controller is gone.
                    let _ = self.results.send(Report::Segment(unfinished));
                }
            }
        }
    }

    /// Waits until a statement is due, and gives it to its session. `missing`: how long it was waited for.
    fn dispatch(&mut self, recorded: Recorded, missing: u64) {
        let clock = self.shared.clock;
        let before = clock.now();
        self.shared.progress.wait_for_room();
        let mut late = Lateness::default();
        let mut now = clock.now();
        if let Some(speed) = self.speed {
            let since_begin = recorded.start_us.saturating_sub(self.begin.0) as f64 * 1e3 / speed;
            let due = self.begin.1 + since_begin as u64;
            let full = now - before;
            if due > now {
                std::thread::sleep(Duration::from_nanos(due - now));
            }
            now = clock.now();
            late = self.lateness(due, now, (full, missing));
            (self.previous, self.late) = (now, late);
        }
        let number = self.number;
        self.number += 1;
        let mut wait = None;
        if let (Some(order), Some(end)) = (&self.shared.order, recorded.unit_end_us) {
            let unit = (end, number);
            wait = order.add(recorded.start_us, unit);
            self.units.insert(recorded.session, unit);
        }
        let (session, ends_session) = (recorded.session, recorded.ends_session());
        let statement = Statement {
            number,
            dispatched: now,
            late,
            wait,
            ends_unit: if recorded.ends_unit() {
                self.units.remove(&session)
            } else {
                None
            },
            ends_session,
            text: recorded.text,
        };
        self.shared.progress.begin(statement.text.len());
        let sender = self.sessions.entry(session).or_insert_with(|| {
            let (sender, statements) = unbounded_channel();
            let results = self.results.clone();
            let number = session;
            (self.open)(
                Opened {
                    number,
                    statements,
                    results,
                },
                session,
            );
            sender
        });
        // A session ends after its last statement.
        drop(sender.send(statement));
        if ends_session {
            self.sessions.remove(&session);
        }
    }

    /// Divides the lateness of a statement that was due at `due`. `full`: how long the memory was full; `missing`: how
    /// long the controller had not sent it.
    fn lateness(&mut self, due: u64, now: u64, (full, missing): (u64, u64)) -> Lateness {
        let inherited = self.late.inherited(self.previous.saturating_sub(due));
        let own = now.saturating_sub(due.max(self.previous));
        let system = full.min(own);
        let missing = missing.min(own - system);
        let machine = missing.min(self.queued);
        self.queued -= machine;
        let known = Lateness {
            system,
            machine,
            tool: missing - machine,
        };
        inherited + known + Lateness::of_worker(own - system - missing)
    }
}

/// Lets the kernel wake this thread within microseconds.
fn sleep_precisely() {
    // SAFETY: it only changes the thread's timer slack.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1_000) };
}
