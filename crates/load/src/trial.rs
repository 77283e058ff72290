//! One trial from start to end: the clients' threads, their phases, the timeline, and the result.

use crate::accounting;
use crate::beside::{self, Work};
use crate::capacity;
use crate::coordinate::coordinate;
use crate::coordinator::Coordinator;
use crate::error::TrialError;
use crate::event::Event;
use crate::latency::Timeline;
use crate::live::Live;
use crate::outcome::{Outcome, conclude};
use crate::preloaded::Preloaded;
use crate::shared::Shared;
use crate::threads::{give_way, run_thread, threads};
use dbdyno_engine::changes::Changes;
use dbdyno_engine::driver::Site;
use dbdyno_engine::observed::{Counters, Observed, rise};
use dbdyno_engine::waits::Waits;
use dbdyno_engine::{Engine, Failure};
use dbdyno_probes::disk::Disk;
use dbdyno_probes::locks::{self, LockHolders, LockRange};
use dbdyno_program::{Execute, Op, Programs};
use dbdyno_protocol::plan::PlanError;
use dbdyno_protocol::plan::document::{Arrival, Trial};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};

/// Runs a trial.
///
/// Setting `stop` ends the window early. `coordinator` decides when its phases start.
pub fn run<E: Engine>(
    engine: &E,
    trial: &Trial,
    seed: u64,
    site: Site<'_>,
    stop: &AtomicBool,
    coordinator: &mut impl Coordinator,
    mut emit: impl FnMut(Event),
) -> Result<Outcome, TrialError> {
    let programs = Programs::continuing(&trial.transactions, trial.statements.len(), trial.first_use)?;
    if programs.shares_keys() && trial.part.is_some() {
        let problem = "clients of several processes cannot share keys; run them as threads of one process";
        return Err(PlanError::invalid("task.part", problem).into());
    }
    let all = trial.with_all_statements();
    let beside: Vec<Work> = all
        .beside
        .iter()
        .map(|each| Work::new(&all, each))
        .collect::<Result<_, _>>()?;
    check(trial, E::REMOTE)?;
    if E::PLACES {
        check_values(trial, &programs)?;
    }
    capacity::check::<E>(trial.clients)?;
    let preloaded = preloaded(trial)?;
    let threads = threads::<E>(trial);
    let shared = Shared {
        changes: trial.changes.as_ref().map(Changes::of),
        preloaded: preloaded.as_ref(),
        threads,
        alone: coordinator.alone(),
        give_way: give_way::<E>(trial, &programs),
        ..Shared::new(engine, trial, &programs, seed, stop)
    };
    let live: Vec<Live> = (0..threads)
        .map(|_| Live::new(trial.transactions.len(), trial.statements.len()))
        .collect();
    let timeline = Timeline::new(trial.record.interval_ms * 1_000_000);
    let finished = AtomicU32::new(0);
    let first_error: Mutex<Option<(u32, Failure)>> = Mutex::new(None);
    // Disk counters cover all interleaved trials, so they are meaningless for one of them.
    let counted = engine.probe().counters();
    let put_off = engine.probe().backlog().and_then(Result::ok);
    let disk = site.storage.filter(|_| trial.interleaving.is_none()).and_then(Disk::of);
    emit(Event::Phase("connect"));
    std::thread::scope(|scope| {
        let mut handles = Vec::with_capacity(threads as usize);
        for (number, live) in live.iter().enumerate() {
            let number = number as u32;
            let (shared, timeline, finished, first_error) = (&shared, &timeline, &finished, &first_error);
            let body = move || {
                let _broken = ArrivalGuard { shared, finished };
                let (record, failures) = run_thread(shared, live, timeline, number, threads);
                if let Some(failure) = failures {
                    let mut first = first_error.lock().unwrap_or_else(PoisonError::into_inner);
                    if first.as_ref().is_none_or(|(other, _)| failure.0 < *other) {
                        *first = Some(failure);
                    }
                }
                finished.fetch_add(1, Ordering::Release);
                shared.coordinator.unpark();
                shared.wait_for_release();
                record
            };
            let builder = std::thread::Builder::new().name(format!("client-{number}"));
            match builder.spawn_scoped(scope, body) {
                Ok(handle) => handles.push(handle),
                Err(error) => {
                    // The clients that were started wait for a start that will never be announced.
                    shared.announce(&shared.warmup_start, u64::MAX);
                    shared.release();
                    return Err(TrialError::Thread(format!(
                        "thread {} of {threads} for the clients could not be started ({error}): use fewer clients, or \
                         raise the limits of memory and processes (`ulimit -v`, `ulimit -u`)",
                        number + 1
                    )));
                }
            }
        }
        // Without a thread to sample them, the waits of the server's sessions are unknown.
        let builder = std::thread::Builder::new().name("waits".into());
        let waits = (E::REMOTE && trial.record.waits)
            .then(|| builder.spawn_scoped(scope, || sample_waits(&shared)).ok())
            .flatten();
        let builder = std::thread::Builder::new().name("locks".into());
        let storage = site.storage.filter(|_| !site.locks.is_empty());
        let holders = storage.and_then(|data| {
            let shared = &shared;
            builder
                .spawn_scoped(scope, move || lock_holders(shared, data, site.locks))
                .ok()
        });
        // Several processes have one session for it, in the first process.
        let beside = beside.iter().filter(|_| trial.part.is_none_or(|part| part.first == 0));
        let beside: Vec<_> = (trial.clients..)
            .zip(beside)
            .map(|(number, work)| {
                let shared = &shared;
                let builder = std::thread::Builder::new().name("beside".into());
                builder.spawn_scoped(scope, move || beside::run(shared, work, number))
            })
            .collect();
        let watched = coordinate(
            &shared,
            &live,
            &timeline,
            (disk.as_ref(), site),
            &finished,
            coordinator,
            &mut emit,
        );
        shared.release();
        let mut records = Vec::with_capacity(handles.len());
        for handle in handles {
            let record = handle
                .join()
                .map_err(|_| TrialError::Thread("a client's thread panicked".into()))?;
            records.push(record);
        }
        if let Some((client, failure)) = first_error.lock().unwrap_or_else(PoisonError::into_inner).take() {
            return Err(TrialError::Connect { client, failure });
        }
        let watched = watched?;
        let mut outcome = conclude(&shared, records, &watched, disk.as_ref());
        for started in beside {
            let handle =
                started.map_err(|error| TrialError::Thread(format!("a thread could not be started ({error})")))?;
            let report = handle
                .join()
                .map_err(|_| TrialError::Thread("a thread beside the clients panicked".into()))?;
            outcome.next_use = outcome.next_use.max(report.next_use);
            outcome.beside.push(report);
        }
        outcome.waits = waits.and_then(|handle| handle.join().ok()).flatten();
        outcome.lock_holders = holders
            .and_then(|handle| handle.join().ok())
            .flatten()
            .filter(|found| !found.holders.is_empty());
        if let (Some(before), Some(observed)) = (counted, &mut outcome.observed) {
            observe(engine, before, observed);
        }
        if let Some(observed) = &mut outcome.observed {
            observed.acknowledged = outcome.completed + outcome.besides;
            observed.backlog_before = put_off.unwrap_or_default();
        }
        accounting::check(&outcome.accounting)?;
        Ok(outcome)
    })
}

