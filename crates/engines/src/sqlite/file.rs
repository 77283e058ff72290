//! Sets the settings stored in the database file, once and before any client connects.
//!
//! If two connections change a file's journal mode at the same time, they conflict regardless of their busy timeout:
//! each reads the header and then wants to write it, and SQLite doesn't call the busy handler for that upgrade, because
//! it would deadlock. So a single connection does it.

use super::{SqliteEngine, SqliteSession, Watch};
use crate::sqlite::target::SqliteTarget;
use dbdyno_engine::Failure;
use dbdyno_protocol::plan::document::{FailureKind, PrepareMode};

/// Settings that take effect in a file with tables only by rewriting it.
const REWRITTEN: [&str; 2] = ["page_size", "auto_vacuum"];

/// Applies a file's `file_pragmas`. A log or journal next to the file is merged into it. Fails if a setting doesn't
/// take effect: the encoding of a file is fixed, and without shared memory there is no write-ahead log.
pub fn set_file(target: &SqliteTarget) -> Result<(), Failure> {
    let alone = SqliteTarget {
        pragmas: Vec::new(),
        ..target.clone()
    };
    let engine = SqliteEngine::new(&alone, &[], PrepareMode::Once, Watch::default())?;
    let mut session = engine.open_patiently()?;
    // The first read recovers leftovers of an earlier process.
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

/// Rewrites the file if a setting requires it. Returns whether it did, in which case the journal mode is no longer WAL.
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
    // The page size cannot change in WAL mode.
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

/// Whether a requested value equals the value that was read back.
fn same(name: &str, given: &str, kept: &str) -> bool {
    let given = given.trim_matches('\'').to_lowercase();
    let kept = kept.to_lowercase();
    match (name, given.as_str()) {
        ("auto_vacuum", "none") => kept == "0",
        ("auto_vacuum", "full") => kept == "1",
        ("auto_vacuum", "incremental") => kept == "2",
        // In the byte order of the machine that creates the file.
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
    fn a_file_stores_its_settings() {
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
        // The second time, nothing changes.
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
        // The page size changes, but the journal mode stays the same unless requested.
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
    fn settings_that_a_file_cannot_have_are_reported() {
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
    fn a_leftover_log_is_merged_into_the_file() {
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
