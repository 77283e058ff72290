//! Reads the server's statistics of device operations and deferred work.
//!
//! A session reports its statistics when it ends, and at most once per second. So they are read before the first
//! session of a trial and after the last.

use super::PostgresqlEngine;
use super::session::PostgresqlSession;
use dbdyno_engine::observed::{Backlog, Counters};
use dbdyno_engine::{Failure, Session as _};
use dbdyno_protocol::plan::document::PrepareMode;

/// Since version 18, syncs are part of the I/O statistics.
const SYNCS_OF_18: &str = "select sum(fsyncs), null from pg_stat_io where object = 'wal'";
/// Versions 14 to 17. If each WAL write is synced as it is made, syncs aren't counted, so writes are used.
const SYNCS_OF_14: &str = "select wal_sync, case when current_setting('wal_sync_method') like 'open%' then wal_write end \
     from pg_stat_wal";
const LOG: &str = "select wal_bytes, wal_fpi from pg_stat_wal";

/// Cache misses and hits.
const PAGES: &str = "select blks_read, blks_hit from pg_stat_database where datname = current_database()";
/// Checkpoints, pages written by checkpoints, and all pages written: since version 17, and before. Sessions that extend
/// a file count as having written its new pages.
const WRITTEN_OF_17: &str = "select c.num_timed + c.num_requested, c.buffers_written, c.buffers_written + b.buffers_clean + (select coalesce(sum(writes), 0) \
     + coalesce(sum(extends), 0) from pg_stat_io where backend_type = 'client backend' and object = 'relation') \
     from pg_stat_checkpointer c, pg_stat_bgwriter b";
const WRITTEN_OF_14: &str = "select checkpoints_timed + checkpoints_req, buffers_checkpoint, buffers_checkpoint + buffers_clean + buffers_backend from pg_stat_bgwriter";

/// Bytes of WAL since the last checkpoint, and dead row versions for vacuum to remove.
const SINCE_CHECKPOINT: &str = "select pg_wal_lsn_diff(pg_current_wal_lsn(), redo_lsn) from pg_control_checkpoint()";
const OLD_VERSIONS: &str = "select sum(n_dead_tup) from pg_stat_user_tables";

async fn open(engine: &PostgresqlEngine) -> Result<PostgresqlSession, Failure> {
    PostgresqlSession::open(&engine.target, engine.statements.clone(), PrepareMode::Never).await
}

/// Reads the counters. Those that a version lacks, or a user may not see, are left out.
pub async fn counters(engine: &PostgresqlEngine) -> Result<Counters, Failure> {
    let mut session = open(engine).await?;
    let mut found = Counters::new();
    let version = numbers(&mut session, "select current_setting('server_version_num')").await;
    let version = version.first().copied().flatten().unwrap_or_default();
    if version >= 140_000.0 {
        let sql = if version >= 180_000.0 { SYNCS_OF_18 } else { SYNCS_OF_14 };
        let row = numbers(&mut session, sql).await;
        let known: f64 = row.iter().flatten().sum();
        if row.iter().any(Option::is_some) {
            found.insert("syncs", known);
        }
        let written = if version >= 170_000.0 {
            WRITTEN_OF_17
        } else {
            WRITTEN_OF_14
        };
        let told: [(&str, &[&'static str]); 3] = [
            (LOG, &["log_bytes", "page_images"]),
            (PAGES, &["pages_read", "pages_found"]),
            (written, &["checkpoints", "checkpoint_pages", "pages_written"]),
        ];
        for (sql, names) in told {
            let row = numbers(&mut session, sql).await;
            found.extend(names.iter().zip(row).filter_map(|(name, value)| Some((*name, value?))));
        }
    }
    session.close().await?;
    Ok(found)
}

/// Reads the deferred work, with the same restriction.
pub async fn backlog(engine: &PostgresqlEngine) -> Result<Backlog, Failure> {
    let mut session = open(engine).await?;
    let mut found = Backlog::new();
    for (name, sql) in [
        ("log_bytes_since_checkpoint", SINCE_CHECKPOINT),
        ("old_versions", OLD_VERSIONS),
    ] {
        let row = numbers(&mut session, sql).await;
        found.extend(row.first().copied().flatten().map(|value| (name, value)));
    }
    session.close().await?;
    Ok(found)
}

/// The numbers in a query's first row; empty if the query isn't permitted.
async fn numbers(session: &mut PostgresqlSession, sql: &str) -> Vec<Option<f64>> {
    let rows = session.query(sql).await.unwrap_or_default();
    let row = rows.into_iter().next().unwrap_or_default();
    row.into_iter().map(|value| value?.parse().ok()).collect()
}
