//! What the sessions wait for, as `pg_stat_activity` shows it.

use super::PostgresqlEngine;
use super::session::PostgresqlSession;
use crate::waits::{Waits, sleep};
use crate::{Failure, Session as _};
use dbdyno_plan::document::PrepareMode;
use dbdyno_probes::Clock;

/// One look. A session that waits for its client outside a transaction does nothing for anybody, and is left out.
const LOOK: &str = "select coalesce(wait_event_type, 'CPU'), coalesce(wait_event, 'running'), count(*) \
     from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid() \
     and backend_type = 'client backend' and state <> 'idle' group by 1, 2";

/// Looks at the sessions every now and then for as long as `running` says so.
pub async fn sample(engine: &PostgresqlEngine, running: &dyn Fn() -> bool) -> Result<Waits, Failure> {
    let clock = Clock::get();
    let mut session = PostgresqlSession::open(&engine.target, engine.statements.clone(), PrepareMode::Never).await?;
    let mut waits = Waits::default();
    // Nothing else goes on in this thread, so that it may sleep.
    while sleep(running) {
        let start = clock.now();
        for row in session.query(LOOK).await? {
            if let [Some(class), Some(event), Some(sessions)] = row.as_slice() {
                waits.see(class, event, sessions.parse().unwrap_or(0));
            }
        }
        waits.query_s += clock.now().saturating_sub(start) as f64 / 1e9;
        waits.samples += 1;
    }
    session.close().await?;
    Ok(waits)
}
