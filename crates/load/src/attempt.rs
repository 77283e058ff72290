//! One transaction: its operations, the tries, what is left behind by a failure.
//!
//! The operations run straight through as long as the session answers at once. Where it must be waited for (an answer of a
//! server, a pause, a connection) they stop, and [`Runner::finish`] waits and carries on. So an engine in the calling
//! thread pays nothing for the others' waiting.

use crate::live::{Live, Work};
use crate::operations::{Standing, Timing};
use crate::pacing::Timer;
use crate::recorder::Recorder;
use crate::shared::Shared;
use dbdyno_engine::changes::{self, Kind};
use dbdyno_engine::{Capture, Control, Engine, Failure, Marks, Rows, Session as _, SessionCounters, Wanted};
use dbdyno_plan::document::{ConnectMode, FailureKind, PrepareMode, Trial};
use dbdyno_program::expression::Compiled;
use dbdyno_program::value::Values;
use dbdyno_program::{ClientState, Execute, Op, Program, Programs};
use std::cell::RefCell;
use std::task::Poll;

/// Nanoseconds a client waits before it turns again to a server that did not let it in: one that is gone would else be
/// knocked at, and fail, some hundred thousand times a second.
const KNOCK_AGAIN: u64 = 10_000_000;

/// Where the operations of a transaction came to a stop.
#[derive(Debug)]
pub enum Stop {
    /// They have ended well.
    Done,
    /// Before the first.
    NotBegun,
    /// One failed.
    Failed(Failure),
    /// One waits for the session's answer.
    Answer,
    /// One is a pause, of so many nanoseconds.
    Think(u64),
}

/// A client's session, and all that its transactions need.
pub struct Runner<'a, E: Engine> {
    shared: &'a Shared<'a, E>,
    /// Where its statements are counted.
    live: &'a Live,
    /// Whether its transactions count; before and after the measured window they do not.
    counted: bool,
    programs: &'a [Program],
    number: u32,
    session: Option<E::Session>,
    /// What the sessions closed so far have counted.
    closed: SessionCounters,
    state: ClientState,
    params: Values,
    marks: Marks,
    /// Nothing has to be done before or after a transaction that ends well: no connection, no copy of the random state.
    plain: bool,
    /// The one statement of the one transaction of a plain trial that has no more: the commonest of all loads, and the
    /// one whose operations are so short that a walk through a list of one would show.
    only: Option<(&'a Op, &'a Execute)>,
    /// The parts of statements go to histograms of their own.
    phases: bool,
    /// Each statement's start is noted, while they count.
    timed: bool,
    /// Which transactions have each of their operations timed by itself.
    timing: Timing,
    /// The present one has: it stands for how many.
    each: Option<Standing>,
    /// When the operation began that is next to end, where each is timed; 0: the client has done something of its own
    /// since the last one ended.
    since: u64,
    /// No other client shares the thread, and the session is to last.
    alone: bool,
    /// Where the operations go on.
    at: usize,
    /// When the operation that waits began, if it is timed.
    asked: u64,
    /// Nanoseconds spent thinking in the transaction that was last finished.
    pub thought: u64,
    /// What the last try has done.
    pub work: Work,
}

impl<'a, E: Engine> Runner<'a, E> {
    /// A client's runner, without a session yet. `uncounted`: where its statements are counted until [`Self::count_in`].
    pub fn new(shared: &'a Shared<'a, E>, number: u32, uncounted: &'a Live) -> Self {
        let trial = shared.trial;
        let (place, of) = shared.place_of(number);
        Self {
            shared,
            live: uncounted,
            counted: false,
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
            only: only_statement(trial, shared.programs),
            phases: trial.record.phases,
            timed: false,
            timing: Timing::none(),
            each: None,
            since: 0,
            alone: E::REMOTE && trial.connect == ConnectMode::Once && shared.threads >= trial.clients,
            at: 0,
            asked: 0,
            thought: 0,
            work: Work::default(),
        }
    }

