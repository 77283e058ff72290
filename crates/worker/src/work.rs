//! Runs a plan's task with the engine that it names.

use crate::changes;
use crate::coordinator::StdioCoordinator;
use crate::error::WorkError;
use crate::events::Events;
use crate::latency::ms;
use crate::query;
use crate::result::result;
use crate::writes;
use dbdyno_engine::Engine;
use dbdyno_engine::driver::{Driver as _, Measure, Problem, Site};
use dbdyno_engine::result_rows::RowEngine;
use dbdyno_engines::Target;
use dbdyno_load::{Event as LoadEvent, LocalCoordinator};
use dbdyno_probes::Clock;
use dbdyno_protocol::event::{BtreeAnswer, CheckOutcome, Event, Interval, ServiceTimes};
use dbdyno_protocol::plan::document::{Hold, Means, Question, Trial};
use dbdyno_protocol::plan::{Plan, Task};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

/// Maximum suspension within a window in seconds. A finding reports shorter stalls.
const LONGEST_PAUSE_S: f64 = 0.5;

/// Carries out a plan. `stop` ends a window early; `suspended` is set if the process was suspended.
pub fn carry_out(plan: &Plan, events: &Events, stop: &AtomicBool, suspended: &AtomicBool) -> Result<(), WorkError> {
    match &plan.task {
        Task::Trial(trial) => {
            if trial.interleaving.is_some() {
                // This affects the engine's clocks too.
                Clock::all_stand_still();
            }
            let seed = plan.seed;
            let target = Target::try_from(&trial.target)?;
            changes::check(trial, target.changeable())?;
            // The engine knows all statements; the load distinguishes the statements of the clients.
            target.measure(
                &trial.with_all_statements(),
                TrialRun {
                    trial,
                    seed,
                    events,
                    stop,
                    suspended,
                },
            )?
        }
        Task::Load(load) => {
            load.check_limits()?;
            let report = Target::try_from(&load.target)?.load(load, plan.seed)?;
            events.write(&Event::Loaded { tables: report })?;
            Ok(())
        }
        Task::SetFile(task) => {
            Target::try_from(&task.target)?.set_file()?;
            events.write(&Event::FileSet)?;
            Ok(())
        }
        Task::Inspect(task) => {
            let facts = Target::try_from(&task.target)?.facts()?;
            events.write(&Event::Facts { engine: facts })?;
            Ok(())
        }
        Task::Writes(task) => writes::find(task, plan.seed, events),
        Task::Ask(task) => query::ask(task, events),
        Task::Hold(task) => hold_lock(task, events, stop),
        Task::Reach(task) => writes::find_external_access(task, events),
        Task::Check(task) => check(&Target::try_from(&task.target)?, events),
        Task::Space(task) => {
            let objects = Target::try_from(&task.target)?.space(&task.tables)?;
            events.write(&Event::Space { objects })?;
            Ok(())
        }
        Task::Btree(task) => {
            let answers = task.questions.iter().map(answer).collect();
            events.write(&Event::Btree { answers })?;
            Ok(())
        }
        Task::Device(device) => {
            device.check_limits()?;
            let facts = dbdyno_probes::device::measure(
                Path::new(&device.directory),
                device.seconds,
                device.bytes,
                &device.depths,
            )?;
            events.write(&Event::Device { device: facts })?;
            Ok(())
        }
    }
}

/// The effect of inserts on a B-tree, or why it cannot be computed.
fn answer(question: &Question) -> BtreeAnswer {
    let found = match question.by {
        Means::Formula => dbdyno_btree::estimate(&question.setting),
        Means::Simulation => dbdyno_btree::simulate(&question.setting),
    };
    match found {
        Ok(report) => BtreeAnswer {
            report: Some(report),
            impossible: None,
        },
        Err(error) => BtreeAnswer {
            report: None,
            impossible: Some(error.to_string()),
        },
    }
}

/// A trial to run on an engine.
struct TrialRun<'a> {
    trial: &'a Trial,
    seed: u64,
    events: &'a Events,
    stop: &'a AtomicBool,
    suspended: &'a AtomicBool,
}

