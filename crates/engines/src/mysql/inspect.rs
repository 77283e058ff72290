//! Reads facts about the server.

use super::DIALECT;
use super::MysqlEngine;
use super::catalog::catalog;
use super::estimates::estimates;
use super::session::MysqlSession;
use dbdyno_engine::estimates::TimeBudget;
use dbdyno_engine::{Durability, DurabilityClass, Facts, Failure};
use dbdyno_program::value::{Value, Values};
use dbdyno_protocol::plan::document::PrepareMode;
use std::collections::BTreeMap;

/// Variables that affect a result, reported whether or not they were changed. No server has all of them.
const SHOWN: &str = "\
     'innodb_flush_log_at_trx_commit', 'sync_binlog', 'log_bin', 'innodb_buffer_pool_size', 'innodb_doublewrite', \
     'transaction_isolation', 'tx_isolation', 'sql_mode', 'max_connections', 'innodb_flush_method', \
     'default_storage_engine', 'key_buffer_size', 'query_cache_type', 'innodb_log_file_size', \
     'innodb_redo_log_capacity', 'innodb_io_capacity', 'thread_handling', 'character_set_server', 'collation_server', \
     'autocommit', 'table_open_cache', 'performance_schema', 'innodb_adaptive_hash_index', \
     'aria_pagecache_buffer_size', 'tmp_table_size', 'innodb_flush_neighbors', 'innodb_autoinc_lock_mode', \
     'binlog_row_image', 'optimizer_switch'";

/// Variables that describe locations, or that the server updates itself. They don't affect how it works.
const PLACES: &str = "\
     'basedir', 'datadir', 'socket', 'pid_file', 'tmpdir', 'slave_load_tmpdir', 'replica_load_tmpdir', 'hostname', \
     'port', 'log_error', 'lc_messages_dir', 'character_sets_dir', 'plugin_dir', 'general_log_file', \
     'slow_query_log_file', 'log_bin_basename', 'log_bin_index', 'relay_log', 'relay_log_basename', \
     'relay_log_index', 'relay_log_info_file', 'innodb_data_home_dir', 'innodb_log_group_home_dir', 'innodb_tmpdir', \
     'innodb_undo_directory', 'innodb_temp_tablespaces_dir', 'innodb_version', 'server_uuid', 'server_uid', \
     'report_port', 'gtid_binlog_pos', 'gtid_binlog_state', 'gtid_current_pos', 'gtid_executed', 'gtid_slave_pos', \
     'system_time_zone', 'back_log', 'skip_networking', 'bind_address', 'ssl_ca', 'ssl_cert', 'ssl_key', \
     'tls_version'";

/// Reads the version, the effective settings and the query plans.
pub async fn facts(engine: &MysqlEngine) -> Result<Facts, Failure> {
    let mut session = MysqlSession::open(&engine.target, engine.statements.clone(), PrepareMode::Once).await?;
    let version = words(&mut session, "select version()").await?.join("");
    let comment = words(
        &mut session,
        "select concat(@@version_comment, ', ', @@version_compile_os, ', ', @@version_compile_machine)",
    )
    .await?
    .join("");
    let is_mariadb = version.contains("MariaDB") || comment.contains("MariaDB");
    let mut settings = pairs(
        &mut session,
        &format!("show variables where variable_name in ({SHOWN})"),
    )
    .await?;
    settings.extend(changed(&mut session, is_mariadb).await);
    let engines = words(
        &mut session,
        "select distinct engine from information_schema.tables where table_schema = database() and table_type = \
         'BASE TABLE' order by engine",
    )
    .await?;
    if let Some(version) = session.wire().connection.encryption() {
        settings.insert("tls".into(), version);
    }
    let catalog = catalog(engine, &mut session).await?;
    let (plans, passed_over) = plans(engine, &mut session).await?;
    Ok(Facts {
        engine: if is_mariadb { "MariaDB" } else { "MySQL" }.into(),
        // `10.11.6-MariaDB-1`, `8.0.36-0ubuntu`
        version: version.split('-').next().unwrap_or_default().to_owned(),
        source_id: Some(format!("{version} ({comment})")),
        compile_options: Vec::new(),
        durability: durability(&settings, &engines),
        settings,
        plans,
        passed_over,
        estimates: estimates(&engine.target, &engine.statements, is_mariadb, TimeBudget::for_trial()).await,
        catalog,
        ..Facts::default()
    })
}

