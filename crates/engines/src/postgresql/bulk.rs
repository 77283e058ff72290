//! Fills tables with COPY.

use super::copy_text::{MESSAGE, line, put_rows};
use super::session::PostgresqlSession;
use super::{DIALECT, PostgresqlEngine};
use crate::server::ServerTarget;
use crate::server::net::block_on;
use crate::sql_text::{quoted, write_literal};
use dbdyno_engine::Failure;
use dbdyno_engine::rows::{self, Loaded, Loader, loaded};
use dbdyno_engine::time_limits::WORK;
use dbdyno_probes::Clock;
use dbdyno_program::value::{Value, Values};
use dbdyno_protocol::plan::document::{Load, LoadTable, PrepareMode};

/// Creates the tables and fills them. Vacuums and analyzes them after the indexes are created, and ends with a
/// checkpoint.
pub fn load(target: &ServerTarget, load: &Load, seed: u64) -> Result<Vec<Loaded>, Failure> {
    let engine = PostgresqlEngine::new(target, &[], PrepareMode::Once);
    block_on(fill(&engine, load, seed))
}

async fn fill(engine: &PostgresqlEngine, load: &Load, seed: u64) -> Result<Vec<Loaded>, Failure> {
    let clock = Clock::get();
    let mut session = PostgresqlSession::open(&engine.target, engine.statements.clone(), PrepareMode::Once).await?;
    let mut report = rows::fill(&mut session, load, seed, clock).await?;
    let start = clock.now();
    for table in rows::names(load) {
        let table = quoted(table);
        // A statement after the rows may have dropped or renamed it.
        let mut name = String::new();
        write_literal(Value::Text(&table), &DIALECT, &mut name);
        let found = session.query(&format!("select to_regclass({name})")).await?;
        if found.iter().flatten().any(Option::is_some) {
            session.run(&format!("vacuum (analyze) {table}")).await?;
        }
    }
    // Requires a privilege; without it, the server checkpoints some minutes later.
    let _ = session.query_within(WORK, "checkpoint").await;
    report.push(loaded("(vacuum and checkpoint)".into(), 0, clock, start));
    Ok(report)
}

impl Loader for PostgresqlSession {
    async fn run(&mut self, sql: &str) -> Result<(), Failure> {
        self.query_within(WORK, sql).await.map(drop)
    }

    async fn copy(&mut self, table: &LoadTable, seed: u64) -> Result<u64, Failure> {
        let columns: Vec<String> = table.columns.iter().map(|column| quoted(&column.name)).collect();
        let sql = format!("copy {} ({}) from stdin", quoted(&table.name), columns.join(", "));
        self.begin_copy(&sql).await?;
        let mut source = rows::RowSource::of(table, seed)?;
        let mut text = Vec::with_capacity(MESSAGE + 4096);
        let (mut values, mut rows) = (Values::default(), 0);
        while source.next(&mut values)? {
            line(values.iter(), &mut text);
            rows += 1;
            if text.len() >= MESSAGE {
                send(self, &mut text).await?;
            }
        }
        send(self, &mut text).await?;
        self.end_copy().await?;
        Ok(rows)
    }
}

async fn send(session: &mut PostgresqlSession, text: &mut Vec<u8>) -> Result<(), Failure> {
    put_rows(text, &mut session.wire().connection.out);
    session.wire().connection.flush().await
}
