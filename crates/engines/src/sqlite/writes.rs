//! Which statements write: `sqlite3_stmt_readonly` of what they are prepared into. Nothing is run.

use super::{SqliteEngine, Watch};
use crate::sqlite::target::SqliteTarget;
use dbdyno_engine::Failure;
use dbdyno_engine::writes::Writes;
use dbdyno_plan::document::{FailureKind, PrepareMode};

/// Tells for each statement of a file whether it writes. One that cannot be prepared, as when it is about a table that an
/// earlier one makes or leads out of the file, is unknown.
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
                            answer.worsen(Writes::Yes("sqlite3_stmt_readonly() says so".into()));
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
