//! Runs one transaction: its operations, its retries, and the cleanup after a failure.
//!
//! Operations run as plain calls while the session answers at once. If an operation must wait (for a server, a pause or
//! a connection), [`Runner::begin_next`] stops and [`Runner::finish`] awaits the rest. So embedded engines don't pay
//! for asynchronous code.

use crate::live::{Live, Work};
use crate::operations::{Timing, Weight};
use crate::pacing::Timer;
use crate::recorder::Recorder;
use crate::shared::Shared;
use dbdyno_engine::changes::{self, Kind};
use dbdyno_engine::{Capture, Control, Engine, Every, Failure, Marks, Rows, Session as _, SessionCounters, Wanted};
use dbdyno_program::expression::Compiled;
use dbdyno_program::value::Values;
use dbdyno_program::{ClientState, Execute, Op, Program, Programs};
use dbdyno_protocol::plan::document::{ConnectMode, FailureKind, PrepareMode, Trial};
use std::cell::RefCell;
use std::task::Poll;

/// Nanoseconds before a client reconnects to a server that refused it. Without the delay, a client of a dead server
/// would retry, and fail, hundreds of thousands of times per second.
const RECONNECT_DELAY: u64 = 10_000_000;

/// Why the operations of a transaction stopped.
#[derive(Debug)]
pub enum Stop {
    /// All operations completed.
    Done,
    /// No operation has run yet.
    NotBegun,
    /// An operation failed.
    Failed(Failure),
    /// An operation waits for the session's answer.
    Answer,
    /// The next operation is a pause of this many nanoseconds.
    Think(u64),
}

/// A client's session and the state that its transactions need.
pub struct Runner<'a, E: Engine> {
    shared: &'a Shared<'a, E>,
    /// The counters for its statements.
    live: &'a Live,
    /// Whether its transactions count. They don't before and after the measured window.
    call_counts: bool,
    programs: &'a [Program],
    number: u32,
    session: Option<E::Session>,
    /// Counters of the sessions closed so far.
    closed: SessionCounters,
    state: ClientState,
    params: Values,
    marks: Marks,
    /// Nothing has to happen before or after a successful transaction: no connecting, and no saved random state.
    plain: bool,
    /// The statement, if the trial is plain and has one transaction of one statement. This is the most common load, and
    /// its transactions are so short that iterating over a list of one operation would be measurable.
    single: Option<(&'a Op, &'a Execute)>,
    /// Whether the phases of statements are recorded in separate histograms.
    phases: bool,
    /// Whether the start of each statement is recorded while transactions count.
    timed: bool,
    /// Chooses the transactions whose operations are timed.
    timing: Timing,
    /// The weight of the current transaction, if its operations are timed.
    weight: Option<Weight>,
    /// When the current operation began, if operations are timed. 0 if the client did other work since the last
    /// operation.
    operation_start: u64,
    /// Whether the client has a thread of its own and keeps its session.
    alone: bool,
    /// Index of the operation to continue with.
    at: usize,
    /// When the operation that is being awaited began, if it is timed.
    awaited_since: u64,
    /// Nanoseconds of think time in the last finished transaction.
    pub thought: u64,
    /// Work done by the last attempt.
    pub work: Work,
}

impl<'a, E: Engine> Runner<'a, E> {
    /// Creates a client's runner without a session. `uncounted`: counters for its statements until
    /// [`Self::set_counted`] is called.
    pub fn new(shared: &'a Shared<'a, E>, number: u32, uncounted: &'a Live) -> Self {
        let trial = shared.trial;
        let (place, of) = shared.place_of(number);
        Self {
            shared,
            live: uncounted,
            call_counts: false,
            programs: shared.programs.all(),
            number: place,
            session: None,
            closed: SessionCounters::default(),
            state: shared.programs.state(
                shared.seed,
                trial.data_seed.unwrap_or(shared.seed),
                place,
                of,
                trial.first_use,
            ),
            params: Values::default(),
            marks: Marks::new(may_be_timed(trial).then_some(shared.clock)),
            plain: is_plain(trial),
            single: only_statement(trial, shared.programs),
            phases: trial.record.phases,
            timed: false,
            timing: Timing::none(),
            weight: None,
            operation_start: 0,
            alone: E::REMOTE && trial.connect == ConnectMode::Once && shared.threads >= trial.clients,
            at: 0,
            awaited_since: 0,
            thought: 0,
            work: Work::default(),
        }
    }

