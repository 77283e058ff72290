//! Confines the statements of a trial to the copy of a file, through DuckDB's settings and statement types.
//!
//! Each setting applies unless a statement needs otherwise: `access_mode = read_only` if all statements are known to
//! read, `enable_external_access = false` if none reads other files, `lock_configuration = true` if none changes
//! settings.

use super::bulk::in_memory;
use super::external_access::BOUNDS;
use super::writes::judge;
use super::{DuckdbEngine, DuckdbTarget, statement_types};
use crate::external_access::find_external_access;
use crate::tokens::{Kind, Token, statements, tokenize};
use dbdyno_engine::Failure;
use dbdyno_engine::writes::Writes;
use dbdyno_protocol::plan::document::{PrepareMode, Statement};

/// The settings and the values that confine statements.
const READ_ONLY: (&str, &str) = ("access_mode", "read_only");
const NO_FILES: (&str, &str) = ("enable_external_access", "false");
const LOCKED: (&str, &str) = ("lock_configuration", "true");

/// Returns the target with the settings that confine its statements. Statements are only prepared, not executed.
pub fn confined(target: &DuckdbTarget, statements: &[Statement]) -> Result<DuckdbTarget, Failure> {
    let strict = with(target, &[READ_ONLY, NO_FILES, LOCKED]);
    let mut settings = vec![NO_FILES, LOCKED];
    if !in_memory(&target.path) {
        let engine = DuckdbEngine::new(&strict, &[], PrepareMode::Once, false)?;
        let session = engine.open()?;
        settings.insert(0, READ_ONLY);
        for statement in statements {
            let needs: &[(&str, &str)] = match (session.kind_of(&statement.sql), judge(&session, &statement.sql)) {
                (_, Writes::No) => &[],
                (Ok(statement_types::SET | statement_types::VARIABLE_SET | statement_types::PRAGMA), _) => {
                    &[READ_ONLY, LOCKED]
                }
                (Ok(_), _) => &[READ_ONLY],
                (Err(failure), _) if may_read_files(&failure, &statement.sql) => &[READ_ONLY, NO_FILES],
                // Such as a table that an earlier statement creates.
                (Err(_), _) => &[READ_ONLY],
            };
            settings.retain(|each| !needs.contains(each));
        }
    }
    Ok(with(target, &settings))
}

/// Whether a statement that cannot be prepared without external access may need it: DuckDB denied it, or the text
/// contains a possible file name.
fn may_read_files(failure: &Failure, sql: &str) -> bool {
    let may_name_file =
        |token: &Token<'_>| matches!(token.kind, Kind::String | Kind::Name) && token.text.contains(['.', '/']);
    failure.message.starts_with("Permission Error")
        || tokenize(sql, &BOUNDS.syntax).is_ok_and(|tokens| tokens.iter().any(may_name_file))
}

/// Adds settings to the target, unless it has them already.
fn with(target: &DuckdbTarget, further: &[(&str, &str)]) -> DuckdbTarget {
    let mut target = target.clone();
    for (name, value) in further {
        if !target.settings.iter().any(|(each, _)| each.eq_ignore_ascii_case(name)) {
            target.settings.push(((*name).to_owned(), (*value).to_owned()));
        }
    }
    target
}

/// Why a prepared statement of this type may access something outside the database, if it may.
pub fn problem(kind: i32, sql: &str) -> Option<String> {
    // For these types, DuckDB doesn't report whether the statement stays within the database, so the text is examined.
    let verbs: &[&str] = match kind {
        statement_types::SELECT
        | statement_types::INSERT
        | statement_types::UPDATE
        | statement_types::DELETE
        | statement_types::EXECUTE
        | statement_types::ALTER
        | statement_types::TRANSACTION
        | statement_types::ANALYZE
        | statement_types::VACUUM
        | statement_types::DETACH
        | statement_types::MERGE => return None,
        statement_types::EXPLAIN => &["explain"],
        statement_types::PREPARE => &["prepare"],
        statement_types::CREATE => &["create"],
        statement_types::COPY => &["copy"],
        statement_types::DROP => &["drop"],
        statement_types::CALL => &["checkpoint"],
        statement_types::PRAGMA | statement_types::SET | statement_types::VARIABLE_SET => &["set", "reset", "pragma"],
        statement_types::ATTACH => &["attach"],
        _ => &[],
    };
    let begins =
        tokenize(sql, &BOUNDS.syntax).is_ok_and(|tokens| tokens.first().is_some_and(|verb| verb.is_one_of(verbs)));
    if !begins {
        return Some(format!("DuckDB reports the statement type {kind}"));
    }
    problem_of_text(sql)
}

/// Why a text of one or more statements may access something outside the database, if it may.
pub fn problem_of_text(sql: &str) -> Option<String> {
    find_external_access(&BOUNDS, &[sql.to_owned()], &[])
        .into_iter()
        .next()
        .flatten()
}

/// Whether a text has more than one statement.
pub fn has_several_statements(sql: &str) -> bool {
    tokenize(sql, &BOUNDS.syntax).is_ok_and(|tokens| statements(&tokens).count() > 1)
}
