//! The connection: messages in both directions, and the startup (documentation, "Message Flow").

use super::kind;
use crate::server::ServerTarget;
use crate::server::net::{Connection, FULL, LONGEST, LONGEST_AT_LOGIN, too_long};
use crate::server::tls;
use dbdyno_engine::Failure;
use dbdyno_engine::time_limits::logged_in;
use dbdyno_protocol::plan::document::FailureKind;
use postgres_protocol::authentication::md5_hash;
use postgres_protocol::authentication::sasl::{ChannelBinding, SCRAM_SHA_256, ScramSha256};
use postgres_protocol::message::frontend;
use std::fmt::Display;
use std::ops::Range;

/// A pooler's answer to the parameter that makes sessions read-only.
const READ_ONLY_REJECTED: &str = "unsupported startup parameter: default_transaction_read_only";
const POOLER: &str = ": let the pooler ignore it (`ignore_startup_parameters`)";

/// A message's type byte and its length.
const HEAD: usize = 5;

/// A message's type byte and the position of its body in the input.
pub struct Message {
    pub tag: u8,
    pub body: Range<usize>,
}

/// A connection to a server.
pub struct Wire {
    pub connection: Connection,
    /// Maximum message size that the server may announce, in bytes.
    longest: usize,
}

impl Wire {
    /// Wraps a new connection.
    pub fn new(connection: Connection) -> Self {
        Self {
            connection,
            longest: LONGEST_AT_LOGIN,
        }
    }

    /// Connects and logs in. The connection is then ready for statements.
    pub async fn connect(target: &ServerTarget) -> Result<Self, Failure> {
        let begun = async {
            let mut wire = if target.host.starts_with('/') {
                let path = format!("{}/.s.PGSQL.{}", target.host.trim_end_matches('/'), target.port);
                Self::new(Connection::unix(&path).await?)
            } else {
                let mut wire = Self::new(Connection::tcp(&target.host, target.port).await?);
                wire.encrypt(target).await?;
                wire
            };
            wire.begin(target).await?;
            wire.longest = LONGEST;
            Ok(wire)
        };
        logged_in(begun).await.map_err(|failure: Failure| {
            failure.explained(|message| {
                let advice = if message.ends_with("(53300)") {
                    FULL
                } else if message.contains(READ_ONLY_REJECTED) {
                    POOLER
                } else {
                    ""
                };
                format!("connecting to {}: {message}{advice}", target.place())
            })
        })
    }

    /// Requests TLS, if configured.
    async fn encrypt(&mut self, target: &ServerTarget) -> Result<(), Failure> {
        let Some(tls) = target.tls.as_ref().filter(|tls| tls::is_wanted(Some(tls))) else {
            return Ok(());
        };
        frontend::ssl_request(&mut self.connection.out);
        self.connection.flush().await?;
        self.connection.read().await?;
        let answer = self.connection.take(1);
        match self.connection.taken(answer) {
            b"S" => self.connection.encrypt(tls, &target.host).await,
            // The server isn't authenticated yet, so its error message can't be trusted and isn't shown.
            b"E" => Err(Failure::new(FailureKind::Connection, "the server does not support TLS")),
            b"N" => tls::without(Some(tls)),
            _ => Err(garbled()),
        }
    }

