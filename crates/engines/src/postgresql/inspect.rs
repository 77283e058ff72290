//! Reads facts about the server.

use super::catalog::{catalog, looked_up};
use super::estimates::estimates;
use super::session::PostgresqlSession;
use super::{DIALECT, PostgresqlEngine, Text};
use crate::sql_text::values_of;
use dbdyno_engine::estimates::TimeBudget;
use dbdyno_engine::{Durability, DurabilityClass, Facts, Failure};
use dbdyno_protocol::event::PreparedPlans;
use dbdyno_protocol::plan::document::PrepareMode;
use std::collections::BTreeMap;

/// Settings that affect a result, reported whether or not they were changed.
const SHOWN: &str = "'fsync', 'synchronous_commit', 'full_page_writes', 'wal_level', 'shared_buffers', 'work_mem', \
     'effective_cache_size', 'max_connections', 'max_wal_size', 'checkpoint_timeout', 'wal_sync_method', \
     'default_transaction_isolation', 'random_page_cost', 'jit', 'wal_buffers', 'wal_compression', 'max_parallel_workers_per_gather', \
     'commit_delay', 'autovacuum', 'synchronous_standby_names', 'lc_collate', 'server_encoding', 'track_io_timing'";

/// Reads the version, the effective settings and the query plans.
pub async fn facts(engine: &PostgresqlEngine) -> Result<Facts, Failure> {
    let mut session = PostgresqlSession::open(&engine.target, engine.statements.clone(), PrepareMode::Once).await?;
    let one = |rows: Vec<Vec<Option<String>>>| rows.into_iter().flatten().flatten().next().unwrap_or_default();
    let version = one(session.query("show server_version").await?);
    let source = one(session.query("select version()").await?);
    let sql = format!(
        "select name, current_setting(name) from pg_settings where name in ({SHOWN}) or source not in ('default', \
         'override', 'client', 'environment variable') and name not in ('unix_socket_directories', 'data_directory', \
         'config_file', 'hba_file', 'ident_file', 'external_pid_file', 'log_directory', 'log_filename')"
    );
    let mut settings: BTreeMap<String, String> = session
        .query(&sql)
        .await?
        .into_iter()
        .filter_map(|row| match <[Option<String>; 2]>::try_from(row) {
            Ok([Some(name), value]) => Some((name, value.unwrap_or_default())),
            _ => None,
        })
        .collect();
    if let Some(version) = session.wire().connection.encryption() {
        settings.insert("tls".into(), version);
    }
    let catalog = catalog(engine, &mut session).await?;
    let (plans, passed_over) = plans(engine, &mut session).await?;
    let prepared = prepared(engine, &mut session).await?;
    Ok(Facts {
        engine: "PostgreSQL".into(),
        version: version.split(' ').next().unwrap_or_default().to_owned(),
        source_id: Some(source),
        compile_options: Vec::new(),
        durability: durability(&settings),
        settings,
        plans,
        passed_over,
        prepared,
        estimates: estimates(&engine.target, &engine.statements, TimeBudget::for_trial()).await,
        catalog,
        ..Facts::default()
    })
}

/// The durability, from the settings.
fn durability(settings: &BTreeMap<String, String>) -> Durability {
    let setting = |name: &str| settings.get(name).map_or("?", String::as_str);
    let (fsync, commit, pages) = (
        setting("fsync"),
        setting("synchronous_commit"),
        setting("full_page_writes"),
    );
    let class = match (commit, fsync) {
        // Another process writes the log some time after the commit is acknowledged.
        ("off", _) => DurabilityClass::None,
        (_, "on") if pages == "off" => DurabilityClass::TornPages,
        (_, "on") => DurabilityClass::PowerSafe,
        _ => DurabilityClass::ProcessSafe,
    };
    Durability {
        class,
        because: format!("fsync={fsync}, synchronous_commit={commit}, full_page_writes={pages}"),
    }
}

/// By statement name: the lines of its plan, or the names of indexes.
type ByStatement = BTreeMap<String, Vec<String>>;

/// The query plan of each statement, with its example values or as a generic plan. A statement that cannot be
/// explained, for example because its table doesn't exist yet, has no plan.
///
/// For a plan with example values that uses no index lookup, also returns the indexes that the planner would use if
/// sequential scans were disabled: it considers the scan cheaper.
async fn plans(
    engine: &PostgresqlEngine,
    session: &mut PostgresqlSession,
) -> Result<(ByStatement, ByStatement), Failure> {
    let mut plans = BTreeMap::new();
    let mut passed_over = BTreeMap::new();
    session.query("set plan_cache_mode = force_generic_plan").await?;
    for text in engine.statements.iter() {
        if let Some(example) = &text.example {
            let explain = format!("explain (costs off) {example}");
            // If the text had several statements, EXPLAIN would execute all but the first.
            if let Ok(rows) = session.query_one(&explain).await {
                let plan: Vec<String> = rows.into_iter().flatten().flatten().collect();
                if looked_up(&plan).is_empty() {
                    session.query("set enable_seqscan = off").await?;
                    let rows = session.query_one(&explain).await.unwrap_or_default();
                    session.query("reset enable_seqscan").await?;
                    let indexes = looked_up(&rows.into_iter().flatten().flatten().collect::<Vec<_>>());
                    if !indexes.is_empty() {
                        passed_over.insert(text.statement.name.clone(), indexes);
                    }
                }
                plans.insert(text.statement.name.clone(), plan);
            }
            continue;
        }
        if let Some(lines) = generic_plan(session, text, "(costs off)").await? {
            plans.insert(text.statement.name.clone(), lines);
        }
    }
    Ok((plans, passed_over))
}