impl Measure for TrialRun<'_> {
    type Output = Result<(), WorkError>;

    fn measure<E: Engine>(self, engine: &E, site: Site<'_>) -> Self::Output {
        if !self.trial.record.rows {
            return self.run(engine, site);
        }
        let (recorded, events) = (RowEngine::new(engine), self.events);
        self.run(&recorded, site)?;
        events.write(&Event::Rows {
            executions: recorded.executions(),
        })?;
        Ok(())
    }
}

impl TrialRun<'_> {
    fn run<E: Engine>(self, engine: &E, site: Site<'_>) -> Result<(), WorkError> {
        let Self {
            trial,
            seed,
            events,
            stop,
            suspended,
        } = self;
        // Read the facts before the load, so that a database that cannot be opened fails at once, before measuring.
        let facts = engine.facts()?;
        let mut written = Ok(());
        let emit = |event: LoadEvent| {
            let result = events.write(&match &event {
                LoadEvent::Phase(phase) => Event::Phase { phase },
                LoadEvent::Interval(interval) => Event::Interval(interval_event(interval)),
            });
            if written.is_ok() {
                written = result;
            }
        };
        let outcome = if trial.part.is_none() && trial.interleaving.is_none() {
            dbdyno_load::run(engine, trial, seed, site, stop, &mut LocalCoordinator, emit)
        } else {
            dbdyno_load::run(
                engine,
                trial,
                seed,
                site,
                stop,
                &mut StdioCoordinator::new(events, trial.interleaving.is_some()),
                emit,
            )
        }?;
        written?;
        if suspended.load(Ordering::Relaxed) && outcome.late_s > LONGEST_PAUSE_S {
            return Err(WorkError::Suspended);
        }
        let found = result(&outcome, &facts, Clock::get().source())?;
        events.write(&Event::Result(Box::new(found)))?;
        if let Some(groups) = engine.probe().tallies() {
            events.write(&Event::Counted { groups })?;
        }
        Ok(())
    }
}

/// The event for an interval.
fn interval_event(interval: &dbdyno_load::Interval) -> Interval {
    Interval {
        index: interval.index,
        start_s: interval.span_s.0,
        end_s: interval.span_s.1,
        ok: interval.counts.ok,
        failed: interval.counts.failed,
        statements: interval.counts.statements,
        rows: interval.counts.rows,
        service_ms: interval.service_ns.map(|(p50, p99, max)| ServiceTimes {
            p50: ms(p50),
            p99: ms(p99),
            max: ms(max),
        }),
        cpu_percent: interval.cpu.process_percent,
        hottest_thread_percent: interval.cpu.hottest_thread_percent,
        machine_percent: interval.cpu.machine_percent,
        disk: interval.disk.clone(),
    }
}

/// Holds a lock on a server until standard input is closed.
fn hold_lock(task: &Hold, events: &Events, stop: &AtomicBool) -> Result<(), WorkError> {
    let ended = std::thread::spawn(|| std::io::copy(&mut std::io::stdin(), &mut std::io::sink()));
    let over = || stop.load(Ordering::Relaxed) || ended.is_finished();
    let mut written = Ok(());
    let mut report = |abandoned: Vec<String>| written = events.write(&Event::Held { abandoned });
    Target::try_from(&task.target)?.hold_lock(&task.token, &mut report, &over)?;
    written?;
    Ok(())
}

/// Runs the checks and writes an event for each result.
fn check(target: &Target, events: &Events) -> Result<(), WorkError> {
    let mut written = Ok(());
    target.check(&mut |name, outcome| {
        let (outcome, why) = match outcome {
            Ok(()) => (CheckOutcome::Ok, None),
            Err(Problem::Failed(why)) => (CheckOutcome::Failed, Some(why)),
            Err(Problem::NotApplicable(why)) => (CheckOutcome::NotApplicable, Some(why)),
        };
        if written.is_ok() {
            let name = name.replace('_', " ");
            written = events.write(&Event::Check {
                name,
                outcome,
                why: why.cloned(),
            });
        }
    })?;
    written?;
    events.write(&Event::Checked)?;
    Ok(())
}
