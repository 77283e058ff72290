//! Microsoft SQL Server, through the driver `tiberius`.
//!
//! **Untested**: no SQL Server was available during development. The checks of `crates/contract` run on the target in
//! the environment variable `DBDYNO_TEST_SQLSERVER`.
//!
//! A statement is sent as `sp_executesql` with its parameters, and the server caches its plan by the text. This is what
//! most applications do, whether they prepare or not. The session starts sending at once, and the response is awaited.

mod bulk;
mod check;
mod driver;
mod external_access;
mod inspect;
mod login;
mod session;
mod target;
mod values;

pub use session::SqlserverSession;
pub use target::SqlserverTarget;

use crate::server::located;
use crate::server::net::block_on;
use crate::sql_text::{Dialect, Template, with_example};
use crate::tokens::Syntax;
use dbdyno_engine::{Engine, Facts, Failure};
use dbdyno_program::value::Owned;
use dbdyno_protocol::plan::document::{FailureKind, PrepareMode, Statement};
use std::sync::Arc;
use tiberius::error::IoErrorKind;

/// Lexical rules of SQL Server.
pub(crate) const SYNTAX: Syntax = Syntax {
    brackets: true,
    nested_comments: true,
    ..Syntax::STANDARD
};

/// Notation of its literals. There are no infinities or NaN.
pub(crate) const DIALECT: Dialect = Dialect {
    text: "N'",
    bytes: ("0x", ""),
    not_finite: ["null"; 3],
    ..Dialect::STANDARD
};

/// A server, and the statements that its sessions run.
pub struct SqlserverEngine {
    target: SqlserverTarget,
    statements: Arc<[Text]>,
    prepare: PrepareMode,
}

/// A statement in the server's format.
#[derive(Debug)]
struct Text {
    /// For messages.
    name: String,
    /// With `@P1` and so on for the parameters.
    numbered: String,
    /// Split at its parameters, to insert values into the text.
    template: Template,
    /// With its example values inserted, if it has any.
    example: Option<String>,
    /// Whether it returns rows. The number of changed rows is available only if no rows are requested.
    reads: bool,
}

impl SqlserverEngine {
    /// Creates an engine without connecting.
    pub fn new(target: &SqlserverTarget, statements: &[Statement], prepare: PrepareMode) -> Self {
        let text = |statement: &Statement| {
            let template = Template::of(statement);
            Text {
                name: statement.name.clone(),
                numbered: template.named("@P"),
                template,
                example: with_example(statement, &DIALECT),
                reads: reads(&statement.sql),
            }
        };
        Self {
            target: target.clone(),
            statements: statements.iter().map(text).collect(),
            prepare,
        }
    }
}

impl Engine for SqlserverEngine {
    type Session = SqlserverSession;

    const REMOTE: bool = true;

    async fn connect(&self, _client: u32) -> Result<SqlserverSession, Failure> {
        SqlserverSession::open(&self.target, self.statements.clone(), self.prepare).await
    }

    fn facts(&self) -> Result<Facts, Failure> {
        block_on(inspect::facts(self)).map_err(|failure| located(failure, &self.target.place()))
    }
}

/// The names of the server's databases that the user can see.
pub async fn databases(target: &SqlserverTarget) -> Result<Vec<String>, Failure> {
    let mut session = SqlserverSession::open(target, Arc::new([]), PrepareMode::Never).await?;
    let rows = session
        .query("select cast(name as nvarchar(200)) from sys.databases")
        .await?;
    let name = |value| match value {
        Owned::Text(name) => Some(name),
        _ => None,
    };
    Ok(rows.into_iter().flatten().filter_map(name).collect())
}

/// Whether a statement returns rows, by its first word. One that begins with WITH does, unless it changes rows.
fn reads(sql: &str) -> bool {
    let text = sql.to_ascii_lowercase();
    match text.split_whitespace().next().unwrap_or("") {
        "select" => true,
        "with" => !text
            .split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
            .any(|word| matches!(word, "insert" | "update" | "delete" | "merge")),
        _ => text.split_whitespace().any(|word| word == "output"),
    }
}

/// Maps an error to a failure kind by its number (`sys.messages`).
fn kind(number: u32) -> FailureKind {
    match number {
        1205 => FailureKind::Deadlock,
        // A lock timeout, or NOWAIT.
        1222 => FailureKind::Locked,
        // Under snapshot isolation, the row was changed since the transaction began.
        3960 | 3961 | 41302 | 41305 | 41325 => FailureKind::Serialization,
        // A duplicate key, a foreign key or check violation, or a null in a NOT NULL column.
        2627 | 2601 | 547 | 515 => FailureKind::Constraint,
        // The statement was cancelled, or timed out waiting for memory.
        3617 | 8645 => FailureKind::Timeout,
        // Login failed; unknown or inaccessible database; server shutting down, or session killed.
        18456
        | 18452
        | 18470
        | 18486..=18488
        | 4060
        | 4064
        | 916
        | 233
        | 596
        | 6005
        | 17142
        | 17197
        | 10928
        | 10929 => FailureKind::Connection,
        _ => FailureKind::Other,
    }
}

/// Converts the driver's error to a failure.
#[cold]
fn failure(error: tiberius::error::Error) -> Failure {
    use tiberius::error::Error;
    match error {
        Error::Server(token) => {
            let message = format!("{} ({})", token.message().trim_end(), token.code());
            // At this severity, the server closes the connection.
            let kind = if token.class() >= 20 {
                FailureKind::Connection
            } else {
                kind(token.code())
            };
            Failure::new(kind, message).coded(token.code().to_string())
        }
        Error::Io {
            kind: IoErrorKind::ConnectionRefused,
            ..
        } => Failure::new(FailureKind::Connection, "connection refused; no server listens there").coded("ECONNREFUSED"),
        Error::Io { message, .. } => Failure::new(
            FailureKind::Connection,
            format!("the connection was lost: {}", message.to_lowercase()),
        ),
        Error::Tls(message) => Failure::new(FailureKind::Connection, format!("TLS failed: {message}")),
        Error::Routing { host, port } => {
            let message = format!("the server redirects clients to {host}:{port}: use that address");
            Failure::new(FailureKind::Connection, message)
        }
        other => Failure::new(FailureKind::Other, other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_counted_under_their_kind() {
        for (number, expected) in [
            (1205, FailureKind::Deadlock),
            (1222, FailureKind::Locked),
            (3960, FailureKind::Serialization),
            (2627, FailureKind::Constraint),
            (2601, FailureKind::Constraint),
            (547, FailureKind::Constraint),
            (515, FailureKind::Constraint),
            (18456, FailureKind::Connection),
            (4060, FailureKind::Connection),
            (208, FailureKind::Other),
        ] {
            assert_eq!(kind(number), expected, "{number}");
        }
    }

    #[test]
    fn statements_that_return_rows_are_recognized() {
        for (sql, expected) in [
            ("select 1", true),
            (" SELECT a FROM t", true),
            ("with x as (select 1 a) select a from x", true),
            ("with x as (select 1 a) update t set b = 1 from x", false),
            ("insert into t values (?)", false),
            ("update t set a = 1 output inserted.a where b = 2", true),
        ] {
            assert_eq!(reads(sql), expected, "{sql}");
        }
    }
}
