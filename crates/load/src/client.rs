//! The life of one client: connect, warm up, run transactions through the window, close.
//!
//! ```text
//! connect ──► (all connected) ──► warm-up ──► (all warm) ──► lead-in ──► window ──► lead-out ──► close
//!                                                                    ┌────────────────────────────────────┐
//!                                                                    ▼                                    │
//!                                         closed: now ──────────► scheduled ──► start ──► transaction ──► end
//!                                         open: wait for the tick ─┘            (retries within)
//! ```
//!
//! A window of a given time in a closed loop begins and ends while all clients are at work: in the *lead-in* each runs
//! transactions until all have ended one, in the *lead-out* until all have ended the one that the window's end cut. Neither
//! counts. Clients that all start at one moment do not meet one another as they do later, and those that are left alone at
//! the end are faster than they were; of windows with few transactions that would be a part of the result.
//!
//! A client's first transaction that counts begins where its last one of the lead-in ends, and the one that the window's end
//! cuts is measured to its own end. So what is known of a client is whole transactions, and the time that these took:
//! where few of them fit into a window the rate is that of these, see `rate`.
//!
//! A transaction itself is run by `attempt`.

use crate::attempt::{Runner, Stop};
use crate::interleaving::{Interleaving, Processors};
use crate::live::{Live, Work};
use crate::pacing::{Schedule, Timer};
use crate::rate::MANY;
use crate::recorder::Recorder;
use crate::report::{ClientReport, EndedBy};
use crate::share::Share;
use crate::shared::Shared;
use crate::suspension::Suspension;
use dbdyno_engine::changes::{self, Kind};
use dbdyno_engine::{Engine, Failure};
use dbdyno_plan::document::{ConnectMode, FailureKind};
use dbdyno_probes::valgrind;
use std::cell::RefCell;
use std::sync::atomic::Ordering;

struct Client<'a, 'r, E: Engine, T: Timer> {
    shared: &'a Shared<'a, E>,
    timer: &'a T,
    recorder: &'a RefCell<Recorder<'r>>,
    share: &'a RefCell<Share>,
    number: u32,
    runner: Runner<'a, E>,
    live: &'a Live,
    uncounted: &'a Live,
    /// Transactions that ended well and do not count.
    besides: u64,
}

/// A stretch of transactions that count: what ends it, and how far it has come.
struct Stretch {
    /// When its first transaction began; nanoseconds of the clock, as all times here.
    begun: u64,
    /// When it ends.
    end: u64,
    /// How many transactions are the most.
    transactions: u64,
    /// How many statements end it, counted in transactions that ended well.
    statements: u64,
    /// How many rows changed end it, likewise; none: no number does.
    rows: Option<u64>,
    /// Transactions begun.
    issued: u64,
    /// Of them, those that did not end well.
    failed: u64,
    /// Transactions that were due and skipped.
    skipped: u64,
    /// Statements in those that ended well.
    done: u64,
    /// Rows changed in them, where they are counted.
    changed: u64,
    /// When the last transaction ended, or the first began.
    ended: u64,
    /// As in [`ClientReport`].
    late: bool,
    cut: f64,
}

/// How a transaction ended.
struct Ended<'a> {
    chosen: usize,
    outcome: Result<&'a Work, &'a Failure>,
    began: u64,
    /// The time it took but for thinking.
    service: u64,
    /// As long at least as it would have taken from its scheduled start to its good end, but for thinking.
    response: u64,
    end: u64,
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

    /// Counts the rows of a transaction that ended well, where a number of them ends the stretch: no further one is begun
    /// then. Apart from [`Self::ok`], since most stretches need it not.
    #[cold]
    fn count_rows(&mut self, work: &Work) {
        if let Some(rows) = self.rows {
            self.changed += work.changed;
            if self.changed >= rows {
                self.transactions = self.issued;
            }
        }
    }

    /// Transactions begun in it that ended well, then or later.
    fn completed(&self) -> u64 {
        self.issued - self.failed
    }

    fn ended_by(&self, stopped: bool) -> EndedBy {
        if self.rows.is_some_and(|rows| self.changed >= rows) {
            EndedBy::Rows
        } else if self.issued >= self.transactions {
            EndedBy::Transactions
        } else if self.done >= self.statements {
            EndedBy::Statements
        } else if stopped {
            EndedBy::Interrupted
        } else {
            EndedBy::Seconds
        }
    }

    /// Enters a transaction that ended well within the stretch: in the accounts, and in the histograms.
    #[inline(always)]
    fn ok(&mut self, recorder: &mut Recorder<'_>, chosen: usize, work: &Work, service: u64, end: u64) {
        self.ended = end;
        self.done += work.statements;
        recorder.rows(work);
        recorder.ok(chosen, service, end);
    }

    /// Enters how a transaction ended, likewise. Tells whether the stretch goes on.
    fn settle(&mut self, recorder: &mut Recorder<'_>, ended: &Ended<'_>) -> bool {
        if ended.end > self.end {
            self.settle_late(recorder, ended);
            return false;
        }
        match ended.outcome {
            Ok(work) => {
                self.ok(recorder, ended.chosen, work, ended.service, ended.end);
                if self.rows.is_some() {
                    self.count_rows(work);
                }
            }
            Err(failure) => {
                self.ended = ended.end;
                self.failed += 1;
                recorder.failed(ended.chosen, failure, ended.end);
                recorder.unserved(ended.service, ended.response);
            }
        }
        true
    }

    /// The transaction ended after the window: it is in flight in the accounts, and whole in all else.
    #[cold]
    fn settle_late(&mut self, recorder: &mut Recorder<'_>, ended: &Ended<'_>) {
        self.ended = ended.end;
        recorder.accounting.in_flight += 1;
        match ended.outcome {
            Ok(work) => {
                recorder.rows(work);
                recorder.late(ended.chosen, ended.service);
                self.late = true;
                self.cut = self.end.saturating_sub(ended.began) as f64 / (ended.end - ended.began).max(1) as f64;
            }
            Err(_) => {
                self.failed += 1;
                recorder.unserved(ended.service, ended.response);
            }
        }
    }
}