    /// Logs in.
    pub async fn begin(&mut self, target: &ServerTarget) -> Result<(), Failure> {
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
        // If a name occurs twice, the last one applies.
        let read_only = target.read_only.then_some(("default_transaction_read_only", "on"));
        let all = own.into_iter().chain(settings).chain(read_only);
        frontend::startup_message(all, &mut self.connection.out).map_err(unsayable)?;
        self.connection.flush().await?;
        let password = target.password.as_deref();
        let wanted = || {
            Failure::new(
                FailureKind::Connection,
                "the server requires a password, but none was given",
            )
        };
        let mut scram: Option<ScramSha256> = None;
        loop {
            let message = self.message().await?;
            let body = self.connection.taken(message.body.clone());
            match message.tag {
                b'R' => {
                    let (method, rest) = number(body)?;
                    match method {
                        0 => continue,
                        3 => {
                            let password = password.ok_or_else(wanted)?;
                            frontend::password_message(password.as_bytes(), &mut self.connection.out)
                                .map_err(unsayable)?;
                        }
                        5 => {
                            let password = password.ok_or_else(wanted)?;
                            let salt = rest.first_chunk::<4>().ok_or_else(garbled)?;
                            let hash = md5_hash(target.user.as_bytes(), password.as_bytes(), *salt);
                            frontend::password_message(hash.as_bytes(), &mut self.connection.out).map_err(unsayable)?;
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
                            frontend::sasl_initial_response(SCRAM_SHA_256, state.message(), &mut self.connection.out)
                                .map_err(unsayable)?;
                            scram = Some(state);
                        }
                        11 => {
                            let state = scram.as_mut().ok_or_else(garbled)?;
                            state.update(rest).map_err(unsayable)?;
                            frontend::sasl_response(state.message(), &mut self.connection.out).map_err(unsayable)?;
                        }
                        12 => {
                            scram.as_mut().ok_or_else(garbled)?.finish(rest).map_err(unsayable)?;
                            continue;
                        }
                        other => return Err(unknown_method(&format!("method {other}"))),
                    }
                    self.connection.flush().await?;
                }
                b'E' => return Err(error(body)),
                b'Z' => return Ok(()),
                _ => {}
            }
        }
    }

    /// The next message. Its body stays in the input until the next call.
    #[inline]
    pub async fn message(&mut self) -> Result<Message, Failure> {
        loop {
            if let Some(message) = self.take()? {
                return Ok(message);
            }
            self.connection.read().await?;
        }
    }

    /// A message's body.
    #[inline]
    pub fn body(&self, message: &Message) -> &[u8] {
        self.connection.taken(message.body.clone())
    }

    fn take(&mut self) -> Result<Option<Message>, Failure> {
        let Some((tag, length)) = heading(self.connection.there(), self.longest)? else {
            return Ok(None);
        };
        let mut body = self.connection.take(HEAD + length);
        body.start += HEAD;
        Ok(Some(Message { tag, body }))
    }
}

/// The type byte and body length of the first message, if it has arrived completely.
#[inline]
fn heading(there: &[u8], longest: usize) -> Result<Option<(u8, usize)>, Failure> {
    let Some(([tag, length @ ..], rest)) = there.split_first_chunk::<HEAD>() else {
        return Ok(None);
    };
    // The length includes its own four bytes.
    let length = (u32::from_be_bytes(*length) as usize)
        .checked_sub(4)
        .ok_or_else(garbled)?;
    if length > longest {
        return Err(too_long(length, longest));
    }
    Ok((rest.len() >= length).then_some((*tag, length)))
}

/// A big-endian 32-bit integer at the start of a message's body, and the remaining bytes.
pub fn number(body: &[u8]) -> Result<(i32, &[u8]), Failure> {
    let (bytes, rest) = body.split_first_chunk::<4>().ok_or_else(garbled)?;
    Ok((i32::from_be_bytes(*bytes), rest))
}

/// The failure in an error message, with its SQLSTATE.
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
    Failure::new(kind(code), format!("{text}{detail} ({code})")).coded(code.to_owned())
}

#[cold]
pub fn garbled() -> Failure {
    Failure::new(FailureKind::Connection, "the server sent an invalid PostgreSQL message")
}

#[cold]
pub fn unsayable(error: impl Display) -> Failure {
    Failure::new(
        FailureKind::Other,
        format!("cannot be encoded in PostgreSQL's protocol: {error}"),
    )
}

fn unknown_method(what: &str) -> Failure {
    Failure::new(
        FailureKind::Connection,
        format!("the server requires an unsupported authentication method: {what}"),
    )
}
