//! Determines which statements write: DuckDB explains them in a read-only transaction and rejects statements that
//! write. They are planned but not executed.

use super::{DuckdbEngine, DuckdbSession, DuckdbTarget, statement_types};
use crate::tokens::{Token, tokenize};
use dbdyno_engine::Failure;
use dbdyno_engine::writes::Writes;
use dbdyno_protocol::plan::document::PrepareMode;

/// Whether a text is a single query.
pub fn is_query(session: &DuckdbSession, sql: &str) -> bool {
    session.kind_of(sql) == Ok(statement_types::SELECT)
}

/// Determines for each statement of a file whether it writes. A statement that cannot be prepared, for example because
/// an earlier one creates its table, is unknown.
pub fn writes<'a>(target: &DuckdbTarget, statements: impl Iterator<Item = &'a str>) -> Result<Vec<Writes>, Failure> {
    let engine = DuckdbEngine::new(target, &[], PrepareMode::Once, false)?;
    let session = engine.open()?;
    Ok(statements.map(|sql| judge(&session, sql)).collect())
}

/// Whether one statement writes.
pub fn judge(session: &DuckdbSession, sql: &str) -> Writes {
    match session.kind_of(sql) {
        Err(failure) => Writes::Unknown(failure.message.clone()),
        Ok(statement_types::TRANSACTION) => Writes::No,
        Ok(statement_types::SELECT) => explained(session, sql),
        Ok(statement_types::EXPLAIN) => match tokenize(sql, &super::SYNTAX) {
            Err(error) => Writes::Unknown(error.to_string()),
            Ok(tokens) => match analyzed(&tokens) {
                None => Writes::No,
                Some(begin) => judge(session, begin.and_after(sql)),
            },
        },
        Ok(kind) => Writes::Yes(format!(
            "DuckDB reports the statement type {kind}, which is not a query"
        )),
    }
}

fn explained(session: &DuckdbSession, sql: &str) -> Writes {
    // Versions before 1.3 have no read-only transactions, so the answer is unknown.
    if let Err(failure) = session.run("begin transaction read only") {
        return Writes::Unknown(failure.message.clone());
    }
    let plan = session.run_with_nulls(&format!("explain {sql}"));
    let ended = session.run("rollback");
    match plan.and(ended) {
        Ok(()) => Writes::No,
        Err(failure) if failure.message.contains("read-only") => Writes::Yes(failure.message.clone()),
        Err(failure) => Writes::Unknown(failure.message.clone()),
    }
}

/// The first token of the statement that EXPLAIN ANALYZE runs; `None` if EXPLAIN only plans one.
fn analyzed<'t, 'a>(tokens: &'t [Token<'a>]) -> Option<&'t Token<'a>> {
    let is_analyze = |token: &Token<'_>| {
        let name = token.name().map(|name| name.to_ascii_lowercase());
        name.is_some_and(|name| name == "analyze" || name == "analyse")
    };
    let options = &tokens[1..];
    if options.first().is_some_and(is_analyze) {
        return options.get(1);
    }
    let close = options
        .first()
        .filter(|open| open.is_mark("("))
        .and_then(|_| options.iter().position(|token| token.is_mark(")")))?;
    options[..close]
        .iter()
        .any(is_analyze)
        .then(|| options.get(close + 1))?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn explain_analyze_runs_what_follows_it() {
        for (sql, expected) in [
            ("explain analyze delete from t", Some("delete")),
            ("explain (analyze, format json) delete from t", Some("delete")),
            ("explain (\"analyze\") delete from t", Some("delete")),
            ("explain analyse delete from t", Some("delete")),
            ("explain (\"ANALYSE\", format json) delete from t", Some("delete")),
            ("EXPLAIN /* a */ ANALYZE\nselect 1", Some("select")),
            ("explain delete from t", None),
            ("explain (format json) delete from t", None),
            ("explain (select 1)", None),
        ] {
            let tokens = tokenize(sql, &crate::duckdb::SYNTAX).unwrap_or_default();
            assert_eq!(analyzed(&tokens).map(|token| token.text), expected, "{sql}");
        }
    }
}