/// Global variables with non-default values, as far as the server reports them; none without the privilege to see them.
async fn changed(session: &mut MysqlSession, is_mariadb: bool) -> BTreeMap<String, String> {
    let sql = if is_mariadb {
        format!(
            "select lower(variable_name), global_value from information_schema.system_variables where \
             global_value_origin not in ('COMPILE-TIME', 'AUTO') and global_value <> default_value and \
             lower(variable_name) not in ({PLACES})"
        )
    } else {
        format!(
            "select v.variable_name, v.variable_value from performance_schema.variables_info i join \
             performance_schema.global_variables v using (variable_name) where i.variable_source <> 'COMPILED' and \
             v.variable_name not in ({PLACES})"
        )
    };
    pairs(session, &sql).await.unwrap_or_default()
}

async fn words(session: &mut MysqlSession, sql: &str) -> Result<Vec<String>, Failure> {
    Ok(session.query(sql).await?.into_iter().flatten().flatten().collect())
}

async fn pairs(session: &mut MysqlSession, sql: &str) -> Result<BTreeMap<String, String>, Failure> {
    let rows = session.query(sql).await?;
    let pair = |row| match <[Option<String>; 2]>::try_from(row) {
        Ok([Some(name), value]) => Some((name, value.unwrap_or_default())),
        _ => None,
    };
    Ok(rows.into_iter().filter_map(pair).collect())
}

/// The durability, from the settings and the tables' storage engines.
fn durability(settings: &BTreeMap<String, String>, engines: &[String]) -> Durability {
    let setting = |name: &str| settings.get(name).map_or("?", String::as_str);
    let standard = [setting("default_storage_engine").to_owned()];
    // If there are no tables yet, the default storage engine counts.
    let engines = if engines.is_empty() { &standard[..] } else { engines };
    if let Some(other) = engines.iter().find(|engine| !engine.eq_ignore_ascii_case("InnoDB")) {
        return Durability {
            class: DurabilityClass::None,
            because: format!("{other} tables are not transactional and not synced"),
        };
    }
    let flush = setting("innodb_flush_log_at_trx_commit");
    let (log, sync, method) = (
        setting("log_bin"),
        setting("sync_binlog"),
        setting("innodb_flush_method"),
    );
    let pages = setting("innodb_doublewrite");
    let logs = log.eq_ignore_ascii_case("on") || log == "1";
    let class = match flush {
        // A server thread writes the log some time after the commit is acknowledged.
        "0" => DurabilityClass::None,
        "2" => DurabilityClass::ProcessSafe,
        // Recovery rolls back transactions that are missing in the binary log.
        _ if logs && sync != "1" => DurabilityClass::ProcessSafe,
        _ if matches!(method.to_ascii_lowercase().as_str(), "nosync" | "littlesync") => DurabilityClass::ProcessSafe,
        // MySQL can also record only which pages were being written, so that a torn page is detected but not repaired.
        _ if matches!(
            pages.to_ascii_lowercase().as_str(),
            "off" | "0" | "false" | "detect_only"
        ) =>
        {
            DurabilityClass::TornPages
        }
        _ => DurabilityClass::PowerSafe,
    };
    let binary_log = if logs {
        format!("log_bin={log}, sync_binlog={sync}")
    } else {
        format!("log_bin={log}")
    };
    Durability {
        class,
        because: format!(
            "innodb_flush_log_at_trx_commit={flush}, {binary_log}, innodb_flush_method={method}, \
             innodb_doublewrite={pages}"
        ),
    }
}

/// By statement name: the lines of its plan, or the names of indexes.
type ByStatement = BTreeMap<String, Vec<String>>;

/// The query plan of each statement, with 1 for its parameters, because the optimizer needs values. A statement that
/// cannot be explained, for example because its table doesn't exist yet, has no plan. Also returns the indexes that the
/// server considered possible, for tables where it uses none.
async fn plans(engine: &MysqlEngine, session: &mut MysqlSession) -> Result<(ByStatement, ByStatement), Failure> {
    let mut plans = BTreeMap::new();
    let mut passed_over = BTreeMap::new();
    let mut sql = String::new();
    for text in engine.statements.iter() {
        // A string can be compared with numeric and text columns; after LIMIT, a number is required.
        for one in [None, Some(Value::Text("1")), Some(Value::Integer(1))] {
            match (one, &text.example) {
                (None, None) => continue,
                (None, Some(example)) => example.clone_into(&mut sql),
                (Some(one), _) => {
                    let mut values = Values::default();
                    (0..text.template.parameters()).for_each(|_| values.push(one));
                    text.template.render(&values, &DIALECT, &mut sql);
                }
            }
            match session.query(&format!("explain format=traditional {sql}")).await {
                Ok(rows) => {
                    let possible: Vec<String> = rows.iter().flat_map(|row| possible(row)).collect();
                    if !possible.is_empty() {
                        passed_over.insert(text.statement.name.clone(), possible);
                    }
                    let lines = rows.into_iter().map(|row| step(&row)).collect();
                    plans.insert(text.statement.name.clone(), lines);
                    break;
                }
                Err(failure) if failure.kind == dbdyno_protocol::plan::document::FailureKind::Connection => {
                    return Err(failure);
                }
                Err(_) => {}
            }
        }
    }
    Ok((plans, passed_over))
}

