//! Row estimates of the planner, from MariaDB's `ANALYZE` or MySQL's `EXPLAIN ANALYZE`.

mod mariadb;
mod mysql;

use super::session::MysqlSession;
use super::{MysqlEngine, Text};
use crate::server::ServerTarget;
use crate::sql_text::values_of;
use crate::tokens::tokenize;
use dbdyno_engine::estimates::{Estimate, Estimates, TimeBudget};
use dbdyno_engine::time_limits::answer_limit;
use dbdyno_engine::{Failure, Session as _};
use dbdyno_protocol::plan::document::{PrepareMode, Statement};
use dbdyno_protocol::plan::literal::Literal;
use std::sync::Arc;
use std::time::Duration;

/// Executes each statement that has example values once, and returns its estimates. Statements that write, take too
/// long or cannot be analyzed are left out.
pub async fn estimates(target: &ServerTarget, statements: &[Text], is_mariadb: bool, budget: TimeBudget) -> Estimates {
    let mut found = Estimates::new();
    let target = ServerTarget {
        read_only: true,
        ..target.clone()
    };
    for Text { statement, .. } in statements {
        let (Some(values), Some(longest)) = (&statement.analyze, budget.next()) else {
            continue;
        };
        let all = analyse(&target, statement, values, is_mariadb, longest)
            .await
            .unwrap_or_default();
        if !all.is_empty() {
            found.insert(statement.name.clone(), all);
        }
    }
    found
}

/// Runs a statement in a read-only transaction of a read-only session, and rolls it back. As in [`super::writes`], a
/// statement that returns no rows is not executed.
async fn analyse(
    target: &ServerTarget,
    statement: &Statement,
    values: &[Literal],
    is_mariadb: bool,
    longest: Duration,
) -> Result<Vec<Estimate>, Failure> {
    let statements: Arc<[Text]> = MysqlEngine::texts(std::slice::from_ref(statement));
    let mut session = MysqlSession::open(target, statements.clone(), PrepareMode::PerTransaction).await?;
    if session.columns_of(0).await? == 0 || statements[0].template.parameters() != values.len() {
        return Ok(Vec::new());
    }
    let (seconds, milliseconds) = (longest.as_secs_f64(), longest.as_millis().max(1));
    session
        .query(&if is_mariadb {
            format!("set session max_statement_time = {seconds:.6}")
        } else {
            format!("set session max_execution_time = {milliseconds}")
        })
        .await?;
    let whole = seconds.ceil();
    session
        .query(&format!("set session lock_wait_timeout = {whole}"))
        .await?;
    session.query("start transaction read only").await?;
    let verb = if is_mariadb {
        "analyze format=json "
    } else {
        "explain analyze "
    };
    let mut text = String::new();
    statements[0]
        .template
        .render(&values_of(values), session.dialect(), &mut text);
    text.insert_str(0, verb);
    let answer = session.query_within(longest + answer_limit(), &text).await;
    // At the time limit, MySQL returns a partial result with a warning.
    let warned = session.query("show warnings").await;
    session.query("rollback").await?;
    session.close().await?;
    let told = answer?.into_iter().flatten().flatten().next().unwrap_or_default();
    let is_whole = |warnings: &Vec<Vec<Option<String>>>| !warnings.iter().any(|row| was_interrupted(row));
    Ok(if !warned.as_ref().is_ok_and(is_whole) {
        Vec::new()
    } else if is_mariadb {
        let stops = tokenize(&statement.sql, &super::SYNTAX)
            .is_ok_and(|all| all.iter().any(|token| token.is_one_of(&STOPPING)));
        mariadb::read(&told, stops)
    } else {
        mysql::read(&told)
    })
}

/// Words of a statement that may end before all rows have been read. MariaDB's plan doesn't show this.
const STOPPING: [&str; 3] = ["limit", "fetch", "rownum"];

/// Whether a warning (level, number, message) reports that the statement was interrupted.
fn was_interrupted(warning: &[Option<String>]) -> bool {
    matches!(
        warning.get(1).and_then(Option::as_deref),
        Some("1317" | "3024" | "1969")
    )
}