/// Runs a client through the trial. Its statements are counted in the first of the two counts while they count, else in
/// the second.
pub async fn run<E: Engine, T: Timer>(
    shared: &Shared<'_, E>,
    timer: &T,
    recorder: &RefCell<Recorder<'_>>,
    share: &RefCell<Share>,
    (live, uncounted): (&Live, &Live),
    number: u32,
) -> Result<ClientReport, Failure> {
    let trial = shared.trial;
    let mut client = Client {
        shared,
        timer,
        recorder,
        share,
        number,
        runner: Runner::new(shared, number, uncounted),
        live,
        uncounted,
        besides: 0,
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
            match self.runner.connect(self.recorder, self.timer).await {
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
            self.run_uncounted(end).await;
            done += 1;
        }
    }

    /// Runs the window, for which all start at one moment; with a lead-in it begins some time after that.
    async fn window(&mut self, start: u64, processors: Option<Processors>) -> Result<ClientReport, Failure> {
        let interleaving = self
            .shared
            .trial
            .interleaving
            .map(|interleaving| Interleaving::new(interleaving, start));
        let suspension =
            interleaving.map(|interleaving| Suspension::begin(interleaving, processors, &self.shared.alone, start));
        let suspension = suspension.transpose().map_err(|error| {
            Failure::new(
                FailureKind::Other,
                format!("setting the timer that ends a slice: {error}"),
            )
        })?;
        let (measured, led_in) = if self.shared.leads_in() {
            self.lead_in(start).await
        } else {
            (start, 0.0)
        };
        self.share.borrow_mut().begin(self.shared.engine);
        let session = self.runner.counters();
        self.recorder.borrow_mut().begin(measured, interleaving);
        self.runner.count_in(self.live, true);
        let window = &self.shared.trial.window;
        let begun = self.shared.clock.now();
        let end = window.seconds.map_or(u64::MAX, |seconds| {
            // A client whose lead-in outlasts the window has one transaction to show all the same.
            (measured + (seconds * 1e9) as u64).max(begun + 1)
        });
        let mut stretch = Stretch {
            begun,
            end,
            transactions: window.transactions.unwrap_or(u64::MAX),
            statements: window.statements.unwrap_or(u64::MAX),
            rows: window.rows,
            issued: 0,
            failed: 0,
            skipped: 0,
            done: 0,
            changed: 0,
            ended: begun,
            late: false,
            cut: 0.0,
        };
        valgrind::toggle_counting();
        match self.schedule(start) {
            None => self.closed_loop(&mut stretch).await,
            Some(schedule) => self.open_loop(&mut stretch, schedule).await,
        }
        valgrind::toggle_counting();
        self.runner.count_in(self.uncounted, false);
        self.recorder.borrow_mut().end(stretch.issued, stretch.skipped);
        self.share.borrow_mut().end(self.shared.engine);
        let session = self.runner.counters().since(&session);
        if self.shared.leads_in() {
            let length = (window.seconds.unwrap_or_default() * 1e9) as u64;
            self.lead_out(stretch.completed(), measured + 2 * length).await;
        }
        let overrun = suspension.as_ref().map_or(0, Suspension::overrun);
        drop(suspension);
        let report = ClientReport {
            begun: stretch.begun,
            ended: stretch.ended,
            completed: stretch.completed(),
            late: stretch.late,
            cut: stretch.cut,
            led_in,
            overrun,
            ended_by: stretch.ended_by(self.shared.stopped()),
            uncounted: self.besides,
            next_use: self.runner.next_use(),
            session,
        };
        self.runner.disconnect().await;
        Ok(report)
    }

    /// Runs transactions that do not count until all clients have ended one, or this one many, beside which the others'
    /// are nothing; gives the moment at which the window began, and the part of this client's last one that lies in it.
    async fn lead_in(&mut self, start: u64) -> (u64, f64) {
        let shared = self.shared;
        let mut done = 0;
        let length = (shared.trial.window.seconds.unwrap_or_default() * 1e9) as u64;
        let longest = start + length;
        let mut first = true;
        let mut now = shared.clock.now();
        loop {
            let began = now;
            let ok = self.run_uncounted(longest).await;
            now = shared.clock.now();
            if std::mem::take(&mut first) && shared.led_in.fetch_add(1, Ordering::AcqRel) + 1 == shared.trial.clients {
                shared.begin_measuring(now);
            }
            done += 1;
            if done >= MANY || now >= longest || shared.stopped() {
                shared.begin_measuring(now);
            }
            if let Some(measured) = shared.measured_from() {
                let within = now.min(measured + length).saturating_sub(began.max(measured)) as f64;
                let part = if ok { within / (now - began).max(1) as f64 } else { 0.0 };
                return (measured, part);
            }
        }
    }

    /// Runs transactions that do not count until all clients have ended those that do, at most until a moment. A client with
    /// many that count does not: beside them it is nothing how fast others end their last.
    async fn lead_out(&mut self, completed: u64, until: u64) {
        let shared = self.shared;
        shared.settled.fetch_add(1, Ordering::AcqRel);
        while completed < MANY
            && shared.settled.load(Ordering::Acquire) < shared.trial.clients
            && !shared.stopped()
            && shared.clock.now() < until
        {
            self.run_uncounted(until).await;
        }
    }

    /// Runs a transaction that does not count, and tells whether it ended well. `end` bounds its tries.
    async fn run_uncounted(&mut self, end: u64) -> bool {
        let chosen = self.runner.choose();
        // A failure here will show in the window as well, and be counted there.
        let outcome = self
            .runner
            .finish(self.recorder, self.timer, chosen, Stop::NotBegun, end)
            .await;
        changes::compute();
        let ok = outcome.is_ok();
        self.besides += u64::from(ok);
        ok
    }

    /// The next transaction starts when the last has ended: one reading of the clock serves both.
    async fn closed_loop(&mut self, stretch: &mut Stretch) {
        while let Some((chosen, stop)) = self.run_through(stretch) {
            let outcome = self
                .runner
                .finish(self.recorder, self.timer, chosen, stop, stretch.end)
                .await;
            changes::compute();
            let end = self.shared.clock.now();
            let recorder = &mut self.recorder.borrow_mut();
            let (work, thought) = (&self.runner.work, self.runner.thought);
            let (began, cycle) = (stretch.ended, end - stretch.ended);
            let service = cycle - thought;
            recorder.thought(cycle, thought);
            self.runner.note_whole(recorder, service);
            let ended = Ended {
                chosen,
                outcome: outcome.as_ref().map(|()| work),
                began,
                service,
                response: service,
                end,
            };
            if !stretch.settle(recorder, &ended) {
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
        let computes = shared.changes.is_some_and(|changes| changes.has(Kind::Transaction));
        let plain = planted == 0 && !computes && stretch.rows.is_none();
        // Of its own, or where it is would be read anew for each transaction.
        let stopped = shared.stop;
        let mut goes_on = stretch.goes_on();
        while goes_on && !stopped.load(Ordering::Relaxed) {
            stretch.issued += 1;
            let (chosen, stop) = self.runner.begin_next(&mut recorder, stretch.ended);
            match stop {
                Stop::Done if plain => {}
                Stop::Done => {
                    stretch.count_rows(&self.runner.work);
                    (0..planted).for_each(|turn| {
                        std::hint::black_box(turn);
                    });
                    changes::compute();
                }
                stop => return Some((chosen, stop)),
            }
            let end = shared.clock.now();
            let service = end - stretch.ended;
            self.runner.note_whole(&mut recorder, service);
            if end >= stretch.end {
                let ended = Ended {
                    chosen,
                    outcome: Ok(&self.runner.work),
                    began: stretch.ended,
                    service,
                    response: service,
                    end,
                };
                stretch.settle(&mut recorder, &ended);
                break;
            }
            stretch.ok(&mut recorder, chosen, &self.runner.work, service, end);
            goes_on = stretch.more();
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
            changes::compute();
            let end = clock.now();
            let (work, thought) = (&self.runner.work, self.runner.thought);
            let recorder = &mut self.recorder.borrow_mut();
            recorder.idle_ns += began - before + thought;
            self.runner.note_whole(recorder, end - began - thought);
            let ended = Ended {
                chosen,
                outcome: outcome.as_ref().map(|()| work),
                began,
                service: end - began - thought,
                response: end - scheduled - thought,
                end,
            };
            let goes_on = stretch.settle(recorder, &ended);
            if outcome.is_ok() {
                recorder.delayed(ended.response, began - scheduled);
            }
            if !goes_on {
                break;
            }
        }
        // What was due by the end (or by the moment the trial was stopped) and has not begun. A number of transactions
        // as the end leaves nothing due. It has waited until now: whoever hung did not begin it before.
        if stretch.more() {
            let now = clock.now();
            let due = if shared.stopped() {
                now.min(stretch.end)
            } else {
                stretch.end
            };
            let recorder = &mut self.recorder.borrow_mut();
            stretch.skipped = schedule.skip_until(due, |scheduled| recorder.never_begun(now.max(due) - scheduled));
        }
    }
}
