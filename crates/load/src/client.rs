//! The life of one client: connect, warm up, run transactions through the window, close.
//!
//! ```text
//! connect ──► (all connected) ──► warm-up ──► (all warm) ──► window ──► close
//!                                                         ┌────────────────────────────────────┐
//!                                                         ▼                                    │
//!                              closed: now ──────────► scheduled ──► start ──► transaction ──► end
//!                              open: wait for the tick ─┘            (retries within)
//! ```
//!
//! A transaction itself is run by `attempt`.

use crate::attempt::{Runner, Stop};
use crate::live::Work;
use crate::pacing::{Schedule, Timer};
use crate::pauses::Pauses;
use crate::recorder::Recorder;
use crate::share::Share;
use crate::trial::Shared;
use crate::turns::{Processors, Turns};
use dbdyno_engines::{Engine, Failure, SessionCounters};
use dbdyno_plan::document::{ConnectMode, FailureKind};
use dbdyno_probes::valgrind;
use std::cell::RefCell;

/// What ended a client's window; of all clients, the greatest counts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum EndedBy {
    /// The number of transactions.
    #[default]
    Transactions,
    /// The number of statements.
    Statements,
    /// The time.
    Seconds,
    /// The trial was asked to stop.
    Interrupted,
}

/// What one client has to say when it has ended, beside what its thread recorded.
#[derive(Debug, Clone, Copy, Default)]
pub struct ClientReport {
    /// When the last transaction that counts ended; nanoseconds of the clock, which stands still between turns.
    pub ended: u64,
    /// Nanoseconds that it went on after its turns.
    pub overrun: u64,
    /// Why no further one was begun.
    pub ended_by: EndedBy,
    /// What the engine counted for the client's sessions in the window.
    pub session: SessionCounters,
}

struct Client<'a, 'r, E: Engine, T: Timer> {
    shared: &'a Shared<'a, E>,
    timer: &'a T,
    recorder: &'a RefCell<Recorder<'r>>,
    share: &'a RefCell<Share>,
    number: u32,
    runner: Runner<'a, E>,
}

/// A stretch of transactions that count: what ends it, and how far it has come.
struct Stretch {
    /// When it ends; nanoseconds of the clock, as all times here.
    end: u64,
    /// How many transactions are the most.
    transactions: u64,
    /// How many statements end it, counted in transactions that ended well.
    statements: u64,
    /// Transactions begun.
    issued: u64,
    /// Statements in those that ended well.
    done: u64,
    /// When the last transaction that counts ended, or the first began.
    ended: u64,
}

impl Stretch {
    #[inline(always)]
    fn goes_on(&self) -> bool {
        self.ended < self.end && self.more()
    }

    #[inline(always)]
    fn more(&self) -> bool {
        self.issued < self.transactions && self.done < self.statements
    }

    fn ended_by(&self, stopped: bool) -> EndedBy {
        if self.issued >= self.transactions {
            EndedBy::Transactions
        } else if self.done >= self.statements {
            EndedBy::Statements
        } else if stopped {
            EndedBy::Interrupted
        } else {
            EndedBy::Seconds
        }
    }

    /// Enters how a transaction ended: in the accounts, and in the histograms. `service` is the time it took but for
    /// thinking. Tells whether the stretch goes on.
    #[inline(always)]
    fn settle(
        &mut self,
        recorder: &mut Recorder<'_>,
        chosen: usize,
        outcome: Result<&Work, &Failure>,
        service: u64,
        end: u64,
    ) -> bool {
        if end > self.end {
            recorder.books.in_flight += 1;
            if let Ok(work) = outcome {
                recorder.fruitless.add(work);
            }
            self.ended = self.end;
            return false;
        }
        match outcome {
            Ok(work) => {
                self.done += work.statements;
                let returned = work.returned as f64;
                recorder.returned_squared += returned * returned;
                recorder.ok(chosen, service, end);
            }
            Err(failure) => recorder.failed(chosen, failure, end),
        }
        self.ended = end;
        true
    }
}