    /// Sets whether its transactions count from now on, and which counters its statements use.
    pub fn set_counted(&mut self, live: &'a Live, call_counts: bool) {
        let trial = self.shared.trial;
        self.live = live;
        self.call_counts = call_counts;
        self.timed = call_counts && may_be_timed(trial);
        let timed = call_counts && times_each(trial, self.shared.programs);
        self.timing = if timed {
            Timing::new(E::REMOTE, self.number)
        } else {
            Timing::none()
        };
        self.weight = None;
        self.marks.reset();
    }

    /// Opens the session.
    pub async fn connect<T: Timer>(&mut self, recorder: &RefCell<Recorder<'_>>, timer: &T) -> Result<(), Failure> {
        let start = self.shared.clock.now();
        let trial = self.shared.trial;
        let mut session = self.shared.engine.connect(self.number).await?;
        if let Some(delay) = changes::active_changes().and_then(|changes| changes.delay(Kind::Connect)) {
            let own = self.shared.clock.now() - start;
            changes::count(Kind::Connect, own, timer.wait_exactly(delay).await);
        }
        let spent = self.shared.clock.now() - start;
        if trial.connect == ConnectMode::PerTransaction {
            if self.call_counts {
                recorder.borrow_mut().phases.record("connect", spent);
            }
        } else if self.phases {
            recorder.borrow_mut().opened(spent);
        }
        if trial.connect == ConnectMode::Once && trial.prepare == PrepareMode::Once {
            session.prepare_first(self.shared.prepared).await?;
        }
        if self.alone {
            session.hold_up_thread()?;
        }
        self.session = Some(session);
        Ok(())
    }

    /// Closes the session if one is open.
    pub async fn disconnect(&mut self) {
        if let Some(mut session) = self.session.take() {
            self.closed.add(&session.counters());
            // A session that fails to close is gone anyway, and its transactions have been counted.
            let _ = session.close().await;
        }
    }

    /// The first value that a later trial may use for the client's counters.
    pub fn next_use(&self) -> u64 {
        self.state.next_use().max(self.shared.programs.keys_issued())
    }

    /// Records that a transaction has ended, if other clients draw the keys that it inserted.
    pub fn end_keys(&mut self) {
        if self.shared.programs.shares_keys() {
            self.shared.programs.end_transaction(&mut self.state);
        }
    }

    /// The counters of all sessions so far.
    pub fn counters(&mut self) -> SessionCounters {
        let mut sum = self.closed;
        if let Some(session) = &mut self.session {
            sum.add(&session.counters());
        }
        sum
    }

    /// Chooses the next transaction and returns its index.
    #[inline(always)]
    pub fn choose(&mut self) -> usize {
        if self.single.is_some() {
            return 0;
        }
        self.shared.programs.choose(&mut self.state)
    }

    /// Chooses the next transaction and runs it until it would have to wait. Returns its index and why it stopped.
    /// [`Self::finish`] runs the remaining operations. `now`: nanoseconds of the clock.
    #[inline(always)]
    pub fn begin_next(&mut self, recorder: &mut Recorder<'_>, now: u64) -> (usize, Stop) {
        if let Some((op, execute)) = self.single {
            let stop = match self.execute(recorder, op, execute) {
                Ok(rows) => {
                    self.work = Work::of(rows);
                    Stop::Done
                }
                Err(stop) => {
                    self.at = 1;
                    self.work = Work::default();
                    stop
                }
            };
            return (0, stop);
        }
        let chosen = self.shared.programs.choose(&mut self.state);
        if !self.plain {
            return (chosen, Stop::NotBegun);
        }
        self.at = 0;
        self.weight = self.timing.choose();
        self.operation_start = now;
        self.work = Work::default();
        (chosen, self.run_operations(recorder, &self.programs[chosen]))
    }

