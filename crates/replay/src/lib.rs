//! Replays recorded statements on a system.
//!
//! The controller writes statements to standard input, in the order of their recorded starts ([`input`]). One thread
//! gives each statement to its session when it is due ([`dispatch`]). A session executes its statements in order,
//! and reports each on standard output ([`session`]). Without times, a transaction waits for the transactions that had
//! ended before it began in the recording ([`order`]).

mod dispatch;
mod input;
mod lateness;
mod order;
mod progress;
mod report;
mod session;
mod usage;

use dbdyno_engine::Engine;
use dbdyno_engine::driver::{Measure, Site};
use dbdyno_load::{capacity, runtime};
use dbdyno_probes::Clock;
use dbdyno_protocol::plan::{PlanError, Target};
use dispatch::Dispatcher;
use order::Order;
use progress::Progress;
use report::Report;
use serde::Deserialize;
use session::{Replayed, Shared};
use std::io;
use std::sync::mpsc;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use usage::{Before, SessionUsage};

/// The task, which standard input contains as its first line.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Task {
    /// The system.
    pub target: Target,
    /// How many times as fast as recorded; `None`: as fast as possible.
    pub speed: Option<f64>,
    /// The most sessions at the same time.
    pub sessions: u32,
}

/// Why a replay could not begin, or ended.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    /// A line of standard input is wrong.
    #[error("line {line} of the input: {problem}")]
    Input {
        /// The number of the line after the task, from 1.
        line: u64,
        /// What is wrong with it.
        problem: String,
    },
    /// The process can't have as many sessions.
    #[error(transparent)]
    Sessions(#[from] PlanError),
    /// An event loop can't be started, or the controller is gone.
    #[error("{0}")]
    Io(#[from] io::Error),
}

/// Work on an engine: replays what standard input contains.
#[derive(Debug)]
pub struct Replay {
    /// How many times as fast as recorded; `None`: as fast as possible.
    pub speed: Option<f64>,
    /// The most sessions at the same time.
    pub sessions: u32,
}

/// More threads would take CPUs from the server.
const MOST_THREADS: usize = 4;

impl Measure for Replay {
    type Output = Result<(), ReplayError>;

    fn measure<E: Engine>(self, engine: &E, site: Site<'_>) -> Self::Output {
        capacity::check::<E>(self.sessions)?;
        let clock = Clock::get();
        let shared = Shared {
            clock,
            progress: Progress::default(),
            order: self.speed.is_none().then(Order::default),
            usage: SessionUsage::default(),
        };
        let (results, reported) = mpsc::channel();
        let before = Before::read(engine, site);
        std::thread::scope(|scope| {
            let writer = scope.spawn(move || report::write(&reported, &mut io::stdout().lock()));
            let dispatched = self.dispatch(engine, &shared, results.clone());
            // The writer ends first only if the controller is gone.
            drop(results.send(Report::Used(before.usage(engine, &shared.usage))));
            drop(results);
            let written = writer
                .join()
                .unwrap_or_else(|_| Err(io::Error::other("the reports can't be written")));
            dispatched.and(written.map_err(ReplayError::Io))
        })
    }
}

impl Replay {
    /// Replays standard input until all sessions have ended.
    fn dispatch<E: Engine>(
        &self,
        engine: &E,
        shared: &Shared,
        results: mpsc::Sender<Report>,
    ) -> Result<(), ReplayError> {
        let lines = input::read();
        std::thread::scope(|scope| {
            let mut threads = Vec::new();
            if E::REMOTE {
                let count = std::thread::available_parallelism().map_or(1, usize::from);
                for _ in 0..count.min(MOST_THREADS) {
                    let (opened, sessions) = unbounded_channel();
                    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
                    scope.spawn(move || runtime.block_on(session::serve(engine, shared, sessions)));
                    threads.push(opened);
                }
            }
            let open = |opened: session::Opened, number: u32| {
                if threads.is_empty() {
                    scope.spawn(move || {
                        lateness::begin_thread();
                        runtime::run_inline(Replayed::new(engine, shared, opened).run());
                    });
                } else {
                    send(&threads[number as usize % threads.len()], opened);
                }
            };
            // The threads end after their sessions, once nothing opens any.
            Dispatcher::new(shared, self.speed, results, lines, open).run()
        })
    }
}

/// Sends to a thread, which runs as long as this one.
fn send<T>(sender: &UnboundedSender<T>, value: T) {
    drop(sender.send(value));
}
