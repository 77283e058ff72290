//! The event with a trial's result, made from the load's measurements.

use crate::latency::{self, EncodingFailed, encode};
use dbdyno_load::latency::Latencies;
use dbdyno_load::operations::CONTROLS;
use dbdyno_load::outcome::Outcome;
use dbdyno_protocol::event::result::{
    Beside, BusyThread, Interleaving, Io, Memory, Operations, ProcessIo, Scheduling, Segments, Server, ServerCpu,
    Stage, StatementCounts, Tier, Time, TransactionCounts, WaitsOrError, Warmup, Work,
};
use dbdyno_protocol::event::{Facts, TrialResult};
use std::collections::BTreeMap;

/// The result of a trial. `clock`: the source of the worker's time. Fails if a histogram cannot be encoded.
pub fn result<'a>(outcome: &'a Outcome, facts: &'a Facts, clock: &'a str) -> Result<TrialResult<'a>, EncodingFailed> {
    let mut histograms = BTreeMap::new();
    let mut latency_ms = BTreeMap::new();
    let answers = if outcome.histograms.contains_key("response") {
        "response"
    } else {
        "service"
    };
    for (name, histogram) in &outcome.histograms {
        histograms.insert(*name, encode(histogram)?);
        let at_least = outcome.histograms.get("at_least").filter(|_| *name == answers);
        latency_ms.insert(*name, latency::summary(histogram, at_least));
    }
    let transactions = outcome.transactions.iter();
    let statements = outcome.statements.iter();
    let time = &outcome.time;
    Ok(TrialResult {
        accounting: &outcome.accounting,
        failures: &outcome.messages,
        failed_by_code: outcome.failures.all(),
        completed: outcome.completed,
        besides: outcome.besides,
        next_use: outcome.next_use,
        began_ns: outcome.began_ns,
        rate: &outcome.rate,
        cycles: outcome.cycles,
        elapsed_s: outcome.elapsed_s,
        watched_s: outcome.watched_s,
        ended_by: outcome.ended_by,
        warmup: Warmup {
            seconds: outcome.warmup_s,
        },
        interleaving: outcome
            .interleaving
            .map(|(overrun_s, real_s)| Interleaving { overrun_s, real_s }),
        transactions: transactions
            .map(|(name, ok, failed)| {
                (
                    name.as_str(),
                    TransactionCounts {
                        ok: *ok,
                        failed: *failed,
                    },
                )
            })
            .collect(),
        statements: statements
            .map(|(name, executions, rows, changed)| {
                let counts = StatementCounts {
                    executions: *executions,
                    rows: *rows,
                    changed: *changed,
                };
                (name.as_str(), counts)
            })
            .collect(),
        work: Work {
            transactions: outcome.completed,
            statements: outcome.work.statements,
            rows_returned: outcome.work.returned,
            rows_returned_squared: outcome.returned_squared,
            rows_changed: outcome.work.changed,
            transactions_changing: outcome.changing,
        },
        stages: outcome.stages.iter().map(stage).collect::<Result<_, _>>()?,
        beside: outcome
            .beside
            .iter()
            .map(|each| Beside {
                name: &each.name,
                failed: each.failed,
                failure: each.failure.as_ref().map(|failure| failure.message.as_str()),
                executions: &each.executions,
                ok: each.ok,
                total_s: each.total_s,
                longest_s: each.longest_s,
            })
            .collect(),
        histograms,
        operations: operations(outcome)?,
        latency_ms,
        cpu: &outcome.cpu,
        throttling: outcome.throttling.iter().copied().collect(),
        server: outcome.server_cpu_percent.map(|process_percent| Server {
            cpu: ServerCpu { process_percent },
            run_queue_wait_s: outcome.server_run_queue_s,
        }),
        tiers: outcome
            .tiers
            .iter()
            .map(|tier| Tier {
                name: &tier.name,
                cpu_percent: tier.cpu_percent,
                threads: tier
                    .threads
                    .iter()
                    .map(|(name, pid, cpu_percent)| BusyThread {
                        name,
                        pid: *pid,
                        cpu_percent: *cpu_percent,
                    })
                    .collect(),
            })
            .collect(),
        scheduling: Scheduling {
            voluntary_switches: outcome.switches.0,
            involuntary_switches: outcome.switches.1,
            run_queue_wait_s: seconds(time.run_queue),
            batch_threads: outcome.gave_way,
        },
        disk: outcome.disk.as_ref(),
        flushes: outcome.flushes.as_ref(),
        process_io: ProcessIo {
            read_bytes: outcome.process_io.0,
            write_bytes: outcome.process_io.1,
        },
        engine: facts,
        time: Time {
            client_s: seconds(time.total),
            cpu_s: seconds(time.cpu),
            segments: segments(time),
        },
        io: Io {
            reads: outcome.thread.reads,
            read_bytes: outcome.thread.read_bytes,
            writes: outcome.thread.writes,
            write_bytes: outcome.thread.write_bytes,
            syncs: outcome.thread.syncs,
            lock_calls: outcome.thread.lock_calls,
            file_lock_waits: outcome.thread.file_lock_waits,
            cache_hits: outcome.session.cache_hits,
            cache_misses: outcome.session.cache_misses,
            cache_spills: outcome.session.cache_spills,
        },
        mutex: outcome.contention.as_ref(),
        observed: outcome.observed.as_ref(),
        waits: outcome.waits.as_ref().map(|waits| match waits {
            Ok(waits) => WaitsOrError::Seen(waits),
            Err(failure) => WaitsOrError::Error {
                error: &failure.message,
            },
        }),
        lock_holders: outcome.lock_holders.as_ref(),
        changes: outcome.changed.as_ref(),
        memory: Memory {
            peak_rss_bytes: outcome.peak_rss_bytes,
        },
        clock,
    })
}

