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
//! In a closed loop, a window of fixed length begins and ends while all clients are busy. In the *lead-in* each client
//! runs transactions until every client has completed one. In the *lead-out* each client keeps running until every
//! client has completed the transaction that the window's end cut. Neither phase counts. Without them, clients would
//! start in lockstep and the last clients would run with less contention, which distorts windows with few transactions.
//!
//! A client's first counted transaction begins when its last lead-in transaction ends, and the transaction cut by the
//! window's end is measured to its own end. So a client's measurements cover whole transactions. If few transactions
//! fit into a window, `rate` uses these times instead of the window's length.
//!
//! `attempt` runs the transactions themselves.

use crate::attempt::{Runner, Stop};
use crate::interleaving::{Interleaving, Processors};
use crate::live::{Live, Work};
use crate::pacing::{Schedule, StageEnds, Timer};
use crate::rate::MANY;
use crate::recorder::Recorder;
use crate::report::{ClientReport, EndedBy};
use crate::shared::Shared;
use crate::suspension::Suspension;
use crate::thread_usage::ThreadUsage;
use dbdyno_engine::changes::{self, Kind};
use dbdyno_engine::{Engine, Failure};
use dbdyno_probes::valgrind;
use dbdyno_protocol::plan::document::{ConnectMode, FailureKind};
use std::cell::RefCell;
use std::sync::atomic::Ordering;

struct Client<'a, 'r, E: Engine, T: Timer> {
    shared: &'a Shared<'a, E>,
    timer: &'a T,
    recorder: &'a RefCell<Recorder<'r>>,
    usage: &'a RefCell<ThreadUsage>,
    number: u32,
    runner: Runner<'a, E>,
    live: &'a Live,
    uncounted: &'a Live,
    /// Completed transactions that don't count.
    uncounted_done: u64,
}

/// The counted transactions of a client: limits and progress.
struct Measurement {
    /// When the first transaction began. All times here are nanoseconds of the clock.
    begun: u64,
    /// End of the window.
    end: u64,
    /// Maximum number of transactions.
    transactions: u64,
    /// Number of statements in completed transactions that ends the window.
    statements: u64,
    /// Number of changed rows in completed transactions that ends the window, if any.
    rows: Option<u64>,
    /// Transactions begun.
    issued: u64,
    /// Transactions that did not complete.
    failed: u64,
    /// Scheduled transactions that were skipped.
    skipped: u64,
    /// Statements in completed transactions.
    done: u64,
    /// Rows changed in completed transactions, if `rows` is set.
    changed: u64,
    /// When the last transaction ended; initially when the first began.
    ended: u64,
    /// See [`ClientReport`].
    late: bool,
    cut: f64,
}

/// How a transaction ended.
struct Ended<'a> {
    chosen: usize,
    outcome: Result<&'a Work, &'a Failure>,
    began: u64,
    /// Time from start to end, without think time.
    service: u64,
    /// Lower bound on the time from the scheduled start to a successful end, without think time.
    response: u64,
    end: u64,
}

impl Measurement {
    #[inline(always)]
    fn is_open(&self) -> bool {
        self.ended < self.end && self.below_limits()
    }

    #[inline(always)]
    fn below_limits(&self) -> bool {
        self.issued < self.transactions && self.done < self.statements
    }

    /// Counts changed rows and stops the window at the limit. Separate from [`Self::ok`] because few windows have such
    /// a limit.
    #[cold]
    fn count_rows(&mut self, work: &Work) {
        if let Some(rows) = self.rows {
            self.changed += work.changed;
            if self.changed >= rows {
                self.transactions = self.issued;
            }
        }
    }

    /// Transactions begun in the window that completed, in it or later.
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

    /// Records a transaction that completed within the window, in the accounting and the histograms.
    #[inline(always)]
    fn ok(&mut self, recorder: &mut Recorder<'_>, chosen: usize, work: &Work, service: u64, end: u64) {
        self.ended = end;
        self.done += work.statements;
        recorder.rows(work);
        recorder.ok(chosen, service, end);
    }