    /// From here on its transactions count, or no longer do; `live`: where its statements are counted then.
    pub fn count_in(&mut self, live: &'a Live, counted: bool) {
        let trial = self.shared.trial;
        self.live = live;
        self.counted = counted;
        self.timed = counted && may_be_timed(trial);
        let timed = counted && times_each(trial, self.shared.programs);
        self.timing = if timed {
            Timing::new(E::REMOTE, self.number)
        } else {
            Timing::none()
        };
        self.each = None;
        self.marks.reset();
    }

    /// Opens the session.
    pub async fn connect<T: Timer>(&mut self, recorder: &RefCell<Recorder<'_>>, timer: &T) -> Result<(), Failure> {
        let start = self.shared.clock.now();
        let trial = self.shared.trial;
        let mut session = self.shared.engine.connect(self.number).await?;
        if let Some(delay) = changes::here().and_then(|changes| changes.delay(Kind::Connect)) {
            let own = self.shared.clock.now() - start;
            changes::count(Kind::Connect, own, timer.hold(delay).await);
        }
        let spent = self.shared.clock.now() - start;
        if trial.connect == ConnectMode::PerTransaction {
            if self.counted {
                recorder.borrow_mut().phases.record("connect", spent);
            }
        } else if self.phases {
            recorder.borrow_mut().opened(spent);
        }
        if trial.connect == ConnectMode::Once && trial.prepare == PrepareMode::Once {
            session.prepare_all().await?;
        }
        if self.alone {
            session.hold_up_thread()?;
        }
        self.session = Some(session);
        Ok(())
    }

    /// Closes the session, if one is open.
    pub async fn disconnect(&mut self) {
        if let Some(mut session) = self.session.take() {
            self.closed.add(&session.counters());
            // A session that cannot be closed cleanly is gone all the same, and its transactions have been counted.
            let _ = session.close().await;
        }
    }

    /// Where later values of its counters go on.
    pub fn next_use(&self) -> u64 {
        self.state.next_use()
    }

    /// The counters of all sessions there have been.
    pub fn counters(&mut self) -> SessionCounters {
        let mut sum = self.closed;
        if let Some(session) = &mut self.session {
            sum.add(&session.counters());
        }
        sum
    }

    /// Chooses the next transaction; its number.
    #[inline(always)]
    pub fn choose(&mut self) -> usize {
        if self.only.is_some() {
            return 0;
        }
        self.shared.programs.choose(&mut self.state)
    }

