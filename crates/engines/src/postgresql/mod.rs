//! PostgreSQL, and servers that speak its protocol.
//!
//! The session sends a statement's messages at once and the response is awaited, so that one thread can serve many
//! clients. A prepared statement takes one message to the server (bind, execute, sync) and one back.

mod bulk;
mod catalog;
mod check;
mod copy_text;
mod driver;
mod estimates;
mod external_access;
mod inspect;
mod observe;
mod ownership_lock;
mod session;
mod space;
mod values;
mod waits;
mod wire;
mod writes;

pub use driver::PostgresqlTarget;
pub use session::PostgresqlSession;

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

/// Lexical rules of PostgreSQL with `standard_conforming_strings`.
pub(crate) const SYNTAX: Syntax = Syntax {
    escape_and_dollar_strings: true,
    nested_comments: true,
    ..Syntax::STANDARD
};

/// Notation of its literals.
pub(crate) const DIALECT: Dialect = Dialect {
    bytes: ("'\\x", "'::bytea"),
    not_finite: ["'nan'::float8", "'inf'::float8", "'-inf'::float8"],
    ..Dialect::STANDARD
};

/// A server, and the statements that its sessions run.
pub struct PostgresqlEngine {
    target: ServerTarget,
    statements: Arc<[Text]>,
    prepare: PrepareMode,
}

/// A statement in the protocol's format.
#[derive(Debug)]
struct Text {
    /// The statement as in the plan.
    statement: Statement,
    /// Its name on the server when prepared.
    prepared: String,
    /// With `$1` and so on for the parameters.
    numbered: String,
    /// Split at its parameters, to insert values into the text.
    template: Template,
    /// The number of columns, if it copies rows to the server.
    copied: Option<usize>,
    /// With its example values inserted, if it has any.
    example: Option<String>,
}

impl PostgresqlEngine {
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
        let text = |(number, statement): (usize, &Statement)| {
            let template = Template::of(statement);
            Text {
                statement: statement.clone(),
                prepared: format!("s{number}"),
                numbered: template.numbered(),
                template,
                copied: statement.copied().map(|copied| copied.columns.len()),
                example: with_example(statement, &DIALECT),
            }
        };
        statements.iter().enumerate().map(text).collect()
    }
}

impl Engine for PostgresqlEngine {
    type Session = PostgresqlSession;

    const REMOTE: bool = true;

    async fn connect(&self, _client: u32) -> Result<PostgresqlSession, Failure> {
        PostgresqlSession::open(&self.target, self.statements.clone(), self.prepare).await
    }

    fn facts(&self) -> Result<Facts, Failure> {
        block_on(inspect::facts(self)).map_err(|failure| located(failure, &self.target.place()))
    }

    fn probe(&self) -> &dyn Probe {
        self
    }
}

impl Probe for PostgresqlEngine {
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

/// Maps an SQLSTATE to a failure kind (PostgreSQL documentation, appendix A).
fn kind(code: &str) -> FailureKind {
    match code {
        "40P01" => FailureKind::Deadlock,
        "40001" => FailureKind::Serialization,
        "55P03" => FailureKind::Locked,
        // A statement timeout, or a cancelled statement.
        "57014" | "25P03" => FailureKind::Timeout,
        // The server is shutting down or starting up, has too many connections, or lacks the database.
        "57P01" | "57P02" | "57P03" | "53300" | "3D000" => FailureKind::Connection,
        _ if code.starts_with("08") || code.starts_with("28") => FailureKind::Connection,
        _ if code.starts_with("23") => FailureKind::Constraint,
        _ => FailureKind::Other,
    }
}
