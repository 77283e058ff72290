//! A session in HTTP/2: one request at a time, over a connection of its own.

use super::connect::Both;
use super::fill::fill;
use super::one::{MOST_TAKEN, TOLD, too_long};
use super::request::Ready;
use super::{NO_CONNECTION, NO_REPLY, Shared};
use crate::server::net;
use ::http::uri::PathAndQuery;
use ::http::{HeaderName, HeaderValue, Method, Request, Uri};
use bytes::{Bytes, BytesMut};
use dbdyno_engine::{Capture, Failure, Marks, check_count};
use dbdyno_plan::document::FailureKind;
use dbdyno_plan::value::Values;
use h2::RecvStream;
use h2::client::{Builder, Connection, SendRequest};
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::Poll;

/// What may come before it is taken, of one reply and of all (RFC 9113, 6.9.2): as much as browsers let come.
const WINDOW: u32 = 1 << 20;

/// A session.
pub struct Two {
    shared: Arc<Shared>,
    link: Option<Link>,
    /// Whether the connection was there before the request.
    kept: bool,
    asked: Option<(Request<()>, Bytes)>,
    body: Vec<u8>,
}

struct Link {
    sender: SendRequest<Bytes>,
    connection: Connection<Box<dyn Both>, Bytes>,
    encryption: Option<String>,
}

impl Two {
    /// Connects.
    pub async fn open(shared: Arc<Shared>) -> Result<Self, Failure> {
        let link = Some(Link::open(&shared).await?);
        Ok(Self {
            shared,
            link,
            kept: false,
            asked: None,
            body: Vec::new(),
        })
    }

    /// The version of TLS.
    pub fn encryption(&self) -> Option<String> {
        self.link.as_ref().and_then(|link| link.encryption.clone())
    }

    /// Makes a request, which is sent when its answer is awaited.
    pub fn ask(&mut self, ready: &Ready, params: &Values) -> Result<(), Failure> {
        check_count(ready.parameters, params.len())?;
        self.kept = self.link.is_some();
        self.asked = Some(make(ready, &self.shared, params)?);
        Ok(())
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
        let Some((request, body)) = self.asked.take() else {
            return Err(Failure::new(FailureKind::Other, "nothing was asked of the session"));
        };
        loop {
            if self.link.is_none() {
                self.link = Some(Link::open(&self.shared).await?);
            }
            let Some(link) = &mut self.link else { continue };
            let mut came = false;
            self.body.clear();
            let replied = link
                .reply(
                    (&request, &body),
                    ready,
                    (&mut *capture, marks),
                    &mut self.body,
                    &mut came,
                )
                .await;
            match replied {
                // The service ended the connection while nobody asked anything.
                Err(failure) if failure.kind == FailureKind::Connection && self.kept && !came && ready.repeatable => {
                    self.kept = false;
                    self.link = None;
                    self.shared.resent.fetch_add(1, Ordering::Relaxed);
                }
                other => return other,
            }
        }
    }
}

impl Link {
    async fn open(shared: &Shared) -> Result<Self, Failure> {
        let opened = async {
            let (stream, encryption) = shared.way.connect_for_two().await?;
            let mut builder = Builder::new();
            builder
                .enable_push(false)
                .initial_window_size(WINDOW)
                .initial_connection_window_size(WINDOW);
            let (sender, connection) = builder.handshake(stream).await.map_err(|error| failed(&error))?;
            Ok(Self {
                sender,
                connection,
                encryption,
            })
        };
        let opened = tokio::time::timeout(shared.way.target.timeout(), opened).await;
        let link = opened.unwrap_or_else(|_| Err(shared.late(NO_CONNECTION)))?;
        shared.opened.fetch_add(1, Ordering::Relaxed);
        Ok(link)
    }

