//! The MongoDB target of a plan.

use crate::server::{ServerProcess, place};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A MongoDB server, or a compatible one such as FerretDB, and how each client connects to it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MongodbTarget {
    /// Host name, or the path of a Unix socket if it begins with `/`.
    pub host: String,
    /// Its port; ignored for a Unix socket.
    pub port: u16,
    /// The user; without one, clients don't log in.
    #[serde(default)]
    pub user: Option<String>,
    /// The user's password, if required.
    #[serde(default)]
    pub password: Option<String>,
    /// The database.
    pub database: String,
    /// Options of MongoDB's connection strings for each session: name and value.
    #[serde(default)]
    pub session: Vec<(String, String)>,
    /// The server's process, if dbdyno started it on this machine.
    #[serde(default)]
    pub process: Option<ServerProcess>,
}

impl MongodbTarget {
    /// Its address, for messages.
    pub fn place(&self) -> String {
        place(&self.host, self.port)
    }
}
