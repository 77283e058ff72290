//! A session in HTTP/1.1: one request at a time, over a connection that is kept or not.

use super::reply::{self, Body, Chunks, Head};
use super::request::{Ready, TOLD};
use super::{NO_CONNECTION, NO_REPLY, Shared};
use crate::server::net::Connection;
use bytes::BytesMut;
use dbdyno_engine::{Capture, Failure, Marks};
use dbdyno_program::value::Values;
use dbdyno_protocol::plan::document::FailureKind;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// The longest body from which values are taken. Each client keeps such a body in memory.
pub const MOST_TAKEN: usize = 16 * 1024 * 1024;

/// The largest read buffer, for long bodies.
const MOST_ROOM: u64 = 64 * 1024;

/// A session.
pub struct One {
    shared: Arc<Shared>,
    connection: Option<Connection>,
    /// Whether the connection existed before the request, so that the service may have closed it.
    kept: bool,
    /// Whether a part of the reply has arrived.
    came: bool,
    /// No other client shares the thread.
    blocking: bool,
    /// The request, which may have to be sent again.
    request: BytesMut,
    /// A buffer for the body that is sent.
    scratch: BytesMut,
    /// The part of the reply's body that is kept.
    body: Vec<u8>,
}

impl One {
    /// Connects.
    pub async fn open(shared: Arc<Shared>) -> Result<Self, Failure> {
        let mut session = Self {
            shared,
            connection: None,
            kept: false,
            came: false,
            blocking: false,
            request: BytesMut::new(),
            scratch: BytesMut::new(),
            body: Vec::new(),
        };
        session.connect().await?;
        Ok(session)
    }

    /// The version of TLS.
    pub fn encryption(&self) -> Option<String> {
        self.connection.as_ref().and_then(Connection::encryption)
    }

    /// From now on the session may block its thread while it waits for an answer.
    pub fn hold_up_thread(&mut self) -> Result<(), Failure> {
        self.blocking = self.shared.way.is_plain();
        self.block()
    }

    fn block(&mut self) -> Result<(), Failure> {
        match &mut self.connection {
            Some(connection) if self.blocking => connection.hold_up_thread_for(Some(self.shared.way.target.timeout())),
            _ => Ok(()),
        }
    }

    async fn connect(&mut self) -> Result<(), Failure> {
        let connected = tokio::time::timeout(self.shared.way.target.timeout(), self.shared.way.connect()).await;
        self.connection = Some(connected.unwrap_or_else(|_| Err(self.shared.late(NO_CONNECTION)))?);
        self.shared.opened.fetch_add(1, Ordering::Relaxed);
        self.block()
    }

    /// Writes a request and sends what can be sent at once.
    #[inline]
    pub fn ask(&mut self, ready: &Ready, params: &Values) -> Result<(), Failure> {
        self.request.clear();
        ready.write(params, &mut self.scratch, &mut self.request)?;
        self.kept = self.connection.is_some();
        self.came = false;
        match &mut self.connection {
            Some(connection) => {
                connection.out.extend_from_slice(&self.request);
                connection.send()
            }
            None => Ok(()),
        }
    }

    /// Waits for the reply.
    pub async fn answer(&mut self, ready: &Ready, capture: &mut Capture<'_>, marks: &mut Marks) -> Result<(), Failure> {
        let answered = if self.blocking {
            self.exchange(ready, capture, marks).await
        } else {
            let longest = self.shared.way.target.timeout();
            let answered = tokio::time::timeout(longest, self.exchange(ready, capture, marks)).await;
            answered.unwrap_or_else(|_| Err(self.shared.late(NO_REPLY)))
        };
        if let Err(failure) = &answered
            && failure.kind != FailureKind::Status
        {
            // The rest of this reply would be mistaken for the next one.
            self.connection = None;
        }
        answered.map_err(|failure| match failure.kind {
            FailureKind::Status => failure,
            _ => failure.explained(|why| format!("{}: {why}", ready.name)),
        })
    }

    async fn exchange(&mut self, ready: &Ready, capture: &mut Capture<'_>, marks: &mut Marks) -> Result<(), Failure> {
        loop {
            if self.connection.is_none() {
                self.connect().await?;
                if let Some(connection) = &mut self.connection {
                    connection.out.extend_from_slice(&self.request);
                }
            }
            let replied = self.reply(ready, capture, marks).await;
            match replied {
                // The service closed the connection between two requests. Idempotent requests are sent again (RFC 9112,
                // 9.3.1).
                Err(failure)
                    if failure.kind == FailureKind::Connection && self.kept && !self.came && ready.repeatable =>
                {
                    self.kept = false;
                    self.connection = None;
                    self.shared.resent.fetch_add(1, Ordering::Relaxed);
                }
                other => return other,
            }
        }
    }

