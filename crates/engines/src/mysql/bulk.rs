//! Fills tables with LOAD DATA LOCAL. The "file" is generated while the server reads it.

use super::MysqlEngine;
use super::session::MysqlSession;
use super::values::Column;
use super::wire::{Done, error, garbled, ok};
use crate::server::ServerTarget;
use crate::server::net::block_on;
use crate::sql_text::backquoted;
use bytes::BufMut as _;
use dbdyno_engine::Failure;
use dbdyno_engine::rows::{self, Loaded, Loader, loaded};
use dbdyno_engine::time_limits::WORK;
use dbdyno_probes::Clock;
use dbdyno_program::value::{Value, Values};
use dbdyno_protocol::plan::document::{FailureKind, Load, LoadTable, PrepareMode};
use mysql_common::constants::{CapabilityFlags, Command};

/// Approximate size in bytes of the packets with rows.
const PACKET: usize = 64 * 1024;

/// Creates the tables and fills them. Analyzes them after the indexes are created.
pub fn load(target: &ServerTarget, load: &Load, seed: u64) -> Result<Vec<Loaded>, Failure> {
    let engine = MysqlEngine::new(target, &[], PrepareMode::Once);
    block_on(fill(&engine, load, seed))
}

async fn fill(engine: &MysqlEngine, load: &Load, seed: u64) -> Result<Vec<Loaded>, Failure> {
    let clock = Clock::get();
    // A text of the plan may contain several statements.
    let extra_capabilities = CapabilityFlags::CLIENT_LOCAL_FILES | CapabilityFlags::CLIENT_MULTI_STATEMENTS;
    let statements = engine.statements.clone();
    let mut session =
        MysqlSession::open_with(&engine.target, statements, PrepareMode::Once, extra_capabilities).await?;
    let mut report = rows::fill(&mut session, load, seed, clock).await?;
    let start = clock.now();
    for table in rows::names(load) {
        session.run(&format!("analyze table {}", backquoted(table))).await?;
    }
    report.push(loaded("(analyze)".into(), 0, clock, start));
    Ok(report)
}

impl Loader for MysqlSession {
    async fn run(&mut self, sql: &str) -> Result<(), Failure> {
        self.query_within(WORK, sql).await.map(drop)
    }

    async fn copy(&mut self, table: &LoadTable, seed: u64) -> Result<u64, Failure> {
        // Foreign keys as for SQLite. Notes are disabled because they don't indicate changed values.
        self.query("set foreign_key_checks = 0, sql_notes = 0").await?;
        let rows = load_rows(self, table, seed).await?;
        self.query("set foreign_key_checks = default, sql_notes = default")
            .await?;
        Ok(rows)
    }
}

/// Loads a table and returns the number of rows.
async fn load_rows(session: &mut MysqlSession, table: &LoadTable, seed: u64) -> Result<u64, Failure> {
    let name = backquoted(&table.name);
    let columns: Vec<String> = table.columns.iter().map(|column| backquoted(&column.name)).collect();
    session
        .query(&format!("select {} from {name} limit 0", columns.join(", ")))
        .await?;
    let bytes: Vec<bool> = session.columns().iter().map(Column::is_bytes).collect();
    let mut source = rows::RowSource::of(table, seed)?;
    session
        .wire()
        .command(Command::COM_QUERY as u8, statement(&name, &columns, &bytes).as_bytes());
    session.wire().connection.flush().await?;
    let place = session.wire().packet().await?;
    match session.wire().body(&place) {
        [0xfb, ..] => {}
        body @ [0xff, ..] => return Err(refused(body)),
        _ => return Err(garbled()),
    }
    let (rows, failure) = send_rows(session, &mut source, &bytes).await?;
    let place = session.wire().packet().await?;
    let body = session.wire().body(&place);
    if body.first() == Some(&0xff) {
        return Err(error(body));
    }
    let done = ok(body)?;
    if let Some(failure) = failure {
        return Err(failure);
    }
    check(session, rows, done).await?;
    Ok(rows)
}

