//! A named lock that marks the databases of one run as in use.

use super::MysqlEngine;
use super::session::MysqlSession;
use crate::server::ServerTarget;
use crate::server::net::block_on;
use crate::server::ownership_lock;
use dbdyno_engine::{Failure, Session as _};
use dbdyno_protocol::plan::document::{FailureKind, PrepareMode};

const NAMES: [&str; 2] = ["_trial", "_template"];

/// Holds the lock of a token, reports which databases no session holds a lock for, and waits until it is `over`.
///
/// A run takes the lock before it creates its databases, so a database without a lock is a leftover. If the server
/// doesn't even show this session's own lock, no databases are reported.
pub fn hold(
    target: &ServerTarget,
    token: &str,
    report: &mut dyn FnMut(Vec<String>),
    over: &dyn Fn() -> bool,
) -> Result<(), Failure> {
    ownership_lock::number(token)?;
    block_on(async {
        let mut session = MysqlSession::open(target, MysqlEngine::texts(&[]), PrepareMode::Never).await?;
        if !is(&mut session, &format!("get_lock('dbdyno_{token}', 0)"), "1").await? {
            let message = format!("another session holds the lock `dbdyno_{token}`");
            return Err(Failure::new(FailureKind::Other, message));
        }
        let mut left = Vec::new();
        if is(&mut session, &format!("is_free_lock('dbdyno_{token}')"), "0").await? {
            for name in super::names(&mut session).await? {
                let Some(lock) = lock_of(&name) else { continue };
                if is(&mut session, &format!("is_free_lock('{lock}')"), "1").await? {
                    left.push(name);
                }
            }
        }
        report(left);
        ownership_lock::wait(over, async || session.query("select 1").await.map(drop)).await?;
        session.close().await
    })
}

/// The name of the lock that marks a database as in use, if the name belongs to a run.
fn lock_of(database: &str) -> Option<&str> {
    let lock = NAMES.iter().find_map(|end| database.strip_suffix(end))?;
    ownership_lock::number(lock.strip_prefix("dbdyno_")?).ok()?;
    Some(lock)
}

async fn is(session: &mut MysqlSession, what: &str, value: &str) -> Result<bool, Failure> {
    let rows = session.query(&format!("select {what}")).await?;
    Ok(rows.into_iter().flatten().flatten().next().as_deref() == Some(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn databases_of_runs_are_recognized_by_name() {
        assert_eq!(lock_of("dbdyno_0123456789ab_trial"), Some("dbdyno_0123456789ab"));
        assert_eq!(lock_of("dbdyno_0123456789ab_template"), Some("dbdyno_0123456789ab"));
        for other in [
            "dbdyno_0123456789ab",
            "dbdyno_trial",
            "dbdyno_01234567_trial",
            "dbdyno_0123456789aB_trial",
            "app",
        ] {
            assert_eq!(lock_of(other), None, "{other}");
        }
    }
}