    async fn reply(
        &mut self,
        (request, body): (&Request<()>, &Bytes),
        ready: &Ready,
        (capture, marks): (&mut Capture<'_>, &mut Marks),
        kept: &mut Vec<u8>,
        came: &mut bool,
    ) -> Result<(), Failure> {
        let Self { sender, connection, .. } = self;
        drive(connection, poll_fn(|context| sender.poll_ready(context))).await?;
        let is_whole = ready.body.is_none();
        let (reply, mut stream) = sender
            .send_request(copy(request), is_whole)
            .map_err(|error| failed(&error))?;
        if !is_whole {
            stream.send_data(body.clone(), true).map_err(|error| failed(&error))?;
        }
        let (head, mut rest) = drive(connection, reply).await?.into_parts();
        *came = true;
        marks.note_first_row();
        let status = head.status.as_u16();
        let expected = ready.expects(status);
        if expected && ready.taking.from_fields {
            let mut taken = 0;
            for (name, value) in &head.headers {
                ready.taking.field(name.as_str(), value.as_bytes(), capture, &mut taken);
            }
        }
        let most = match (expected, ready.taking.from_body) {
            (false, _) => TOLD,
            (true, true) => MOST_TAKEN,
            (true, false) => 0,
        };
        while let Some(data) = next(connection, &mut rest).await? {
            let room = most.saturating_sub(kept.len()).min(data.len());
            kept.extend_from_slice(&data[..room]);
            if kept.len() == MOST_TAKEN {
                return Err(too_long());
            }
            let taken = rest.flow_control().release_capacity(data.len());
            taken.map_err(|error| failed(&error))?;
        }
        if !expected {
            return Err(ready.unexpected(status, kept));
        }
        if !capture.is_empty() {
            ready.taking.rest(status, kept, capture);
        }
        Ok(())
    }
}

async fn next(
    connection: &mut Connection<Box<dyn Both>, Bytes>,
    rest: &mut RecvStream,
) -> Result<Option<Bytes>, Failure> {
    drive(
        connection,
        poll_fn(|context| rest.poll_data(context).map(Option::transpose)),
    )
    .await
}

/// Waits for something, and has the connection do meanwhile what is to be done on it.
async fn drive<T>(
    connection: &mut Connection<Box<dyn Both>, Bytes>,
    wanted: impl Future<Output = Result<T, h2::Error>>,
) -> Result<T, Failure> {
    let mut wanted = pin!(wanted);
    poll_fn(|context| {
        let ended = Pin::new(&mut *connection).poll(context);
        if let Poll::Ready(done) = wanted.as_mut().poll(context) {
            return Poll::Ready(done.map_err(|error| failed(&error)));
        }
        match ended {
            Poll::Pending => Poll::Pending,
            Poll::Ready(Err(error)) => Poll::Ready(Err(failed(&error))),
            Poll::Ready(Ok(())) => Poll::Ready(Err(Failure::new(
                FailureKind::Connection,
                "the server closed the connection",
            ))),
        }
    })
    .await
}

fn make(ready: &Ready, shared: &Shared, params: &Values) -> Result<(Request<()>, Bytes), Failure> {
    let text = |parts: &[super::fill::Part]| {
        let mut out = BytesMut::new();
        fill(parts, params, &mut out)?;
        Ok::<_, Failure>(out.freeze())
    };
    let wrong = |error: ::http::Error| Failure::new(FailureKind::Other, format!("{}: {error}", ready.name));
    let target = &shared.way.target;
    let path = PathAndQuery::from_maybe_shared(text(&ready.path)?).map_err(|error| wrong(error.into()))?;
    let uri = Uri::builder()
        .scheme(if target.tls.is_some() { "https" } else { "http" })
        .authority(target.authority())
        .path_and_query(path)
        .build()
        .map_err(wrong)?;
    let mut request = Request::new(());
    *request.method_mut() = Method::from_bytes(ready.method.as_bytes()).map_err(|error| wrong(error.into()))?;
    *request.uri_mut() = uri;
    for (name, value) in &ready.headers {
        let name = HeaderName::from_bytes(name.as_bytes()).map_err(|error| wrong(error.into()))?;
        let value = HeaderValue::from_maybe_shared(text(value)?).map_err(|error| wrong(error.into()))?;
        request.headers_mut().append(name, value);
    }
    let body = match &ready.body {
        Some(parts) => text(&parts.0)?,
        None => Bytes::new(),
    };
    Ok((request, body))
}

fn copy(request: &Request<()>) -> Request<()> {
    let mut copy = Request::new(());
    *copy.method_mut() = request.method().clone();
    *copy.uri_mut() = request.uri().clone();
    *copy.headers_mut() = request.headers().clone();
    copy
}

#[cold]
fn failed(error: &h2::Error) -> Failure {
    match error.get_io() {
        Some(error) => {
            let broke = format!("the connection broke: {}", net::reason(error));
            net::with_code(Failure::new(FailureKind::Connection, broke), error)
        }
        None => Failure::new(FailureKind::Connection, format!("HTTP/2: {error}")),
    }
}
