//! What a database file keeps: settings that are made once, before any client is there.
//!
//! Two connections that change the journal mode of one file at the same time get in each other's way, whatever their busy
//! timeout: each reads the header and then wants to write it, and SQLite calls no busy handler for that step (it would wait
//! for ever). So one connection does it, alone.

use super::{SqliteEngine, SqliteSession, Watch};
use crate::sqlite::target::SqliteTarget;
use dbdyno_engine::Failure;
use dbdyno_plan::document::{FailureKind, PrepareMode};

/// Those that take effect in a file with tables by rewriting it.
const REWRITTEN: [&str; 2] = ["page_size", "auto_vacuum"];

/// Gives a file its `file_pragmas`. A log or a journal beside it becomes part of it. Fails where the file does not have them
/// then: it keeps its encoding, and without shared memory there is no write-ahead log.
pub fn set_file(target: &SqliteTarget) -> Result<(), Failure> {
    let alone = SqliteTarget {
        pragmas: Vec::new(),
        ..target.clone()
    };
    let engine = SqliteEngine::new(&alone, &[], PrepareMode::Once, Watch::default())?;
    let mut session = engine.open_patiently()?;
    // The first reading takes in what an earlier process has left beside the file.
    read(&mut session, "schema_version")?;
    let journal = read(&mut session, "journal_mode")?;
    let wanted = |name: &str| target.file_pragmas.iter().find(|(each, _)| each == name);
    if rewrite(&mut session, target)? && wanted("journal_mode").is_none() {
        give(&mut session, "journal_mode", &journal)?;
    }
    for (name, value) in &target.file_pragmas {
        if !REWRITTEN.contains(&name.as_str()) {
            give(&mut session, name, value)?;
        }
    }
    for (name, value) in &target.file_pragmas {
        let kept = read(&mut session, name)?;
        if !same(name, value, &kept) {
            let message = format!("pragma {name} = {value}: the file keeps {name} = {kept}");
            return Err(Failure::new(FailureKind::Other, message));
        }
    }
    drop(session);
    std::fs::File::open(&target.path)
        .and_then(|file| file.sync_all())
        .map_err(|error| Failure::new(FailureKind::Other, format!("syncing {}: {error}", target.path)))
}

/// Rewrites the file where that is what a setting needs; tells whether it did, and then has left write-ahead logging.
fn rewrite(session: &mut SqliteSession, target: &SqliteTarget) -> Result<bool, Failure> {
    let mut others = Vec::new();
    for (name, value) in &target.file_pragmas {
        if REWRITTEN.contains(&name.as_str()) && !same(name, value, &read(session, name)?) {
            others.push((name, value));
        }
    }
    if others.is_empty() {
        return Ok(false);
    }
    // The page size of a file with a write-ahead log cannot change.
    give(session, "journal_mode", "delete")?;
    for (name, value) in others {
        give(session, name, value)?;
    }
    session.query("vacuum", |_| {})?;
    Ok(true)
}

fn give(session: &mut SqliteSession, name: &str, value: &str) -> Result<(), Failure> {
    session.pragma(name, value)
}

fn read(session: &mut SqliteSession, name: &str) -> Result<String, Failure> {
    let mut found = String::new();
    session.query(&format!("pragma {name}"), |row| {
        found = row.first().cloned().unwrap_or_default();
    })?;
    Ok(found)
}

/// Whether a setting as it is given is what was read back.
fn same(name: &str, given: &str, kept: &str) -> bool {
    let given = given.trim_matches('\'').to_lowercase();
    let kept = kept.to_lowercase();
    match (name, given.as_str()) {
        ("auto_vacuum", "none") => kept == "0",
        ("auto_vacuum", "full") => kept == "1",
        ("auto_vacuum", "incremental") => kept == "2",
        // In the byte order of the machine that makes the file.
        ("encoding", "utf-16") => kept.starts_with("utf-16"),
        _ => given == kept,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::server::net::block_on;
    use dbdyno_engine::Engine as _;
    use std::path::Path;

    fn target(path: &Path, file_pragmas: &[(&str, &str)]) -> SqliteTarget {
        serde_json::from_value(serde_json::json!({"path": path, "file_pragmas": file_pragmas})).unwrap()
    }

    fn connection(path: &Path) -> SqliteSession {
        let engine = SqliteEngine::new(&target(path, &[]), &[], PrepareMode::Once, Watch::default()).unwrap();
        block_on(engine.connect(0)).unwrap()
    }

    fn value(path: &Path, pragma: &str) -> String {
        read(&mut connection(path), pragma).unwrap()
    }

    fn file(directory: &tempfile::TempDir) -> std::path::PathBuf {
        let path = directory.path().join("a.db");
        connection(&path)
            .query("create table t (x); insert into t values (1), (2), (3)", |_| {})
            .unwrap();
        path
    }

    #[test]
    fn a_file_keeps_what_it_is_given() {
        let directory = tempfile::tempdir().unwrap();
        let path = file(&directory);
        let given = [
            ("page_size", "8192"),
            ("encoding", "'UTF-8'"),
            ("auto_vacuum", "incremental"),
            ("application_id", "7"),
            ("user_version", "-3"),
            ("journal_mode", "wal"),
        ];
        // A second time there is nothing to be done.
        for _ in 0..2 {
            set_file(&target(&path, &given)).unwrap();
            for (name, wanted) in given {
                assert!(same(name, wanted, &value(&path, name)), "{name}");
            }
            assert_eq!(value(&path, "integrity_check"), "ok");
            let mut rows = String::new();
            connection(&path)
                .query("select count(*) from t", |row| rows.clone_from(&row[0]))
                .unwrap();
            assert_eq!(rows, "3");
        }
        // The page size changes, the journal mode stays as nothing else is asked for.
        set_file(&target(&path, &[("page_size", "4096")])).unwrap();
        assert_eq!(
            (value(&path, "page_size"), value(&path, "journal_mode")),
            ("4096".into(), "wal".into())
        );
        set_file(&target(&path, &[("journal_mode", "delete")])).unwrap();
        assert_eq!(value(&path, "journal_mode"), "delete");
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1);
    }

    #[test]
    fn what_a_file_cannot_have_is_told() {
        let directory = tempfile::tempdir().unwrap();
        let path = file(&directory);
        let failure = set_file(&target(&path, &[("encoding", "'UTF-16'")])).unwrap_err();
        assert_eq!(
            failure.message,
            "pragma encoding = 'UTF-16': the file keeps encoding = UTF-8"
        );
        let failure = set_file(&target(Path::new(":memory:"), &[("journal_mode", "wal")])).unwrap_err();
        assert!(
            failure.message.contains("the file keeps journal_mode = memory"),
            "{}",
            failure.message
        );
    }

    #[test]
    fn a_log_that_was_left_becomes_part_of_the_file() {
        let directory = tempfile::tempdir().unwrap();
        let path = file(&directory);
        set_file(&target(&path, &[("journal_mode", "wal")])).unwrap();
        let mut writer = connection(&path);
        writer.query("insert into t values (4)", |_| {}).unwrap();
        let copy = directory.path().join("copy.db");
        std::fs::copy(&path, &copy).unwrap();
        std::fs::copy(directory.path().join("a.db-wal"), directory.path().join("copy.db-wal")).unwrap();
        set_file(&target(&copy, &[])).unwrap();
        assert!(!directory.path().join("copy.db-wal").exists());
        let mut rows = String::new();
        connection(&copy)
            .query("select count(*) from t", |row| rows.clone_from(&row[0]))
            .unwrap();
        assert_eq!(rows, "4");
    }
}
