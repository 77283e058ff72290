//! The threads that run the clients.

use crate::attempt::times_each;
use crate::client;
use crate::latency::Timeline;
use crate::live::Live;
use crate::pacing::ThreadTimer;
use crate::recorder::{Recorder, Shape};
use crate::report::ClientReport;
use crate::runtime::{self, SharedTimer};
use crate::shared::Shared;
use crate::thread_usage::{ThreadReport, ThreadUsage};
use dbdyno_engine::{Engine, Failure, changes};
use dbdyno_probes::cpus;
use dbdyno_program::Programs;
use dbdyno_protocol::plan::document::{Arrival, FailureKind, Trial};
use std::cell::RefCell;

/// The final report of one thread's clients.
pub(crate) struct Record<'a> {
    pub(crate) clients: Vec<ClientReport>,
    pub(crate) usage: ThreadReport,
    pub(crate) recorder: Recorder<'a>,
    /// Whether the thread ran without preempting others.
    pub(crate) gave_way: bool,
}

/// Number of client threads: one per client for embedded engines, otherwise one per CPU. With fewer, answers produced
/// on other CPUs must wake a thread elsewhere, which costs both sides more than sharing a CPU with a local server. With
/// more, there are needless context switches.
pub(crate) fn threads<E: Engine>(trial: &Trial) -> u32 {
    if !E::REMOTE {
        return trial.clients;
    }
    trial.threads.unwrap_or(processors()).clamp(1, trial.clients)
}

fn processors() -> u32 {
    std::thread::available_parallelism().map_or(1, |count| count.get() as u32)
}

/// From this many clients per CPU on, their threads don't preempt the server.
const MANY: u32 = 4;

/// Whether the clients' threads wait for a CPU instead of preempting a server on the same machine, if the plan allows
/// it.
///
/// A thread that an answer wakes may preempt the server thread that sent it, just before that thread would wait for the
/// next request. Then each answer costs two context switches. If enough clients keep all CPUs busy, this gains nothing.
/// With few clients, or with think time, the server could run idle while a client waits, so the kernel decides as
/// usual.
pub(crate) fn give_way<E: Engine>(trial: &Trial, programs: &Programs) -> bool {
    trial.give_way && E::REMOTE && keep_all_busy(trial, programs.think(), processors())
}

fn keep_all_busy(trial: &Trial, thinking: bool, processors: u32) -> bool {
    let closed = matches!(trial.arrival, Arrival::Closed);
    closed && !thinking && trial.clients >= processors.saturating_mul(MANY)
}

/// Runs the clients of one thread. Returns their reports, and the failure of the first client that could not connect.
pub(crate) fn run_thread<'a, E: Engine>(
    shared: &Shared<'_, E>,
    live: &'a Live,
    timeline: &'a Timeline,
    number: u32,
    threads: u32,
) -> (Record<'a>, Option<(u32, Failure)>) {
    changes::enroll_thread(shared.changes);
    let open = matches!(shared.trial.arrival, Arrival::Open { .. });
    let shape = Shape {
        open,
        transactions: if shared.trial.record.operations {
            shared.trial.transactions.len()
        } else {
            0
        },
        timed_statements: times_each(shared.trial, shared.programs).then_some(shared.prepared),
        stages: shared.trial.arrival.stages().len(),
    };
    let recorder = RefCell::new(Recorder::new(live, timeline, shape));
    let usage = RefCell::new(ThreadUsage::default());
    let numbers = (number..shared.trial.clients).step_by(threads as usize);
    let (recorder_ref, usage_ref) = (&recorder, &usage);
    let uncounted = Live::new(shared.trial.transactions.len(), shared.prepared);
    let counts = (live, &uncounted);
    // Without permission, the thread keeps its normal scheduling.
    let gave_way = shared.give_way && cpus::use_batch_scheduling().is_ok();
    let ended: Vec<(u32, Result<ClientReport, Failure>)> = if E::REMOTE {
        let clients = numbers.clone().map(|number| async move {
            let timer = SharedTimer::new(shared.clock);
            (
                number,
                client::run(shared, &timer, recorder_ref, usage_ref, counts, number).await,
            )
        });
        runtime::run_concurrently(clients).unwrap_or_else(|error| {
            let failure = Failure::new(FailureKind::Other, format!("cannot start the event loop: {error}"));
            // Count these clients as arrived; otherwise the coordinator would wait for them.
            numbers
                .clone()
                .for_each(|_| shared.arrive(&shared.connected, &Err(failure.clone())));
            vec![(number, Err(failure))]
        })
    } else {
        let timer = ThreadTimer::new(shared.clock);
        numbers
            .map(|number| {
                (
                    number,
                    runtime::run_inline(client::run(shared, &timer, &recorder, &usage, counts, number)),
                )
            })
            .collect()
    };
    let usage = usage.into_inner().report;
    shared.engine.probe().add_contention(&usage.counters);
    let (mut clients, mut failures) = (Vec::with_capacity(ended.len()), Vec::new());
    for (number, result) in ended {
        match result {
            Ok(report) => clients.push(report),
            Err(failure) => failures.push((number, failure)),
        }
    }
    failures.sort_by_key(|(number, _)| *number);
    let recorder = recorder.into_inner();
    (
        Record {
            clients,
            usage,
            recorder,
            gave_way,
        },
        failures.into_iter().next(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use dbdyno_protocol::plan::document::Gaps;

    fn trial(clients: u32, arrival: Arrival) -> Trial {
        let transaction = serde_json::json!({"name": "t", "steps": []});
        let plan = serde_json::json!({
            "target": {"engine": "null"}, "clients": clients, "window": {"seconds": 1},
            "statements": [], "transactions": [transaction],
        });
        Trial {
            arrival,
            ..serde_json::from_value(plan).unwrap()
        }
    }

    #[test]
    fn only_clients_that_keep_all_processors_busy_give_way() {
        assert!(keep_all_busy(&trial(8, Arrival::Closed), false, 2));
        assert!(!keep_all_busy(&trial(7, Arrival::Closed), false, 2));
        assert!(!keep_all_busy(&trial(8, Arrival::Closed), false, 3));
        assert!(!keep_all_busy(&trial(8, Arrival::Closed), true, 2), "they think");
        let open = Arrival::Open {
            rate: 10.0,
            gaps: Gaps::Even,
            stages: Vec::new(),
        };
        assert!(
            !keep_all_busy(&trial(8, open), false, 2),
            "clients that wait for the clock"
        );
    }
}
