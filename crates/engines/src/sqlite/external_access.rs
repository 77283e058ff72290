//! Which SQLite statements access other files or change the process, as decided by SQLite's authorizer.
//!
//! The authorizer is called when a statement is prepared, and while it runs. Before a run, statements are prepared in
//! an empty database, where statements about the user's tables cannot be prepared; sessions of the run use the same
//! authorizer.

use super::{SqliteEngine, SqliteTarget, Watch};
use crate::tokens::{Token, calls, statements, tokenize};
use dbdyno_engine::Failure;
use dbdyno_protocol::plan::document::PrepareMode;
use libsqlite3_sys as ffi;
use std::cell::RefCell;
use std::ffi::{CStr, c_char, c_int, c_void};

/// Why the authorizer denied a statement.
pub type Denied = RefCell<Option<String>>;

/// Functions that SQLite or its extensions mark as having side effects (`SQLITE_DIRECTONLY`).
const EFFECTIVE: [&str; 8] = [
    "edit",
    "fsdir",
    "fts3_tokenizer",
    "load_extension",
    "readfile",
    "sqlar_uncompress",
    "writefile",
    "zipfile",
];

/// Virtual table modules that store their data in the database.
const MODULES: &str = "dbstat fts3 fts3tokenize fts4 fts4aux fts5 fts5vocab geopoly rtree rtree_i32 sqlite_stmt";

/// Pragmas that only affect the database or the connection, or only read.
const PRAGMAS: &str = "analysis_limit application_id auto_vacuum automatic_index busy_timeout cache_size cache_spill \
    case_sensitive_like cell_size_check checkpoint_fullfsync collation_list compile_options count_changes data_version \
    database_list default_cache_size defer_foreign_keys empty_result_callbacks encoding foreign_key_check \
    foreign_key_list foreign_keys freelist_count full_column_names fullfsync function_list hard_heap_limit \
    ignore_check_constraints incremental_vacuum index_info index_list index_xinfo integrity_check journal_mode \
    journal_size_limit legacy_alter_table legacy_file_format locking_mode max_page_count mmap_size module_list optimize \
    page_count page_size pragma_list query_only quick_check read_uncommitted recursive_triggers \
    reverse_unordered_selects schema_version secure_delete short_column_names shrink_memory soft_heap_limit stats \
    synchronous table_info table_list table_xinfo temp_store threads trusted_schema user_version wal_autocheckpoint \
    wal_checkpoint";

/// Returns for each text why it accesses something outside its database, if that is known before its tables exist.
/// Nothing is executed.
pub fn find_external_access(texts: &[String]) -> Result<Vec<Option<String>>, Failure> {
    // Uses the bundled library, because the answer doesn't depend on the version.
    let target = SqliteTarget::in_memory();
    let engine = SqliteEngine::new(&target, &[], PrepareMode::Once, Watch::default())?;
    let mut session = engine.open_patiently()?;
    session.confine();
    let one = |text: &String| match tokenize(text, &super::SYNTAX) {
        Err(error) => Some(error.to_string()),
        Ok(tokens) => statements(&tokens)
            .filter_map(|statement| Some((statement, statement.first()?.and_after(text))))
            .find_map(|(statement, rest)| session.denies(rest).or_else(|| deferred_problem(statement))),
    };
    Ok(texts.iter().map(one).collect())
}

