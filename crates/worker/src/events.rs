//! The events a worker writes: one JSON object a line. `docs/plan-format.md` describes them.

use crate::error::WorkError;
use dbdyno_engine::Facts;
use dbdyno_load::latency::Latencies;
use dbdyno_load::{Interval, Outcome};
use hdrhistogram::serialization::{Serializer as _, V2DeflateSerializer};
use serde_json::{Map, Value, json};
use std::io::Write as _;

/// Standard output, as events.
#[derive(Debug, Default)]
pub struct Events;

impl Events {
    /// Writes one line.
    pub fn line(&self, event: &Value) -> Result<(), std::io::Error> {
        let mut text = event.to_string();
        text.push('\n');
        let mut out = std::io::stdout().lock();
        out.write_all(text.as_bytes())?;
        out.flush()
    }

    /// The plan could not be carried out.
    pub fn error(&self, error: &WorkError) -> Result<(), std::io::Error> {
        self.line(&json!({"event": "error", "kind": error.kind(), "message": error.to_string()}))
    }

    /// A phase of a trial begins.
    pub fn phase(&self, phase: &str) -> Result<(), std::io::Error> {
        self.line(&json!({"event": "phase", "phase": phase}))
    }

    /// An interval of a trial's window is over.
    pub fn interval(&self, interval: &Interval) -> Result<(), std::io::Error> {
        let service_ms = interval
            .service_ns
            .map(|(p50, p99, max)| json!({"p50": ms(p50), "p99": ms(p99), "max": ms(max)}));
        self.line(&json!({
            "event": "interval",
            "index": interval.index,
            "start_s": interval.span_s.0,
            "end_s": interval.span_s.1,
            "ok": interval.counts.ok,
            "failed": interval.counts.failed,
            "statements": interval.counts.statements,
            "rows": interval.counts.rows,
            "service_ms": service_ms,
            "cpu_percent": interval.cpu.process_percent,
            "hottest_thread_percent": interval.cpu.hottest_thread_percent,
            "machine_percent": interval.cpu.machine_percent,
            "disk": interval.disk,
        }))
    }

    /// A trial has ended.
    pub fn result(&self, outcome: &Outcome, facts: &Facts, clock: &str) -> Result<(), WorkError> {
        let mut histograms = Map::new();
        let mut latencies = Map::new();
        let answers = if outcome.histograms.contains_key("response") {
            "response"
        } else {
            "service"
        };
        for (name, histogram) in &outcome.histograms {
            histograms.insert((*name).to_owned(), Value::String(encode(histogram)?));
            let at_least = outcome.histograms.get("at_least").filter(|_| *name == answers);
            latencies.insert((*name).to_owned(), summary(histogram, at_least));
        }
        let seconds = |nanoseconds: u64| nanoseconds as f64 / 1e9;
        let time = &outcome.time;
        self.line(&json!({
            "event": "result",
            "accounting": outcome.accounting,
            "failures": outcome.messages,
            "completed": outcome.completed,
            "rate": outcome.rate,
            "cycles": outcome.cycles,
            "elapsed_s": outcome.elapsed_s,
            "watched_s": outcome.watched_s,
            "ended_by": outcome.ended_by,
            "warmup": {"seconds": outcome.warmup_s},
            "interleaving": outcome.interleaving.map(|(overrun_s, real_s)| json!({"overrun_s": overrun_s, "real_s": real_s})),
            "transactions": outcome.transactions.iter()
                .map(|(name, ok, failed)| (name.clone(), json!({"ok": ok, "failed": failed}))).collect::<Map<_, _>>(),
            "statements": outcome.statements.iter()
                .map(|(name, executions, rows, changed)|
                    (name.clone(), json!({"executions": executions, "rows": rows, "changed": changed})))
                .collect::<Map<_, _>>(),
            "work": {
                "transactions": outcome.completed,
                "statements": outcome.work.statements,
                "rows_returned": outcome.work.returned,
                "rows_returned_squared": outcome.returned_squared,
                "rows_changed": outcome.work.changed,
                "transactions_changing": outcome.changing,
            },
            "histograms": histograms,
            "latency_ms": latencies,
            "cpu": outcome.cpu,
            "server": outcome.server_cpu_percent.map(|percent| json!({"cpu": {"process_percent": percent}})),
            "scheduling": {
                "voluntary_switches": outcome.switches.0,
                "involuntary_switches": outcome.switches.1,
                "run_queue_wait_s": seconds(time.run_queue),
                "batch_threads": outcome.gave_way,
            },
            "disk": outcome.disk,
            "process_io": {"read_bytes": outcome.process_io.0, "write_bytes": outcome.process_io.1},
            "engine": facts,
            "time": {
                "client_s": seconds(time.total),
                "cpu_s": seconds(time.cpu),
                "segments": {
                    "sync": seconds(time.sync),
                    "read": seconds(time.read),
                    "write": seconds(time.write),
                    "lock_calls": seconds(time.lock_calls),
                    "mutex_wait": seconds(time.mutex_wait),
                    "client": seconds(time.client),
                    "server": seconds(time.server),
                    "file_lock_wait": seconds(time.file_lock_wait),
                    "prepare": seconds(time.prepare),
                    "idle": seconds(time.idle),
                    "run_queue": seconds(time.run_queue),
                    "engine": seconds(time.engine),
                    "unknown": seconds(time.unknown),
                },
            },
            "io": {
                "reads": outcome.thread.reads,
                "read_bytes": outcome.thread.read_bytes,
                "writes": outcome.thread.writes,
                "write_bytes": outcome.thread.write_bytes,
                "syncs": outcome.thread.syncs,
                "lock_calls": outcome.thread.lock_calls,
                "file_lock_waits": outcome.thread.file_lock_waits,
                "cache_hits": outcome.session.cache_hits,
                "cache_misses": outcome.session.cache_misses,
                "cache_spills": outcome.session.cache_spills,
            },
            "mutex": outcome.contention,
            "observed": outcome.observed,
            "waits": outcome.waits.as_ref().map(|waits| match waits {
                Ok(waits) => json!(waits),
                Err(failure) => json!({"error": failure.message}),
            }),
            "memory": {"peak_rss_bytes": outcome.peak_rss_bytes},
            "clock": clock,
        }))?;
        Ok(())
    }
}

