//! Fills tables with COPY.

use super::PostgresqlEngine;
use super::session::PostgresqlSession;
use crate::server::ServerTarget;
use crate::server::net::block_on;
use crate::sql_text::quoted;
use bytes::{BufMut as _, BytesMut};
use dbdyno_engine::Failure;
use dbdyno_engine::rows::{self, Loaded, Loader, loaded};
use dbdyno_engine::time_limits::WORK;
use dbdyno_probes::Clock;
use dbdyno_program::value::{Value, Values};
use dbdyno_protocol::plan::document::{Load, LoadTable, PrepareMode};

/// Approximate size in bytes of the messages with rows.
pub(super) const MESSAGE: usize = 64 * 1024;

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
        session.run(&format!("vacuum (analyze) {}", quoted(table))).await?;
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

/// Moves rows to a message, if there are any.
pub(super) fn put_rows(text: &mut Vec<u8>, out: &mut BytesMut) {
    if !text.is_empty() {
        out.put_u8(b'd');
        out.put_u32(text.len() as u32 + 4);
        out.put_slice(text);
        text.clear();
    }
}

/// Writes a row in COPY's text format.
pub(super) fn line<'a>(values: impl Iterator<Item = Value<'a>>, out: &mut Vec<u8>) {
    use std::io::Write as _;
    for (column, value) in values.enumerate() {
        if column > 0 {
            out.push(b'\t');
        }
        // Writing to memory cannot fail.
        let _ = match value {
            Value::Null => out.write_all(b"\\N"),
            Value::Integer(v) => write!(out, "{v}"),
            Value::Real(v) => write!(out, "{v:e}"),
            Value::Bytes(v) => out
                .write_all(b"\\\\x")
                .and_then(|()| v.iter().try_for_each(|byte| write!(out, "{byte:02x}"))),
            Value::Text(v) => {
                escape(v.as_bytes(), out);
                Ok(())
            }
        };
    }
    out.push(b'\n');
}

fn escape(text: &[u8], out: &mut Vec<u8>) {
    let mut rest = text;
    while let Some(at) = rest
        .iter()
        .position(|byte| matches!(byte, b'\\' | b'\t' | b'\n' | b'\r'))
    {
        out.extend_from_slice(&rest[..at]);
        out.push(b'\\');
        out.push(match rest[at] {
            b'\t' => b't',
            b'\n' => b'n',
            b'\r' => b'r',
            other => other,
        });
        rest = &rest[at + 1..];
    }
    out.extend_from_slice(rest);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_one_line_for_any_text() {
        let mut values = Values::default();
        for value in [
            Value::Integer(-3),
            Value::Null,
            Value::Text("a\tb\\c\nd"),
            Value::Bytes(&[0, 171]),
            Value::Real(0.5),
        ] {
            values.push(value);
        }
        let mut out = Vec::new();
        line(values.iter(), &mut out);
        assert_eq!(
            String::from_utf8_lossy(&out),
            "-3\t\\N\ta\\tb\\\\c\\nd\t\\\\x00ab\t5e-1\n"
        );
    }
}