/// The LOAD DATA statement. The file is UTF-8, and binary columns are hexadecimal, because servers reject or truncate
/// bytes that are invalid in the file's encoding.
fn statement(table: &str, columns: &[String], bytes: &[bool]) -> String {
    let is_bytes = |at: usize| bytes.get(at).copied().unwrap_or(false);
    let mut places = Vec::with_capacity(columns.len());
    let mut set = Vec::new();
    for (at, column) in columns.iter().enumerate() {
        if is_bytes(at) {
            places.push(format!("@c{at}"));
            set.push(format!("{column} = unhex(@c{at})"));
        } else {
            places.push(column.clone());
        }
    }
    let set = if set.is_empty() {
        String::new()
    } else {
        format!(" set {}", set.join(", "))
    };
    // Hexadecimal literals, so that the separators don't depend on how sql_mode treats backslashes: tab, backslash,
    // line feed.
    format!(
        "load data local infile 'rows' into table {table} character set utf8mb4 fields terminated by x'09' escaped by \
         x'5c' lines terminated by x'0a' ({}){set}",
        places.join(", ")
    )
}

/// The failure if the server rejects the statement before it reads any row.
fn refused(body: &[u8]) -> Failure {
    // MySQL and MariaDB use different error numbers for a forbidden LOAD DATA LOCAL, and older versions use a third.
    let forbidden = body.get(1..3).is_some_and(|number| {
        let number = u16::from_le_bytes([number[0], number[1]]);
        matches!(number, 1148 | 3948 | 4166)
    });
    let advice = if forbidden {
        ": the server must allow it, with `set global local_infile = on`"
    } else {
        ""
    };
    error(body).explained(|message| format!("{message}{advice}"))
}

/// Sends the rows and the empty packet that ends them. Returns the number of rows, and the failure that ended them
/// early, if any. The server needs the end packet in any case.
async fn send_rows(
    session: &mut MysqlSession,
    source: &mut rows::RowSource<'_>,
    bytes: &[bool],
) -> Result<(u64, Option<Failure>), Failure> {
    let mut text = Vec::with_capacity(PACKET + 4096);
    let (mut values, mut rows) = (Values::default(), 0);
    let failure = loop {
        match source.next(&mut values) {
            Ok(true) => {
                line(&values, bytes, &mut text);
                rows += 1;
            }
            Ok(false) => break None,
            Err(failure) => break Some(failure),
        }
        if text.len() >= PACKET {
            send(session, &text).await?;
            text.clear();
        }
    };
    if !text.is_empty() {
        send(session, &text).await?;
    }
    send(session, &[]).await?;
    Ok((rows, failure))
}

async fn send(session: &mut MysqlSession, text: &[u8]) -> Result<(), Failure> {
    let wire = session.wire();
    let start = wire.go_on();
    wire.connection.out.put_slice(text);
    wire.end(start);
    wire.connection.flush().await
}

/// The server skips or changes a row that it cannot store, and only warns.
async fn check(session: &mut MysqlSession, rows: u64, done: Done) -> Result<(), Failure> {
    if done.warnings == 0 && done.changed == rows {
        return Ok(());
    }
    let warnings = session.query("show warnings limit 1").await?;
    let mut first = warnings.into_iter().flatten().flatten().skip(1);
    let (number, words) = (first.next().unwrap_or_default(), first.next().unwrap_or_default());
    Err(match number.parse() {
        Ok(number) => {
            let state = if number == 1062 { "23000" } else { "" };
            Failure::new(super::kind(number, state), format!("{words} ({number})"))
        }
        // MySQL before 5.7 silently skips rows with a duplicate key, but no other rows.
        Err(_) if done.warnings == 0 && done.changed < rows => Failure::new(
            FailureKind::Constraint,
            format!(
                "only {} of {rows} rows were inserted: the keys of the remaining rows already exist",
                done.changed
            ),
        ),
        Err(_) => Failure::new(
            FailureKind::Other,
            format!("only {} of {rows} rows were inserted", done.changed),
        ),
    })
}

/// Writes a row in the format of the LOAD DATA statement. `bytes`: which columns are hexadecimal.
fn line(values: &Values, bytes: &[bool], out: &mut Vec<u8>) {
    use std::io::Write as _;
    for (at, value) in values.iter().enumerate() {
        if at > 0 {
            out.push(b'\t');
        }
        let start = out.len();
        // Writing to memory cannot fail.
        let _ = match value {
            Value::Null => {
                out.extend_from_slice(b"\\N");
                continue;
            }
            Value::Integer(v) => write!(out, "{v}"),
            Value::Real(v) => write!(out, "{v:e}"),
            Value::Text(v) => out.write_all(v.as_bytes()),
            Value::Bytes(v) => out.write_all(v),
        };
        if bytes.get(at).copied().unwrap_or(false) {
            to_digits(start, out);
        } else if !matches!(value, Value::Integer(_) | Value::Real(_)) {
            escape(start, out);
        }
    }
    out.push(b'\n');
}

