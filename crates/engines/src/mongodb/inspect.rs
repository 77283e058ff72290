//! Reads facts about the server. FerretDB reports no settings, so they are taken from its process's command line.

use super::MongodbEngine;
use super::command::Command;
use super::login;
use super::lost_updates;
use super::options::Options;
use super::reply::failure_of;
use super::session::MongodbSession;
use super::values::{find, integer, shown};
use crate::server::ServerProcess;
use bson::{RawBsonRef, RawDocument, RawDocumentBuf, rawdoc};
use dbdyno_engine::{Durability, DurabilityClass, Facts, Failure};
use dbdyno_program::value::{Value, Values};
use dbdyno_protocol::plan::document::FailureKind;
use std::collections::BTreeMap;

type Settings = BTreeMap<String, String>;

/// MongoDB parameters that affect a result. Not all versions have all of them.
const SHOWN: [&str; 12] = [
    "featureCompatibilityVersion",
    "internalQueryFrameworkControl",
    "journalCommitInterval",
    "notablescan",
    "storageEngineConcurrencyAdjustmentAlgorithm",
    "storageEngineConcurrentReadTransactions",
    "storageEngineConcurrentWriteTransactions",
    "syncdelay",
    "ttlMonitorEnabled",
    "wiredTigerConcurrentReadTransactions",
    "wiredTigerConcurrentWriteTransactions",
    "wiredTigerEngineRuntimeConfig",
];

/// MongoDB command-line options that describe locations.
const PLACES: [&str; 5] = ["net.", "processManagement.", "storage.dbPath", "systemLog.", "config"];

/// FerretDB's option for the location of its SQLite databases and their pragmas.
const SQLITE_URL: &str = "--sqlite-url";

/// FerretDB's default pragmas, and the defaults of its SQLite build.
const FERRETDB_PRAGMAS: [(&str, &str); 3] = [
    ("busy_timeout", "10000"),
    ("journal_mode", "wal"),
    ("synchronous", "full"),
];

/// Reads the version, the effective settings and the query plans.
pub async fn facts(engine: &MongodbEngine) -> Result<Facts, Failure> {
    let mut session = engine.open().await?;
    let place = ask(&mut session, rawdoc! {"buildInfo": 1_i64}).await?;
    let build = session.wire().document(&place)?;
    let text = |name: &str| build.get_str(name).ok().map(str::to_owned);
    let version = text("version").unwrap_or_default();
    let git = text("gitVersion").unwrap_or_default();
    let newer = find(build, &["ferretdb", "version"]);
    let ferretdb = text("ferretdbVersion").or_else(|| newer?.as_str().map(str::to_owned));
    let plans = plans(engine, &mut session).await?;
    let lost_updates = lost_updates::probe(engine).await;
    match ferretdb {
        Some(ferretdb) => {
            let settings = backend(engine.target.process.as_ref());
            Ok(Facts {
                engine: "FerretDB".into(),
                version: ferretdb.trim_start_matches('v').to_owned(),
                source_id: Some(format!("FerretDB {ferretdb}, which calls itself MongoDB {version}")),
                compile_options: Vec::new(),
                durability: ferretdb_durability(&settings),
                settings,
                plans,
                lost_updates,
                ..Facts::default()
            })
        }
        None => {
            let settings = settings(&mut session).await?;
            Ok(Facts {
                engine: "MongoDB".into(),
                source_id: Some(format!("MongoDB {version} ({git})")),
                version,
                compile_options: Vec::new(),
                durability: mongodb_durability(&engine.options),
                settings,
                plans,
                lost_updates,
                ..Facts::default()
            })
        }
    }
}

async fn ask(session: &mut MongodbSession, command: RawDocumentBuf) -> Result<std::ops::Range<usize>, Failure> {
    login::ask(session.wire(), "admin", command).await
}

/// The settings of a MongoDB server: parameters and startup options. Empty without the privilege to see them.
async fn settings(session: &mut MongodbSession) -> Result<Settings, Failure> {
    let mut settings = Settings::new();
    let asked = ask(session, rawdoc! {"getParameter": "*"}).await;
    if let Some(place) = allowed(asked)? {
        for (name, value) in session.wire().document(&place)?.iter().flatten() {
            if SHOWN.contains(&name.as_str()) {
                settings.insert(name.as_str().to_owned(), shown(value));
            }
        }
    }
    let asked = ask(session, rawdoc! {"getCmdLineOpts": 1_i64}).await;
    if let Some(place) = allowed(asked)?
        && let Ok(options) = session.wire().document(&place)?.get_document("parsed")
    {
        flatten("", options, &mut settings);
    }
    let asked = ask(session, rawdoc! {"serverStatus": 1_i64}).await;
    if let Some(place) = allowed(asked)? {
        let status = session.wire().document(&place)?;
        if let Some(name) = find(status, &["storageEngine", "name"]) {
            settings.insert("storageEngine".into(), shown(name));
        }
    }
    Ok(settings)
}

