//! A session in HTTP/2 (RFC 9113): one request at a time, over a connection of its own. The crate `h2` speaks the protocol.
//!
//! A session polls its connection while it waits for a reply. Nothing reads between two requests. Like in HTTP/1.1, a
//! client notices only with its next request that the service closed the connection.

use super::fill::{Part, fill};
use super::one::{MOST_TAKEN, too_long};
use super::request::{Ready, TOLD};
use super::{NO_CONNECTION, NO_REPLY, Shared};
use crate::server::net::{self, Delayed, Io};
use ::http::uri::{Authority, Scheme};
use ::http::{HeaderName, HeaderValue, Method, Request, Uri, Version};
use bytes::{Bytes, BytesMut};
use dbdyno_engine::{Capture, Failure, Marks, check_count};
use dbdyno_program::value::Values;
use dbdyno_protocol::plan::document::FailureKind;
use h2::client::{Builder, Connection, ResponseFuture, SendRequest};
use std::future::poll_fn;
use std::io::ErrorKind;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll, Waker};

/// Bytes of a reply, and of all replies, that the service may send before they are read (6.9.2). Browsers allow as many.
const WINDOW: u32 = 1 << 20;

/// The longest header of a reply in bytes.
const LONGEST_HEADER: u32 = 1 << 20;

/// A session.
pub struct Two {
    shared: Arc<Shared>,
    authority: Authority,
    link: Option<Box<Link>>,
    /// Whether the connection existed before the request.
    kept: bool,
    /// The request, which may have to be sent again.
    request: Request<()>,
    content: Option<Bytes>,
    /// The part of the reply's body that is kept.
    body: Vec<u8>,
}

/// A connection.
struct Link {
    connection: Connection<Io, Bytes>,
    sender: SendRequest<Bytes>,
    encryption: Option<String>,
    /// The delays of its messages, if the trial delays messages.
    delayed: Option<Box<Delayed>>,
    /// The reply to the request that was sent.
    awaited: Option<ResponseFuture>,
}

impl Two {
    /// Connects.
    pub async fn open(shared: Arc<Shared>) -> Result<Self, Failure> {
        let authority = shared.way.target.authority();
        let authority = authority.parse().map_err(|_| malformed("host", &authority))?;
        let link = Some(Link::open(&shared).await?);
        Ok(Self {
            shared,
            authority,
            link,
            kept: false,
            request: Request::default(),
            content: None,
            body: Vec::new(),
        })
    }

    /// The version of TLS.
    pub fn encryption(&self) -> Option<String> {
        self.link.as_ref().and_then(|link| link.encryption.clone())
    }

    /// Queues a request on the connection. [`Two::answer`] sends it.
    pub fn ask(&mut self, ready: &Ready, params: &Values) -> Result<(), Failure> {
        check_count(ready.parameters, params.len())?;
        self.content = match &ready.body {
            Some(parts) => {
                let mut content = BytesMut::new();
                fill(&parts.0, params, &mut content)?;
                Some(content.freeze())
            }
            None => None,
        };
        self.request = self.fill_in(ready, params)?;
        if let Some(link) = &mut self.link
            && link.begin(&self.request, self.content.as_ref()).is_err()
        {
            self.link = None;
        }
        self.kept = self.link.is_some();
        Ok(())
    }

    fn fill_in(&self, ready: &Ready, params: &Values) -> Result<Request<()>, Failure> {
        let mut room = BytesMut::new();
        let scheme = if self.shared.way.target.tls.is_some() {
            Scheme::HTTPS
        } else {
            Scheme::HTTP
        };
        let path = text(&ready.path, params, &mut room)?;
        let uri = Uri::builder().scheme(scheme).authority(self.authority.clone());
        let uri = uri.path_and_query(path).build();
        let mut request = Request::new(());
        *request.version_mut() = Version::HTTP_2;
        *request.uri_mut() = uri.map_err(|_| malformed("path", &ready.name))?;
        *request.method_mut() =
            Method::from_bytes(ready.method.as_bytes()).map_err(|_| malformed("method", &ready.name))?;
        for (name, value) in &ready.headers {
            let value = HeaderValue::from_bytes(text(value, params, &mut room)?);
            let name = HeaderName::from_bytes(name.as_bytes());
            let (Ok(name), Ok(value)) = (name, value) else {
                return Err(malformed("header field", &ready.name));
            };
            request.headers_mut().append(name, value);
        }
        Ok(request)
    }

