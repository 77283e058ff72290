//! What the engines that are servers share: their targets, connections, encryption, locks that stand for databases.

pub(crate) mod holding;
pub(crate) mod net;
pub(crate) mod tls;

use dbdyno_engine::Failure;
use dbdyno_engine::driver::Site;
use dbdyno_plan::document::FailureKind;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// A server of PostgreSQL's kind, or of MariaDB's and MySQL's, and how each client connects to it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ServerTarget {
    /// Its host; one that begins with `/` is its Unix socket (of PostgreSQL, the directory of it).
    pub host: String,
    /// Its port; of PostgreSQL's Unix socket, the number in its name.
    pub port: u16,
    /// The user.
    pub user: String,
    /// The user's password, where one is needed.
    #[serde(default)]
    pub password: Option<String>,
    /// The database.
    pub database: String,
    /// Settings (of MariaDB and MySQL: variables) that each session is begun with: name and value.
    #[serde(default)]
    pub session: Vec<(String, String)>,
    /// Whether the server is to refuse each session's writes: its transactions then only read.
    #[serde(default)]
    pub read_only: bool,
    /// How connections are encrypted; left out: they are not. Those over a Unix socket never are.
    #[serde(default)]
    pub tls: Option<Tls>,
    /// The server, where it runs on this machine and is the laboratory's.
    #[serde(default)]
    pub process: Option<ServerProcess>,
}

/// How connections to a server are encrypted, and which certificates are believed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Tls {
    /// Whether it must be.
    pub mode: TlsMode,
    /// A file with the certificates (PEM) that are believed, and those they have signed; left out: the system's.
    #[serde(default)]
    pub roots: Option<String>,
}

/// Whether a connection is encrypted, and what is asked of the server's certificate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TlsMode {
    /// Never.
    Disable,
    /// Where the server can; its certificate is not looked at.
    Prefer,
    /// Always; its certificate is not looked at.
    Require,
    /// Always; its certificate must be signed by one that is believed.
    VerifyCa,
    /// The same, and it must be for the host's name.
    VerifyFull,
}

/// A server on this machine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ServerProcess {
    /// Its main process, whose descendants are its others.
    pub pid: u32,
    /// Where its data lie.
    pub data: String,
}

impl ServerTarget {
    /// Where it is, for messages.
    pub fn place(&self) -> String {
        place(&self.host, self.port)
    }
}

impl ServerProcess {
    /// Where the probes of the machine find it, if it is there.
    pub fn site(process: Option<&Self>) -> Site<'_> {
        Site {
            storage: process.map(|process| Path::new(process.data.as_str())),
            server: process.map(|process| process.pid),
            locks: &[],
        }
    }
}

/// The failure of a question of dbdyno's own with the server's place, if it is the connection that failed.
pub(crate) fn located(failure: Failure, place: &str) -> Failure {
    match failure.kind {
        FailureKind::Connection | FailureKind::Timeout if !failure.message.contains(place) => {
            failure.explained(|message| format!("{place}: {message}"))
        }
        _ => failure,
    }
}

/// Where a server is, for messages.
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