/// If a thread panics, counts its clients as arrived so that the coordinator doesn't wait for them.
struct ArrivalGuard<'a, 'b, E: Engine> {
    shared: &'a Shared<'b, E>,
    finished: &'a AtomicU32,
}

impl<E: Engine> Drop for ArrivalGuard<'_, '_, E> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.shared.break_off();
            self.finished.fetch_add(1, Ordering::Release);
            self.shared.coordinator.unpark();
        }
    }
}

/// Reads the increase of the engine's counters, after all sessions are closed.
fn observe<E: Engine>(engine: &E, before: Result<Counters, Failure>, observed: &mut Observed) {
    let after = engine.probe().counters().unwrap_or_else(|| Ok(Counters::new()));
    match before.and_then(|before| Ok(rise(&before, &after?))) {
        Ok(counters) => observed.counters = counters,
        Err(failure) => observed.error = Some(failure.message.clone()),
    }
}

/// Samples which other programs lock the data during the window.
fn lock_holders<E: Engine>(shared: &Shared<'_, E>, data: &Path, ranges: &[LockRange]) -> Option<LockHolders> {
    shared
        .wait_for_window()
        .then(|| locks::sample(data, ranges, || shared.watched.load(Ordering::Acquire)))
}

/// Samples the waits of the server's sessions during the window.
fn sample_waits<E: Engine>(shared: &Shared<'_, E>) -> Option<Result<Waits, Failure>> {
    if !shared.wait_for_window() {
        return None;
    }
    shared
        .engine
        .probe()
        .sample_waits(&|| shared.watched.load(Ordering::Acquire))
}

/// The server's preloaded changes. If the clients are several processes, the first one controls them.
fn preloaded(trial: &Trial) -> Result<Option<Preloaded>, TrialError> {
    match &trial.changes {
        Some(changes) if trial.part.is_none_or(|part| part.first == 0) => Preloaded::of(changes),
        _ => Ok(None),
    }
}

/// Fails unless each step gives a value for each parameter of its statement.
fn check_values(trial: &Trial, programs: &Programs) -> Result<(), PlanError> {
    for op in programs.all().iter().flat_map(|program| &program.ops) {
        let Op::Execute(Execute { statement, params, .. }) = op else {
            continue;
        };
        let (given, places) = (params.len(), trial.statements[*statement].places.len());
        if given != places && trial.statements[*statement].copied().is_none() {
            let problem = format!(
                "the statement has {places} places, but a step gives {given} values; list the byte offset of each `?`"
            );
            return Err(PlanError::invalid(
                format!("task.statements[{statement}].places"),
                problem,
            ));
        }
    }
    Ok(())
}

/// Checks constraints that the types of a plan don't express.
fn check(trial: &Trial, remote: bool) -> Result<(), TrialError> {
    let wrong = |place: &str, problem: &str| {
        Err(TrialError::Plan(PlanError::Invalid {
            place: place.into(),
            problem: problem.into(),
        }))
    };
    trial.check_limits()?;
    let window = &trial.window;
    let amounts = [window.transactions, window.statements, window.rows];
    if window.seconds.is_none() && amounts.iter().all(Option::is_none) {
        return wrong(
            "task.window",
            "the window needs an end: seconds, transactions, statements or rows",
        );
    }
    if trial
        .part
        .is_some_and(|part| part.first.checked_add(trial.clients).is_none_or(|end| end > part.of))
    {
        return wrong("task.part", "more clients than all processes have together");
    }
    if let Some(interleaving) = trial.interleaving {
        if interleaving.index >= interleaving.of {
            return wrong("task.interleaving.index", "must be less than `of`");
        }
        if !matches!(trial.arrival, Arrival::Closed) {
            return wrong(
                "task.interleaving",
                "open-loop transactions start by the clock and cannot be interleaved",
            );
        }
        if remote {
            return wrong(
                "task.interleaving",
                "clients of a server cannot be interleaved, because the server isn't suspended",
            );
        }
    }
    if let Some(changes) = &trial.changes {
        changes.check()?;
    }
    Ok(())
}