fn ms(nanoseconds: u64) -> f64 {
    nanoseconds as f64 / 1e6
}

/// The percentiles, mean and maximum of times in milliseconds, and which of them are lower bounds.
///
/// `at_least`: times that would have been so long or longer. A percentile is known where it is the same whether these are as
/// long as they are known to be, or without an end; else the former is a lower bound of it.
fn summary(histogram: &Latencies, at_least: Option<&Latencies>) -> Value {
    let at_least = at_least.filter(|at_least| !at_least.is_empty());
    let mut all = histogram.clone();
    // All have the same bounds, so nothing can fail to fit.
    let _ = at_least.map(|at_least| all.add(at_least));
    if all.is_empty() {
        return json!({"count": 0});
    }
    let mut bounds = if at_least.is_some() {
        vec!["mean", "max"]
    } else {
        vec![]
    };
    let mut quantile = |name: &'static str, q: f64| {
        let least = all.value_at_quantile(q);
        // The same place from the shortest on, among those alone that are known.
        let place = q * all.len() as f64 / histogram.len() as f64;
        let known = place <= 1.0 && histogram.value_at_quantile(place) as f64 <= least as f64 * KNOWN;
        if at_least.is_some() && !known {
            bounds.push(name);
        }
        ms(least)
    };
    json!({
        "count": all.len(),
        "mean": all.mean() / 1e6,
        "p50": quantile("p50", 0.5),
        "p90": quantile("p90", 0.9),
        "p99": quantile("p99", 0.99),
        "p99_9": quantile("p99_9", 0.999),
        "max": ms(all.max()),
        "at_least": bounds,
    })
}

/// A percentile that may be greater by less than this is known.
const KNOWN: f64 = 1.01;

/// A histogram of nanoseconds in HdrHistogram's second format, deflated, as base64: what its other implementations read.
fn encode(histogram: &Latencies) -> Result<String, WorkError> {
    use base64::Engine as _;
    let mut bytes = Vec::new();
    V2DeflateSerializer::new()
        .serialize(histogram, &mut bytes)
        .map_err(|error| WorkError::Output(std::io::Error::other(format!("encoding a histogram: {error}"))))?;
    Ok(base64::engine::general_purpose::STANDARD.encode(bytes))
}