    /// Runs a statement. The error says why the operations must stop at it.
    #[inline(always)]
    fn execute(&mut self, recorder: &mut Recorder<'_>, op: &Op, execute: &Execute) -> Result<Rows, Stop> {
        let Some(session) = &mut self.session else {
            return Err(Stop::NotBegun);
        };
        self.state.make_all(&execute.params, &mut self.params);
        if self.timed {
            self.awaited_since = self.shared.clock.now();
        }
        let mut wanted;
        let capture = if execute.into.is_empty() {
            Capture::nothing()
        } else {
            wanted = Wanted {
                slots: &execute.into,
                variables: &mut self.state.variables,
                every: execute.rows.map(|slot| {
                    let buffer = &mut self.state.rows[slot];
                    buffer.begin(execute.into.len());
                    Every::Buffer(buffer)
                }),
            };
            Capture::new(&mut wanted)
        };
        match session.execute(execute.statement, &self.params, capture, &mut self.marks) {
            Poll::Ready(Ok(rows)) => {
                self.live.statement(execute.statement, rows);
                if self.timed {
                    let now = self.shared.clock.now();
                    note_phases(recorder, op, &mut self.marks, self.awaited_since, now, self.phases);
                }
                Ok(rows)
            }
            Poll::Ready(Err(failure)) => Err(Stop::Failed(failure)),
            Poll::Pending => Err(Stop::Answer),
        }
    }

    /// Completes a transaction from where it stopped, and retries it after a failure if the policy allows. No retry
    /// begins after `end`. Sets `work` and `thought`.
    pub async fn finish<T: Timer>(
        &mut self,
        recorder: &RefCell<Recorder<'_>>,
        timer: &T,
        chosen: usize,
        mut stop: Stop,
        end: u64,
    ) -> Result<(), Failure> {
        self.thought = 0;
        let clock = self.shared.clock;
        let retry = &self.shared.trial.retry;
        // A retry repeats the same transaction, so its random draws must be the same.
        let saved = (retry.attempts > 1).then(|| self.state.save());
        let mut tries = 1;
        loop {
            let outcome = self.try_once(recorder, timer, chosen, stop).await;
            if let Err(failure) = &outcome {
                if self.call_counts {
                    recorder.borrow_mut().failed_work.add(&self.work);
                }
                self.clean_up(failure).await;
            }
            if self.shared.trial.connect == ConnectMode::PerTransaction {
                self.disconnect().await;
            }
            let failure = match outcome {
                Ok(()) => {
                    self.end_keys();
                    return Ok(());
                }
                Err(failure) => failure,
            };
            let again = tries < retry.attempts && retry.covers(failure.kind) && clock.now() < end;
            let Some(saved) = saved.as_ref().filter(|_| again) else {
                self.end_keys();
                return Err(failure);
            };
            self.state.restore(saved);
            tries += 1;
            recorder.borrow_mut().accounting.retries += u64::from(self.call_counts);
            timer.sleep_until(clock.now() + (retry.wait_ms * 1e6) as u64).await;
            stop = Stop::NotBegun;
        }
    }

    /// Runs one attempt from where it stopped.
    async fn try_once<T: Timer>(
        &mut self,
        recorder: &RefCell<Recorder<'_>>,
        timer: &T,
        chosen: usize,
        mut stop: Stop,
    ) -> Result<(), Failure> {
        loop {
            match stop {
                Stop::Done => return Ok(()),
                Stop::Failed(failure) => return Err(failure),
                Stop::NotBegun => {
                    self.at = 0;
                    self.weight = self.timing.choose();
                    self.operation_start = 0;
                    self.work = Work::default();
                    if self.session.is_none()
                        && let Err(failure) = self.connect(recorder, timer).await
                    {
                        if E::REMOTE {
                            self.pause(timer, RECONNECT_DELAY).await;
                        }
                        return Err(failure);
                    }
                }
                Stop::Answer => self.await_answer(recorder, chosen).await?,
                Stop::Think(pause) => self.pause(timer, pause).await,
            }
            stop = self.run_operations(&mut recorder.borrow_mut(), &self.programs[chosen]);
        }
    }