/// Converts the bytes from `start` on into two hexadecimal digits each.
fn to_digits(start: usize, out: &mut Vec<u8>) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let length = out.len() - start;
    out.resize(start + 2 * length, 0);
    for at in (0..length).rev() {
        let byte = out[start + at];
        out[start + 2 * at] = DIGITS[usize::from(byte >> 4)];
        out[start + 2 * at + 1] = DIGITS[usize::from(byte & 15)];
    }
}

/// Escapes characters that would end a field or a line, and the escape character.
fn escape(start: usize, out: &mut Vec<u8>) {
    let special = |byte: &u8| matches!(byte, b'\\' | b'\t' | b'\n');
    let more = out[start..].iter().filter(|byte| special(byte)).count();
    let mut to = out.len() + more;
    let mut from = out.len();
    out.resize(to, 0);
    // Backward, until no more characters need escaping.
    while to > from {
        from -= 1;
        to -= 1;
        let byte = out[from];
        if special(&byte) {
            out[to] = match byte {
                b'\t' => b't',
                b'\n' => b'n',
                other => other,
            };
            to -= 1;
            out[to] = b'\\';
        } else {
            out[to] = byte;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dbdyno_program::value::Owned;
    use proptest::prelude::*;

    /// Reads a line like the server.
    fn read(line: &[u8], bytes: &[bool]) -> Vec<Option<Vec<u8>>> {
        let (mut fields, mut field, mut null) = (Vec::new(), Vec::new(), false);
        let mut rest = line.iter();
        while let Some(byte) = rest.next() {
            match byte {
                b'\t' | b'\n' => {
                    let done = std::mem::take(&mut field);
                    let value = if bytes[fields.len()] {
                        done.chunks(2)
                            .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap())
                            .collect()
                    } else {
                        done
                    };
                    fields.push((!std::mem::take(&mut null)).then_some(value));
                }
                b'\\' => match rest.next().unwrap() {
                    b'N' => null = true,
                    b't' => field.push(b'\t'),
                    b'n' => field.push(b'\n'),
                    other => field.push(*other),
                },
                other => field.push(*other),
            }
        }
        fields
    }

    proptest! {
        #[test]
        fn a_row_is_one_line_for_any_value(items in proptest::collection::vec((any::<bool>(), prop_oneof![
            Just(Owned::Null),
            "[a\\\\\t\n\r\0'ü]*".prop_map(Owned::Text),
            proptest::collection::vec(any::<u8>(), 0..40).prop_map(Owned::Bytes),
        ]), 1..20)) {
            let mut values = Values::default();
            items.iter().for_each(|(_, item)| values.push(item.view()));
            let bytes: Vec<bool> = items.iter().map(|(bytes, _)| *bytes).collect();
            let mut out = Vec::new();
            line(&values, &bytes, &mut out);
            prop_assert_eq!(out.last(), Some(&b'\n'));
            let sent: Vec<_> = values.iter().map(|value| match value {
                Value::Text(text) => Some(text.as_bytes().to_vec()),
                Value::Bytes(bytes) => Some(bytes.to_vec()),
                _ => None,
            }).collect();
            prop_assert_eq!(read(&out, &bytes), sent);
        }
    }

    #[test]
    fn numbers_are_written_unchanged() {
        let mut values = Values::default();
        [Value::Integer(-3), Value::Real(0.5), Value::Integer(7)]
            .into_iter()
            .for_each(|value| values.push(value));
        let mut out = Vec::new();
        line(&values, &[false, false, true], &mut out);
        assert_eq!(String::from_utf8_lossy(&out), "-3\t5e-1\t37\n");
    }

    #[test]
    fn a_forbidden_load_suggests_local_infile() {
        let forbidden = refused(b"\xff\x6c\x0f#42000Loading local data is disabled");
        assert!(
            forbidden.message.ends_with("`set global local_infile = on`"),
            "{forbidden}"
        );
        let other = refused(b"\xff\x7a\x04#42S02Table 'd.t' doesn't exist");
        assert_eq!(other.message, "Table 'd.t' doesn't exist (1146, 42S02)");
    }

    #[test]
    fn binary_columns_are_loaded_from_hexadecimal() {
        let columns = ["`a`".to_owned(), "`b`".to_owned()];
        let sql = statement("`t`", &columns, &[false, true]);
        assert!(sql.ends_with("(`a`, @c1) set `b` = unhex(@c1)"), "{sql}");
        let sql = statement("`t`", &columns, &[false, false]);
        assert!(sql.ends_with("(`a`, `b`)"), "{sql}");
    }
}
