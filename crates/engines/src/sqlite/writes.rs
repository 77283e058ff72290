//! Determines which statements write, from `sqlite3_stmt_readonly` of the prepared statement. Nothing is executed.

use super::{SqliteEngine, Watch};
use crate::sqlite::target::SqliteTarget;
use dbdyno_engine::Failure;
use dbdyno_engine::writes::Writes;
use dbdyno_protocol::plan::document::{FailureKind, PrepareMode};

/// Determines for each statement of a file whether it writes. A statement that cannot be prepared is unknown, for
/// example because an earlier one creates its table, or because it accesses something outside the file.
pub fn writes<'a>(target: &SqliteTarget, statements: impl Iterator<Item = &'a str>) -> Result<Vec<Writes>, Failure> {
    let engine = SqliteEngine::new(target, &[], PrepareMode::Once, Watch::default())?;
    let mut session = engine.open_patiently()?;
    session.confine();
    statements
        .map(|sql| {
            let mut answer = Writes::No;
            let mut rest = sql;
            while !rest.trim().is_empty() {
                match session.reads_only(rest) {
                    Ok((reads, read)) => {
                        if !reads {
                            answer.worsen(Writes::Yes("according to sqlite3_stmt_readonly()".into()));
                        }
                        rest = &rest[read..];
                    }
                    Err(failure) if failure.kind == FailureKind::Connection => return Err(failure),
                    Err(failure) => {
                        answer.worsen(Writes::Unknown(failure.message.clone()));
                        break;
                    }
                }
            }
            Ok(answer)
        })
        .collect()
}
