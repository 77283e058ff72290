//! Carries out a plan's task with the engine it names.

use crate::error::WorkError;
use crate::events::Events;
use crate::led::Led;
use crate::writes;
use dbdyno_contract::Problem;
use dbdyno_engines::Engine;
use dbdyno_engines::mongodb::{self, MongodbEngine};
use dbdyno_engines::mysql::{self, MysqlEngine};
use dbdyno_engines::null::NullEngine;
use dbdyno_engines::postgresql::{self, PostgresqlEngine};
use dbdyno_engines::sqlite::{self, CountedEngine, SqliteEngine, Watch, WatchMutexes};
use dbdyno_engines::sqlserver::{self, SqlserverEngine};
use dbdyno_load::{Alone, Event, Site};
use dbdyno_plan::document::{Hold, Inspect, Load, PrepareMode, Trial};
use dbdyno_plan::target::{OsCache, ServerProcess, SqliteTarget, Target};
use dbdyno_plan::{Plan, PlanError, Task};
use dbdyno_probes::Clock;
use rustix::fs::Advice;
use serde_json::json;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

/// Carries out a plan. `stop` ends a window early.
pub fn carry_out(plan: &Plan, events: &Events, stop: &AtomicBool) -> Result<(), WorkError> {
    if let Task::Trial(trial) = &plan.task
        && trial.turns.is_some()
    {
        // The engine's clocks as well.
        Clock::all_stand_still();
    }
    match &plan.task {
        Task::Trial(trial) => match &trial.target {
            Target::Null => measure(&NullEngine, trial, plan.seed, Site::default(), events, stop),
            Target::Sqlite(target) => {
                prepare_os_cache(target)?;
                let watch = Watch {
                    io: trial.record.io,
                    mutexes: match trial.record.mutexes {
                        Some(true) => WatchMutexes::Always,
                        Some(false) => WatchMutexes::Never,
                        // Without a second client nobody can be in the way.
                        None if trial.clients == 1 => WatchMutexes::Never,
                        None => WatchMutexes::Sampled,
                    },
                };
                let site = Site {
                    storage: Some(Path::new(&target.path)),
                    server: None,
                };
                if let Some(groups) = &trial.record.groups {
                    let engine = CountedEngine::new(target, &trial.statements, trial.prepare, groups)?;
                    measure(&engine, trial, plan.seed, site, events, stop)?;
                    events.line(&json!({"event": "counted", "groups": engine.tallies()}))?;
                    return Ok(());
                }
                let engine = SqliteEngine::new(target, &trial.statements, trial.prepare, watch)?;
                measure(&engine, trial, plan.seed, site, events, stop)
            }
            Target::Postgresql(target) => {
                let engine = PostgresqlEngine::new(target, &trial.statements, trial.prepare);
                let site = site_of(target.process.as_ref());
                measure(&engine, trial, plan.seed, site, events, stop)
            }
            Target::Mysql(target) => {
                let engine = MysqlEngine::new(target, &trial.statements, trial.prepare);
                let site = site_of(target.process.as_ref());
                measure(&engine, trial, plan.seed, site, events, stop)
            }
            Target::Sqlserver(target) => {
                let engine = SqlserverEngine::new(target, &trial.statements, trial.prepare);
                measure(&engine, trial, plan.seed, Site::default(), events, stop)
            }
            Target::Mongodb(target) => {
                let engine = MongodbEngine::new(target, &trial.statements)?;
                let site = site_of(target.process.as_ref());
                measure(&engine, trial, plan.seed, site, events, stop)
            }
        },
        Task::Load(load) => fill(load, plan.seed, events),
        Task::SetFile(task) => set_file(&task.target, events),
        Task::Inspect(inspect) => look(inspect, events),
        Task::Writes(task) => writes::find(task, plan.seed, events),
        Task::Hold(task) => hold(task, events, stop),
        Task::Reach(task) => writes::look_beyond(task, events),
        Task::Check(task) => check(&task.target, events),
        Task::Device(device) => {
            let facts = dbdyno_probes::device::measure(
                Path::new(&device.directory),
                device.seconds,
                device.bytes,
                &device.depths,
            )?;
            events.line(&json!({"event": "device", "device": facts}))?;
            Ok(())
        }
    }
}

fn measure<E: Engine>(
    engine: &E,
    trial: &Trial,
    seed: u64,
    site: Site<'_>,
    events: &Events,
    stop: &AtomicBool,
) -> Result<(), WorkError> {
    // Read back before the load: a database that cannot be opened is told at once, and nothing is measured.
    let facts = engine.facts()?;
    let mut written = Ok(());
    let say = |event: Event| {
        let result = match &event {
            Event::Phase(phase) => events.phase(phase),
            Event::Interval(interval) => events.interval(interval),
        };
        if written.is_ok() {
            written = result;
        }
    };
    let outcome = if trial.part.is_none() && trial.turns.is_none() {
        dbdyno_load::run(engine, trial, seed, site, stop, &mut Alone, say)
    } else {
        dbdyno_load::run(
            engine,
            trial,
            seed,
            site,
            stop,
            &mut Led::new(events, trial.turns.is_some()),
            say,
        )
    }?;
    written?;
    events.result(&outcome, &facts, Clock::get().source())
}