    /// Chooses the next transaction, begins it and runs it as far as it goes without waiting; gives its number. What is not
    /// done is for [`Self::finish`]. `now`: nanoseconds of the clock.
    #[inline(always)]
    pub fn begin_next(&mut self, recorder: &mut Recorder<'_>, now: u64) -> (usize, Stop) {
        if let Some((op, execute)) = self.only {
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
        self.each = self.timing.choose();
        self.since = now;
        self.work = Work::default();
        (chosen, self.go_on(recorder, &self.programs[chosen]))
    }

    /// Runs a statement; an error is why the operations stop at it.
    #[inline(always)]
    fn execute(&mut self, recorder: &mut Recorder<'_>, op: &Op, execute: &Execute) -> Result<Rows, Stop> {
        let Some(session) = &mut self.session else {
            return Err(Stop::NotBegun);
        };
        self.state.make_all(&execute.params, &mut self.params);
        if self.timed {
            self.asked = self.shared.clock.now();
        }
        let mut wanted;
        let capture = if execute.into.is_empty() {
            Capture::nothing()
        } else {
            wanted = Wanted {
                slots: &execute.into,
                variables: &mut self.state.variables,
            };
            Capture::new(&mut wanted)
        };
        match session.execute(execute.statement, &self.params, capture, &mut self.marks) {
            Poll::Ready(Ok(rows)) => {
                self.live.statement(execute.statement, rows);
                if self.timed {
                    let now = self.shared.clock.now();
                    note_phases(recorder, op, &mut self.marks, self.asked, now, self.phases);
                }
                Ok(rows)
            }
            Poll::Ready(Err(failure)) => Err(Stop::Failed(failure)),
            Poll::Pending => Err(Stop::Answer),
        }
    }

    /// Brings a transaction to its end from where it stopped, again after a failure where the policy says so. `end` bounds
    /// the tries. `work` is then what it did, `thought` the time it spent thinking.
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
        // A further try repeats the same transaction, so its random draws must be the same.
        let saved = (retry.attempts > 1).then(|| self.state.save());
        let mut tries = 1;
        loop {
            let outcome = self.try_on(recorder, timer, chosen, stop).await;
            if let Err(failure) = &outcome {
                if self.counted {
                    recorder.borrow_mut().failed_work.add(&self.work);
                }
                self.clean_up(failure).await;
            }
            if self.shared.trial.connect == ConnectMode::PerTransaction {
                self.disconnect().await;
            }
            let failure = match outcome {
                Ok(()) => return Ok(()),
                Err(failure) => failure,
            };
            let again = tries < retry.attempts && retry.covers(failure.kind) && clock.now() < end;
            let Some(saved) = saved.as_ref().filter(|_| again) else {
                return Err(failure);
            };
            self.state.restore(saved);
            tries += 1;
            recorder.borrow_mut().accounting.retries += u64::from(self.counted);
            timer.sleep_until(clock.now() + (retry.wait_ms * 1e6) as u64).await;
            stop = Stop::NotBegun;
        }
    }