/// Ignores errors of the query, but not a lost connection.
fn allowed<T>(asked: Result<T, Failure>) -> Result<Option<T>, Failure> {
    match asked {
        Ok(place) => Ok(Some(place)),
        // A missing privilege has this code; a lost session has no code.
        Err(failure) if failure.kind == FailureKind::Connection && !failure.message.contains("(13") => Err(failure),
        Err(_) => Ok(None),
    }
}

fn flatten(above: &str, options: &RawDocument, settings: &mut Settings) {
    for (name, value) in options.iter().flatten() {
        let name = format!("{above}{}", name.as_str());
        if PLACES.iter().any(|place| name.starts_with(place)) {
            continue;
        }
        match value {
            RawBsonRef::Document(inner) => flatten(&format!("{name}."), inner, settings),
            value => drop(settings.insert(name, shown(value))),
        }
    }
}

/// The pragmas with which FerretDB opens its SQLite databases, from its process's command line, if known.
fn backend(process: Option<&ServerProcess>) -> Settings {
    let line = process.and_then(|process| std::fs::read(format!("/proc/{}/cmdline", process.pid)).ok());
    pragmas(&line.unwrap_or_default())
}

fn pragmas(line: &[u8]) -> Settings {
    let words: Vec<_> = line.split(|byte| *byte == 0).map(String::from_utf8_lossy).collect();
    let url = words.iter().enumerate().find_map(|(at, word)| {
        let rest = word.strip_prefix(SQLITE_URL)?;
        match rest.strip_prefix('=') {
            Some(url) => Some(url),
            None if rest.is_empty() => words.get(at + 1).map(|url| &**url),
            None => None,
        }
    });
    let Some(url) = url else {
        return Settings::new();
    };
    let own = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    let mut settings: Settings = FERRETDB_PRAGMAS.iter().map(own).collect();
    settings.insert("backend".into(), "sqlite".into());
    let query = url.split_once('?').map_or("", |(_, query)| query);
    for item in query.split('&') {
        let pragma = item
            .strip_prefix("_pragma=")
            .map(|pragma| pragma.replace("%28", "(").replace("%29", ")"));
        let parts = pragma
            .as_deref()
            .and_then(|pragma| pragma.strip_suffix(')')?.split_once('('));
        if let Some((name, value)) = parts {
            settings.insert(name.to_lowercase(), value.to_lowercase());
        }
    }
    settings
}

/// FerretDB responds after SQLite has committed. It ignores `writeConcern`.
fn ferretdb_durability(settings: &Settings) -> Durability {
    let setting = |name: &str| settings.get(name).map(String::as_str);
    let (Some(journal), Some(synchronous)) = (setting("journal_mode"), setting("synchronous")) else {
        return Durability {
            class: DurabilityClass::None,
            because: "FerretDB does not report how its backend stores a write".into(),
        };
    };
    let (class, why) = match (journal, synchronous) {
        ("off" | "memory", _) => (
            DurabilityClass::None,
            "without a journal on disk, a crash within a transaction can ruin the file",
        ),
        (_, "off" | "0") => (DurabilityClass::ProcessSafe, "nothing is synced"),
        ("wal", "normal" | "1") => (
            DurabilityClass::ProcessSafe,
            "the log is synced at checkpoints, not at commits",
        ),
        ("wal", _) => (DurabilityClass::PowerSafe, "the log is synced at each commit"),
        _ => (
            DurabilityClass::PowerSafe,
            "journal and database are synced at each commit",
        ),
    };
    Durability {
        class,
        because: format!("SQLite under FerretDB with journal_mode={journal}, synchronous={synchronous}: {why}"),
    }
}

/// MongoDB responds when a write is in memory, unless asked to wait for the journal.
fn mongodb_durability(options: &Options) -> Durability {
    let w = options.w.as_deref().unwrap_or("1");
    let (class, why) = match (w, options.journal) {
        ("0", _) => (DurabilityClass::None, "writes are not acknowledged"),
        (_, Some(true)) => (
            DurabilityClass::PowerSafe,
            "a write is acknowledged once its journal is synced",
        ),
        _ => (
            DurabilityClass::None,
            "a write is acknowledged when it is in memory; the journal is written every 100 ms, unless \
             journalCommitInterval says otherwise",
        ),
    };
    let journal = options.journal.map_or("not set".into(), |journal| journal.to_string());
    Durability {
        class,
        because: format!("w={w}, journal={journal}: {why}"),
    }
}

