//! The threads that clients run in.

use crate::attempt::times_each;
use crate::client;
use crate::latency::Timeline;
use crate::live::Live;
use crate::pacing::ThreadTimer;
use crate::recorder::{Recorder, Shape};
use crate::report::ClientReport;
use crate::runtime::{self, SharedTimer};
use crate::share::{Share, ThreadReport};
use crate::shared::Shared;
use dbdyno_engine::{Engine, Failure, changes};
use dbdyno_plan::document::{Arrival, FailureKind, Trial};
use dbdyno_probes::cpus;
use dbdyno_program::Programs;
use std::cell::RefCell;

/// What the clients of one thread have to say when they have ended.
pub(crate) struct Record<'a> {
    pub(crate) clients: Vec<ClientReport>,
    pub(crate) share: ThreadReport,
    pub(crate) recorder: Recorder<'a>,
    /// Whether the thread took no processor from another.
    pub(crate) gave_way: bool,
}

/// How many threads the clients run in: one each where the engine computes in them, else one for each processor. With
/// fewer, answers from the other processors have to wake a thread there, which costs both sides more than sharing the
/// processor with a server on the same machine does; with more, threads are switched that could have stayed.
pub(crate) fn threads<E: Engine>(trial: &Trial) -> u32 {
    if !E::REMOTE {
        return trial.clients;
    }
    trial.threads.unwrap_or(processors()).clamp(1, trial.clients)
}

fn processors() -> u32 {
    std::thread::available_parallelism().map_or(1, |count| count.get() as u32)
}

/// Clients for each processor from which on their threads take none away from the server.
const MANY: u32 = 4;

/// Whether the clients' threads wait for a processor rather than take one from a server on the same machine, where the plan
/// lets them.
///
/// A thread that is woken by an answer may push aside the one that gave it, which is about to wait for the next question:
/// then each answer costs both of them a switch. Where there are so many clients that processors never lack work, that
/// is of no use to anybody. With few of them, or with time to think, the server can run out of questions while the client
/// waits, so that there the kernel decides as it does for any program.
pub(crate) fn give_way<E: Engine>(trial: &Trial, programs: &Programs) -> bool {
    trial.give_way && E::REMOTE && keep_all_busy(trial, programs.think(), processors())
}

fn keep_all_busy(trial: &Trial, thinking: bool, processors: u32) -> bool {
    let closed = matches!(trial.arrival, Arrival::Closed);
    closed && !thinking && trial.clients >= processors.saturating_mul(MANY)
}

/// Runs the clients of one thread; gives what they have to say, and the failure of the first that could not connect.
pub(crate) fn run_thread<'a, E: Engine>(
    shared: &Shared<'_, E>,
    live: &'a Live,
    timeline: &'a Timeline,
    number: u32,
    threads: u32,
) -> (Record<'a>, Option<(u32, Failure)>) {
    changes::take_part(shared.changes);
    let open = matches!(shared.trial.arrival, Arrival::Open { .. });
    let shape = Shape {
        open,
        transactions: if shared.trial.record.operations {
            shared.trial.transactions.len()
        } else {
            0
        },
        timed_statements: times_each(shared.trial, shared.programs).then_some(shared.trial.statements.len()),
    };
    let recorder = RefCell::new(Recorder::new(live, timeline, shape));
    let share = RefCell::new(Share::default());
    let numbers = (number..shared.trial.clients).step_by(threads as usize);
    let (recorder_of, share_of) = (&recorder, &share);
    let uncounted = Live::new(shared.trial.transactions.len(), shared.trial.statements.len());
    let counts = (live, &uncounted);
    // One that may not goes on as any other.
    let gave_way = shared.give_way && cpus::take_none_away().is_ok();
    let ended: Vec<(u32, Result<ClientReport, Failure>)> = if E::REMOTE {
        let clients = numbers.clone().map(|number| async move {
            let timer = SharedTimer::new(shared.clock);
            (
                number,
                client::run(shared, &timer, recorder_of, share_of, counts, number).await,
            )
        });
        runtime::run_together(clients).unwrap_or_else(|error| {
            let failure = Failure::new(FailureKind::Other, format!("starting to wait for events: {error}"));
            // Those who wait for all clients must not wait for these.
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
                    runtime::run_alone(client::run(shared, &timer, &recorder, &share, counts, number)),
                )
            })
            .collect()
    };
    let share = share.into_inner().report;
    shared.engine.probe().add_contention(&share.counters);
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
            share,
            recorder,
            gave_way,
        },
        failures.into_iter().next(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use dbdyno_plan::document::Gaps;

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
        };
        assert!(!keep_all_busy(&trial(8, open), false, 2), "they wait for the clock");
    }
}
