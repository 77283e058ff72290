//! Work beside the clients: DDL, a backup, a long reader. Each runs in a thread and a session of its own, at times of the
//! window, and doesn't count.

use crate::attempt::{Runner, Stop};
use crate::latency::Timeline;
use crate::live::Live;
use crate::pacing::{ThreadTimer, Timer};
use crate::recorder::{Recorder, Shape};
use crate::runtime::{self, SharedTimer};
use crate::shared::Shared;
use dbdyno_engine::{Engine, Failure};
use dbdyno_program::Programs;
use dbdyno_protocol::event::Execution;
use dbdyno_protocol::plan::PlanError;
use dbdyno_protocol::plan::document::{Arrival, Beside, ConnectMode, FailureKind, Record, Trial};
use dbdyno_protocol::plan::transaction::Transaction;
use std::cell::RefCell;
use std::sync::atomic::Ordering;

/// Maximum number of executions that are reported separately.
const MOST_REPORTED: usize = 1000;

/// Nanoseconds between two checks whether the window has ended.
const POLL_INTERVAL: u64 = 20_000_000;

/// An entry of the plan, with its compiled steps as the only transaction of a trial with one client.
#[derive(Debug)]
pub struct Work {
    name: String,
    at: u64,
    every: Option<u64>,
    trial: Trial,
    programs: Programs,
}

impl Work {
    /// Compiles an entry of a trial, whose statements include the entry's.
    pub fn new(trial: &Trial, beside: &Beside) -> Result<Self, PlanError> {
        let transaction = Transaction {
            name: beside.name.clone(),
            weight: 1.0,
            clients: None,
            steps: beside.steps.clone(),
        };
        let trial = Trial {
            clients: 1,
            part: None,
            interleaving: None,
            arrival: Arrival::Closed,
            connect: ConnectMode::Once,
            record: Record::default(),
            transactions: vec![transaction],
            beside: Vec::new(),
            ..trial.clone()
        };
        let nanoseconds = |seconds: f64| (seconds * 1e9) as u64;
        Ok(Self {
            name: beside.name.clone(),
            at: nanoseconds(beside.at_s),
            every: beside.every_s.map(nanoseconds),
            programs: Programs::continuing(&trial.transactions, trial.statements.len(), trial.first_use)?,
            trial,
        })
    }
}

/// The executions of an entry.
#[derive(Debug, Clone, Default)]
pub struct Report {
    /// Its name.
    pub name: String,
    /// Executions without a failure.
    pub ok: u64,
    /// Executions that failed after all retries.
    pub failed: u64,
    /// The first failure.
    pub failure: Option<Failure>,
    /// The first executions without a failure.
    pub executions: Vec<Execution>,
    /// Seconds of all executions without a failure.
    pub total_s: f64,
    /// The seconds of the longest one.
    pub longest_s: f64,
    /// The first value that a later trial may use for its counters.
    pub next_use: u64,
}

impl Report {
    fn add(&mut self, outcome: Result<(), Failure>, at_s: f64, seconds: f64) {
        if let Err(failure) = outcome {
            self.failed += 1;
            self.failure.get_or_insert(failure);
            return;
        }
        self.ok += 1;
        self.total_s += seconds;
        self.longest_s = self.longest_s.max(seconds);
        if self.executions.len() < MOST_REPORTED {
            self.executions.push(Execution { at_s, seconds });
        }
    }
}

/// Runs an entry in this thread until the window ends. `number`: of its session, after the clients'.
pub(crate) fn run<E: Engine>(shared: &Shared<'_, E>, work: &Work, number: u32) -> Report {
    let own = Shared {
        prepared: 0,
        ..Shared::new(shared.engine, &work.trial, &work.programs, shared.seed, shared.stop)
    };
    if !E::REMOTE {
        let timer = ThreadTimer::new(shared.clock);
        return runtime::run_inline(run_with(shared, &own, work, &timer, number));
    }
    let timer = SharedTimer::new(shared.clock);
    let ran = runtime::run_concurrently(std::iter::once(run_with(shared, &own, work, &timer, number)));
    match ran {
        Ok(mut reports) => reports.pop().unwrap_or_default(),
        Err(error) => {
            let message = format!("cannot start the event loop: {error}");
            let mut report = Report {
                name: work.name.clone(),
                ..Report::default()
            };
            let failure = Failure::new(FailureKind::Other, message);
            report.add(Err(failure), 0.0, 0.0);
            report
        }
    }
}

async fn run_with<E: Engine, T: Timer>(
    shared: &Shared<'_, E>,
    own: &Shared<'_, E>,
    work: &Work,
    timer: &T,
    number: u32,
) -> Report {
    let (live, timeline) = (Live::new(1, own.trial.statements.len()), Timeline::new(u64::MAX));
    let shape = Shape {
        open: false,
        transactions: 0,
        timed_statements: None,
        stages: 0,
    };
    let recorder = RefCell::new(Recorder::new(&live, &timeline, shape));
    let mut runner = Runner::new(own, number, &live);
    let mut report = Report {
        name: work.name.clone(),
        ..Report::default()
    };
    // If this fails, the first execution connects again.
    let _ = runner.connect(&recorder, timer).await;
    if shared.wait_for_window() {
        let start = shared
            .measured_from()
            .unwrap_or_else(|| shared.window_start.load(Ordering::Acquire));
        let seconds = shared.trial.window.seconds;
        let end = seconds.map_or(u64::MAX, |seconds| start + (seconds * 1e9) as u64);
        let mut due = start + work.at;
        while due < end && wait_until(shared, timer, due).await {
            let began = shared.clock.now();
            let outcome = runner.finish(&recorder, timer, 0, Stop::NotBegun, u64::MAX).await;
            let ended = shared.clock.now();
            let seconds = (ended - began).saturating_sub(runner.thought) as f64 / 1e9;
            report.add(outcome, (began - start) as f64 / 1e9, seconds);
            match work.every {
                None => break,
                Some(every) => due = (due + every).max(ended),
            }
        }
    }
    report.next_use = runner.next_use();
    runner.disconnect().await;
    report
}

/// Waits until a time. Returns false if the window ends before.
async fn wait_until<E: Engine, T: Timer>(shared: &Shared<'_, E>, timer: &T, due: u64) -> bool {
    while shared.watched.load(Ordering::Acquire) && !shared.stopped() {
        let now = shared.clock.now();
        if now >= due {
            return true;
        }
        timer.sleep_until(due.min(now + POLL_INTERVAL)).await;
    }
    false
}
