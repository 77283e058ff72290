//! Microsoft SQL Server, through the driver `tiberius`.
//!
//! **Untested**: no SQL Server was at hand where this was written. The checks of `crates/contract` run on the target in the
//! environment variable `DBDYNO_TEST_SQLSERVER`.
//!
//! A statement goes as `sp_executesql` with its parameters, for which the server keeps its plan by the text: as most
//! programs do, whether they prepare or not. The session begins to send when it is asked, and the rest is awaited.

mod bulk;
mod check;
mod driver;
mod inspect;
mod login;
mod reach;
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
use dbdyno_plan::document::{FailureKind, PrepareMode, Statement};
use dbdyno_program::value::Owned;
use std::sync::Arc;
use tiberius::error::IoErrorKind;

/// The lexical rules of SQL Server.
pub(crate) const SYNTAX: Syntax = Syntax {
    brackets: true,
    nested_comments: true,
    ..Syntax::STANDARD
};

/// How its statements are written. There are no infinities, and no number that is too large.
pub(crate) const DIALECT: Dialect = Dialect {
    text: "N'",
    bytes: ("0x", ""),
    not_finite: ["null"; 3],
    ..Dialect::STANDARD
};

/// A server, and the statements its sessions run.
pub struct SqlserverEngine {
    target: SqlserverTarget,
    statements: Arc<[Text]>,
    prepare: PrepareMode,
}

/// A statement of the plan as the server takes it.
#[derive(Debug)]
struct Text {
    /// For messages.
    name: String,
    /// With `@P1` and so on for the parameters.
    numbered: String,
    /// Cut at its parameters, for values that stand in the text.
    template: Template,
    /// With the values of its example in it, where it has one.
    example: Option<String>,
    /// Whether it returns rows. What changes rows tells how many only where its rows are not asked for.
    reads: bool,
}

impl SqlserverEngine {
    /// An engine for a server; nothing is connected yet.
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

/// The names of the server's databases, as far as the user may know them.
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

/// Whether a statement returns rows, by its first word; one that begins `with …` does, unless it changes some.
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

/// The kind under which an error is counted, by its number (SQL Server's `sys.messages`).
fn kind(number: u32) -> FailureKind {
    match number {
        1205 => FailureKind::Deadlock,
        // The wait for a lock took too long, or none was wanted.
        1222 => FailureKind::Locked,
        // Under snapshot isolation, the row was changed since the transaction began.
        3960 | 3961 | 41302 | 41305 | 41325 => FailureKind::Serialization,
        // A key that is there already, a foreign key or a check, a null where none may be.
        2627 | 2601 | 547 | 515 => FailureKind::Constraint,
        // The statement was cancelled, or waited too long for memory.
        3617 | 8645 => FailureKind::Timeout,
        // Not allowed in; no such database, or not for this user; the server shuts down or the session was ended.
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

/// What the driver says, as a failure.
#[cold]
fn failure(error: tiberius::error::Error) -> Failure {
    use tiberius::error::Error;
    match error {
        Error::Server(token) => {
            let message = format!("{} ({})", token.message().trim_end(), token.code());
            // So severe that the server has closed the connection.
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
        } => Failure::new(FailureKind::Connection, "nothing listens there").coded("ECONNREFUSED"),
        Error::Io { message, .. } => Failure::new(
            FailureKind::Connection,
            format!("the connection broke: {}", message.to_lowercase()),
        ),
        Error::Tls(message) => Failure::new(FailureKind::Connection, format!("TLS failed: {message}")),
        Error::Routing { host, port } => {
            let message = format!("the server sends its clients on to {host}:{port}: name that");
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
    fn what_returns_rows_is_told_by_its_words() {
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