    async fn reply(&mut self, ready: &Ready, capture: &mut Capture<'_>, marks: &mut Marks) -> Result<(), Failure> {
        let Some(connection) = &mut self.connection else {
            return Err(ended());
        };
        connection.flush().await?;
        let mut patience = Patience::default();
        let head = head(
            connection,
            ready,
            capture,
            &mut self.came,
            (&mut patience, &self.shared),
        )
        .await?;
        marks.note_first_row();
        let expected = ready.expects(head.status);
        let kept = match (expected, ready.taking.from_body) {
            (false, _) => TOLD,
            (true, true) => MOST_TAKEN,
            (true, false) => 0,
        };
        self.body.clear();
        read_body(
            connection,
            head.body,
            &mut self.body,
            kept,
            (&mut patience, &self.shared),
        )
        .await?;
        if head.closes || !self.shared.way.target.keepalive || !connection.there().is_empty() {
            self.connection = None;
        }
        if !expected {
            return Err(ready.unexpected(head.status, &self.body));
        }
        if !capture.is_empty() {
            ready.taking.rest(head.status, &self.body, capture);
        }
        Ok(())
    }
}

/// The kernel delays the acknowledgment of a segment by this much if the program sends nothing. If the sender holds
/// back its next segment until then (Nagle's algorithm), each request takes that long.
const DELAYED_ACK: std::ops::RangeInclusive<Duration> = Duration::from_millis(35)..=Duration::from_millis(60);

/// How long the client has waited for a reply that arrives in several reads.
#[derive(Default)]
struct Patience {
    reads: u32,
    since: Option<Instant>,
}

impl Patience {
    /// Reads at least a byte, or 0 at the end of the connection. Fails if the reply has taken too long.
    async fn read(&mut self, connection: &mut Connection, shared: &Shared) -> Result<usize, Failure> {
        self.reads += 1;
        // The first read has its own timeout.
        if self.reads > 1 && self.since.get_or_insert_with(Instant::now).elapsed() > shared.way.target.timeout() {
            return Err(shared.late(NO_REPLY));
        }
        let asked = Instant::now();
        let read = connection.read_or_end().await;
        if self.reads > 1 && DELAYED_ACK.contains(&asked.elapsed()) {
            shared.late_parts.fetch_add(1, Ordering::Relaxed);
        }
        read
    }
}

async fn head(
    connection: &mut Connection,
    ready: &Ready,
    capture: &mut Capture<'_>,
    came: &mut bool,
    (patience, shared): (&mut Patience, &Shared),
) -> Result<Head, Failure> {
    let mut taken = 0;
    loop {
        let found = reply::head(connection.there(), ready.is_head, |status, name, value| {
            if ready.taking.from_fields && ready.expects(status) {
                ready.taking.field(name, value, capture, &mut taken);
            }
        })?;
        match found {
            Some(head) if head.status >= 200 => {
                connection.take(head.length);
                return Ok(head);
            }
            Some(head) if head.status == 101 => {
                return Err(reply::garbled("a switch to another protocol that was not requested"));
            }
            Some(head) => {
                // This response is informational: the reply follows.
                connection.take(head.length);
            }
            None => match patience.read(connection, shared).await? {
                0 => return Err(ended()),
                _ => *came = true,
            },
        }
    }
}

async fn read_body(
    connection: &mut Connection,
    kind: Body,
    body: &mut Vec<u8>,
    most: usize,
    (patience, shared): (&mut Patience, &Shared),
) -> Result<(), Failure> {
    let keep = |body: &mut Vec<u8>, data: &[u8]| {
        let room = most.saturating_sub(body.len()).min(data.len());
        body.extend_from_slice(&data[..room]);
    };
    let mut chunks = Chunks::default();
    let mut left = match kind {
        Body::Length(length) => length,
        _ => u64::MAX,
    };
    loop {
        let there = connection.there();
        let (part, over) = match kind {
            Body::Length(_) | Body::UntilEnd => {
                let part = left.min(there.len() as u64);
                left -= part;
                keep(body, &there[..part as usize]);
                (part as usize, left == 0)
            }
            Body::Chunked => chunks.read(there, |data| keep(body, data))?,
        };
        connection.take(part);
        if body.len() == MOST_TAKEN {
            return Err(too_long());
        }
        if over {
            return Ok(());
        }
        connection.make_room(left.min(MOST_ROOM) as usize);
        if patience.read(connection, shared).await? == 0 {
            return if kind == Body::UntilEnd { Ok(()) } else { Err(ended()) };
        }
    }
}

/// The failure for a body that is too long for memory.
#[cold]
pub fn too_long() -> Failure {
    let most = MOST_TAKEN / 1024 / 1024;
    let message = format!("the body is {most} MiB or longer; values can only be taken from shorter bodies");
    Failure::new(FailureKind::Other, message)
}

#[cold]
fn ended() -> Failure {
    Failure::new(
        FailureKind::Connection,
        "the server closed the connection before the reply was whole",
    )
}
