//! Gives each statement to its session when it is due.

use crate::ReplayError;
use crate::input::{Line, Recorded};
use crate::lateness::{self, Lateness};
use crate::order::Unit;
use crate::report::Report;
use crate::session::{Opened, Shared, Statement};
use std::collections::{HashMap, VecDeque};
use std::sync::mpsc::{Receiver, Sender};
use std::time::Duration;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

/// A segment begins this long after its line was read, so that its first statements have arrived. Sessions are opened
/// this long before their first statement.
const LEAD: u64 = 20_000_000;

/// Maximum number of lines that are read ahead to open sessions.
const MOST_AHEAD: usize = 1_000;

/// Gives statements to sessions.
pub struct Dispatcher<'a, O> {
    shared: &'a Shared,
    speed: Option<f64>,
    results: Sender<Report>,
    open: O,
    lines: Receiver<Result<Line, ReplayError>>,
    /// Lines that were read ahead.
    ahead: VecDeque<Result<Line, ReplayError>>,
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
    pub fn new(
        shared: &'a Shared,
        speed: Option<f64>,
        results: Sender<Report>,
        lines: Receiver<Result<Line, ReplayError>>,
        open: O,
    ) -> Self {
        Self {
            lines,
            ahead: VecDeque::new(),
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
    pub fn run(mut self) -> Result<(), ReplayError> {
        lateness::begin_thread();
        sleep_precisely();
        let clock = self.shared.clock;
        let mut asked = clock.now();
        loop {
            let next = self.ahead.pop_front().or_else(|| self.lines.recv().ok());
            let Some(line) = next else { return Ok(()) };
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
            self.session(recorded.session);
            self.look_ahead(recorded.start_us + (LEAD as f64 * speed / 1e3) as u64);
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
            preparation: recorded.preparation,
            bytes: recorded.bytes,
        };
        self.shared.progress.begin(statement.bytes);
        // A session ends after its last statement.
        drop(self.session(session).send(statement));
        if ends_session {
            self.sessions.remove(&session);
        }
    }

    /// Returns what takes the statements of a session, which is opened if it isn't open.
    fn session(&mut self, number: u32) -> &UnboundedSender<Statement> {
        let (open, results) = (&self.open, &self.results);
        self.sessions.entry(number).or_insert_with(|| {
            let (sender, statements) = unbounded_channel();
            let results = results.clone();
            let opened = Opened {
                number,
                statements,
                results,
            };
            open(opened, number);
            sender
        })
    }

    /// Opens all sessions that begin up to a microsecond of the recording.
    fn look_ahead(&mut self, until_us: u64) {
        while self.ahead.len() < MOST_AHEAD {
            let goes_on = match self.ahead.back() {
                None | Some(Ok(Line::Queued(_))) => true,
                Some(Ok(Line::Statement(last))) => last.start_us <= until_us,
                Some(_) => false,
            };
            let Some(line) = goes_on.then(|| self.lines.try_recv().ok()).flatten() else {
                return;
            };
            if let Ok(Line::Statement(recorded)) = &line
                && recorded.start_us <= until_us
            {
                self.session(recorded.session);
            }
            self.ahead.push_back(line);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::order::Order;
    use crate::progress::Progress;
    use crate::usage::SessionUsage;
    use dbdyno_probes::Clock;
    use std::cell::RefCell;
    use std::sync::mpsc;

    /// Dispatches lines. Returns the sessions with their statements, and how long it took.
    fn dispatched(speed: Option<f64>, lines: &[&str]) -> (Vec<(u32, Vec<Statement>)>, u64) {
        let (sender, receiver) = mpsc::channel();
        for line in lines {
            sender.send(Ok(crate::input::parse(line).unwrap())).unwrap();
        }
        drop(sender);
        let clock = Clock::get();
        let progress = Progress::default();
        let order = speed.is_none().then(Order::default);
        let usage = SessionUsage::default();
        let shared = Shared {
            clock,
            progress,
            order,
            usage,
        };
        let opened = RefCell::new(Vec::new());
        let (results, _reports) = mpsc::channel();
        let began = clock.now();
        let open = |new: Opened, _number| opened.borrow_mut().push(new);
        Dispatcher::new(&shared, speed, results, receiver, open).run().unwrap();
        let took = clock.now() - began;
        let sessions = opened.into_inner().into_iter().map(|mut each| {
            let mut statements = Vec::new();
            while let Ok(statement) = each.statements.try_recv() {
                statements.push(statement);
            }
            (each.number, statements)
        });
        (sessions.collect(), took)
    }

    const LINES: [&str; 5] = [
        r#"["begin",5000]"#,
        r#"[7,5000,25000,0,"begin",null]"#,
        r#"[8,15000,16000,3,"select 1",null]"#,
        r#"[7,25000,null,3,"commit",null]"#,
        r#"[9,35000,36000,3,"select 2",null]"#,
    ];

    #[test]
    fn statements_are_dispatched_at_their_times() {
        let (sessions, took) = dispatched(Some(2.0), &LINES);
        // 30 ms at twice the speed, and the lead.
        assert!(took >= LEAD + 15_000_000, "{took}");
        let found: Vec<_> = sessions
            .iter()
            .map(|(number, statements)| {
                (
                    *number,
                    statements.iter().map(|each| each.text.as_str()).collect::<Vec<_>>(),
                )
            })
            .collect();
        assert_eq!(
            found,
            [
                (7, vec!["begin", "commit"]),
                (8, vec!["select 1"]),
                (9, vec!["select 2"])
            ]
        );
        let numbers: Vec<u64> = sessions
            .iter()
            .flat_map(|each| &each.1)
            .map(|each| each.number)
            .collect();
        assert_eq!(numbers, [0, 2, 1, 3]);
        let times: Vec<u64> = sessions[0]
            .1
            .iter()
            .map(|each| each.dispatched - each.late.total())
            .collect();
        // Exactly 20 ms apart, less the lateness.
        assert_eq!((times[1] - times[0]).div_ceil(1_000), 10_000);
    }

    #[test]
    fn without_times_units_wait_for_those_that_had_ended() {
        let (sessions, _) = dispatched(None, &LINES);
        let waits = |at: usize| sessions[at].1[0].wait.is_some();
        // The second session's unit overlapped with the first one's; the third one's began after both.
        assert_eq!([waits(0), waits(1), waits(2)], [false, false, true]);
        assert_eq!(sessions[0].1[1].ends_unit, Some((25_000, 0)));
        assert_eq!(sessions[2].1[0].ends_unit, Some((36_000, 3)));
    }
}