/// The query plan of each statement that reads, with 1 for its parameters. A statement that cannot be explained has no
/// plan.
async fn plans(engine: &MongodbEngine, session: &mut MongodbSession) -> Result<BTreeMap<String, Vec<String>>, Failure> {
    let mut plans = BTreeMap::new();
    for statement in engine.statements.iter() {
        let Some(explain) = Command::explaining(&statement.text, &engine.target.database) else {
            continue;
        };
        let mut ones = Values::default();
        (0..explain.parameters()).for_each(|_| ones.push(Value::Integer(1)));
        let wire = session.wire();
        let message = wire.begin();
        if explain.write(&ones, &mut Vec::new(), &mut wire.connection.out).is_err() {
            wire.forget(message);
            continue;
        }
        wire.end(message);
        wire.connection.flush().await?;
        let place = wire.answer().await?;
        let answer = wire.document(&place)?;
        if failure_of(answer)?.is_some() {
            continue;
        }
        let steps = steps(answer);
        if !steps.is_empty() {
            plans.insert(statement.name.clone(), steps);
        }
    }
    Ok(plans)
}

/// The steps of a query plan. For MongoDB, the stages from the outermost on. For FerretDB, the steps of its SQLite
/// query, and the parts of the command that it doesn't push down.
fn steps(answer: &RawDocument) -> Vec<String> {
    let mut steps = Vec::new();
    let lines = find(answer, &["queryPlanner", "Plan"]).and_then(|lines| lines.as_array());
    for line in lines.into_iter().flatten().flatten() {
        // `id=2 parent=0 notused=0 detail=SCAN foo`
        let text = line.as_str().unwrap_or_default();
        steps.push(text.split_once("detail=").map_or(text, |(_, detail)| detail).to_owned());
    }
    let pushed = find(answer, &["filterPushdown"]).and_then(integer);
    let filter = find(answer, &["command", "filter"]).and_then(|filter| filter.as_document());
    if !steps.is_empty() && pushed == Some(0) && filter.is_some_and(|filter| !filter.is_empty()) {
        steps.push("filter: applied by FerretDB to the documents that SQLite returns".into());
    }
    let namespace = find(answer, &["queryPlanner", "namespace"])
        .map(shown)
        .unwrap_or_default();
    let collection = namespace.split_once('.').map_or("", |(_, name)| name);
    let mut stage = find(answer, &["queryPlanner", "winningPlan", "queryPlan"])
        .or_else(|| find(answer, &["queryPlanner", "winningPlan"]))
        .and_then(|stage| stage.as_document());
    while let Some(document) = stage {
        let name = find(document, &["stage"]).map(shown);
        let index = find(document, &["indexName"]).map(|index| format!(" {}", shown(index)));
        if let Some(name) = name {
            let whole = (name == "COLLSCAN" && !collection.is_empty()).then(|| format!(" {collection}"));
            steps.push(name + &index.or(whole).unwrap_or_default());
        }
        stage = document.get_document("inputStage").ok();
    }
    steps
}

#[cfg(test)]
mod tests {
    use super::*;

    fn class(line: &str) -> DurabilityClass {
        ferretdb_durability(&pragmas(line.replace(' ', "\0").as_bytes())).class
    }

    #[test]
    fn the_durability_of_ferretdb_depends_on_its_pragmas() {
        let url = "ferretdb --listen-unix=/s --sqlite-url=file:/d/";
        assert_eq!(class(url), DurabilityClass::PowerSafe);
        assert_eq!(class("ferretdb --sqlite-url file:/d/ --x"), DurabilityClass::PowerSafe);
        let with = |pragmas: &str| class(&format!("{url}?{pragmas}"));
        assert_eq!(with("_pragma=synchronous(normal)"), DurabilityClass::ProcessSafe);
        assert_eq!(with("_pragma=synchronous%28OFF%29"), DurabilityClass::ProcessSafe);
        assert_eq!(
            with("_pragma=journal_mode(delete)&_pragma=synchronous(normal)"),
            DurabilityClass::PowerSafe
        );
        assert_eq!(with("_pragma=journal_mode(memory)"), DurabilityClass::None);
        // Another backend, or another machine.
        assert_eq!(class("ferretdb --postgresql-url=postgres://h/"), DurabilityClass::None);
        assert_eq!(class(""), DurabilityClass::None);
    }

    #[test]
    fn the_durability_of_mongodb_depends_on_the_write_concern() {
        let class = |pairs: &[(&str, &str)]| {
            let pairs: Vec<_> = pairs.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect();
            mongodb_durability(&Options::read(&pairs).unwrap()).class
        };
        assert_eq!(class(&[]), DurabilityClass::None);
        assert_eq!(class(&[("journal", "false")]), DurabilityClass::None);
        assert_eq!(class(&[("journal", "true")]), DurabilityClass::PowerSafe);
        assert_eq!(class(&[("journal", "true"), ("w", "0")]), DurabilityClass::None);
    }
}
