//! Reads facts about the server.

use super::SqlserverEngine;
use super::session::SqlserverSession;
use dbdyno_engine::{Durability, DurabilityClass, Facts, Failure};
use dbdyno_program::value::Owned;
use dbdyno_protocol::plan::document::PrepareMode;
use std::collections::BTreeMap;

/// Database settings that affect a result.
const DATABASE: &str = "\
    select 'recovery_model', cast(recovery_model_desc as nvarchar(200)) from sys.databases where database_id = db_id() \
    union all select 'delayed_durability', cast(delayed_durability_desc as nvarchar(200)) from sys.databases \
    where database_id = db_id() \
    union all select 'read_committed_snapshot', cast(is_read_committed_snapshot_on as nvarchar(200)) \
    from sys.databases where database_id = db_id() \
    union all select 'snapshot_isolation', cast(snapshot_isolation_state_desc as nvarchar(200)) from sys.databases \
    where database_id = db_id() \
    union all select 'compatibility_level', cast(compatibility_level as nvarchar(200)) from sys.databases \
    where database_id = db_id() \
    union all select 'collation', cast(collation_name as nvarchar(200)) from sys.databases where database_id = db_id()";

/// Server settings that affect a result.
const SERVER: &str = "\
    select cast(name as nvarchar(200)), cast(value_in_use as nvarchar(200)) from sys.configurations where name in \
    ('max degree of parallelism', 'cost threshold for parallelism', 'max server memory (MB)', \
    'optimize for ad hoc workloads', 'recovery interval (min)')";

/// Reads the version, the effective settings and the query plans.
pub async fn facts(engine: &SqlserverEngine) -> Result<Facts, Failure> {
    let mut session = SqlserverSession::open(&engine.target, engine.statements.clone(), PrepareMode::Never).await?;
    let version = one(session
        .query("select cast(serverproperty('ProductVersion') as nvarchar(200))")
        .await?);
    let edition = one(session.query("select @@version").await?);
    let mut settings = pairs(session.query(DATABASE).await?);
    // Some users lack the privilege, and some editions lack this view.
    if let Ok(rows) = session.query(SERVER).await {
        settings.extend(pairs(rows));
    }
    let encrypted =
        "select cast(encrypt_option as nvarchar(200)) from sys.dm_exec_connections where session_id = @@spid";
    if let Ok(rows) = session.query(encrypted).await {
        settings.insert("encrypt_option".into(), one(rows));
    }
    let plans = plans(engine, &mut session).await;
    Ok(Facts {
        engine: "SQL Server".into(),
        version,
        source_id: Some(edition.split_whitespace().collect::<Vec<_>>().join(" ")),
        compile_options: Vec::new(),
        durability: durability(&settings),
        settings,
        plans,
        ..Facts::default()
    })
}

fn text(value: Owned) -> Option<String> {
    match value {
        Owned::Text(text) => Some(text),
        Owned::Integer(number) => Some(number.to_string()),
        _ => None,
    }
}

fn one(rows: Vec<Vec<Owned>>) -> String {
    rows.into_iter().flatten().next().and_then(text).unwrap_or_default()
}

fn pairs(rows: Vec<Vec<Owned>>) -> BTreeMap<String, String> {
    let pair = |row: Vec<Owned>| match <[Owned; 2]>::try_from(row) {
        Ok([Owned::Text(name), value]) => Some((name, text(value).unwrap_or_default())),
        _ => None,
    };
    rows.into_iter().filter_map(pair).collect()
}

/// The durability, from the settings.
fn durability(settings: &BTreeMap<String, String>) -> Durability {
    let delayed = settings.get("delayed_durability").map_or("?", String::as_str);
    let class = match delayed {
        // The log is written when its buffer is full.
        "FORCED" => DurabilityClass::None,
        // `ALLOWED` lets each commit choose, and ours don't request it.
        "DISABLED" | "ALLOWED" => DurabilityClass::PowerSafe,
        _ => DurabilityClass::ProcessSafe,
    };
    Durability {
        class,
        because: format!("delayed_durability={delayed}"),
    }
}

/// The query plan of each statement with example values. The optimizer needs the types of search values, which are
/// unknown for parameters.
async fn plans(engine: &SqlserverEngine, session: &mut SqlserverSession) -> BTreeMap<String, Vec<String>> {
    let mut plans = BTreeMap::new();
    if session.query("set showplan_text on").await.is_err() {
        return plans;
    }
    for statement in engine.statements.iter() {
        let Some(example) = &statement.example else {
            continue;
        };
        if let Ok(rows) = session.query(example).await {
            // The statement is the first row; the steps follow.
            let lines: Vec<String> = rows.into_iter().skip(1).flatten().filter_map(text).collect();
            plans.insert(statement.name.clone(), lines);
        }
    }
    plans
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durability_follows_the_database() {
        let class = |delayed: &str| {
            let settings = BTreeMap::from([("delayed_durability".to_owned(), delayed.to_owned())]);
            durability(&settings).class
        };
        assert_eq!(class("DISABLED"), DurabilityClass::PowerSafe);
        assert_eq!(class("ALLOWED"), DurabilityClass::PowerSafe);
        assert_eq!(class("FORCED"), DurabilityClass::None);
    }
}