/// The output of `EXPLAIN` for a statement's generic plan; none if it cannot be prepared or explained. The session must
/// force generic plans.
async fn generic_plan(
    session: &mut PostgresqlSession,
    text: &Text,
    options: &str,
) -> Result<Option<Vec<String>>, Failure> {
    let nulls = vec!["null"; text.template.parameters()].join(", ");
    let arguments = if nulls.is_empty() {
        String::new()
    } else {
        format!("({nulls})")
    };
    // Each text is sent separately, so that a failing one doesn't abort the others.
    let prepare = format!("prepare dbdyno_plan as {}", text.numbered);
    if session.query_one(&prepare).await.is_err() {
        return Ok(None);
    }
    let explain = format!("explain {options} execute dbdyno_plan{arguments}");
    let rows = session.query(&explain).await.ok();
    session.query("deallocate dbdyno_plan").await?;
    Ok(rows.map(|rows| rows.into_iter().flatten().flatten().collect()))
}

/// The generic plans of statements with parameters and their plans with example or representative values, where they
/// differ.
async fn prepared(
    engine: &PostgresqlEngine,
    session: &mut PostgresqlSession,
) -> Result<BTreeMap<String, PreparedPlans>, Failure> {
    let mut found = BTreeMap::new();
    for text in engine.statements.iter().filter(|text| text.template.parameters() > 0) {
        let mut sql = text.example.clone().unwrap_or_default();
        match &text.statement.analyze {
            Some(values) if sql.is_empty() => text.template.render(&values_of(values), &DIALECT, &mut sql),
            _ if sql.is_empty() => continue,
            _ => {}
        }
        let Ok(rows) = session.query_one(&format!("explain {sql}")).await else {
            continue;
        };
        let custom = costed(rows.into_iter().flatten().flatten().collect());
        let generic = generic_plan(session, text, "").await?.and_then(costed);
        if let (Some((generic, generic_cost)), Some((custom, custom_cost))) = (generic, custom)
            && generic != custom
        {
            let plans = PreparedPlans {
                generic,
                generic_cost,
                custom,
                custom_cost,
            };
            found.insert(text.statement.name.clone(), plans);
        }
    }
    Ok(found)
}

/// A plan without its estimates, and its total cost.
fn costed(lines: Vec<String>) -> Option<(Vec<String>, f64)> {
    let (_, estimates) = lines.first()?.split_once("  (cost=")?;
    let cost = estimates.split_once("..")?.1.split(' ').next()?.parse().ok()?;
    let step = |line: String| {
        line.split_once("  (cost=")
            .map_or(line.clone(), |(step, _)| step.to_owned())
    };
    let plan = lines.into_iter().take_while(|line| line != "JIT:").map(step).collect();
    Some((plan, cost))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn estimates_are_separated_from_a_plan() {
        let lines = [
            "Index Scan using i on t  (cost=0.29..8.31 rows=1 width=4)",
            "  Index Cond: (id = $1)",
            "JIT:",
            "  Functions: 2",
        ];
        let plan = costed(lines.map(str::to_owned).to_vec()).unwrap();
        assert_eq!(
            plan,
            (
                vec![
                    "Index Scan using i on t".to_owned(),
                    "  Index Cond: (id = $1)".to_owned()
                ],
                8.31
            )
        );
        assert_eq!(costed(vec!["Result".to_owned()]), None);
    }

    #[test]
    fn durability_follows_the_settings() {
        let with = |fsync: &str, commit: &str, pages: &str| {
            let settings = [
                ("fsync", fsync),
                ("synchronous_commit", commit),
                ("full_page_writes", pages),
            ];
            let settings = settings.map(|(name, value)| (name.to_owned(), value.to_owned()));
            durability(&BTreeMap::from(settings)).class
        };
        let class = |fsync: &str, commit: &str| with(fsync, commit, "on");
        assert_eq!(with("on", "on", "off"), DurabilityClass::TornPages);
        assert_eq!(with("off", "on", "off"), DurabilityClass::ProcessSafe);
        assert_eq!(class("on", "on"), DurabilityClass::PowerSafe);
        assert_eq!(class("on", "local"), DurabilityClass::PowerSafe);
        assert_eq!(class("on", "off"), DurabilityClass::None);
        assert_eq!(class("off", "on"), DurabilityClass::ProcessSafe);
    }
}
