//! MongoDB, and servers that speak its protocol, such as FerretDB.
//!
//! A statement is a database command in JSON, in which the string `?` stands for a parameter. It is converted to BSON
//! once. At each execution, the values are inserted and the complete command is sent; there are no prepared statements.
//! Returned documents are decoded only if their fields are captured.

mod bulk;
mod check;
mod command;
mod decode;
mod driver;
mod encode;
mod inspect;
mod json;
mod login;
mod lost_updates;
mod observe;
mod options;
mod parts;
mod reply;
mod scram;
mod session;
mod target;
mod values;
mod wire;
mod writes;

pub use session::MongodbSession;
pub use target::MongodbTarget;

use crate::server::located;
use crate::server::net::block_on;
use command::Command;
use dbdyno_engine::observed::{Backlog, Counters};
use dbdyno_engine::probe::Probe;
use dbdyno_engine::{Engine, Facts, Failure};
use dbdyno_protocol::plan::document::{FailureKind, Statement};
use options::Options;
use std::sync::Arc;

/// A server, and the statements that its sessions run.
pub struct MongodbEngine {
    target: MongodbTarget,
    options: Options,
    statements: Arc<[Text]>,
}

/// A statement of the plan.
#[derive(Debug)]
struct Text {
    /// For messages.
    name: String,
    /// The text as in the plan.
    text: String,
    command: Command,
}

impl MongodbEngine {
    /// Creates an engine without connecting. The error names the statement that isn't a command, or the invalid option.
    pub fn new(target: &MongodbTarget, statements: &[Statement]) -> Result<Self, Failure> {
        let options = Options::read(&target.session)
            .map_err(|problem| other(format!("connecting to {}: {problem}", target.place())))?;
        let text = |statement: &Statement| {
            let command = Command::new(&statement.sql, &target.database, &options)
                .map_err(|problem| other(format!("{problem}: in {}", statement.name)))?;
            Ok(Text {
                name: statement.name.clone(),
                text: statement.sql.clone(),
                command,
            })
        };
        let statements = statements.iter().map(text).collect::<Result<_, Failure>>()?;
        Ok(Self {
            target: target.clone(),
            options,
            statements,
        })
    }

    async fn open(&self) -> Result<MongodbSession, Failure> {
        MongodbSession::open(&self.target, &self.options, self.statements.clone()).await
    }
}

impl Engine for MongodbEngine {
    type Session = MongodbSession;

    const REMOTE: bool = true;
    const PLACES: bool = false;

    async fn connect(&self, _client: u32) -> Result<MongodbSession, Failure> {
        self.open().await
    }

    fn facts(&self) -> Result<Facts, Failure> {
        block_on(inspect::facts(self)).map_err(|failure| located(failure, &self.target.place()))
    }

    fn probe(&self) -> &dyn Probe {
        self
    }
}

impl Probe for MongodbEngine {
    fn counters(&self) -> Option<Result<Counters, Failure>> {
        Some(block_on(observe::counters(self)))
    }

    fn backlog(&self) -> Option<Result<Backlog, Failure>> {
        Some(block_on(observe::backlog(self)))
    }
}

fn other(message: String) -> Failure {
    Failure::new(FailureKind::Other, message)
}

/// Maps an error to a failure kind by its code (MongoDB's `src/mongo/base/error_codes.yml`).
fn kind_of(code: i64, message: &str) -> FailureKind {
    match code {
        // A duplicate key; a document that fails its collection's validation.
        11000 | 11001 | 121 => FailureKind::Constraint,
        // A write conflict; the transaction was aborted.
        112 | 251 => FailureKind::Serialization,
        // A timeout of a statement, a write concern or the network, or a killed operation.
        50 | 64 | 89 | 202 | 262 | 11601 => FailureKind::Timeout,
        // A lock timeout.
        24 | 46 => FailureKind::Locked,
        // FerretDB returns no specific code for SQLite errors.
        1 if message.contains("SQLITE_BUSY") => FailureKind::Locked,
        // Unauthorized or authentication failed; host not found; server shutting down, or not the primary.
        6 | 7 | 13 | 18 | 91 | 189 | 9001 | 10107 | 11600 | 11602 | 13435 | 13436 => FailureKind::Connection,
        _ => FailureKind::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_counted_under_their_kind() {
        for (code, expected) in [
            (11000, FailureKind::Constraint),
            (112, FailureKind::Serialization),
            (50, FailureKind::Timeout),
            (24, FailureKind::Locked),
            (46, FailureKind::Locked),
            (13, FailureKind::Connection),
            (18, FailureKind::Connection),
            (59, FailureKind::Other),
        ] {
            assert_eq!(kind_of(code, ""), expected, "{code}");
        }
        assert_eq!(kind_of(1, "database is locked (5) (SQLITE_BUSY)"), FailureKind::Locked);
        assert_eq!(kind_of(1, "something else"), FailureKind::Other);
    }
}