fn fill(load: &Load, seed: u64, events: &Events) -> Result<(), WorkError> {
    let report = match &load.target {
        Target::Null => Vec::new(),
        Target::Sqlite(target) => sqlite::load(target, load, seed)?,
        Target::Postgresql(target) => postgresql::load(target, load, seed)?,
        Target::Mysql(target) => mysql::load(target, load, seed)?,
        Target::Sqlserver(target) => sqlserver::load(target, load, seed)?,
        Target::Mongodb(target) => mongodb::load(target, load, seed)?,
    };
    events.line(&json!({"event": "loaded", "tables": report}))?;
    Ok(())
}

fn set_file(target: &Target, events: &Events) -> Result<(), WorkError> {
    let Target::Sqlite(target) = target else {
        return Err(WorkError::Plan(PlanError::Invalid {
            place: "task.target".into(),
            problem: "only SQLite has a file that keeps settings".into(),
        }));
    };
    sqlite::set_file(target)?;
    events.line(&json!({"event": "file_set"}))?;
    Ok(())
}

fn look(inspect: &Inspect, events: &Events) -> Result<(), WorkError> {
    let facts = match &inspect.target {
        Target::Null => NullEngine.facts()?,
        Target::Sqlite(target) => SqliteEngine::new(target, &[], PrepareMode::Once, Watch::default())?.facts()?,
        Target::Postgresql(target) => PostgresqlEngine::new(target, &[], PrepareMode::Once).facts()?,
        Target::Mysql(target) => MysqlEngine::new(target, &[], PrepareMode::Once).facts()?,
        Target::Sqlserver(target) => SqlserverEngine::new(target, &[], PrepareMode::Once).facts()?,
        Target::Mongodb(target) => MongodbEngine::new(target, &[])?.facts()?,
    };
    events.line(&json!({"event": "facts", "engine": facts}))?;
    Ok(())
}

/// Holds a lock on a server until nobody is left to tell it more.
fn hold(task: &Hold, events: &Events, stop: &AtomicBool) -> Result<(), WorkError> {
    let ended = std::thread::spawn(|| std::io::copy(&mut std::io::stdin(), &mut std::io::sink()));
    let over = || stop.load(Ordering::Relaxed) || ended.is_finished();
    let mut written = Ok(());
    let mut say = |abandoned: Vec<String>| written = events.line(&json!({"event": "held", "abandoned": abandoned}));
    match &task.target {
        Target::Postgresql(target) => postgresql::hold(target, &task.token, &mut say, &over)?,
        Target::Mysql(target) => mysql::hold(target, &task.token, &mut say, &over)?,
        _ => {
            return Err(WorkError::Plan(PlanError::Invalid {
                place: "task.target".into(),
                problem: "only PostgreSQL, MariaDB and MySQL have locks of sessions".into(),
            }));
        }
    }
    written?;
    Ok(())
}

/// Makes the checks, and writes an event as each ends.
fn check(target: &Target, events: &Events) -> Result<(), WorkError> {
    let mut written = Ok(());
    dbdyno_contract::check(target, &mut |name, outcome| {
        let (outcome, why) = match outcome {
            Ok(()) => ("ok", None),
            Err(Problem::Failed(why)) => ("failed", Some(why)),
            Err(Problem::NotApplicable(why)) => ("not applicable", Some(why)),
        };
        if written.is_ok() {
            let name = name.replace('_', " ");
            written = events.line(&json!({"event": "check", "name": name, "outcome": outcome, "why": why}));
        }
    })?;
    written?;
    events.line(&json!({"event": "checked"}))?;
    Ok(())
}

fn site_of(process: Option<&ServerProcess>) -> Site<'_> {
    Site {
        storage: process.map(|process| Path::new(process.data.as_str())),
        server: process.map(|process| process.pid),
    }
}

/// Brings the operating system's cache of the database into the state the plan asks for.
fn prepare_os_cache(target: &SqliteTarget) -> Result<(), WorkError> {
    let path = Path::new(&target.path);
    if !path.exists() {
        return Ok(());
    }
    let wrong = |what: &str| {
        let what = format!("{what} {}", path.display());
        move |error: std::io::Error| WorkError::Output(std::io::Error::new(error.kind(), format!("{what}: {error}")))
    };
    let mut file = std::fs::File::open(path).map_err(wrong("opening"))?;
    match target.os_cache {
        OsCache::Warm => {
            std::io::copy(&mut file, &mut std::io::sink()).map_err(wrong("reading"))?;
        }
        OsCache::Cold => {
            // Only pages that are on the device can be dropped.
            file.sync_all().map_err(wrong("syncing"))?;
            rustix::fs::fadvise(&file, 0, None, Advice::DontNeed)
                .map_err(|error| wrong("dropping the cached pages of")(error.into()))?;
        }
    }
    Ok(())
}
