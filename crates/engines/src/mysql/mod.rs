//! MariaDB and MySQL, and servers that speak their protocol.
//!
//! As for PostgreSQL, the session sends a statement's packet at once and the answer is awaited. A prepared statement
//! needs one packet (execute). Its rows are in binary format, and only captured ones are decoded.

mod bulk;
mod catalog;
mod check;
mod driver;
mod estimates;
mod external_access;
mod functions;
mod inspect;
mod login;
mod observe;
mod ownership_lock;
mod results;
#[cfg(test)]
mod script;
mod session;
mod space;
mod values;
mod waits;
mod wire;
mod writes;

pub use driver::MysqlTarget;
pub use session::MysqlSession;

use crate::server::net::block_on;
use crate::server::{ServerTarget, located};
use crate::sql_text::{Dialect, Template, with_example};
use crate::tokens::Syntax;
use dbdyno_engine::observed::{Backlog, Counters};
use dbdyno_engine::probe::Probe;
use dbdyno_engine::waits::Waits;
use dbdyno_engine::{Engine, Facts, Failure};
use dbdyno_protocol::plan::document::{FailureKind, PrepareMode, Statement};
use std::sync::Arc;

/// Lexical rules of MariaDB and MySQL without `ansi_quotes` and `no_backslash_escapes`.
pub(crate) const SYNTAX: Syntax = Syntax {
    backslashes: true,
    double_quoted_strings: true,
    backticks: true,
    executable_comments: true,
    ..Syntax::STANDARD
};

/// Notation of its literals.
pub(crate) const DIALECT: Dialect = Dialect {
    backslashes: true,
    ..Dialect::STANDARD
};

/// A server, and the statements that its sessions run.
pub struct MysqlEngine {
    target: ServerTarget,
    statements: Arc<[Text]>,
    prepare: PrepareMode,
}

/// A statement of the plan.
#[derive(Debug)]
struct Text {
    /// The statement as in the plan.
    statement: Statement,
    /// Split at its parameters, to insert values into the text.
    template: Template,
    /// With its example values inserted, if it has any.
    example: Option<String>,
}

impl MysqlEngine {
    /// Creates an engine without connecting.
    pub fn new(target: &ServerTarget, statements: &[Statement], prepare: PrepareMode) -> Self {
        Self {
            target: target.clone(),
            statements: Self::texts(statements),
            prepare,
        }
    }

    /// Prepares the statements for sessions.
    fn texts(statements: &[Statement]) -> Arc<[Text]> {
        let text = |statement: &Statement| Text {
            statement: statement.clone(),
            template: Template::of(statement),
            example: with_example(statement, &DIALECT),
        };
        statements.iter().map(text).collect()
    }
}

impl Engine for MysqlEngine {
    type Session = MysqlSession;

    const REMOTE: bool = true;

    async fn connect(&self, _client: u32) -> Result<MysqlSession, Failure> {
        MysqlSession::open(&self.target, self.statements.clone(), self.prepare).await
    }

    fn facts(&self) -> Result<Facts, Failure> {
        block_on(inspect::facts(self)).map_err(|failure| located(failure, &self.target.place()))
    }

    fn probe(&self) -> &dyn Probe {
        self
    }
}

impl Probe for MysqlEngine {
    fn counters(&self) -> Option<Result<Counters, Failure>> {
        Some(block_on(observe::counters(self)))
    }

    fn backlog(&self) -> Option<Result<Backlog, Failure>> {
        Some(block_on(observe::backlog(self)))
    }

    fn sample_waits(&self, running: &dyn Fn() -> bool) -> Option<Result<Waits, Failure>> {
        Some(block_on(waits::sample(self, running)))
    }
}

/// The names of the server's databases that the user can see.
pub async fn databases(target: &ServerTarget) -> Result<Vec<String>, Failure> {
    names(&mut MysqlSession::open(target, Arc::new([]), PrepareMode::Never).await?).await
}

async fn names(session: &mut MysqlSession) -> Result<Vec<String>, Failure> {
    let rows = session.query("show databases").await?;
    Ok(rows.into_iter().flatten().flatten().collect())
}

/// Maps an error to a failure kind by its number and SQLSTATE ("MariaDB Error Codes"; "MySQL Error Message Reference").
/// The number has priority if it is more specific.
fn kind(number: u16, state: &str) -> FailureKind {
    match number {
        // A deadlock, in this transaction or in an XA branch.
        1213 | 1614 => FailureKind::Deadlock,
        // A lock timeout, or NOWAIT.
        1205 | 3572 => FailureKind::Locked,
        // The row was changed since it was read (MariaDB: innodb_snapshot_isolation).
        1020 => FailureKind::Serialization,
        // A statement timeout (MySQL, MariaDB), or a cancelled statement.
        3024 | 1969 | 1317 => FailureKind::Timeout,
        // A required column without a value, or a CHECK constraint in MySQL.
        1364 | 3819 => FailureKind::Constraint,
        // Too many connections, in total or of one user; unknown database, or access denied; server shutdown; host
        // blocked or unknown; connection killed or idle for too long; account locked, password expired, or login plugin
        // missing; encrypted connections required (3159).
        1040 | 1203 | 1226 | 1044 | 1049 | 1053 | 1129 | 1130 | 1927 | 4031 | 3118 | 1862 | 1251 | 1524 | 2006
        | 2013 | 3159 => FailureKind::Connection,
        _ if state.starts_with("08") || state.starts_with("28") => FailureKind::Connection,
        _ if state.starts_with("23") => FailureKind::Constraint,
        _ if state == "40001" => FailureKind::Serialization,
        _ => FailureKind::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_counted_under_their_kind() {
        for (number, state, expected) in [
            (1213, "40001", FailureKind::Deadlock),
            (1205, "HY000", FailureKind::Locked),
            (3101, "40001", FailureKind::Serialization),
            (1062, "23000", FailureKind::Constraint),
            (1452, "23000", FailureKind::Constraint),
            (4025, "23000", FailureKind::Constraint),
            (1969, "70100", FailureKind::Timeout),
            (1317, "70100", FailureKind::Timeout),
            (1045, "28000", FailureKind::Connection),
            (1049, "42000", FailureKind::Connection),
            (1053, "08S01", FailureKind::Connection),
            (1927, "70100", FailureKind::Connection),
            (1064, "42000", FailureKind::Other),
        ] {
            assert_eq!(kind(number, state), expected, "{number}");
        }
    }
}