    /// Waits for the reply.
    pub async fn answer(&mut self, ready: &Ready, capture: &mut Capture<'_>, marks: &mut Marks) -> Result<(), Failure> {
        let longest = self.shared.way.target.timeout();
        let answered = tokio::time::timeout(longest, self.exchange(ready, capture, marks)).await;
        let answered = answered.unwrap_or_else(|_| Err(self.shared.late(NO_REPLY)));
        if let Err(failure) = &answered
            && failure.kind != FailureKind::Status
        {
            self.link = None;
        }
        answered.map_err(|failure| match failure.kind {
            FailureKind::Status => failure,
            _ => failure.explained(|why| format!("{}: {why}", ready.name)),
        })
    }

    async fn exchange(&mut self, ready: &Ready, capture: &mut Capture<'_>, marks: &mut Marks) -> Result<(), Failure> {
        loop {
            if self.link.is_none() {
                let mut link = Link::open(&self.shared).await?;
                link.begin(&self.request, self.content.as_ref())?;
                self.link = Some(link);
            }
            let Some(link) = &mut self.link else { continue };
            let mut status = None;
            self.body.clear();
            let replied = link.reply(ready, &mut self.body, &mut status, (capture, marks)).await;
            if link.has_ended() {
                self.link = None;
            }
            match replied {
                // The service closed the connection between two requests.
                Err(failure)
                    if failure.kind == FailureKind::Connection && self.kept && status.is_none() && ready.repeatable =>
                {
                    self.kept = false;
                    self.link = None;
                    self.shared.resent.fetch_add(1, Ordering::Relaxed);
                }
                Err(failure) => return Err(failure),
                Ok(()) => {
                    let status = status.unwrap_or_default();
                    if !ready.expects(status) {
                        return Err(ready.unexpected(status, &self.body));
                    }
                    if !capture.is_empty() {
                        ready.taking.rest(status, &self.body, capture);
                    }
                    return Ok(());
                }
            }
        }
    }
}

/// A string with its parameters filled in.
fn text<'a>(parts: &'a [Part], params: &Values, room: &'a mut BytesMut) -> Result<&'a [u8], Failure> {
    match parts {
        [] => Ok(&[]),
        [Part::Bytes(bytes)] => Ok(bytes),
        _ => {
            room.clear();
            fill(parts, params, room)?;
            Ok(room)
        }
    }
}

impl Link {
    async fn open(shared: &Shared) -> Result<Box<Self>, Failure> {
        let opened = async {
            let connection = shared.way.connect_for_two().await?;
            let encryption = connection.encryption();
            let (io, delayed) = connection.into_io()?;
            let (sender, mut connection) = Builder::new()
                .initial_window_size(WINDOW)
                .initial_connection_window_size(WINDOW)
                .max_header_list_size(LONGEST_HEADER)
                .enable_push(false)
                .handshake(io)
                .await
                .map_err(|error| failure(&error))?;
            // Sends the settings.
            poll_fn(|context| {
                let _ = Pin::new(&mut connection).poll(context);
                Poll::Ready(())
            })
            .await;
            Ok(Self {
                connection,
                sender,
                encryption,
                delayed,
                awaited: None,
            })
        };
        let opened = tokio::time::timeout(shared.way.target.timeout(), opened).await;
        let link = opened.unwrap_or_else(|_| Err(shared.late(NO_CONNECTION)))?;
        shared.opened.fetch_add(1, Ordering::Relaxed);
        Ok(Box::new(link))
    }

    /// Queues a request on a stream of its own.
    fn begin(&mut self, request: &Request<()>, content: Option<&Bytes>) -> Result<(), Failure> {
        let sent = self.sender.send_request(request.clone(), content.is_none());
        let (awaited, mut stream) = sent.map_err(|error| failure(&error))?;
        if let Some(content) = content {
            stream
                .send_data(content.clone(), true)
                .map_err(|error| failure(&error))?;
        }
        self.awaited = Some(awaited);
        Ok(())
    }

