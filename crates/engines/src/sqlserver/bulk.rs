//! Fills tables with multi-row INSERT statements.
//!
//! The protocol's bulk load requires the exact column types, which a plan doesn't contain. An INSERT converts values as
//! usual.

use super::DIALECT;
use super::SqlserverEngine;
use super::session::SqlserverSession;
use super::target::SqlserverTarget;
use crate::server::net::block_on;
use crate::sql_text::{bracketed, write_literal};
use dbdyno_engine::Failure;
use dbdyno_engine::rows::{self, Loaded, Loader, loaded};
use dbdyno_engine::time_limits::WORK;
use dbdyno_probes::Clock;
use dbdyno_program::value::Values;
use dbdyno_protocol::plan::document::{Load, LoadTable, PrepareMode};

/// Maximum number of rows in an INSERT (error 10738).
const ROWS: usize = 1000;

/// A batch is sent when it reaches about this size in bytes.
const LONG: usize = 256 * 1024;

/// Rows per transaction.
const TOGETHER: u64 = 100_000;

/// Creates the tables and fills them, and ends with a checkpoint.
pub fn load(target: &SqlserverTarget, load: &Load, seed: u64) -> Result<Vec<Loaded>, Failure> {
    let engine = SqlserverEngine::new(target, &[], PrepareMode::Never);
    block_on(fill(&engine, load, seed))
}

async fn fill(engine: &SqlserverEngine, load: &Load, seed: u64) -> Result<Vec<Loaded>, Failure> {
    let clock = Clock::get();
    let mut session = SqlserverSession::open(&engine.target, engine.statements.clone(), engine.prepare).await?;
    let mut report = rows::fill(&mut session, load, seed, clock).await?;
    if !load.tables.is_empty() {
        let start = clock.now();
        // Requires a privilege; without it, the server checkpoints later.
        let _ = session.query_within(WORK, "checkpoint").await;
        report.push(loaded("(checkpoint)".into(), 0, clock, start));
    }
    Ok(report)
}

impl Loader for SqlserverSession {
    async fn run(&mut self, sql: &str) -> Result<(), Failure> {
        self.query_within(WORK, sql).await.map(drop)
    }

    async fn copy(&mut self, table: &LoadTable, seed: u64) -> Result<u64, Failure> {
        insert(self, table, seed).await
    }
}

async fn insert(session: &mut SqlserverSession, table: &LoadTable, seed: u64) -> Result<u64, Failure> {
    let name = bracketed(&table.name);
    // Insert values into identity columns. This is possible for one table per session at a time.
    let counted = format!(
        "if exists (select 1 from sys.identity_columns where object_id = object_id(N'{}')) set identity_insert {name} ",
        name.replace('\'', "''")
    );
    session.run(&format!("{counted} on")).await?;
    let columns: Vec<String> = table.columns.iter().map(|column| bracketed(&column.name)).collect();
    let begin = format!("insert into {name} with (tablock) ({}) values ", columns.join(", "));
    let mut source = rows::RowSource::of(table, seed)?;
    let mut values = Values::default();
    let (mut text, mut in_text, mut rows) = (String::with_capacity(LONG + 4096), 0, 0);
    session.run("begin transaction").await?;
    while source.next(&mut values)? {
        text.push_str(if in_text == 0 { &begin } else { ", " });
        row(&values, &mut text);
        in_text += 1;
        rows += 1;
        if in_text == ROWS || text.len() >= LONG {
            send(session, &mut text).await?;
            in_text = 0;
        }
        if rows % TOGETHER == 0 {
            send(session, &mut text).await?;
            in_text = 0;
            session.run("commit transaction; begin transaction").await?;
        }
    }
    send(session, &mut text).await?;
    session.run("commit transaction").await?;
    session.run(&format!("{counted} off")).await?;
    Ok(rows)
}

fn row(values: &Values, text: &mut String) {
    for (column, value) in values.iter().enumerate() {
        text.push(if column == 0 { '(' } else { ',' });
        write_literal(value, &DIALECT, text);
    }
    text.push(')');
}

async fn send(session: &mut SqlserverSession, text: &mut String) -> Result<(), Failure> {
    if !text.is_empty() {
        session.query_within(WORK, text).await?;
        text.clear();
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use dbdyno_program::value::Value;

    #[test]
    fn a_row_is_literals_of_the_server() {
        let mut values = Values::default();
        for value in [
            Value::Integer(-3),
            Value::Null,
            Value::Text("it's ü"),
            Value::Bytes(&[0, 171]),
            Value::Real(0.5),
        ] {
            values.push(value);
        }
        let mut text = String::new();
        row(&values, &mut text);
        assert_eq!(text, "(-3,null,N'it''s ü',0x00ab,5e-1)");
    }
}