    /// Records the end of a transaction. Returns whether the window is still open.
    fn record(&mut self, recorder: &mut Recorder<'_>, ended: &Ended<'_>) -> bool {
        if ended.end > self.end {
            self.record_late(recorder, ended);
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

    /// Records a transaction that ended after the window: in flight in the accounting, but a whole transaction
    /// everywhere else.
    #[cold]
    fn record_late(&mut self, recorder: &mut Recorder<'_>, ended: &Ended<'_>) {
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

/// Runs a client through the trial. `counts`: counters for statements that count, and for statements that don't.
pub async fn run<E: Engine, T: Timer>(
    shared: &Shared<'_, E>,
    timer: &T,
    recorder: &RefCell<Recorder<'_>>,
    usage: &RefCell<ThreadUsage>,
    (live, uncounted): (&Live, &Live),
    number: u32,
) -> Result<ClientReport, Failure> {
    let trial = shared.trial;
    let mut client = Client {
        shared,
        timer,
        recorder,
        usage,
        number,
        runner: Runner::new(shared, number, uncounted),
        live,
        uncounted,
        uncounted_done: 0,
    };
    let processors = Processors::of(trial, number);
    if let Some(processors) = processors {
        processors.take(0);
    }
    // If the first connection fails, the trial fails. Later refusals are a result.
    let connected = client.connect_first().await;
    shared.arrive(&shared.connected, &connected);
    connected?;
    if trial.connect == ConnectMode::PerTransaction {
        client.runner.disconnect().await;
    }
    let start = shared.wait_for(timer, &shared.warmup_start).await;
    if start != u64::MAX {
        let end = start.saturating_add((trial.warmup.seconds * 1e9) as u64);
        let last = client.warm_up(start, end, trial.warmup.transactions).await;
        shared.arrive(&shared.warm, &Ok(()));
        let start = shared.wait_for(timer, &shared.window_start).await;
        if start != u64::MAX {
            return client.window(start, last, processors).await;
        }
    }
    client.runner.disconnect().await;
    Ok(ClientReport::default())
}

/// Nanoseconds for which a client refused before the warm-up keeps retrying, and the delay between two attempts.
const CONNECT_TIMEOUT: u64 = 10_000_000_000;
const RETRY_DELAY: u64 = 5_000_000;

impl<E: Engine, T: Timer> Client<'_, '_, E, T> {
    /// Opens the session before the warm-up. This isn't measured, so a client waits for locks here even if the plan
    /// forbids waiting: other clients open and close files at the same time.
    async fn connect_first(&mut self) -> Result<(), Failure> {
        let clock = self.shared.clock;
        let give_up = clock.now() + CONNECT_TIMEOUT;
        loop {
            match self.runner.connect(self.recorder, self.timer).await {
                Err(failure) if failure.kind == FailureKind::Locked && clock.now() < give_up => {
                    self.timer.sleep_until(clock.now() + RETRY_DELAY).await;
                }
                connected => return connected,
            }
        }
    }

    fn schedule(&self, start: u64, is_warmup: bool) -> Option<Schedule> {
        let trial = self.shared.trial;
        let (place, of) = self.shared.place_of(self.number);
        Schedule::new(&trial.arrival, self.shared.seed, place, of, start, is_warmup)
    }

    /// Runs uncounted transactions until both the time and the number are reached. Returns the nanoseconds of the last
    /// one.
    async fn warm_up(&mut self, start: u64, end: u64, transactions: u64) -> u64 {
        let mut schedule = self.schedule(start, true);
        let (mut done, mut last) = (0, 0);
        while !self.shared.stopped() && (self.shared.clock.now() < end || done < transactions) {
            if let Some(schedule) = &mut schedule {
                self.timer.sleep_until(schedule.peek()).await;
                schedule.advance();
            }
            let began = self.shared.clock.now();
            self.run_uncounted(end).await;
            last = self.shared.clock.now() - began;
            done += 1;
        }
        last
    }

    /// Runs the window. All clients start it together, after the lead-in if there is one. `last`: nanoseconds of the
    /// last transaction of the warm-up.
    async fn window(&mut self, start: u64, last: u64, processors: Option<Processors>) -> Result<ClientReport, Failure> {
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
            self.lead_in(start, last).await
        } else {
            (start, 0.0)
        };
        self.usage.borrow_mut().begin(self.shared.engine);
        let session = self.runner.counters();
        self.recorder.borrow_mut().begin(measured, interleaving);
        self.runner.set_counted(self.live, true);
        let window = &self.shared.trial.window;
        let begun = self.shared.clock.now();
        let end = window.seconds.map_or(u64::MAX, |seconds| {
            // A client whose lead-in outlasts the window still measures one transaction.
            (measured + (seconds * 1e9) as u64).max(begun + 1)
        });
        let mut measurement = Measurement {
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
        match self.schedule(start, false) {
            None => self.closed_loop(&mut measurement).await,
            Some(schedule) => {
                let stages = StageEnds::new(self.shared.trial.arrival.stages(), start);
                self.open_loop(&mut measurement, schedule, &stages).await;
            }
        }
        valgrind::toggle_counting();
        self.runner.set_counted(self.uncounted, false);
        self.recorder.borrow_mut().end(measurement.issued, measurement.skipped);
        self.usage.borrow_mut().end(self.shared.engine);
        let session = self.runner.counters().since(&session);
        if self.shared.leads_in() {
            let length = (window.seconds.unwrap_or_default() * 1e9) as u64;
            self.lead_out(measurement.completed(), measured + 2 * length).await;
        }
        let overrun = suspension.as_ref().map_or(0, Suspension::overrun);
        drop(suspension);
        let report = ClientReport {
            begun: measurement.begun,
            ended: measurement.ended,
            completed: measurement.completed(),
            late: measurement.late,
            cut: measurement.cut,
            led_in,
            overrun,
            ended_by: measurement.ended_by(self.shared.stopped()),
            uncounted: self.uncounted_done,
            next_use: self.runner.next_use(),
            session,
        };
        self.runner.disconnect().await;
        Ok(report)
    }

    /// Runs uncounted transactions until every client has completed one, or until this client has completed [`MANY`].
    /// Returns when the window began, and the share of this client's last transaction that falls into it.
    async fn lead_in(&mut self, start: u64, last: u64) -> (u64, f64) {
        let shared = self.shared;
        let mut done = 0;
        let length = (shared.trial.window.seconds.unwrap_or_default() * 1e9) as u64;
        let longest = start + length;
        let mut first = true;
        let mut now = shared.clock.now();
        if shared.trial.clients == 1 && last > length {
            // One more transaction would take long, and no other client has to become busy.
            shared.begin_measuring(now);
            return (now, 0.0);
        }
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

    /// Runs uncounted transactions until all clients have completed their counted ones, at most until `until`. A client
    /// with many counted transactions returns at once: the end of slower clients hardly affects its rate.
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

    /// Runs an uncounted transaction and returns whether it completed. No retry begins after `end`.
    async fn run_uncounted(&mut self, end: u64) -> bool {
        let chosen = self.runner.choose();
        // A failure here will also occur in the window and be counted there.
        let outcome = self
            .runner
            .finish(self.recorder, self.timer, chosen, Stop::NotBegun, end)
            .await;
        changes::compute();
        let ok = outcome.is_ok();
        self.uncounted_done += u64::from(ok);
        ok
    }

    /// The next transaction starts when the last one ends, so one reading of the clock serves both.
    async fn closed_loop(&mut self, measurement: &mut Measurement) {
        while let Some((chosen, stop)) = self.run_through(measurement) {
            let outcome = self
                .runner
                .finish(self.recorder, self.timer, chosen, stop, measurement.end)
                .await;
            changes::compute();
            let end = self.shared.clock.now();
            let recorder = &mut self.recorder.borrow_mut();
            let (work, thought) = (&self.runner.work, self.runner.thought);
            let (began, cycle) = (measurement.ended, end - measurement.ended);
            let service = cycle - thought;
            recorder.thought(cycle, thought);
            self.runner.record_transaction(recorder, service);
            let ended = Ended {
                chosen,
                outcome: outcome.as_ref().map(|()| work),
                began,
                service,
                response: service,
                end,
            };
            if !measurement.record(recorder, &ended) {
                break;
            }
        }
    }

    /// Runs transactions one after another until one must wait; returns that one, or `None` if the window is over. Not
    /// inlined: within its caller, the loop would run short of registers.
    #[inline(never)]
    fn run_through(&mut self, measurement: &mut Measurement) -> Option<(usize, Stop)> {
        let shared = self.shared;
        let mut recorder = self.recorder.borrow_mut();
        let planted = shared.trial.planted_work;
        let computes = shared.changes.is_some_and(|changes| changes.has(Kind::Transaction));
        let shares_keys = shared.programs.shares_keys();
        let plain = planted == 0 && !computes && !shares_keys && measurement.rows.is_none();
        // A local copy; otherwise the pointer would be loaded again for each transaction.
        let stopped = shared.stop;
        let mut is_open = measurement.is_open();
        while is_open && !stopped.load(Ordering::Relaxed) {
            measurement.issued += 1;
            let (chosen, stop) = self.runner.begin_next(&mut recorder, measurement.ended);
            match stop {
                Stop::Done if plain => {}
                Stop::Done => {
                    self.runner.end_keys();
                    measurement.count_rows(&self.runner.work);
                    (0..planted).for_each(|turn| {
                        std::hint::black_box(turn);
                    });
                    changes::compute();
                }
                stop => return Some((chosen, stop)),
            }
            let end = shared.clock.now();
            let service = end - measurement.ended;
            self.runner.record_transaction(&mut recorder, service);
            if end >= measurement.end {
                let ended = Ended {
                    chosen,
                    outcome: Ok(&self.runner.work),
                    began: measurement.ended,
                    service,
                    response: service,
                    end,
                };
                measurement.record(&mut recorder, &ended);
                break;
            }
            measurement.ok(&mut recorder, chosen, &self.runner.work, service, end);
            is_open = measurement.below_limits();
        }
        None
    }

    /// Transactions start by the schedule. A late transaction keeps its scheduled start.
    async fn open_loop(&mut self, measurement: &mut Measurement, mut schedule: Schedule, stages: &StageEnds) {
        let shared = self.shared;
        let clock = shared.clock;
        while schedule.peek() < measurement.end && measurement.below_limits() {
            let scheduled = schedule.peek();
            let before = clock.now();
            if before >= measurement.end || shared.stopped() {
                break;
            }
            self.timer.sleep_until(scheduled).await;
            let began = clock.now();
            measurement.issued += 1;
            schedule.advance();
            let chosen = self.runner.choose();
            let outcome = self
                .runner
                .finish(self.recorder, self.timer, chosen, Stop::NotBegun, measurement.end)
                .await;
            changes::compute();
            let end = clock.now();
            let (work, thought) = (&self.runner.work, self.runner.thought);
            let recorder = &mut self.recorder.borrow_mut();
            recorder.idle_ns += began - before + thought;
            self.runner.record_transaction(recorder, end - began - thought);
            let ended = Ended {
                chosen,
                outcome: outcome.as_ref().map(|()| work),
                began,
                service: end - began - thought,
                response: end - scheduled - thought,
                end,
            };
            let is_open = measurement.record(recorder, &ended);
            if outcome.is_ok() {
                recorder.delayed(ended.response, began - scheduled);
            }
            if let Some(stage) = stages.at(scheduled) {
                recorder.stages[stage].ended(ended.response, outcome.is_ok());
                if is_open && outcome.is_ok() {
                    recorder.stages[stages.at(end).unwrap_or(stage)].ok += 1;
                }
            }
            if !is_open {
                break;
            }
        }
        // Skipped: due before the end (or before the trial was stopped), but not begun. If a number of transactions
        // ended the window, nothing is due. Skipped transactions have waited until now, because no client could begin
        // them.
        if measurement.below_limits() {
            let now = clock.now();
            let due = if shared.stopped() {
                now.min(measurement.end)
            } else {
                measurement.end
            };
            let recorder = &mut self.recorder.borrow_mut();
            measurement.skipped = schedule.skip_until(due, |scheduled| {
                let waited = now.max(due) - scheduled;
                recorder.never_begun(waited);
                if let Some(stage) = stages.at(scheduled) {
                    recorder.stages[stage].skipped(waited);
                }
            });
        }
    }
}
