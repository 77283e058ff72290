//! The life of one client: connect, warm up, run transactions through the window, close.
//!
//! ```text
//! connect ──► (all connected) ──► warm-up ──► (all warm) ──► window ──► close
//!                                                         ┌────────────────────────────────────┐
//!                                                         ▼                                    │
//!                              closed: now ──────────► scheduled ──► start ──► transaction ──► end
//!                              open: wait for the tick ─┘            (retries within)
//! ```

use crate::pacing::{Schedule, Timer};
use crate::recorder::{Recorder, Work};
use crate::trial::Shared;
use dbdyno_engines::{Capture, Engine, Failure, Marks, Session as _, SessionCounters, ThreadCounters};
use dbdyno_plan::document::{ConnectMode, PrepareMode};
use dbdyno_plan::program::{ClientState, Op, Program};
use dbdyno_plan::value::Values;
use dbdyno_probes::process::{thread_cpu_ns, thread_run_queue_ns};
use std::cell::RefCell;
use std::sync::atomic::Ordering;

/// What one client has to say when it has ended, beside what its thread recorded.
#[derive(Debug, Clone, Copy, Default)]
pub struct ClientReport {
    /// When the last transaction that counts ended; nanoseconds of the clock.
    pub ended: u64,
    /// What the engine counted for the thread in the window.
    pub thread: ThreadCounters,
    /// What the engine counted for the client's sessions in the window.
    pub session: SessionCounters,
    /// CPU nanoseconds of the thread in the window.
    pub cpu_ns: u64,
    /// Nanoseconds the thread was ready without a processor in the window.
    pub run_queue_ns: u64,
}

struct Client<'a, 'r, E: Engine, T: Timer> {
    shared: &'a Shared<'a, E>,
    timer: &'a T,
    recorder: &'a RefCell<Recorder<'r>>,
    number: u32,
    session: Option<E::Session>,
    state: ClientState,
    params: Values,
    marks: Marks,
    /// Nanoseconds spent thinking in the current transaction.
    thought: u64,
    /// What the current transaction has done.
    work: Work,
    /// What the sessions closed so far have counted.
    closed: SessionCounters,
}

/// What ended a stretch of transactions.
struct Until {
    /// Nanoseconds of the clock.
    time: u64,
    transactions: u64,
    statements: u64,
}

/// Runs a client through the trial.
pub async fn run<E: Engine, T: Timer>(
    shared: &Shared<'_, E>,
    timer: &T,
    recorder: &RefCell<Recorder<'_>>,
    number: u32,
) -> Result<ClientReport, Failure> {
    let trial = shared.trial;
    let timed = trial.record.phases || trial.prepare != PrepareMode::Once;
    let mut client = Client {
        shared,
        timer,
        recorder,
        number,
        session: None,
        state: shared.programs.state(shared.seed, number, trial.clients),
        params: Values::default(),
        marks: Marks::new(timed.then_some(shared.clock)),
        thought: 0,
        work: Work::default(),
        closed: SessionCounters::default(),
    };
    // A system that cannot be reached at all is no trial; one that refuses later is a result.
    let connected = client.connect().await;
    shared.arrive(&shared.connected, &connected);
    connected?;
    let start = shared.wait_for(timer, &shared.warmup_start).await;
    if start != u64::MAX {
        let until = Until {
            time: start.saturating_add((trial.warmup.seconds * 1e9) as u64),
            transactions: trial.warmup.transactions,
            statements: 0,
        };
        client.warm_up(start, &until).await;
        shared.arrive(&shared.warm, &Ok(()));
        let start = shared.wait_for(timer, &shared.window_start).await;
        if start != u64::MAX {
            return client.window(start).await;
        }
    }
    client.disconnect().await;
    Ok(ClientReport::default())
}

impl<E: Engine, T: Timer> Client<'_, '_, E, T> {
    async fn connect(&mut self) -> Result<(), Failure> {
        let start = self.shared.clock.now();
        let mut session = self.shared.engine.connect(self.number).await?;
        if self.shared.trial.connect == ConnectMode::Once && self.shared.trial.prepare == PrepareMode::Once {
            session.prepare_all().await?;
        }
        self.session = Some(session);
        if self.shared.trial.connect == ConnectMode::PerTransaction || self.shared.trial.record.phases {
            let spent = self.shared.clock.now() - start;
            self.recorder.borrow_mut().phases.record("connect", spent);
        }
        Ok(())
    }

    async fn disconnect(&mut self) {
        if let Some(mut session) = self.session.take() {
            self.closed.add(&session.counters());
            // A session that cannot be closed cleanly is gone all the same, and its transactions have been counted.
            let _ = session.close().await;
        }
    }

    /// The counters of all sessions this client has had.
    fn session_counters(&mut self) -> SessionCounters {
        let mut sum = self.closed;
        if let Some(session) = &mut self.session {
            sum.add(&session.counters());
        }
        sum
    }