/// Runs a client through the trial.
pub async fn run<E: Engine, T: Timer>(
    shared: &Shared<'_, E>,
    timer: &T,
    recorder: &RefCell<Recorder<'_>>,
    share: &RefCell<Share>,
    number: u32,
) -> Result<ClientReport, Failure> {
    let trial = shared.trial;
    let mut client = Client {
        shared,
        timer,
        recorder,
        share,
        number,
        runner: Runner::new(shared, number),
    };
    let processors = Processors::of(trial, number);
    if let Some(processors) = processors {
        processors.take(0);
    }
    // A system that cannot be reached at all is no trial; one that refuses later is a result.
    let connected = client.connect_first().await;
    shared.arrive(&shared.connected, &connected);
    connected?;
    if trial.connect == ConnectMode::PerTransaction {
        client.runner.disconnect().await;
    }
    let start = shared.wait_for(timer, &shared.warmup_start).await;
    if start != u64::MAX {
        let end = start.saturating_add((trial.warmup.seconds * 1e9) as u64);
        client.warm_up(start, end, trial.warmup.transactions).await;
        shared.arrive(&shared.warm, &Ok(()));
        let start = shared.wait_for(timer, &shared.window_start).await;
        if start != u64::MAX {
            return client.window(start, processors).await;
        }
    }
    client.runner.disconnect().await;
    Ok(ClientReport::default())
}

/// Nanoseconds for which a client that is locked out before the warm-up tries again, and between two tries.
const PATIENCE: u64 = 10_000_000_000;
const TRY_AGAIN: u64 = 5_000_000;

impl<E: Engine, T: Timer> Client<'_, '_, E, T> {
    /// Opens the session before the warm-up. Nothing of this is measured, so that a client which is not to wait for locks
    /// waits all the same: the others connect, and close what they have looked at, at the same moment.
    async fn connect_first(&mut self) -> Result<(), Failure> {
        let clock = self.shared.clock;
        let give_up = clock.now() + PATIENCE;
        loop {
            match self.runner.connect(self.recorder).await {
                Err(failure) if failure.kind == FailureKind::Locked && clock.now() < give_up => {
                    self.timer.sleep_until(clock.now() + TRY_AGAIN).await;
                }
                connected => return connected,
            }
        }
    }

    fn schedule(&self, start: u64) -> Option<Schedule> {
        let trial = self.shared.trial;
        let (place, of) = self.shared.place_of(self.number);
        Schedule::new(trial.arrival, self.shared.seed, place, of, start)
    }

    /// Runs transactions that do not count, until both the time and the number are reached.
    async fn warm_up(&mut self, start: u64, end: u64, transactions: u64) {
        let mut schedule = self.schedule(start);
        let mut done = 0;
        while !self.shared.stopped() && (self.shared.clock.now() < end || done < transactions) {
            if let Some(schedule) = &mut schedule {
                self.timer.sleep_until(schedule.peek()).await;
                schedule.advance();
            }
            let chosen = self.runner.choose();
            // A failure here will show again in the window, and be counted there.
            let _ = self
                .runner
                .finish(self.recorder, self.timer, chosen, Stop::NotBegun, end)
                .await;
            done += 1;
        }
    }

    async fn window(&mut self, start: u64, processors: Option<Processors>) -> Result<ClientReport, Failure> {
        self.share.borrow_mut().begin(self.shared.engine);
        let session = self.runner.counters();
        let turns = self.shared.trial.turns.map(|turns| Turns::new(turns, start));
        self.recorder.borrow_mut().begin(start, turns);
        let window = &self.shared.trial.window;
        let end = window
            .seconds
            .map_or(u64::MAX, |seconds| start + (seconds * 1e9) as u64);
        let mut stretch = Stretch {
            end,
            transactions: window.transactions.unwrap_or(u64::MAX),
            statements: window.statements.unwrap_or(u64::MAX),
            issued: 0,
            done: 0,
            ended: start,
        };
        let pauses = turns.map(|turns| Pauses::begin(turns, processors, &self.shared.alone, start));
        let pauses = pauses.transpose().map_err(|error| {
            Failure::new(
                FailureKind::Other,
                format!("setting the timer that ends a turn: {error}"),
            )
        })?;
        valgrind::toggle_counting();
        match self.schedule(start) {
            None => self.closed_loop(&mut stretch).await,
            Some(schedule) => self.open_loop(&mut stretch, schedule).await,
        }
        valgrind::toggle_counting();
        let overrun = pauses.as_ref().map_or(0, Pauses::overrun);
        drop(pauses);
        self.recorder.borrow_mut().end(stretch.issued);
        self.share.borrow_mut().end(self.shared.engine);
        let report = ClientReport {
            ended: stretch.ended,
            overrun,
            ended_by: stretch.ended_by(self.shared.stopped()),
            session: self.runner.counters().since(&session),
        };
        self.runner.disconnect().await;
        Ok(report)
    }