    /// Pauses for the given time and adds it to the think time.
    async fn pause<T: Timer>(&mut self, timer: &T, nanoseconds: u64) {
        let start = self.shared.clock.now();
        timer.sleep_until(start.saturating_add(nanoseconds)).await;
        self.thought += self.shared.clock.now() - start;
        self.operation_start = 0;
    }

    /// Waits for the answer to the operation that was begun last.
    async fn await_answer(&mut self, recorder: &RefCell<Recorder<'_>>, chosen: usize) -> Result<(), Failure> {
        let op = &self.programs[chosen].ops[self.at - 1];
        let Some(session) = &mut self.session else {
            return Ok(());
        };
        let mut wanted = Wanted {
            slots: match op {
                Op::Execute(execute) => &execute.into,
                _ => &[],
            },
            variables: &mut self.state.variables,
            every: match op {
                Op::Execute(execute) => execute.rows.map(|slot| Every::Buffer(&mut self.state.rows[slot])),
                _ => None,
            },
        };
        let rows = session.answer(Capture::new(&mut wanted), &mut self.marks).await?;
        let recorder = &mut recorder.borrow_mut();
        if let Op::Execute(execute) = op {
            self.work.statement(rows);
            self.live.statement(execute.statement, rows);
            if let Some(slot) = execute.rows {
                self.check_rows(slot, rows)?;
            }
        }
        if self.timed {
            note_phases(
                recorder,
                op,
                &mut self.marks,
                self.awaited_since,
                self.shared.clock.now(),
                self.phases,
            );
        }
        if let Some(weight) = self.weight {
            self.record_operation(recorder, op, weight);
        }
        Ok(())
    }

    /// Fails if the engine passed on only some rows, for which steps would run.
    #[cold]
    fn check_rows(&self, slot: usize, rows: Rows) -> Result<(), Failure> {
        if self.state.rows[slot].rows() as u64 == rows.returned {
            return Ok(());
        }
        let message = "steps for each row are not possible here: the engine passes on the first row only";
        Err(Failure::new(FailureKind::Other, message))
    }

    /// Cleans up after a failure: rolls back, and drops a broken session.
    async fn clean_up(&mut self, failure: &Failure) {
        let broken = match &mut self.session {
            Some(session) => match session.control(Control::Rollback) {
                Poll::Ready(rolled_back) => rolled_back.is_err(),
                Poll::Pending => session.answer(Capture::nothing(), &mut self.marks).await.is_err(),
            },
            None => false,
        };
        if broken || failure.kind == FailureKind::Connection {
            self.disconnect().await;
        }
    }

    /// Runs operations until one must wait, one fails, or all are done.
    fn run_operations(&mut self, recorder: &mut Recorder<'_>, program: &Program) -> Stop {
        let mut at = self.at;
        while let Some(op) = program.ops.get(at) {
            at += 1;
            let stop = match op {
                Op::Execute(execute) => {
                    self.start_operation();
                    match self.execute(recorder, op, execute) {
                        Ok(rows) => {
                            self.work.statement(rows);
                            if let Some(weight) = self.weight {
                                self.record_operation(recorder, op, weight);
                            }
                            let checked = execute.rows.map_or(Ok(()), |slot| self.check_rows(slot, rows));
                            checked.err().map(Stop::Failed)
                        }
                        Err(stop) => Some(stop),
                    }
                }
                Op::Begin(_) | Op::Commit => self.control(recorder, op),
                Op::Rollback => {
                    self.state.roll_back();
                    self.control(recorder, op)
                }
                Op::Think { time, unit_ns } => {
                    let pause = self.state.integer(time).max(0) as u64;
                    Some(Stop::Think(pause.saturating_mul(*unit_ns)))
                }
                Op::Evaluate { slot, expression } => {
                    self.operation_start = 0;
                    self.evaluate(*slot, expression)
                }
                _ => {
                    self.operation_start = 0;
                    at = self.state.step(op, at);
                    None
                }
            };
            if let Some(stop) = stop {
                self.at = at;
                return stop;
            }
        }
        Stop::Done
    }