    /// Runs transactions that do not count, until both the time and the number are reached.
    async fn warm_up(&mut self, start: u64, until: &Until) {
        let mut schedule = self.schedule(start);
        let mut done = 0;
        while !self.shared.stopped() && (self.shared.clock.now() < until.time || done < until.transactions) {
            if let Some(schedule) = &mut schedule {
                self.timer.sleep_until(schedule.peek()).await;
                schedule.advance();
            }
            let chosen = self.shared.programs.choose(&mut self.state);
            // A failure here will show again in the window, and be counted there.
            let _ = self.attempt(&self.shared.programs.all()[chosen], until.time).await;
            done += 1;
        }
    }

    fn schedule(&self, start: u64) -> Option<Schedule> {
        let trial = self.shared.trial;
        Schedule::new(trial.arrival, self.shared.seed, self.number, trial.clients, start)
    }

    async fn window(&mut self, start: u64) -> Result<ClientReport, Failure> {
        let (cpu, run_queue) = (thread_cpu_ns(), thread_run_queue_ns());
        let thread = self.shared.engine.thread_counters();
        let session = self.session_counters();
        self.recorder.borrow_mut().begin(start);
        let trial = self.shared.trial;
        let until = Until {
            time: trial
                .window
                .seconds
                .map_or(u64::MAX, |seconds| start + (seconds * 1e9) as u64),
            transactions: trial.window.transactions.unwrap_or(u64::MAX),
            statements: trial.window.statements.unwrap_or(u64::MAX),
        };
        let ended = match self.schedule(start) {
            None => self.closed_loop(start, &until).await,
            Some(schedule) => self.open_loop(start, schedule, &until).await,
        };
        self.recorder.borrow_mut().end();
        let after = self.shared.engine.thread_counters().since(&thread);
        self.shared.engine.add_contention(&after);
        let report = ClientReport {
            ended,
            thread: after,
            session: self.session_counters().since(&session),
            cpu_ns: thread_cpu_ns() - cpu,
            run_queue_ns: thread_run_queue_ns().saturating_sub(run_queue),
        };
        self.disconnect().await;
        Ok(report)
    }

    /// The next transaction starts when the last has ended: one reading of the clock serves both.
    async fn closed_loop(&mut self, start: u64, until: &Until) -> u64 {
        let shared = self.shared;
        let clock = shared.clock;
        let (mut issued, mut statements, mut ended) = (0, 0, start);
        let mut began = clock.now();
        while began < until.time && issued < until.transactions && statements < until.statements && !shared.stopped() {
            issued += 1;
            let chosen = shared.programs.choose(&mut self.state);
            let outcome = self.attempt(&shared.programs.all()[chosen], until.time).await;
            let end = clock.now();
            let mut recorder = self.recorder.borrow_mut();
            if end > until.time {
                recorder.books.in_flight += 1;
                ended = until.time;
                break;
            }
            match outcome {
                Ok(()) => {
                    statements += self.work.statements;
                    recorder.ok(chosen, self.work, end - began - self.thought, end);
                }
                Err(failure) => recorder.failed(chosen, failure, end),
            }
            recorder.idle_ns += self.thought;
            ended = end;
            began = end;
        }
        self.recorder.borrow_mut().books.issued += issued;
        ended
    }

    /// Transactions start by the schedule; a late one keeps its scheduled start.
    async fn open_loop(&mut self, start: u64, mut schedule: Schedule, until: &Until) -> u64 {
        let shared = self.shared;
        let clock = shared.clock;
        let (mut issued, mut statements, mut ended) = (0, 0, start);
        while schedule.peek() < until.time && issued < until.transactions && statements < until.statements {
            let scheduled = schedule.peek();
            let before = clock.now();
            if before >= until.time || shared.stopped() {
                break;
            }
            self.timer.sleep_until(scheduled).await;
            let began = clock.now();
            issued += 1;
            schedule.advance();
            let chosen = shared.programs.choose(&mut self.state);
            let outcome = self.attempt(&shared.programs.all()[chosen], until.time).await;
            let end = clock.now();
            let mut recorder = self.recorder.borrow_mut();
            recorder.idle_ns += began - before + self.thought;
            if end > until.time {
                recorder.books.in_flight += 1;
                ended = until.time;
                break;
            }
            match outcome {
                Ok(()) => {
                    statements += self.work.statements;
                    recorder.ok(chosen, self.work, end - began - self.thought, end);
                    recorder.delayed(end - scheduled - self.thought, began - scheduled);
                }
                Err(failure) => recorder.failed(chosen, failure, end),
            }
            ended = end;
        }
        // What was due by the end (or by the moment the trial was stopped) and has not begun. A number of transactions
        // as the end leaves nothing due.
        let skipped = if issued < until.transactions && statements < until.statements {
            schedule.skip_until(if shared.stopped() {
                clock.now().min(until.time)
            } else {
                until.time
            })
        } else {
            0
        };
        let mut recorder = self.recorder.borrow_mut();
        recorder.books.skipped += skipped;
        recorder.books.issued += issued + skipped;
        ended
    }

