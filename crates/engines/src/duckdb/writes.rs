//! Which statements write: what kind of statement the library prepares them into. Nothing is run.

use super::{DuckdbEngine, DuckdbSession, DuckdbTarget};
use crate::tokens::{calls, tokenize};
use dbdyno_engine::Failure;
use dbdyno_engine::writes::Writes;
use dbdyno_plan::document::PrepareMode;

/// `duckdb_statement_type` of those that only read: select, explain, and beginning and ending transactions.
const READING: [i32; 3] = [1, 4, 10];

/// What a query may call that writes.
const WRITING: [&str; 2] = ["nextval", "setseed"];

/// `duckdb_statement_type` of a query.
const QUERY: i32 = 1;

/// Whether a text is one query that changes nothing.
pub fn only_reads(session: &DuckdbSession, sql: &str) -> bool {
    let Ok(statement) = session.parse(sql) else {
        return false;
    };
    let kind = session.kind_of(statement);
    session.forget(statement);
    kind == QUERY && writing_call(sql).is_none()
}

/// What a query calls that writes.
fn writing_call(sql: &str) -> Option<String> {
    let calls = tokenize(sql, &super::SYNTAX)
        .map(|tokens| calls(&tokens))
        .unwrap_or_default();
    let mut names = calls.into_iter().map(|call| call.name.to_lowercase());
    names.find(|name| WRITING.contains(&name.as_str()))
}

/// Tells for each statement of a file whether it writes. One that cannot be prepared, as when it is about a table that an
/// earlier one makes, is unknown.
pub fn writes<'a>(target: &DuckdbTarget, statements: impl Iterator<Item = &'a str>) -> Result<Vec<Writes>, Failure> {
    let engine = DuckdbEngine::new(target, &[], PrepareMode::Once, false)?;
    let session = engine.open()?;
    let one = |sql: &str| {
        let statement = match session.parse(sql) {
            Ok(statement) => statement,
            Err(failure) => return Writes::Unknown(failure.message.clone()),
        };
        let kind = session.kind_of(statement);
        session.forget(statement);
        if !READING.contains(&kind) {
            return Writes::Yes(format!("DuckDB calls it a statement of type {kind}, which is no query"));
        }
        match writing_call(sql) {
            Some(name) => Writes::Yes(format!("`{name}` changes what later statements see")),
            None => Writes::No,
        }
    };
    Ok(statements.map(one).collect())
}
