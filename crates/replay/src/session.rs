//! The sessions: each executes its statements in order.

use crate::lateness::{self, Lateness};
use crate::order::{Order, Unit};
use crate::progress::Progress;
use crate::report::{Execution, Report};
use crate::usage::SessionUsage;
use dbdyno_engine::recorded::Preparation;
use dbdyno_engine::{Engine, Failure, Session as _};
use dbdyno_probes::Clock;
use dbdyno_protocol::plan::document::FailureKind;
use futures_util::StreamExt as _;
use futures_util::future::{Either, select};
use futures_util::stream::FuturesUnordered;
use std::pin::pin;
use std::sync::mpsc::Sender;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::sync::oneshot;

/// What all sessions share.
#[derive(Debug)]
pub struct Shared {
    /// The clock of all times.
    pub clock: Clock,
    /// The statements that have not ended.
    pub progress: Progress,
    /// The order of units, for a replay without times.
    pub order: Option<Order>,
    /// What the sessions of an embedded database use.
    pub usage: SessionUsage,
}

/// A statement, as it is given to its session.
#[derive(Debug)]
pub struct Statement {
    /// Its number, in the order of the input.
    pub number: u64,
    /// The statement.
    pub text: String,
    /// How it is prepared; `None`: it is sent as text.
    pub preparation: Option<Preparation>,
    /// Its memory.
    pub bytes: usize,
    /// When it was given to the session, in nanoseconds of the clock.
    pub dispatched: u64,
    /// By how much that was late.
    pub late: Lateness,
    /// What its unit waits for.
    pub wait: Option<oneshot::Receiver<()>>,
    /// The unit that ends with it, if units have an order.
    pub ends_unit: Option<Unit>,
    /// Whether it is the session's last.
    pub ends_session: bool,
}

/// A new session.
#[derive(Debug)]
pub struct Opened {
    /// Its number.
    pub number: u32,
    /// Its statements.
    pub statements: UnboundedReceiver<Statement>,
    /// Takes the reports.
    pub results: Sender<Report>,
}

/// Runs the sessions of a thread concurrently, until no more are opened and all have ended.
pub async fn serve<E: Engine>(engine: &E, shared: &Shared, mut opened: UnboundedReceiver<Opened>) {
    lateness::begin_thread();
    let mut sessions = FuturesUnordered::new();
    loop {
        let new = if sessions.is_empty() {
            opened.recv().await
        } else {
            match select(pin!(opened.recv()), sessions.next()).await {
                Either::Left((new, _)) => new,
                Either::Right(_) => continue,
            }
        };
        let Some(new) = new else { break };
        sessions.push(Replayed::new(engine, shared, new).run());
    }
    while sessions.next().await.is_some() {}
}

/// A session that is replayed.
pub struct Replayed<'a, E: Engine> {
    engine: &'a E,
    shared: &'a Shared,
    opened: Opened,
    /// Opened before the first statement, and again after its connection was lost.
    session: Option<E::Session>,
    /// When the previous statement ended.
    free: u64,
    /// By how much the previous statement began late.
    late: Lateness,
}

impl<'a, E: Engine> Replayed<'a, E> {
    /// A session that is not open yet.
    pub fn new(engine: &'a E, shared: &'a Shared, opened: Opened) -> Self {
        Self {
            engine,
            shared,
            opened,
            session: None,
            free: 0,
            late: Lateness::default(),
        }
    }

    /// Executes its statements, and closes the session after the last.
    pub async fn run(mut self) {
        // Its first statement tries again, and reports the failure.
        let _ = self.open().await;
        self.free = self.shared.clock.now();
        while let Some(statement) = self.next().await {
            let is_last = statement.ends_session;
            self.replay(statement).await;
            if is_last {
                break;
            }
        }
        if !E::REMOTE {
            let counters = self.session.as_mut().map(|session| session.counters());
            self.shared.usage.add(self.engine, &counters.unwrap_or_default());
        }
        if let Some(session) = self.session {
            // Its statements have ended, so a failure doesn't matter.
            let _ = session.close().await;
        }
    }

    async fn next(&mut self) -> Option<Statement> {
        if E::REMOTE {
            self.opened.statements.recv().await
        } else {
            self.opened.statements.blocking_recv()
        }
    }

    async fn replay(&mut self, mut statement: Statement) {
        let clock = self.shared.clock;
        if let Some(wait) = statement.wait.take() {
            // The sender lives as long as the order of units.
            let _ = if E::REMOTE { wait.await } else { wait.blocking_recv() };
        }
        let waited = self.free.saturating_sub(statement.dispatched);
        let delay = clock.now().saturating_sub(statement.dispatched.max(self.free));
        let mut late = statement.late + self.late.inherited(waited) + Lateness::of_worker(delay);
        let before = clock.now();
        let opened = self.open().await;
        let begun = clock.now();
        late.system += begun - before;
        let result = match opened {
            Ok(session) => {
                session
                    .execute_recorded(&statement.text, statement.preparation.as_ref())
                    .await
            }
            Err(failure) => Err(failure),
        };
        (self.free, self.late) = (clock.now(), late);
        if matches!(&result, Err(failure) if failure.kind == FailureKind::Connection) {
            self.session = None;
        }
        let execution = Execution {
            number: statement.number,
            begun_ns: begun,
            duration_ns: self.free - begun,
            result: result.map_err(|failure| (code(&failure), failure.message.clone())),
            late: if self.shared.order.is_some() {
                Lateness::default()
            } else {
                late
            },
        };
        // The writer ends first only if the controller is gone.
        let _ = self.opened.results.send(Report::Ended(execution));
        if let (Some(order), Some(unit)) = (&self.shared.order, statement.ends_unit) {
            order.finish(unit);
        }
        self.shared.progress.end(statement.bytes);
    }

    async fn open(&mut self) -> Result<&mut E::Session, Failure> {
        if self.session.is_none() {
            self.session = Some(self.engine.connect(self.opened.number).await?);
        }
        self.session
            .as_mut()
            .ok_or_else(|| Failure::new(FailureKind::Connection, "the session is not open"))
    }
}

fn code(failure: &Failure) -> String {
    failure
        .code
        .as_ref()
        .map_or_else(|| format!("{:?}", failure.kind).to_lowercase(), ToString::to_string)
}