/// Why a statement accesses something outside its database, for cases where the authorizer is called only during
/// execution: VACUUM INTO, and functions used by views, triggers and statements about missing tables.
fn deferred_problem(statement: &[Token<'_>]) -> Option<String> {
    let planned = statement
        .iter()
        .position(|token| !token.is_one_of(&["explain", "query", "plan"]))?;
    let [verb, rest @ ..] = &statement[planned..] else {
        return None;
    };
    if verb.is("vacuum") && rest.iter().any(|token| token.is("into")) {
        return Some("`vacuum into` writes another file".into());
    }
    calls(statement).iter().find_map(|call| effective_function(&call.name))
}

fn effective_function(name: &str) -> Option<String> {
    EFFECTIVE
        .iter()
        .any(|each| each.eq_ignore_ascii_case(name))
        .then(|| format!("`{name}` has effects outside the database"))
}

/// SQLite's authorizer callback. The argument is the session's [`Denied`].
pub unsafe extern "C" fn authorize(
    argument: *mut c_void,
    action: c_int,
    first: *const c_char,
    second: *const c_char,
    _database: *const c_char,
    _inside: *const c_char,
) -> c_int {
    // SAFETY: SQLite passes null or C strings that live during the call.
    let text = |name: *const c_char| (!name.is_null()).then(|| unsafe { CStr::from_ptr(name) }.to_string_lossy());
    let problem = match action {
        // Without a name, it is an expression.
        ffi::SQLITE_ATTACH => match text(first) {
            Some(file) if file.is_empty() || file == ":memory:" => None,
            _ => Some("`attach` or `vacuum into` opens another file".to_owned()),
        },
        ffi::SQLITE_PRAGMA => text(first)
            .filter(|name| !contains(PRAGMAS, name))
            .map(|name| format!("`pragma {name}` may change more than the database")),
        ffi::SQLITE_FUNCTION => text(second).and_then(|name| effective_function(&name)),
        ffi::SQLITE_CREATE_VTABLE => text(second)
            .filter(|module| !contains(MODULES, module))
            .map(|module| format!("a virtual table of `{module}` may access more than the database")),
        _ => None,
    };
    match problem {
        None => ffi::SQLITE_OK,
        Some(problem) => {
            // SAFETY: the session passed it, and outlives its connection.
            unsafe { &*argument.cast::<Denied>() }.replace(Some(problem));
            ffi::SQLITE_DENY
        }
    }
}

/// Whether a list has a name.
fn contains(list: &str, name: &str) -> bool {
    list.split_ascii_whitespace()
        .any(|each| each.eq_ignore_ascii_case(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_confined_session_denies_access_at_run_time() -> Result<(), Box<dyn std::error::Error>> {
        let directory = tempfile::tempdir()?;
        let other = directory.path().join("other.db");
        let target = SqliteTarget::in_memory();
        let engine = SqliteEngine::new(&target, &[], PrepareMode::Once, Watch::default())?;
        let mut session = engine.open_patiently()?;
        session.confine();
        session.query(
            "create table t (a); insert into t values (1); vacuum; attach ':memory:' as m",
            |_| {},
        )?;
        for sql in [
            format!("vacuum into '{}'", other.display()),
            format!("attach '{}' as o", other.display()),
            "pragma writable_schema = 1".to_owned(),
            "select load_extension('a') from t".to_owned(),
        ] {
            let failure = session.query(&sql, |_| {}).expect_err(&sql);
            assert!(
                failure.message.starts_with(crate::external_access::DENIED),
                "{sql}: {failure}"
            );
            // Later statements fail for their own reasons.
            let failure = session.query("select a from nowhere", |_| {}).expect_err(&sql);
            assert!(failure.message.contains("no such table"), "{failure}");
        }
        assert!(!other.exists());
        Ok(())
    }

    #[test]
    fn access_to_other_files_is_reported() {
        for (sql, expected) in [
            ("attach 'app.db' as app", true),
            ("select 1; /* a */ ATTACH 'app.db' as app", true),
            ("-- /*\nattach 'app.db' as app", true),
            ("attach database ? as app", true),
            ("attach ':memory:' || 'app.db' as m", true),
            ("attach ':memory:' as m", false),
            ("explain attach 'app.db' as app", true),
            ("vacuum into 'app.db'", true),
            ("vacuum main into 'app.db'", true),
            ("vacuum \"main\" /* a */ into 'app.db'", true),
            ("vacuum", false),
            ("insert into attach values (1)", false),
            ("select load_extension('x')", true),
            ("select \"load_extension\" ('x')", true),
            ("select 'load_extension(1)'", false),
            ("select writefile('x', 'y')", true),
            ("pragma writable_schema = on", true),
            ("pragma temp_store_directory = '/tmp'", true),
            ("pragma main.journal_mode = wal", false),
            ("create virtual table t using csv(filename = 'x')", true),
            ("create virtual table t using fts5(a)", false),
            (
                "create trigger a after insert on t begin update t set v = 1; end",
                false,
            ),
            (
                "create trigger a after insert on t begin select load_extension('x'); end",
                true,
            ),
            ("begin immediate", false),
            ("pragma table_info(nowhere)", false),
            ("select * from nowhere where a = ?", false),
            ("select * from pragma_table_info('nowhere')", false),
            (
                "create trigger a after insert on nowhere begin select 1; attach 'x' as y; end",
                true,
            ),
            ("create virtual table temp.t using csv(filename = 'x')", true),
            ("select 'open", true),
        ] {
            assert_eq!(
                find_external_access(&[sql.to_owned()]).expect(sql)[0].is_some(),
                expected,
                "{sql}"
            );
        }
    }
}
