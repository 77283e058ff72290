//! Code shared by the server engines: targets, connections, encryption, and ownership locks.

pub(crate) mod net;
pub(crate) mod ownership_lock;
pub mod tls;

use dbdyno_engine::Failure;
use dbdyno_engine::driver::Site;
use dbdyno_probes::listeners::{tcp_listener, unix_listener};
use dbdyno_protocol::plan::document::FailureKind;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::net::IpAddr;
use std::path::Path;

/// A PostgreSQL, MariaDB or MySQL server, and how each client connects to it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ServerTarget {
    /// Host name, or a Unix socket if it begins with `/` (for PostgreSQL, the socket's directory).
    pub host: String,
    /// Its port; for PostgreSQL's Unix socket, the number in its name.
    pub port: u16,
    /// The user.
    pub user: String,
    /// The user's password, if required.
    #[serde(default)]
    pub password: Option<String>,
    /// The database.
    pub database: String,
    /// Settings (MariaDB and MySQL: variables) for each session: name and value.
    #[serde(default)]
    pub session: Vec<(String, String)>,
    /// Whether sessions are read-only, so that the server rejects writes.
    #[serde(default)]
    pub read_only: bool,
    /// Encryption of connections; none if omitted. Unix sockets are never encrypted.
    #[serde(default)]
    pub tls: Option<Tls>,
    /// The server's process, if dbdyno started it on this machine.
    #[serde(default)]
    pub process: Option<ServerProcess>,
}

/// How connections are encrypted, and which certificates are trusted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Tls {
    /// Whether encryption is required.
    pub mode: TlsMode,
    /// A PEM file with the trusted certificates (CAs or the server's own); the system's if omitted.
    #[serde(default)]
    pub roots: Option<String>,
}

/// Whether connections are encrypted, and how the server's certificate is verified.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TlsMode {
    /// Never.
    Disable,
    /// If the server supports it; the certificate isn't verified.
    Prefer,
    /// Always; the certificate isn't verified.
    Require,
    /// Always; the certificate must be signed by a trusted CA.
    VerifyCa,
    /// Like `verify-ca`, and the certificate must match the host name.
    VerifyFull,
}

/// A server on this machine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ServerProcess {
    /// Its main process, which is the ancestor of its other processes.
    pub pid: u32,
    /// Its data directory.
    pub data: String,
}

impl ServerTarget {
    /// Its address, for messages.
    pub fn place(&self) -> String {
        place(&self.host, self.port)
    }

    /// Its location on this machine. If dbdyno didn't start the server, its process is looked up by its socket. Only a
    /// process with a name in `names` counts. `socket`: the path of its Unix socket.
    pub(crate) fn site(&self, socket: &Path, names: &[&str]) -> Site<'_> {
        let site = ServerProcess::site(self.process.as_ref());
        let listener = || {
            let host = self.host.as_str();
            if host.starts_with('/') {
                return unix_listener(socket, names);
            }
            let is_here = host == "localhost" || host.parse().is_ok_and(|host: IpAddr| host.is_loopback());
            is_here.then(|| tcp_listener(self.port, names)).flatten()
        };
        Site {
            server: site.server.or_else(listener),
            ..site
        }
    }
}

impl ServerProcess {
    /// Where the machine's probes find it.
    pub fn site(process: Option<&Self>) -> Site<'_> {
        Site {
            storage: process.map(|process| Path::new(process.data.as_str())),
            server: process.map(|process| process.pid),
            locks: &[],
        }
    }
}

/// Adds the server's address to a connection failure of one of dbdyno's own queries.
pub(crate) fn located(failure: Failure, place: &str) -> Failure {
    match failure.kind {
        FailureKind::Connection | FailureKind::Timeout if !failure.message.contains(place) => {
            failure.explained(|message| format!("{place}: {message}"))
        }
        _ => failure,
    }
}

/// A server's address, for messages.
pub(crate) fn place(host: &str, port: u16) -> String {
    if host.starts_with('/') {
        format!("the socket at {host}")
    } else {
        format!("{host}:{port}")
    }
}

/// The server's error about a statement, without the statement's name at its end.
pub(crate) fn error_of(failure: &Failure, name: &str) -> String {
    let message = &failure.message;
    message
        .strip_suffix(&format!(": in {name}"))
        .unwrap_or(message)
        .to_owned()
}
