//! Reads the server's status counters of device operations and deferred work.

use super::MysqlEngine;
use super::session::MysqlSession;
use dbdyno_engine::observed::{Backlog, Counters};
use dbdyno_engine::{Failure, Session as _};
use dbdyno_protocol::plan::document::PrepareMode;
use std::collections::BTreeMap;

/// MariaDB's status contains the length of the purge history; MySQL reports it elsewhere.
const STATUS: &str = "show global status where variable_name in ('Innodb_os_log_fsyncs', 'Innodb_data_fsyncs', \
     'Innodb_os_log_written', 'Innodb_rows_inserted', 'Innodb_rows_updated', 'Innodb_rows_deleted', 'Innodb_buffer_pool_reads', \
     'Innodb_buffer_pool_read_requests', 'Innodb_pages_written', 'Innodb_buffer_pool_pages_dirty', 'Innodb_checkpoint_age', 'Innodb_history_list_length')";
const PURGE: &str = "select 'Innodb_history_list_length', count from information_schema.innodb_metrics \
     where name = 'trx_rseg_history_len'";

async fn status(engine: &MysqlEngine) -> Result<BTreeMap<String, f64>, Failure> {
    let mut session = MysqlSession::open(&engine.target, engine.statements.clone(), PrepareMode::Never).await?;
    let mut found = BTreeMap::new();
    for sql in [STATUS, PURGE] {
        for row in session.query(sql).await.unwrap_or_default() {
            if let [Some(name), Some(value)] = row.as_slice()
                && let Ok(value) = value.parse()
            {
                found.entry(name.to_ascii_lowercase()).or_insert(value);
            }
        }
    }
    session.close().await?;
    Ok(found)
}

fn named<const N: usize>(status: &BTreeMap<String, f64>, names: [(&'static str, &str); N]) -> Counters {
    let value = |(ours, theirs): (&'static str, &str)| Some((ours, *status.get(theirs)?));
    names.into_iter().filter_map(value).collect()
}

/// Reads the counters. If there is no counter for the log alone, `syncs` covers all InnoDB files.
pub async fn counters(engine: &MysqlEngine) -> Result<Counters, Failure> {
    let status = status(engine).await?;
    let mut found = named(
        &status,
        [("syncs", "innodb_data_fsyncs"), ("log_bytes", "innodb_os_log_written")],
    );
    found.extend(named(
        &status,
        [
            ("syncs", "innodb_os_log_fsyncs"),
            ("pages_read", "innodb_buffer_pool_reads"),
            ("pages_written", "innodb_pages_written"),
        ],
    ));
    if let (Some(asked), Some(read)) = (
        status.get("innodb_buffer_pool_read_requests"),
        status.get("innodb_buffer_pool_reads"),
    ) {
        found.insert("pages_found", (asked - read).max(0.0));
    }
    let rows = ["innodb_rows_inserted", "innodb_rows_updated", "innodb_rows_deleted"].map(|name| status.get(name));
    if rows.iter().any(Option::is_some) {
        found.insert("rows", rows.into_iter().flatten().sum());
    }
    Ok(found)
}

/// Reads the deferred work.
pub async fn backlog(engine: &MysqlEngine) -> Result<Backlog, Failure> {
    let status = status(engine).await?;
    Ok(named(
        &status,
        [
            ("dirty_pages", "innodb_buffer_pool_pages_dirty"),
            ("log_bytes_since_checkpoint", "innodb_checkpoint_age"),
            ("old_versions", "innodb_history_list_length"),
        ],
    ))
}
