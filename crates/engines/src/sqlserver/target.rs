//! What a plan says of a SQL Server.

use crate::server::{Tls, place};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A Microsoft SQL Server, and how each client connects to it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SqlserverTarget {
    /// Its host.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// The user, as the server knows it.
    pub user: String,
    /// The user's password.
    #[serde(default)]
    pub password: Option<String>,
    /// The database.
    pub database: String,
    /// Settings that each session is begun with, as `set` has them: name and value.
    #[serde(default)]
    pub session: Vec<(String, String)>,
    /// How connections are encrypted; left out: they are not. `prefer` is as `require`; there is no `verify-ca`.
    #[serde(default)]
    pub tls: Option<Tls>,
}

impl SqlserverTarget {
    /// Where it is, for messages.
    pub fn place(&self) -> String {
        place(&self.host, self.port)
    }
}
