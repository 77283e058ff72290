//! The connection: a stream of messages each way, and how it is begun (PostgreSQL's documentation, "Message Flow").

use super::kind;
use crate::Failure;
use bytes::BytesMut;
use dbdyno_plan::document::FailureKind;
use dbdyno_plan::target::PostgresqlTarget;
use postgres_protocol::authentication::md5_hash;
use postgres_protocol::authentication::sasl::{ChannelBinding, SCRAM_SHA_256, ScramSha256};
use postgres_protocol::message::frontend;
use std::fmt::Display;
use std::future::poll_fn;
use std::io;
use std::ops::Range;
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, ReadBuf};
use tokio::net::{TcpStream, UnixStream};

/// A message's first byte and where its body lies in the input.
pub struct Message {
    pub tag: u8,
    pub body: Range<usize>,
}

enum Stream {
    Unix(UnixStream),
    Tcp(TcpStream),
}

/// A connection to a server.
pub struct Wire {
    stream: Stream,
    input: Vec<u8>,
    /// What of the input has come and has not been taken.
    there: Range<usize>,
    /// What is to be sent.
    pub out: BytesMut,
    sent: usize,
}

const ROOM: usize = 16 * 1024;

impl Wire {
    /// Connects and identifies itself. The connection is ready for statements when this returns.
    pub async fn connect(target: &PostgresqlTarget) -> Result<Self, Failure> {
        let place = target.place();
        let refused = |error: io::Error| {
            Failure::new(
                FailureKind::Connection,
                format!("connecting to {place}: {}", reason(&error)),
            )
        };
        let stream = if target.host.starts_with('/') {
            let path = format!("{}/.s.PGSQL.{}", target.host.trim_end_matches('/'), target.port);
            Stream::Unix(UnixStream::connect(path).await.map_err(refused)?)
        } else {
            let stream = TcpStream::connect((target.host.as_str(), target.port))
                .await
                .map_err(refused)?;
            stream.set_nodelay(true).map_err(refused)?;
            Stream::Tcp(stream)
        };
        let mut wire = Self {
            stream,
            input: vec![0; ROOM],
            there: 0..0,
            out: BytesMut::with_capacity(1024),
            sent: 0,
        };
        wire.begin(target)
            .await
            .map_err(|failure| failure.explained(|message| format!("connecting to {place}: {message}")))?;
        Ok(wire)
    }

