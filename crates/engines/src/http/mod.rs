//! A service that speaks HTTP, in version 1.1 or 2, in the clear or over TLS.
//!
//! A statement is a request. It is made ready once: its head and body become bytes with places in them, and at each use the
//! values are written into the places. A session is a client's connection; where connections are not kept it opens one for
//! each request. Of a reply only what is taken from it is looked into.

mod check;
mod connect;
mod driver;
mod fill;
mod frames;
mod hpack;
mod inspect;
mod one;
mod reply;
mod request;
mod scripted;
mod session;
mod take;
mod target;
mod two;
#[cfg(test)]
mod two_tests;

pub use session::HttpSession;
pub use target::{HttpTarget, Version};

use connect::Way;
use dbdyno_engine::observed::{Backlog, Counters};
use dbdyno_engine::probe::Probe;
use dbdyno_engine::{Engine, Facts, Failure};
use dbdyno_protocol::plan::document::{FailureKind, Statement};
use request::Ready;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A service, and the requests that its sessions send.
pub struct HttpEngine {
    /// At each of the service's places.
    places: Vec<Arc<Shared>>,
}

/// What all sessions at one place share.
struct Shared {
    way: Way,
    /// What requests in HTTP/2 call the service.
    authority: String,
    requests: Box<[Ready]>,
    /// Connections that were opened.
    opened: AtomicU64,
    /// Requests that were sent again, since the service had closed the connection.
    resent: AtomicU64,
    /// Parts of replies that came as late as the kernel acknowledges a part before.
    late_parts: AtomicU64,
}

impl Shared {
    fn new(target: &HttpTarget, statements: &[Statement]) -> Result<Self, Failure> {
        let requests = statements.iter().map(|statement| Ready::new(statement, target));
        Ok(Self {
            way: Way::new(target)?,
            authority: target.authority(),
            requests: requests.collect::<Result<_, _>>()?,
            opened: AtomicU64::new(0),
            resent: AtomicU64::new(0),
            late_parts: AtomicU64::new(0),
        })
    }

    #[cold]
    fn late(&self, (code, what): Late) -> Failure {
        let seconds = self.way.target.timeout().as_secs_f64();
        Failure::new(FailureKind::Timeout, format!("{what} within {seconds} s")).coded(code)
    }
}

/// What did not come in time: its name, and a clause.
type Late = (&'static str, &'static str);

const NO_CONNECTION: Late = ("no-connection", "no connection was made");
const NO_REPLY: Late = ("no-reply", "no whole reply came");

impl HttpEngine {
    /// An engine for a service; nothing is connected yet. An error names the statement that is no request.
    pub fn new(target: &HttpTarget, statements: &[Statement]) -> Result<Self, Failure> {
        let places = target
            .each()
            .map(|target| Shared::new(&target, statements).map(Arc::new));
        Ok(Self {
            places: places.collect::<Result<_, _>>()?,
        })
    }

    /// Opens a session of a client: clients are dealt to the places in turn.
    async fn open(&self, client: u32) -> Result<HttpSession, Failure> {
        HttpSession::open(self.places[client as usize % self.places.len()].clone()).await
    }
}

impl Engine for HttpEngine {
    type Session = HttpSession;

    const REMOTE: bool = true;
    const PLACES: bool = false;

    async fn connect(&self, client: u32) -> Result<HttpSession, Failure> {
        self.open(client).await
    }

    /// At its first place: the others are the same service.
    fn facts(&self) -> Result<Facts, Failure> {
        inspect::facts(&self.places[0].way.target)
    }

    fn probe(&self) -> &dyn Probe {
        self
    }
}

impl Probe for HttpEngine {
    /// Nothing that could be seen; what is counted is told with it.
    fn backlog(&self) -> Option<Result<Backlog, Failure>> {
        Some(Ok(Backlog::new()))
    }

    fn counters(&self) -> Option<Result<Counters, Failure>> {
        let sum = |count: fn(&Shared) -> &AtomicU64| {
            let counts = self.places.iter().map(|shared| count(shared).load(Ordering::Relaxed));
            counts.sum::<u64>() as f64
        };
        Some(Ok(Counters::from([
            ("connections", sum(|shared| &shared.opened)),
            ("requests_resent", sum(|shared| &shared.resent)),
            ("late_parts", sum(|shared| &shared.late_parts)),
        ])))
    }
}