    /// Runs a transaction, again after a failure where the policy says so. `end` bounds the tries.
    #[inline]
    async fn attempt(&mut self, program: &Program, end: u64) -> Result<(), Failure> {
        self.thought = 0;
        let retry = &self.shared.trial.retry;
        let per_transaction = self.shared.trial.connect == ConnectMode::PerTransaction;
        // A further try repeats the same transaction, so its random draws must be the same.
        let saved = (retry.attempts > 1).then(|| self.state.save());
        let mut tries = 1;
        loop {
            let mut outcome = if self.session.is_none() {
                self.connect().await
            } else {
                Ok(())
            };
            if outcome.is_ok() {
                outcome = self.transaction(program).await;
            }
            if outcome.is_err() {
                self.clean_up(&outcome).await;
            }
            if per_transaction {
                self.disconnect().await;
            }
            match outcome {
                Ok(()) => return Ok(()),
                Err(failure) => {
                    let again = tries < retry.attempts && retry.covers(failure.kind) && self.shared.clock.now() < end;
                    let Some(saved) = saved.as_ref().filter(|_| again) else {
                        return Err(failure);
                    };
                    self.state.restore(saved);
                    tries += 1;
                    self.recorder.borrow_mut().books.retries += 1;
                    self.timer
                        .sleep_until(self.shared.clock.now() + (retry.wait_ms * 1e6) as u64)
                        .await;
                }
            }
        }
    }

    /// After a failure: no transaction may stay open, and a broken session is given up.
    #[cold]
    async fn clean_up(&mut self, outcome: &Result<(), Failure>) {
        use dbdyno_plan::document::FailureKind::Connection;
        let broken = match &mut self.session {
            Some(session) => session.rollback().await.is_err(),
            None => false,
        };
        if broken || matches!(outcome, Err(failure) if failure.kind == Connection) {
            self.disconnect().await;
        }
    }

    /// Runs the operations of a program.
    #[inline]
    async fn transaction(&mut self, program: &Program) -> Result<(), Failure> {
        self.work = Work::default();
        let Some(session) = &mut self.session else {
            return Ok(());
        };
        let clock = self.shared.clock;
        let phases = self.shared.trial.record.phases;
        let timed = phases || self.shared.trial.prepare != PrepareMode::Once;
        let mut at = 0;
        while let Some(op) = program.ops.get(at) {
            at += 1;
            match op {
                Op::Execute {
                    statement,
                    params,
                    into,
                } => {
                    self.state.make_all(params, &mut self.params);
                    let start = if timed { clock.now() } else { 0 };
                    let capture = Capture::new(into, &mut self.state.variables);
                    let rows = session
                        .execute(*statement, &self.params, capture, &mut self.marks)
                        .await?;
                    self.work.statements += 1;
                    self.work.returned += rows.returned;
                    self.work.changed += rows.changed;
                    let mut recorder = self.recorder.borrow_mut();
                    recorder.statement(*statement, rows);
                    if timed {
                        note_phases(&mut recorder, &mut self.marks, start, clock.now(), phases);
                    }
                }
                Op::Begin(mode) => session.begin(*mode).await?,
                Op::Commit => {
                    let start = if phases { clock.now() } else { 0 };
                    session.commit().await?;
                    if phases {
                        self.recorder.borrow_mut().phases.record("commit", clock.now() - start);
                    }
                }
                Op::Rollback => session.rollback().await?,
                Op::Set { slot, value } => self.state.set(*slot, value),
                Op::JumpUnless {
                    left,
                    compare,
                    right,
                    to,
                } => {
                    if !self.state.holds(left, *compare, right.as_ref()) {
                        at = *to;
                    }
                }
                Op::JumpUnlessChance { below, to } => {
                    if !self.state.chance(*below) {
                        at = *to;
                    }
                }
                Op::Jump { to } => at = *to,
                Op::Repeat { slot, times } => self.state.loops[*slot] = *times,
                Op::RepeatEnd { slot, to } => {
                    self.state.loops[*slot] -= 1;
                    if self.state.loops[*slot] > 0 {
                        at = *to;
                    }
                }
                Op::Think { milliseconds } => {
                    let start = clock.now();
                    let pause = self.state.integer(milliseconds).max(0) as u64;
                    self.timer.sleep_until(start + pause * 1_000_000).await;
                    self.thought += clock.now() - start;
                }
            }
        }
        Ok(())
    }
}

/// Splits a statement's time where the session marked it.
fn note_phases(recorder: &mut Recorder<'_>, marks: &mut Marks, start: u64, end: u64, phases: bool) {
    let ready = if marks.prepared == 0 { start } else { marks.prepared };
    recorder.prepare_ns += ready - start;
    if phases {
        if marks.prepared != 0 {
            recorder.phases.record("prepare", ready - start);
        }
        let first_row = if marks.first_row == 0 { end } else { marks.first_row };
        recorder.phases.record("execute", first_row - ready);
        recorder.phases.record("fetch", end - first_row);
    }
    marks.reset();
}

impl<E: Engine> Shared<'_, E> {
    fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}
