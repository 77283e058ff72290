//! The threads that clients run in.

use crate::client::{self, ClientReport};
use crate::latency::Timeline;
use crate::live::Live;
use crate::pacing::ThreadTimer;
use crate::recorder::Recorder;
use crate::runtime::{self, SharedTimer};
use crate::share::{Share, ThreadReport};
use crate::trial::Shared;
use dbdyno_engines::{Engine, Failure};
use dbdyno_plan::document::{Arrival, FailureKind, Trial};
use std::cell::RefCell;

/// What the clients of one thread have to say when they have ended.
pub(crate) struct Record<'a> {
    pub(crate) clients: Vec<ClientReport>,
    pub(crate) share: ThreadReport,
    pub(crate) recorder: Recorder<'a>,
}

/// How many threads the clients run in: one each where the engine computes in them, else one for each processor. With
/// fewer, answers from the other processors have to wake a thread there, which costs both sides more than sharing the
/// processor with a server on the same machine does; with more, threads are switched that could have stayed.
pub(crate) fn threads<E: Engine>(trial: &Trial) -> u32 {
    if !E::REMOTE {
        return trial.clients;
    }
    let processors = std::thread::available_parallelism().map_or(1, |count| count.get() as u32);
    trial.threads.unwrap_or(processors).clamp(1, trial.clients)
}

/// Runs the clients of one thread; gives what they have to say, and the failure of the first that could not connect.
pub(crate) fn run_thread<'a, E: Engine>(
    shared: &Shared<'_, E>,
    live: &'a Live,
    timeline: &'a Timeline,
    number: u32,
    threads: u32,
) -> (Record<'a>, Option<(u32, Failure)>) {
    let open = matches!(shared.trial.arrival, Arrival::Open { .. });
    let recorder = RefCell::new(Recorder::new(live, timeline, open));
    let share = RefCell::new(Share::default());
    let numbers = (number..shared.trial.clients).step_by(threads as usize);
    let (recorder_of, share_of) = (&recorder, &share);
    let ended: Vec<(u32, Result<ClientReport, Failure>)> = if E::REMOTE {
        let clients = numbers.clone().map(|number| async move {
            let timer = SharedTimer::new(shared.clock);
            (number, client::run(shared, &timer, recorder_of, share_of, number).await)
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
                    runtime::run_alone(client::run(shared, &timer, &recorder, &share, number)),
                )
            })
            .collect()
    };
    let share = share.into_inner().report;
    shared.engine.add_contention(&share.counters);
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
        },
        failures.into_iter().next(),
    )
}
