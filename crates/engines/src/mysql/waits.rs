//! Samples the sessions' waits from the process list.

use super::MysqlEngine;
use super::session::MysqlSession;
use dbdyno_engine::waits::{self, Waits};
use dbdyno_engine::{Failure, Session as _};
use dbdyno_protocol::plan::document::PrepareMode;

/// One sample of our user's sessions. The process list doesn't show InnoDB row lock waits, but the transaction list
/// does. This query doesn't interpret other states.
const LOOK: &str = "select case when t.trx_state = 'LOCK WAIT' then 'InnoDB' when p.state <> '' then 'State' \
     else 'CPU' end as class, \
     case when t.trx_state = 'LOCK WAIT' then 'row lock' else coalesce(nullif(p.state, ''), 'running') end as event, \
     count(*) from information_schema.processlist p left join information_schema.innodb_trx t \
     on t.trx_mysql_thread_id = p.id where p.id <> connection_id() and p.db = database() \
     and p.user = substring_index(user(), '@', 1) \
     and p.command not in ('Sleep', 'Daemon', 'Connect') group by class, event";

/// The same for a user who cannot see the transaction list.
const LOOK_WITHOUT_ROWS: &str = "select case when state <> '' then 'State' else 'CPU' end as class, \
     coalesce(nullif(state, ''), 'running') as event, \
     count(*) from information_schema.processlist where id <> connection_id() and db = database() \
     and user = substring_index(user(), '@', 1) \
     and command not in ('Sleep', 'Daemon', 'Connect') group by class, event";

/// Samples the sessions while `running` returns true.
pub async fn sample(engine: &MysqlEngine, running: &dyn Fn() -> bool) -> Result<Waits, Failure> {
    let mut session = MysqlSession::open(&engine.target, engine.statements.clone(), PrepareMode::Never).await?;
    let mut look = LOOK;
    let waits = waits::sample(running, async || match session.query(look).await {
        Err(_) if look == LOOK => {
            look = LOOK_WITHOUT_ROWS;
            session.query(look).await
        }
        rows => rows,
    })
    .await?;
    session.close().await?;
    Ok(waits)
}
