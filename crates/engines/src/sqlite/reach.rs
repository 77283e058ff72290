//! Which SQLite statements lead to other files, or change the process.

use crate::reach::{Bounds, attaches_nothing};
use crate::tokens::{Token, calls};

/// What stays within the file.
pub const BOUNDS: Bounds = Bounds {
    syntax: super::SYNTAX,
    verbs: &[
        "alter", "analyze", "attach", "create", "delete", "detach", "drop", "explain", "insert", "pragma", "reindex",
        "replace", "select", "update", "vacuum", "values", "with",
    ],
    kinds: &["index", "table", "trigger", "view"],
    beyond,
};

/// Functions that SQLite or its extensions mark as having effects outside the database (`SQLITE_DIRECTONLY`).
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

/// Modules of virtual tables that keep what they have in the database.
const MODULES: [&str; 11] = [
    "dbstat",
    "fts3",
    "fts3tokenize",
    "fts4",
    "fts4aux",
    "fts5",
    "fts5vocab",
    "geopoly",
    "rtree",
    "rtree_i32",
    "sqlite_stmt",
];

/// Pragmas that concern the database or the connection, or only read.
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

fn beyond(statement: &[Token<'_>]) -> Option<String> {
    let [verb, rest @ ..] = statement else { return None };
    if verb.is("explain") {
        let planned = rest.iter().position(|token| !token.is_one_of(&["query", "plan"]))?;
        return beyond(&rest[planned..]);
    }
    if let Some(call) = calls(statement)
        .iter()
        .find(|call| EFFECTIVE.contains(&call.name.to_lowercase().as_str()))
    {
        return Some(format!("`{}` has effects outside the database", call.name));
    }
    if verb.is("attach") && !attaches_nothing(statement) {
        return Some("`attach` opens another file".into());
    }
    if verb.is("vacuum") && rest.iter().any(|token| token.is("into")) {
        return Some("`vacuum into` writes another file".into());
    }
    if verb.is("pragma") {
        let name = match rest {
            [_, dot, name, ..] if dot.is_mark(".") => name.name(),
            [name, ..] => name.name(),
            [] => None,
        }?;
        let is_known = PRAGMAS
            .split_ascii_whitespace()
            .any(|each| each.eq_ignore_ascii_case(&name));
        return (!is_known).then(|| format!("`pragma {name}` may lead beyond the database"));
    }
    let module = rest
        .iter()
        .position(|token| token.is("using"))
        .and_then(|at| rest.get(at + 1)?.name());
    let is_virtual = verb.is("create") && rest.first().is_some_and(|token| token.is("virtual"));
    match module.filter(|_| is_virtual) {
        Some(module) if !MODULES.contains(&module.to_lowercase().as_str()) => {
            Some(format!("a virtual table of `{module}` may lead beyond the database"))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reach::reach;

    #[test]
    fn other_files_are_told() {
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
            ("select 'open", true),
        ] {
            assert_eq!(reach(&BOUNDS, &[sql.to_owned()], &[])[0].is_some(), expected, "{sql}");
        }
    }
}
