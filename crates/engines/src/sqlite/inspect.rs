//! Reads facts about a SQLite library and database.

use super::catalog::catalog;
use super::session::text;
use super::{SqliteEngine, SqliteSession};
use crate::sql_text::{Dialect, with_example};
use dbdyno_engine::{Durability, DurabilityClass, Facts, Failure};
use std::collections::BTreeMap;

/// The settings that a plan can contain (`case_sensitive_like` is tested instead), and others that affect speed or
/// safety. A library that doesn't know a pragma returns no row.
const PRAGMAS: [&str; 34] = [
    "analysis_limit",
    "application_id",
    "auto_vacuum",
    "automatic_index",
    "busy_timeout",
    "cache_size",
    "cache_spill",
    "cell_size_check",
    "checkpoint_fullfsync",
    "defer_foreign_keys",
    "encoding",
    "foreign_keys",
    "fullfsync",
    "hard_heap_limit",
    "ignore_check_constraints",
    "journal_mode",
    "journal_size_limit",
    "locking_mode",
    "max_page_count",
    "mmap_size",
    "page_count",
    "page_size",
    "query_only",
    "read_uncommitted",
    "recursive_triggers",
    "reverse_unordered_selects",
    "secure_delete",
    "soft_heap_limit",
    "synchronous",
    "temp_store",
    "threads",
    "trusted_schema",
    "user_version",
    "wal_autocheckpoint",
];

/// Opens a connection with a client's settings and reads the effective values.
pub fn facts(engine: &SqliteEngine) -> Result<Facts, Failure> {
    let mut session = engine.open_patiently()?;
    let mut settings = BTreeMap::new();
    for pragma in PRAGMAS {
        session.query(&format!("pragma {pragma}"), |row| {
            if let Some(value) = row.first() {
                settings.insert(pragma.to_owned(), value.clone());
            }
        })?;
    }
    if let Some(value) = settings.get_mut("synchronous") {
        *value = match value.as_str() {
            "0" => "off",
            "1" => "normal",
            "2" => "full",
            "3" => "extra",
            other => other,
        }
        .to_owned();
    }
    // This PRAGMA cannot be read, so it is tested.
    session.query("select 'a' like 'A'", |row| {
        let sensitive = row.first().is_some_and(|same| same == "0");
        settings.insert(
            "case_sensitive_like".into(),
            if sensitive { "on" } else { "off" }.into(),
        );
    })?;
    // The session has its own busy handler, which counts waits, so the PRAGMA would return 0.
    settings.insert("busy_timeout".into(), engine.target.busy_timeout_ms.to_string());
    if let Some(cache) = engine.target.cache {
        settings.insert("cache".into(), format!("{cache:?}").to_lowercase());
    }
    if let Some(mutex) = engine.target.open_mutex {
        settings.insert("open_mutex".into(), format!("{mutex:?}").to_lowercase());
    }
    if let Some(threading) = engine.target.config_threading {
        settings.insert("config_threading".into(), format!("{threading:?}").to_lowercase());
    }
    let api = session.api();
    // SAFETY: these functions only read constants of the library; the list of options ends with null.
    let (version, source_id, threadsafe, compile_options) = unsafe {
        let options = (0..).map_while(|index| text((api.compileoption_get)(index))).collect();
        (
            text((api.libversion)()),
            text((api.sourceid)()),
            (api.threadsafe)(),
            options,
        )
    };
    settings.insert("threadsafe".into(), threadsafe.to_string());
    let durability = durability(&engine.target.path, &settings);
    let pages = |name: &str| settings.get(name).and_then(|text| text.parse::<u64>().ok());
    let mut catalog = catalog(engine, &mut session);
    catalog.data_bytes = pages("page_count")
        .zip(pages("page_size"))
        .map(|(count, size)| count * size);
    Ok(Facts {
        engine: "sqlite".into(),
        version: version.unwrap_or_default(),
        source_id,
        compile_options,
        settings,
        durability,
        plans: plans(engine, &mut session),
        passed_over: BTreeMap::new(),
        catalog,
        ..Facts::default()
    })
}

/// Query plans of the statements. A statement that cannot be parsed has none; it fails when executed.
fn plans(engine: &SqliteEngine, session: &mut SqliteSession) -> BTreeMap<String, Vec<String>> {
    let mut plans = BTreeMap::new();
    for statement in engine.statements.iter() {
        let mut steps = Vec::new();
        let sql = with_example(statement, &Dialect::STANDARD).unwrap_or_else(|| statement.sql.clone());
        // Further statements would be executed.
        let Ok(first) = session.first_of(&sql) else { continue };
        let told = session.query(&format!("explain query plan {first}"), |row| {
            steps.extend(row.get(3).cloned());
        });
        if told.is_ok() && !steps.is_empty() {
            plans.insert(statement.name.clone(), steps);
        }
    }
    plans
}

/// The durability class that SQLite's documentation implies for these settings.
fn durability(path: &str, settings: &BTreeMap<String, String>) -> Durability {
    let setting = |name: &str| settings.get(name).map_or("", String::as_str);
    let (journal, synchronous) = (setting("journal_mode"), setting("synchronous"));
    let (class, why) = match (journal, synchronous) {
        _ if path.is_empty() || path.contains(":memory:") => (DurabilityClass::None, "the database is in memory"),
        ("off" | "memory", _) => (
            DurabilityClass::None,
            "without a journal on disk, a crash within a transaction can ruin the file",
        ),
        (_, "off") => (DurabilityClass::ProcessSafe, "nothing is synced"),
        ("wal", "normal") => (
            DurabilityClass::ProcessSafe,
            "the log is synced at checkpoints, not at commits",
        ),
        ("wal", _) => (DurabilityClass::PowerSafe, "the log is synced at each commit"),
        ("delete", "full") => (
            DurabilityClass::PowerSafe,
            "journal and database are synced at each commit, but not the journal's removal that completes it: a power \
             failure just after it can undo the last commit (synchronous=extra syncs that too), and nothing else",
        ),
        ("delete" | "truncate", "normal") => (
            DurabilityClass::PowerSafe,
            "journal and database are synced at each commit, but not the journal's end that completes it: a power failure \
             just after it can undo the last commit; where the file system or the device writes out of order, one at the \
             wrong moment can also ruin the file",
        ),
        (_, "normal") => (
            DurabilityClass::PowerSafe,
            "journal and database are synced at each commit; where the file system or the device writes out of order, a \
             power failure at the wrong moment can ruin the file",
        ),
        _ => (
            DurabilityClass::PowerSafe,
            "journal and database are synced at each commit",
        ),
    };
    Durability {
        class,
        because: format!("journal_mode={journal}, synchronous={synchronous}: {why}"),
    }
}
