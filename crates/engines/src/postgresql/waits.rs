//! Samples the sessions' waits from `pg_stat_activity`.

use super::PostgresqlEngine;
use super::session::PostgresqlSession;
use dbdyno_engine::waits::{self, Waits};
use dbdyno_engine::{Failure, Session as _};
use dbdyno_protocol::plan::document::PrepareMode;

/// One sample. Idle sessions outside a transaction, and sessions of other applications, are left out.
const LOOK: &str = "select coalesce(wait_event_type, 'CPU'), coalesce(wait_event, 'running'), count(*) \
     from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid() \
     and application_name = 'dbdyno' and backend_type = 'client backend' and state <> 'idle' group by 1, 2";

/// The same for PostgreSQL 9.6, which reports neither the backend type nor waits for the client.
const LOOK_9_6: &str = "select case when state like 'idle in%' then 'Client' else coalesce(wait_event_type, 'CPU') end, \
     case when state like 'idle in%' then 'ClientRead' else coalesce(wait_event, 'running') end, count(*) \
     from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid() \
     and application_name = 'dbdyno' and state <> 'idle' group by 1, 2";

/// Samples the sessions while `running` returns true.
pub async fn sample(engine: &PostgresqlEngine, running: &dyn Fn() -> bool) -> Result<Waits, Failure> {
    let mut session = PostgresqlSession::open(&engine.target, engine.statements.clone(), PrepareMode::Never).await?;
    let mut look = LOOK;
    let waits = waits::sample(running, async || match session.query(look).await {
        Err(_) if look == LOOK => {
            look = LOOK_9_6;
            session.query(look).await
        }
        rows => rows,
    })
    .await?;
    session.close().await?;
    Ok(waits)
}
