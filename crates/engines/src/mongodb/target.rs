//! What a plan says of a server of MongoDB's kind.

use crate::server::{ServerProcess, place};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A MongoDB server (or one that speaks its protocol, such as FerretDB), and how each client connects to it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MongodbTarget {
    /// Its host; one that begins with `/` is the path of its Unix socket.
    pub host: String,
    /// Its port; of a Unix socket, any.
    pub port: u16,
    /// The user; left out: nobody logs in.
    #[serde(default)]
    pub user: Option<String>,
    /// The user's password, where one is needed.
    #[serde(default)]
    pub password: Option<String>,
    /// The database.
    pub database: String,
    /// Options of MongoDB's connection strings that each session has: name and value.
    #[serde(default)]
    pub session: Vec<(String, String)>,
    /// The server, where it runs on this machine and is the laboratory's.
    #[serde(default)]
    pub process: Option<ServerProcess>,
}

impl MongodbTarget {
    /// Where it is, for messages.
    pub fn place(&self) -> String {
        place(&self.host, self.port)
    }
}
