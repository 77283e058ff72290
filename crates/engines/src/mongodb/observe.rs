//! Reads a MongoDB server's counters of device operations and deferred work from `serverStatus`. FerretDB reports none.

use super::MongodbEngine;
use super::login;
use super::values::{find, integer};
use bson::rawdoc;
use dbdyno_engine::observed::{Backlog, Counters};
use dbdyno_engine::{Failure, Session as _};

/// Paths of the counters in `serverStatus`.
const COUNTERS: [(&str, [&str; 3]); 2] = [
    ("syncs", ["wiredTiger", "log", "log sync operations"]),
    ("log_bytes", ["wiredTiger", "log", "log bytes written"]),
];
const BACKLOG: [(&str, [&str; 3]); 1] = [(
    "dirty_bytes",
    ["wiredTiger", "cache", "tracked dirty bytes in the cache"],
)];

async fn status<const N: usize>(
    engine: &MongodbEngine,
    wanted: [(&'static str, [&str; 3]); N],
) -> Result<Counters, Failure> {
    let mut session = engine.open().await?;
    let asked = login::ask(session.wire(), "admin", rawdoc! {"serverStatus": 1_i64}).await;
    let mut found = Counters::new();
    // Users without the privilege see no counters.
    if let Ok(place) = asked {
        let status = session.wire().document(&place)?;
        for (name, path) in wanted {
            let value = find(status, &path).and_then(integer);
            found.extend(value.map(|value| (name, value as f64)));
        }
    }
    session.close().await?;
    Ok(found)
}

/// Reads the counters.
pub async fn counters(engine: &MongodbEngine) -> Result<Counters, Failure> {
    status(engine, COUNTERS).await
}

/// Reads the deferred work.
pub async fn backlog(engine: &MongodbEngine) -> Result<Backlog, Failure> {
    status(engine, BACKLOG).await
}
