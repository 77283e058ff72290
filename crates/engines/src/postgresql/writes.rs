//! Which statements write: what a transaction that only reads does not let through.

use super::session::PostgresqlSession;
use super::{PostgresqlEngine, Text};
use crate::server::ServerTarget;
use crate::server::net::block_on;
use crate::sql_text::only_controls_transaction;
use dbdyno_engine::writes::{Use, Writes};
use dbdyno_engine::{Failure, Session as _};
use dbdyno_plan::document::{FailureKind, PrepareMode, Statement};
use std::sync::Arc;

/// What the server says of a statement that writes ("read_only_sql_transaction").
const READ_ONLY: &str = "(25006)";

/// Seconds until a statement that goes on is given up. Locks are waited for as long as a user who is kept out might bear.
const LIMITS: &str = "set statement_timeout = '600s'; set lock_timeout = '5s'";

/// Whether the transaction was given a number, as all are that write, and whether it and the next only read. Large objects
/// and statistics are written by some versions although the transaction only reads.
const LOOK: &str = "select txid_current_if_assigned() is null, current_setting('transaction_read_only'), \
     current_setting('default_transaction_read_only')";

/// Tells whether a statement writes, by running it in a transaction that only reads and is rolled back. Its text is parsed
/// on its own, so that it cannot be several statements of which one ends the transaction.
pub fn writes(target: &ServerTarget, one: &mut Use<'_>) -> Result<Writes, Failure> {
    if only_controls_transaction(one.sql) {
        return Ok(Writes::No);
    }
    block_on(ask(target, one))
}

async fn ask(target: &ServerTarget, one: &mut Use<'_>) -> Result<Writes, Failure> {
    let target = ServerTarget {
        read_only: true,
        ..target.clone()
    };
    let statement = Statement {
        name: String::new(),
        sql: one.sql.to_owned(),
        request: None,
        example: Vec::new(),
        analyze: None,
    };
    let statements: Arc<[Text]> = PostgresqlEngine::texts(&[statement]);
    let mut session = PostgresqlSession::open(&target, statements, PrepareMode::PerTransaction).await?;
    session.query(LIMITS).await?;
    session.query("begin read only").await?;
    // Behind its first query, no transaction can become one that writes.
    session.query("select 1").await?;
    let answer = match one.run(&mut session).await {
        Err(failure) if failure.message.ends_with(READ_ONLY) => Writes::Yes(failure.message.clone()),
        Err(failure) if failure.kind == FailureKind::Connection => return Err(failure),
        Err(failure) => Writes::Unknown(failure.message.clone()),
        Ok(_) if !session.in_transaction() => Writes::Unknown("it ends the transaction that it runs in".into()),
        Ok(_) => look(&mut session).await,
    };
    if session.in_transaction() {
        session.query("rollback").await?;
    }
    session.close().await?;
    Ok(answer)
}

async fn look(session: &mut PostgresqlSession) -> Writes {
    let rows = match session.query(LOOK).await {
        Ok(rows) => rows,
        Err(failure) => return Writes::Unknown(failure.message.clone()),
    };
    let seen: Vec<&str> = rows.iter().flatten().flatten().map(String::as_str).collect();
    match seen[..] {
        ["t", "on", "on"] => Writes::No,
        [_, "on", "on"] => Writes::Yes("the server gave it a transaction id, as what writes has".into()),
        _ => Writes::Yes("it lets the session write".into()),
    }
}