    /// Sends the request and reads its reply. If the reply ends before the request is sent completely, the remaining
    /// body is dropped.
    async fn reply(
        &mut self,
        ready: &Ready,
        body: &mut Vec<u8>,
        status: &mut Option<u16>,
        (capture, marks): (&mut Capture<'_>, &mut Marks),
    ) -> Result<(), Failure> {
        if let Some(delayed) = &mut self.delayed {
            delayed.goes_out().await;
        }
        let Some(mut awaited) = self.awaited.take() else {
            return Err(closed());
        };
        let head = poll_fn(|context| self.poll(context, |context| Pin::new(&mut awaited).poll(context))).await?;
        if let Some(delayed) = &mut self.delayed {
            delayed.has_come().await;
        }
        let (head, mut stream) = head.map_err(|error| failure(&error))?.into_parts();
        marks.note_first_row();
        *status = Some(head.status.as_u16());
        let is_expected = ready.expects(head.status.as_u16());
        if ready.taking.from_fields && is_expected {
            let mut taken = 0;
            for (name, value) in &head.headers {
                ready.taking.field(name.as_str(), value.as_bytes(), capture, &mut taken);
            }
        }
        let most = match (is_expected, ready.taking.from_body) {
            (false, _) => TOLD,
            (true, true) => MOST_TAKEN,
            (true, false) => 0,
        };
        while !stream.is_end_stream() {
            let Some(data) = poll_fn(|context| self.poll(context, |context| stream.poll_data(context))).await? else {
                // The body has ended, perhaps with trailers.
                break;
            };
            let data = data.map_err(|error| failure(&error))?;
            body.extend_from_slice(&data[..data.len().min(most - body.len())]);
            let released = stream.flow_control().release_capacity(data.len());
            released.map_err(|error| failure(&error))?;
            if body.len() == MOST_TAKEN {
                return Err(too_long());
            }
        }
        Ok(())
    }

    /// Polls the connection and then a future of the stream.
    fn poll<T>(
        &mut self,
        context: &mut Context<'_>,
        stream: impl FnOnce(&mut Context<'_>) -> Poll<T>,
    ) -> Poll<Result<T, Failure>> {
        // Its error is also the stream's.
        let is_over = Pin::new(&mut self.connection).poll(context).is_ready();
        match stream(context) {
            Poll::Ready(found) => Poll::Ready(Ok(found)),
            Poll::Pending if is_over => Poll::Ready(Err(closed())),
            Poll::Pending => Poll::Pending,
        }
    }

    /// Whether the connection accepts no further request: the service ended it, or all stream numbers are used.
    fn has_ended(&mut self) -> bool {
        let ready = self.sender.poll_ready(&mut Context::from_waker(Waker::noop()));
        !matches!(ready, Poll::Ready(Ok(())))
    }
}

#[cold]
fn malformed(what: &str, name: &str) -> Failure {
    Failure::new(FailureKind::Other, format!("{name}: HTTP/2 does not allow this {what}"))
}

#[cold]
fn closed() -> Failure {
    Failure::new(FailureKind::Connection, "the server closed the connection")
}

#[cold]
fn failure(error: &h2::Error) -> Failure {
    if let Some(error) = error.get_io() {
        return match error.kind() {
            // An end without an error of the kernel.
            ErrorKind::BrokenPipe | ErrorKind::UnexpectedEof if error.get_ref().is_some() => closed(),
            _ => net::broken(error),
        };
    }
    match error.reason() {
        Some(reason) if error.is_remote() => {
            let name = format!("{reason:?}");
            let what = if error.is_reset() {
                "reset the stream"
            } else {
                "ends the connection"
            };
            Failure::new(FailureKind::Connection, format!("the server {what} ({name})")).coded(name)
        }
        _ => Failure::new(FailureKind::Connection, format!("HTTP/2: {error}")),
    }
}