    /// Sets a variable to the value of an expression. Returns the failure if it has no value. Not inlined, to keep the
    /// loop over the operations short.
    #[inline(never)]
    fn evaluate(&mut self, slot: usize, expression: &Compiled) -> Option<Stop> {
        let message = self.state.evaluate(slot, expression).err()?;
        Some(Stop::Failed(Failure::new(FailureKind::Other, message)))
    }

    /// Records the time of a transaction whose operations were timed.
    #[inline(always)]
    pub fn record_transaction(&self, recorder: &mut Recorder<'_>, service: u64) {
        if self.weight.is_some() {
            self.record_timed(recorder, service);
        }
    }

    /// Not inlined, so that untimed transactions only pay for one check.
    #[inline(never)]
    fn record_timed(&self, recorder: &mut Recorder<'_>, service: u64) {
        if let Some(weight) = self.weight {
            recorder.operations.whole(service, weight);
        }
    }

    /// Starts timing an operation: at the end of the previous one if nothing came between.
    #[inline(always)]
    fn start_operation(&mut self) {
        if self.weight.is_some() && self.operation_start == 0 {
            self.operation_start = self.shared.clock.now();
        }
    }

    /// Records a successful operation with the weight of its transaction.
    #[inline(always)]
    fn record_operation(&mut self, recorder: &mut Recorder<'_>, op: &Op, weight: Weight) {
        let now = self.shared.clock.now();
        recorder.operations.step(op, now - self.operation_start, weight);
        self.operation_start = now;
    }

    /// Begins or ends a transaction. Returns why the operations must stop, if they must.
    fn control(&mut self, recorder: &mut Recorder<'_>, op: &Op) -> Option<Stop> {
        self.start_operation();
        let Some(session) = &mut self.session else {
            return Some(Stop::NotBegun);
        };
        if self.timed {
            self.awaited_since = self.shared.clock.now();
        }
        let control = match op {
            Op::Begin(mode) => Control::Begin(*mode),
            Op::Commit => Control::Commit,
            _ => Control::Rollback,
        };
        match session.control(control) {
            Poll::Ready(Ok(())) => {
                if self.timed {
                    let now = self.shared.clock.now();
                    note_phases(recorder, op, &mut self.marks, self.awaited_since, now, self.phases);
                }
                if let Some(weight) = self.weight {
                    self.record_operation(recorder, op, weight);
                }
                None
            }
            Poll::Ready(Err(failure)) => Some(Stop::Failed(failure)),
            Poll::Pending => Some(Stop::Answer),
        }
    }
}

fn is_plain(trial: &Trial) -> bool {
    trial.connect == ConnectMode::Once && trial.retry.attempts <= 1
}

/// The statement of a plain trial with one transaction of one statement. Its time equals the transaction's time.
fn only_statement<'a>(trial: &Trial, programs: &'a Programs) -> Option<(&'a Op, &'a Execute)> {
    match programs.all() {
        [program] if is_plain(trial) => match &*program.ops {
            [op @ Op::Execute(execute)] => Some((op, execute)),
            _ => None,
        },
        _ => None,
    }
}

/// Whether the operations of counted transactions are timed separately.
pub(crate) fn times_each(trial: &Trial, programs: &Programs) -> bool {
    trial.record.operations && only_statement(trial, programs).is_none()
}

/// Whether the starts of statements are recorded while transactions count.
fn may_be_timed(trial: &Trial) -> bool {
    trial.record.phases || trial.prepare != PrepareMode::Once
}

/// Splits an operation's time into phases, at the times that the session marked.
#[inline(never)]
fn note_phases(recorder: &mut Recorder<'_>, op: &Op, marks: &mut Marks, start: u64, end: u64, phases: bool) {
    match op {
        Op::Execute(_) => {
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
        }
        Op::Commit if phases => recorder.phases.record("commit", end - start),
        _ => {}
    }
    marks.reset();
}
