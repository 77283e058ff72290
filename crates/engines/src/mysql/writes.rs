//! Which statements write: those that give no rows, and what a transaction that only reads does not let through.

use super::session::MysqlSession;
use super::{MysqlEngine, Text};
use crate::server::ServerTarget;
use crate::server::net::block_on;
use crate::sql_text::only_controls_transaction;
use dbdyno_engine::writes::{Use, Writes};
use dbdyno_engine::{Failure, Session as _};
use dbdyno_plan::document::{FailureKind, PrepareMode, Statement};
use std::sync::Arc;

/// What the server says of a statement that writes (ER_CANT_EXECUTE_IN_READ_ONLY_TRANSACTION).
const READ_ONLY: &str = "(1792, 25006)";

/// Tells whether a statement writes. It is prepared first: one that gives no rows counts as writing and is not run, for
/// many of those end the transaction that they run in, or change the server outside of any. Another is run in a transaction
/// that only reads, of a session that only reads, and is rolled back.
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
    let statements: Arc<[Text]> = MysqlEngine::texts(&[statement]);
    let mut session = MysqlSession::open(&target, statements, PrepareMode::PerTransaction).await?;
    let unknown = |failure: Failure| match failure.kind {
        FailureKind::Connection => Err(failure),
        _ => Ok(Writes::Unknown(failure.message.trim_end_matches(": in ").to_owned())),
    };
    match session.columns_of(0).await {
        Ok(0) => return Ok(Writes::Yes("it gives no rows".into())),
        Ok(_) => {}
        Err(failure) => return unknown(failure),
    }
    session.query("set session lock_wait_timeout = 5").await?;
    session.query("start transaction read only").await?;
    let answer = match one.run(&mut session).await {
        Err(failure) if failure.message.contains(READ_ONLY) => Writes::Yes(failure.message.clone()),
        Err(failure) => unknown(failure)?,
        Ok(_) if !session.in_transaction() => Writes::Yes("it ends the transaction that it runs in".into()),
        Ok(_) => Writes::No,
    };
    session.query("rollback").await?;
    session.close().await?;
    Ok(answer)
}