fn stage(stage: &dbdyno_load::recorder::Stage) -> Result<Stage, EncodingFailed> {
    Ok(Stage {
        scheduled: stage.scheduled,
        ok: stage.ok,
        failed: stage.failed,
        skipped: stage.skipped,
        response: encode(&stage.response)?,
        at_least: encode(&stage.at_least)?,
    })
}

/// The histograms of transactions, statements and controls, without empty ones.
fn operations(outcome: &Outcome) -> Result<Option<Operations<'_>>, EncodingFailed> {
    let transactions = outcome.transactions.iter().map(|(name, ..)| name.as_str());
    let statements = outcome.statements.iter().map(|(name, ..)| name.as_str());
    let Some(times) = &outcome.operations else {
        return Ok(None);
    };
    Ok(Some(Operations {
        transactions: encode_each(transactions, &times.transactions)?,
        statements: encode_each(statements, &times.statements)?,
        controls: encode_each(CONTROLS.into_iter(), &times.controls)?,
        timed_s: seconds(times.timed),
    }))
}

fn encode_each<'a>(
    names: impl Iterator<Item = &'a str>,
    histograms: &[Latencies],
) -> Result<BTreeMap<&'a str, String>, EncodingFailed> {
    let named = names.zip(histograms).filter(|(_, histogram)| !histogram.is_empty());
    named.map(|(name, histogram)| Ok((name, encode(histogram)?))).collect()
}

fn segments(time: &dbdyno_load::time::Time) -> Segments {
    Segments {
        sync: seconds(time.sync),
        read: seconds(time.read),
        write: seconds(time.write),
        lock_calls: seconds(time.lock_calls),
        mutex_wait: seconds(time.mutex_wait),
        client: seconds(time.client),
        server: seconds(time.server),
        file_lock_wait: seconds(time.file_lock_wait),
        prepare: seconds(time.prepare),
        idle: seconds(time.idle),
        run_queue: seconds(time.run_queue),
        engine: seconds(time.engine),
        unknown: seconds(time.unknown),
    }
}

fn seconds(nanoseconds: u64) -> f64 {
    nanoseconds as f64 / 1e9
}