    /// The next transaction starts when the last has ended: one reading of the clock serves both.
    async fn closed_loop(&mut self, stretch: &mut Stretch) {
        stretch.ended = self.shared.clock.now();
        while let Some((chosen, stop)) = self.run_through(stretch) {
            let outcome = self
                .runner
                .finish(self.recorder, self.timer, chosen, stop, stretch.end)
                .await;
            let end = self.shared.clock.now();
            let recorder = &mut self.recorder.borrow_mut();
            recorder.idle_ns += self.runner.thought;
            let (work, thought) = (&self.runner.work, self.runner.thought);
            let service = end - stretch.ended - thought;
            if !stretch.settle(recorder, chosen, outcome.as_ref().map(|()| work), service, end) {
                break;
            }
        }
    }

    /// Runs transactions one after another for as long as none needs to wait; gives the one that does, or `None` when the
    /// stretch is over. A function of its own: within the others its loop would run short of registers.
    #[inline(never)]
    fn run_through(&mut self, stretch: &mut Stretch) -> Option<(usize, Stop)> {
        let shared = self.shared;
        let mut recorder = self.recorder.borrow_mut();
        let planted = shared.trial.planted_work;
        while stretch.goes_on() && !shared.stopped() {
            stretch.issued += 1;
            let chosen = self.runner.choose();
            match self.runner.begin(&mut recorder, chosen) {
                Stop::Done if planted == 0 => {}
                Stop::Done => (0..planted).for_each(|turn| {
                    std::hint::black_box(turn);
                }),
                stop => return Some((chosen, stop)),
            }
            let end = shared.clock.now();
            let service = end - stretch.ended;
            if !stretch.settle(&mut recorder, chosen, Ok(&self.runner.work), service, end) {
                break;
            }
        }
        None
    }

    /// Transactions start by the schedule; a late one keeps its scheduled start.
    async fn open_loop(&mut self, stretch: &mut Stretch, mut schedule: Schedule) {
        let shared = self.shared;
        let clock = shared.clock;
        while schedule.peek() < stretch.end && stretch.more() {
            let scheduled = schedule.peek();
            let before = clock.now();
            if before >= stretch.end || shared.stopped() {
                break;
            }
            self.timer.sleep_until(scheduled).await;
            let began = clock.now();
            stretch.issued += 1;
            schedule.advance();
            let chosen = self.runner.choose();
            let outcome = self
                .runner
                .finish(self.recorder, self.timer, chosen, Stop::NotBegun, stretch.end)
                .await;
            let end = clock.now();
            let (work, thought) = (&self.runner.work, self.runner.thought);
            let recorder = &mut self.recorder.borrow_mut();
            recorder.idle_ns += began - before + thought;
            let service = end - began - thought;
            if !stretch.settle(recorder, chosen, outcome.as_ref().map(|()| work), service, end) {
                break;
            }
            if outcome.is_ok() {
                recorder.delayed(end - scheduled - thought, began - scheduled);
            }
        }
        // What was due by the end (or by the moment the trial was stopped) and has not begun. A number of transactions
        // as the end leaves nothing due.
        if stretch.more() {
            let due = if shared.stopped() {
                clock.now().min(stretch.end)
            } else {
                stretch.end
            };
            let skipped = schedule.skip_until(due);
            stretch.issued += skipped;
            self.recorder.borrow_mut().books.skipped += skipped;
        }
    }
}