    /// One try, from where it stopped to its end.
    async fn try_on<T: Timer>(
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
                    self.each = self.timing.choose();
                    self.since = 0;
                    self.work = Work::default();
                    if self.session.is_none()
                        && let Err(failure) = self.connect(recorder, timer).await
                    {
                        if E::REMOTE {
                            self.pause(timer, KNOCK_AGAIN).await;
                        }
                        return Err(failure);
                    }
                }
                Stop::Answer => self.take_answer(recorder, chosen).await?,
                Stop::Think(pause) => self.pause(timer, pause).await,
            }
            stop = self.go_on(&mut recorder.borrow_mut(), &self.programs[chosen]);
        }
    }

    /// Does nothing for so many nanoseconds.
    async fn pause<T: Timer>(&mut self, timer: &T, nanoseconds: u64) {
        let start = self.shared.clock.now();
        timer.sleep_until(start.saturating_add(nanoseconds)).await;
        self.thought += self.shared.clock.now() - start;
        self.since = 0;
    }

    /// Waits for the answer to the operation that was last begun.
    async fn take_answer(&mut self, recorder: &RefCell<Recorder<'_>>, chosen: usize) -> Result<(), Failure> {
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
        };
        let rows = session.answer(Capture::new(&mut wanted), &mut self.marks).await?;
        let recorder = &mut recorder.borrow_mut();
        if let Op::Execute(execute) = op {
            self.work.statement(rows);
            self.live.statement(execute.statement, rows);
        }
        if self.timed {
            note_phases(
                recorder,
                op,
                &mut self.marks,
                self.asked,
                self.shared.clock.now(),
                self.phases,
            );
        }
        if let Some(standing) = self.each {
            self.note_each(recorder, op, standing);
        }
        Ok(())
    }

    /// After a failure: no transaction may stay open, and a broken session is given up.
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

    /// Runs operations until one has to be waited for, or fails, or all are done.
    fn go_on(&mut self, recorder: &mut Recorder<'_>, program: &Program) -> Stop {
        let mut at = self.at;
        while let Some(op) = program.ops.get(at) {
            at += 1;
            let stop = match op {
                Op::Execute(execute) => {
                    self.begin_each();
                    match self.execute(recorder, op, execute) {
                        Ok(rows) => {
                            self.work.statement(rows);
                            if let Some(standing) = self.each {
                                self.note_each(recorder, op, standing);
                            }
                            None
                        }
                        Err(stop) => Some(stop),
                    }
                }
                Op::Begin(_) | Op::Commit | Op::Rollback => self.control(recorder, op),
                Op::Think { time, unit_ns } => {
                    let pause = self.state.integer(time).max(0) as u64;
                    Some(Stop::Think(pause.saturating_mul(*unit_ns)))
                }
                Op::Evaluate { slot, expression } => {
                    self.since = 0;
                    self.evaluate(*slot, expression)
                }
                _ => {
                    self.since = 0;
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

    /// Sets a variable to what an expression gives; gives the failure where it has no value. Kept out of the loop over the
    /// operations, which is the shorter for it.
    #[inline(never)]
    fn evaluate(&mut self, slot: usize, expression: &Compiled) -> Option<Stop> {
        let message = self.state.evaluate(slot, expression).err()?;
        Some(Stop::Failed(Failure::new(FailureKind::Other, message)))
    }

    /// Adds the time of a transaction that has ended, where its operations were timed.
    #[inline(always)]
    pub fn note_whole(&self, recorder: &mut Recorder<'_>, service: u64) {
        if self.each.is_some() {
            self.note_timed(recorder, service);
        }
    }

    /// Apart, so that the others ask no more than whether they are timed.
    #[inline(never)]
    fn note_timed(&self, recorder: &mut Recorder<'_>, service: u64) {
        if let Some(standing) = self.each {
            recorder.operations.whole(service, standing);
        }
    }

    /// An operation of the session begins: at the end of the one before it, if nothing came between.
    #[inline(always)]
    fn begin_each(&mut self) {
        if self.each.is_some() && self.since == 0 {
            self.since = self.shared.clock.now();
        }
    }

    /// It has ended well; its transaction stands for so many.
    #[inline(always)]
    fn note_each(&mut self, recorder: &mut Recorder<'_>, op: &Op, standing: Standing) {
        let now = self.shared.clock.now();
        recorder.operations.step(op, now - self.since, standing);
        self.since = now;
    }

    /// Begins or ends a transaction; gives why the operations stop at it, if they do.
    fn control(&mut self, recorder: &mut Recorder<'_>, op: &Op) -> Option<Stop> {
        self.begin_each();
        let Some(session) = &mut self.session else {
            return Some(Stop::NotBegun);
        };
        if self.timed {
            self.asked = self.shared.clock.now();
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
                    note_phases(recorder, op, &mut self.marks, self.asked, now, self.phases);
                }
                if let Some(standing) = self.each {
                    self.note_each(recorder, op, standing);
                }
                None
            }
            Poll::Ready(Err(failure)) => Some(Stop::Failed(failure)),
            Poll::Pending => Some(Stop::Answer),
        }
    }
}

/// Whether nothing has to be done before or after a transaction that ends well.
fn is_plain(trial: &Trial) -> bool {
    trial.connect == ConnectMode::Once && trial.retry.attempts <= 1
}

/// The one statement of the one transaction of a plain trial that has no more: its time is the transaction's.
fn only_statement<'a>(trial: &Trial, programs: &'a Programs) -> Option<(&'a Op, &'a Execute)> {
    match programs.all() {
        [program] if is_plain(trial) => match &*program.ops {
            [op @ Op::Execute(execute)] => Some((op, execute)),
            _ => None,
        },
        _ => None,
    }
}

/// Whether each operation of transactions that count is timed by itself.
pub(crate) fn times_each(trial: &Trial, programs: &Programs) -> bool {
    trial.record.operations && only_statement(trial, programs).is_none()
}

/// Whether the starts of a trial's statements are noted while they count.
fn may_be_timed(trial: &Trial) -> bool {
    trial.record.phases || trial.prepare != PrepareMode::Once
}

/// Splits an operation's time where the session marked it.
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
