//! An advisory lock that marks the databases of one run as in use.

use super::PostgresqlEngine;
use super::session::PostgresqlSession;
use crate::server::ServerTarget;
use crate::server::net::block_on;
use crate::server::ownership_lock;
use dbdyno_engine::{Failure, Session as _};
use dbdyno_protocol::plan::document::{FailureKind, PrepareMode};

/// The high bits of the lock number, "db", which distinguish dbdyno's locks from other applications'.
const OURS: i64 = 0x6462 << 48;

/// The advisory locks held in all databases; their keys are stored in two halves.
const HELD: &str = "select (classid::bigint << 32) | objid::bigint from pg_locks \
     where locktype = 'advisory' and objsubid = 1 and granted";

/// Databases named like those of runs, with their lock numbers.
const MADE: &str = "select datname, ('x' || substr(datname, 8, 12))::bit(48)::bigint from pg_database \
     where datname ~ '^dbdyno_[0-9a-f]{12}_(trial|template)$'";

/// Holds the lock of a token, reports which databases no session holds a lock for, and waits until it is `over`.
///
/// A run takes the lock before it creates its databases, so a database without a lock is a leftover. If the list of
/// locks doesn't even contain this session's own, no databases are reported.
pub fn hold(
    target: &ServerTarget,
    token: &str,
    report: &mut dyn FnMut(Vec<String>),
    over: &dyn Fn() -> bool,
) -> Result<(), Failure> {
    let own = OURS | ownership_lock::number(token)?;
    block_on(async {
        let mut session = PostgresqlSession::open(target, PostgresqlEngine::texts(&[]), PrepareMode::Never).await?;
        let taken = session.query(&format!("select pg_try_advisory_lock({own})")).await?;
        if taken.into_iter().flatten().flatten().next().as_deref() != Some("t") {
            let message = format!("another session holds the advisory lock {own}");
            return Err(Failure::new(FailureKind::Other, message));
        }
        let made = session.query(MADE).await?;
        let held: Vec<i64> = session
            .query(HELD)
            .await?
            .into_iter()
            .flatten()
            .flatten()
            .filter_map(|number| number.parse().ok())
            .collect();
        let left = made
            .into_iter()
            .filter_map(|row| match <[Option<String>; 2]>::try_from(row) {
                Ok([Some(name), Some(number)]) => {
                    let lock = OURS | number.parse::<i64>().ok()?;
                    (!held.contains(&lock)).then_some(name)
                }
                _ => None,
            });
        report(if held.contains(&own) {
            left.collect()
        } else {
            Vec::new()
        });
        ownership_lock::wait(over, async || session.query("select 1").await.map(drop)).await?;
        session.close().await
    })
}