    async fn begin(&mut self, target: &PostgresqlTarget) -> Result<(), Failure> {
        let own = [
            ("user", target.user.as_str()),
            ("database", target.database.as_str()),
            ("client_encoding", "UTF8"),
            ("application_name", "dbdyno"),
        ];
        let settings = target
            .session
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()));
        frontend::startup_message(own.into_iter().chain(settings), &mut self.out).map_err(unsayable)?;
        self.flush().await?;
        let password = target.password.as_deref();
        let wanted = || {
            Failure::new(
                FailureKind::Connection,
                "the server wants a password, and none was given",
            )
        };
        let mut scram: Option<ScramSha256> = None;
        loop {
            let message = self.message().await?;
            let body = &self.input[message.body.clone()];
            match message.tag {
                b'R' => {
                    let (method, rest) = number(body)?;
                    match method {
                        0 => continue,
                        3 => {
                            let password = password.ok_or_else(wanted)?;
                            frontend::password_message(password.as_bytes(), &mut self.out).map_err(unsayable)?;
                        }
                        5 => {
                            let password = password.ok_or_else(wanted)?;
                            let salt = rest.first_chunk::<4>().ok_or_else(garbled)?;
                            let hash = md5_hash(target.user.as_bytes(), password.as_bytes(), *salt);
                            frontend::password_message(hash.as_bytes(), &mut self.out).map_err(unsayable)?;
                        }
                        10 => {
                            let password = password.ok_or_else(wanted)?;
                            if !rest
                                .split(|byte| *byte == 0)
                                .any(|name| name == SCRAM_SHA_256.as_bytes())
                            {
                                return Err(unknown_method("SASL without SCRAM-SHA-256"));
                            }
                            let state = ScramSha256::new(password.as_bytes(), ChannelBinding::unsupported());
                            frontend::sasl_initial_response(SCRAM_SHA_256, state.message(), &mut self.out)
                                .map_err(unsayable)?;
                            scram = Some(state);
                        }
                        11 => {
                            let state = scram.as_mut().ok_or_else(garbled)?;
                            state.update(rest).map_err(unsayable)?;
                            frontend::sasl_response(state.message(), &mut self.out).map_err(unsayable)?;
                        }
                        12 => {
                            scram.as_mut().ok_or_else(garbled)?.finish(rest).map_err(unsayable)?;
                            continue;
                        }
                        other => return Err(unknown_method(&format!("method {other}"))),
                    }
                    self.flush().await?;
                }
                b'E' => return Err(error(body)),
                b'Z' => return Ok(()),
                _ => {}
            }
        }
    }

    /// Sends what can be sent at once. What is left goes with [`Self::flush`].
    #[inline]
    pub fn send(&mut self) -> Result<(), Failure> {
        while self.sent < self.out.len() {
            let rest = &self.out[self.sent..];
            let written = match &self.stream {
                Stream::Unix(stream) => stream.try_write(rest),
                Stream::Tcp(stream) => stream.try_write(rest),
            };
            match written {
                Ok(written) => self.sent += written,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(broken(&error)),
            }
        }
        self.out.clear();
        self.sent = 0;
        Ok(())
    }

    /// Sends all there is to send.
    pub async fn flush(&mut self) -> Result<(), Failure> {
        loop {
            self.send()?;
            if self.out.is_empty() {
                return Ok(());
            }
            let ready = match &self.stream {
                Stream::Unix(stream) => stream.writable().await,
                Stream::Tcp(stream) => stream.writable().await,
            };
            ready.map_err(|error| broken(&error))?;
        }
    }

    /// The next message. Its body stays in the input until the next is asked for.
    #[inline]
    pub async fn message(&mut self) -> Result<Message, Failure> {
        loop {
            if let Some(message) = self.take()? {
                return Ok(message);
            }
            self.read().await?;
        }
    }

    /// A message's body.
    #[inline]
    pub fn body(&self, message: &Message) -> &[u8] {
        &self.input[message.body.clone()]
    }

    fn take(&mut self) -> Result<Option<Message>, Failure> {
        let there = &self.input[self.there.clone()];
        let Some((head, _)) = there.split_first_chunk::<5>() else {
            return Ok(None);
        };
        let [tag, length @ ..] = *head;
        let length = u32::from_be_bytes(length) as usize;
        if length < 4 {
            return Err(garbled());
        }
        if there.len() < length + 1 {
            return Ok(None);
        }
        let body = self.there.start + 5..self.there.start + 1 + length;
        self.there.start = body.end;
        Ok(Some(Message { tag, body }))
    }

    /// Reads what has come, at least a byte.
    async fn read(&mut self) -> Result<(), Failure> {
        if self.there.is_empty() {
            self.there = 0..0;
        } else if self.there.start > 0 && self.there.end == self.input.len() {
            self.input.copy_within(self.there.clone(), 0);
            self.there = 0..self.there.len();
        }
        if self.there.end == self.input.len() {
            // A message longer than all the room there is.
            self.input.resize(self.input.len() * 2, 0);
        }
        let mut room = ReadBuf::new(&mut self.input[self.there.end..]);
        let stream = &mut self.stream;
        poll_fn(|context| poll_read(stream, context, &mut room))
            .await
            .map_err(|error| broken(&error))?;
        let read = room.filled().len();
        if read == 0 {
            return Err(Failure::new(
                FailureKind::Connection,
                "the server closed the connection",
            ));
        }
        self.there.end += read;
        Ok(())
    }
}

fn poll_read(stream: &mut Stream, context: &mut Context<'_>, room: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
    match stream {
        Stream::Unix(stream) => Pin::new(stream).poll_read(context, room),
        Stream::Tcp(stream) => Pin::new(stream).poll_read(context, room),
    }
}

/// A big-endian number of 32 bits at the start of a message's body, and what follows it.
pub fn number(body: &[u8]) -> Result<(i32, &[u8]), Failure> {
    let (bytes, rest) = body.split_first_chunk::<4>().ok_or_else(garbled)?;
    Ok((i32::from_be_bytes(*bytes), rest))
}

/// What an error message says, with its SQLSTATE.
#[cold]
pub fn error(body: &[u8]) -> Failure {
    let (mut code, mut text, mut detail) = ("", "", None);
    for field in body.split(|byte| *byte == 0) {
        if let Some((letter, rest)) = field.split_first() {
            let rest = std::str::from_utf8(rest).unwrap_or("");
            match letter {
                b'C' => code = rest,
                b'M' => text = rest,
                b'D' => detail = Some(rest),
                _ => {}
            }
        }
    }
    let detail = detail.map(|detail| format!(": {detail}")).unwrap_or_default();
    Failure::new(kind(code), format!("{text}{detail} ({code})"))
}

#[cold]
fn broken(error: &io::Error) -> Failure {
    Failure::new(
        FailureKind::Connection,
        format!("the connection broke: {}", reason(error)),
    )
}

fn reason(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "there is no such socket".into(),
        io::ErrorKind::ConnectionRefused => "nothing listens there".into(),
        _ => error.to_string().to_lowercase(),
    }
}

#[cold]
pub fn garbled() -> Failure {
    Failure::new(
        FailureKind::Connection,
        "the server sent what is no message of PostgreSQL's protocol",
    )
}

#[cold]
pub fn unsayable(error: impl Display) -> Failure {
    Failure::new(
        FailureKind::Other,
        format!("it cannot be said in PostgreSQL's protocol: {error}"),
    )
}

fn unknown_method(what: &str) -> Failure {
    Failure::new(
        FailureKind::Connection,
        format!("the server asks for a way to log in that dbdyno does not know: {what}"),
    )
}
