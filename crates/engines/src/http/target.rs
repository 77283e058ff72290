//! The target of an HTTP service in a plan.

use crate::server::{ServerProcess, Tls, place};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// A service that speaks HTTP, and how each client connects to it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HttpTarget {
    /// Its host, or the path of its Unix socket, which begins with `/`.
    pub host: String,
    /// Its port; ignored for a Unix socket.
    pub port: u16,
    /// Further places of the service. Clients are distributed over all places round-robin, the first to `host` and
    /// `port`.
    #[serde(default)]
    pub others: Vec<Place>,
    /// The prefix of each request's path: empty, or a path that does not end with `/`.
    #[serde(default)]
    pub base: String,
    /// Name and password of basic authentication (RFC 7617), separated by a colon; left out: no authentication. They
    /// are one field because for some services the name is the secret.
    #[serde(default)]
    pub password: Option<String>,
    /// The version of HTTP.
    #[serde(default)]
    pub version: Version,
    /// Whether a connection is kept for the next request; for version 1.1 only.
    #[serde(default = "yes")]
    pub keepalive: bool,
    /// How connections are encrypted; left out: not at all.
    #[serde(default)]
    pub tls: Option<Tls>,
    /// Milliseconds that a request may take, connecting included.
    #[serde(default = "half_a_minute")]
    pub timeout_ms: u64,
    /// The service's process, if it runs on this machine and dbdyno started it.
    #[serde(default)]
    pub process: Option<ServerProcess>,
}

/// A further place of a service.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Place {
    /// As of the first.
    pub host: String,
    /// As of the first.
    pub port: u16,
}

/// A version of HTTP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub enum Version {
    /// HTTP/1.1 (RFC 9112).
    #[default]
    #[serde(rename = "1.1")]
    One,
    /// HTTP/2 (RFC 9113): negotiated over TLS, and with prior knowledge otherwise.
    #[serde(rename = "2")]
    Two,
}

impl Version {
    /// Its name in URLs.
    pub fn name(self) -> &'static str {
        match self {
            Self::One => "1.1",
            Self::Two => "2",
        }
    }
}

fn yes() -> bool {
    true
}

fn half_a_minute() -> u64 {
    30_000
}

impl HttpTarget {
    /// Its address, for messages.
    pub fn place(&self) -> String {
        place(&self.host, self.port)
    }

    /// The same service at each of its places, the first included.
    pub fn each(&self) -> impl Iterator<Item = Self> {
        let first = Self {
            others: Vec::new(),
            ..self.clone()
        };
        let others = self.others.iter().map(|place| Self {
            host: place.host.clone(),
            port: place.port,
            others: Vec::new(),
            ..self.clone()
        });
        std::iter::once(first).chain(others.collect::<Vec<_>>())
    }

    /// How long a request may take.
    pub fn timeout(&self) -> Duration {
        Duration::from_millis(self.timeout_ms)
    }

    /// The value of the field `host`, or of `:authority` (RFC 9110, 7.2). It contains the port unless that is the
    /// default.
    pub fn authority(&self) -> String {
        let usual = if self.tls.is_some() { 443 } else { 80 };
        match self.host.as_str() {
            socket if socket.starts_with('/') => "localhost".into(),
            host => {
                let host = if host.contains(':') {
                    format!("[{host}]")
                } else {
                    host.to_owned()
                };
                if self.port == usual {
                    host
                } else {
                    format!("{host}:{}", self.port)
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_authority_names_an_unusual_port() {
        for (host, port, tls, expected) in [
            ("web.example", 80, false, "web.example"),
            ("web.example", 443, true, "web.example"),
            ("web.example", 443, false, "web.example:443"),
            ("::1", 8080, false, "[::1]:8080"),
            ("/run/web.sock", 80, false, "localhost"),
        ] {
            let tls = tls.then(|| json!({"mode": "require"}));
            let target: HttpTarget = serde_json::from_value(json!({"host": host, "port": port, "tls": tls})).unwrap();
            assert_eq!(target.authority(), expected);
        }
    }
}