/// The possible indexes in a row of EXPLAIN, if the row uses none.
fn possible(row: &[Option<String>]) -> Vec<String> {
    let behind = usize::from(row.len() > 10);
    let at = |index: usize| row.get(index + behind).and_then(Option::as_deref).unwrap_or_default();
    if at(4).is_empty() || !at(5).is_empty() {
        return Vec::new();
    }
    at(4).split(',').map(str::to_owned).collect()
}

/// One row of EXPLAIN: id, select_type, table, (MySQL: partitions,) type, possible_keys, key, key_len, ref, rows,
/// (MySQL: filtered,) Extra. The row estimate is left out because it varies between calls.
fn step(row: &[Option<String>]) -> String {
    let more = row.len().saturating_sub(10);
    let at = |index: usize| row.get(index).and_then(Option::as_deref);
    let behind = usize::from(more > 0);
    let mut line = at(1).unwrap_or_default().to_lowercase();
    let parts = [
        ("", at(2)),
        ("", at(3 + behind)),
        ("key ", at(5 + behind)),
        ("ref ", at(7 + behind)),
        ("", at(9 + more)),
    ];
    for (label, part) in parts {
        if let Some(part) = part.filter(|part| !part.is_empty()) {
            line.push_str(if line.is_empty() { "" } else { ", " });
            line.push_str(label);
            line.push_str(part);
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    fn class(settings: &[(&str, &str)], engines: &[&str]) -> DurabilityClass {
        let settings = settings
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        let engines: Vec<String> = engines.iter().map(|name| (*name).to_owned()).collect();
        durability(&settings, &engines).class
    }

    #[test]
    fn durability_follows_the_settings() {
        let flush = |value| ("innodb_flush_log_at_trx_commit", value);
        let innodb = &["InnoDB"];
        assert_eq!(
            class(&[flush("1"), ("log_bin", "OFF")], innodb),
            DurabilityClass::PowerSafe
        );
        assert_eq!(class(&[flush("2")], innodb), DurabilityClass::ProcessSafe);
        assert_eq!(class(&[flush("0")], innodb), DurabilityClass::None);
        let logged = |sync| class(&[flush("1"), ("log_bin", "ON"), ("sync_binlog", sync)], innodb);
        assert_eq!(logged("1"), DurabilityClass::PowerSafe);
        assert_eq!(logged("0"), DurabilityClass::ProcessSafe);
        let unsynced = class(&[flush("1"), ("innodb_flush_method", "nosync")], innodb);
        assert_eq!(unsynced, DurabilityClass::ProcessSafe);
        for torn in ["OFF", "0", "DETECT_ONLY"] {
            let settings = [flush("1"), ("innodb_doublewrite", torn)];
            assert_eq!(class(&settings, innodb), DurabilityClass::TornPages);
        }
    }

    #[test]
    fn tables_without_transactions_are_not_durable() {
        let flush = ("innodb_flush_log_at_trx_commit", "1");
        assert_eq!(class(&[flush], &["InnoDB", "MyISAM"]), DurabilityClass::None);
        assert_eq!(
            class(&[flush, ("default_storage_engine", "Aria")], &[]),
            DurabilityClass::None
        );
        assert_eq!(
            class(&[flush, ("default_storage_engine", "InnoDB")], &[]),
            DurabilityClass::PowerSafe
        );
    }

    #[test]
    fn a_step_is_read_from_either_server() {
        let row = |text: &str| -> Vec<Option<String>> {
            text.split('|')
                .map(|field| (field != "NULL").then(|| field.to_owned()))
                .collect()
        };
        let mariadb = step(&row("1|SIMPLE|t|const|PRIMARY|PRIMARY|4|const|1|"));
        assert_eq!(mariadb, "simple, t, const, key PRIMARY, ref const");
        let mysql = step(&row("1|SIMPLE|t|NULL|ALL|NULL|NULL|NULL|NULL|20|33.33|Using where"));
        assert_eq!(mysql, "simple, t, ALL, Using where");
    }
}
