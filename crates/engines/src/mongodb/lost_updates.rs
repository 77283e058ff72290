//! Tests whether a server loses acknowledged updates if several sessions update one document concurrently.
//!
//! A server that reads a document and writes it back in two separate steps loses some. The test runs before the load,
//! in a separate collection that is dropped afterwards, and only if the statements update documents and dbdyno created
//! the database.

use super::MongodbEngine;
use super::login;
use super::session::MongodbSession;
use super::values::{find, integer};
use crate::server::net::block_on;
use bson::{RawDocumentBuf, rawdoc};
use dbdyno_engine::{Failure, LostUpdates, Session as _};
use dbdyno_protocol::plan::document::FailureKind;
use std::time::{Duration, Instant};

/// Concurrent sessions, and the maximum number of updates and duration for each.
const SESSIONS: usize = 4;
const UPDATES: usize = 50;
const LONGEST: Duration = Duration::from_millis(250);

/// Commands that update documents based on their contents.
const CHANGING: [&str; 3] = ["update", "findandmodify", "findAndModify"];

/// Prefix of the databases that dbdyno creates on running servers.
const OWN: &str = "dbdyno_";

/// Runs the test. `None` if the database isn't dbdyno's, or the test fails; the load will report errors of the server.
pub async fn probe(engine: &MongodbEngine) -> Option<LostUpdates> {
    let target = &engine.target;
    let is_own = target.process.is_some() || target.database.starts_with(OWN);
    let changes = engine.statements.iter().any(|each| is_changing(&each.text));
    if !is_own || !changes {
        return None;
    }
    let collection = format!("dbdyno_probe_{}", std::process::id());
    let mut first = engine.open().await.ok()?;
    let found = run_probe(engine, &mut first, &collection).await;
    // If creating the collection failed, dropping it fails too; a lost session cannot be closed.
    let _ = ask(&mut first, rawdoc! {"drop": collection.as_str()}).await;
    let _ = first.close().await;
    found.ok().flatten()
}

fn is_changing(text: &str) -> bool {
    let name = text.trim_start().trim_start_matches('{').trim_start();
    CHANGING.iter().any(|each| {
        name.strip_prefix('"')
            .is_some_and(|rest| rest.starts_with(&format!("{each}\"")))
    })
}

async fn run_probe(
    engine: &MongodbEngine,
    first: &mut MongodbSession,
    collection: &str,
) -> Result<Option<LostUpdates>, Failure> {
    let insert = rawdoc! {"insert": collection, "documents": [{"_id": 1_i64, "n": 0_i64}]};
    ask(first, insert).await?;
    let counts: Vec<Result<u64, Failure>> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..SESSIONS)
            .map(|_| scope.spawn(|| block_on(update(engine, collection))))
            .collect();
        threads
            .into_iter()
            .map(|thread| {
                thread
                    .join()
                    .unwrap_or_else(|_| Err(Failure::new(FailureKind::Other, "a thread of the probe panicked")))
            })
            .collect()
    });
    let mut acknowledged = 0;
    for count in counts {
        acknowledged += count?;
    }
    let database = first.database().to_owned();
    let place = login::ask(first.wire(), &database, rawdoc! {"find": collection}).await?;
    let batch = find(first.wire().document(&place)?, &["cursor", "firstBatch"]).and_then(|batch| batch.as_array());
    let document = batch.and_then(|batch| batch.get_document(0).ok());
    let counted = document.and_then(|document| find(document, &["n"])).and_then(integer);
    Ok(counted.map(|counted| LostUpdates {
        sessions: SESSIONS as u32,
        acknowledged,
        counted: counted.max(0) as u64,
    }))
}

/// Increments the document repeatedly and returns the number of acknowledged updates.
async fn update(engine: &MongodbEngine, collection: &str) -> Result<u64, Failure> {
    let mut session = engine.open().await?;
    let (mut acknowledged, begun) = (0, Instant::now());
    for _ in 0..UPDATES {
        let database = session.database().to_owned();
        let update = rawdoc! {"update": collection, "updates": [{"q": {"_id": 1_i64}, "u": {"$inc": {"n": 1_i64}}}]};
        let answer = login::ask(session.wire(), &database, update).await;
        match answer {
            Ok(place) => {
                let changed = find(session.wire().document(&place)?, &["nModified"]);
                acknowledged += u64::from(changed.and_then(integer) == Some(1));
            }
            Err(failure) if failure.kind == FailureKind::Connection => return Err(failure),
            // A rejected update is not acknowledged.
            Err(_) => {}
        }
        if begun.elapsed() > LONGEST {
            break;
        }
    }
    session.close().await?;
    Ok(acknowledged)
}

async fn ask(session: &mut MongodbSession, command: RawDocumentBuf) -> Result<(), Failure> {
    let database = session.database().to_owned();
    login::ask(session.wire(), &database, command).await.map(|_| ())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn updating_commands_are_recognized() {
        assert!(is_changing(r#"{"update": "t", "updates": []}"#));
        assert!(is_changing(r#" { "findAndModify": "t"}"#));
        assert!(!is_changing(r#"{"find": "update"}"#));
        assert!(!is_changing(r#"{"updates": 1}"#));
        assert!(!is_changing(r#"{"insert": "t"}"#));
    }
}
