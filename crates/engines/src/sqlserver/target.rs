//! The SQL Server target of a plan.

use crate::server::{Tls, place};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A Microsoft SQL Server, and how each client connects to it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SqlserverTarget {
    /// Host name.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// The login name.
    pub user: String,
    /// The user's password.
    #[serde(default)]
    pub password: Option<String>,
    /// The database.
    pub database: String,
    /// Settings for each session, as for `set`: name and value.
    #[serde(default)]
    pub session: Vec<(String, String)>,
    /// Encryption of connections; none if omitted. `prefer` behaves like `require`; `verify-ca` is not supported.
    #[serde(default)]
    pub tls: Option<Tls>,
}

impl SqlserverTarget {
    /// Its address, for messages.
    pub fn place(&self) -> String {
        place(&self.host, self.port)
    }
}
