//! HTTP services, in version 1.1 or 2, unencrypted or over TLS.
//!
//! A statement is a request. Its template is parsed once and filled with values at each use. A session is a client's
//! connection; if connections are not kept, it opens one for each request. Only the parts of a reply that the
//! experiment takes are parsed.

mod check;
mod connect;
mod driver;
mod fill;
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
    /// One for each place of the service.
    places: Vec<Arc<Shared>>,
}

/// The data that all sessions at one place share.
struct Shared {
    way: Way,
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

/// A timeout: its code, and a clause for the message.
type Late = (&'static str, &'static str);

const NO_CONNECTION: Late = ("no-connection", "the connection was not established");
const NO_REPLY: Late = ("no-reply", "no whole reply came");

impl HttpEngine {
    /// An engine for a service; it connects later. An error names the statement that is not a request.
    pub fn new(target: &HttpTarget, statements: &[Statement]) -> Result<Self, Failure> {
        let places = target
            .each()
            .map(|target| Shared::new(&target, statements).map(Arc::new));
        Ok(Self {
            places: places.collect::<Result<_, _>>()?,
        })
    }

    /// Opens a client's session. Clients are distributed over the places round-robin.
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

    /// Asks the first place only: all places are the same service.
    fn facts(&self) -> Result<Facts, Failure> {
        inspect::facts(&self.places[0].way.target)
    }

    fn probe(&self) -> &dyn Probe {
        self
    }
}

impl Probe for HttpEngine {
    /// Always empty. It exists because counters are reported with a backlog.
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
