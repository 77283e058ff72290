//! Which DuckDB statements access other files, extensions or other machines.

use crate::external_access::{Bounds, attaches_nothing};
use crate::tokens::{Token, calls};

/// Statements that stay within the file. Other files may be read.
pub const BOUNDS: Bounds = Bounds {
    syntax: super::SYNTAX,
    verbs: &[
        "analyze",
        "attach",
        "checkpoint",
        "comment",
        "copy",
        "delete",
        "desc",
        "describe",
        "detach",
        "execute",
        "explain",
        "from",
        "insert",
        "merge",
        "pivot",
        "pragma",
        "prepare",
        "reset",
        "select",
        "set",
        "show",
        "summarize",
        "table",
        "truncate",
        "unpivot",
        "update",
        "vacuum",
        "values",
        "with",
    ],
    kinds: &[
        "function", "index", "macro", "schema", "sequence", "table", "type", "view",
    ],
    beyond,
};

/// Functions that change the process, run statements passed as strings, or write elsewhere.
const EFFECTIVE: [&str; 18] = [
    "add_parquet_key",
    "copy_database",
    "disable_logging",
    "disable_profiling",
    "enable_logging",
    "enable_profiling",
    "getenv",
    "import_database",
    "json_execute_serialized_sql",
    "load_aws_credentials",
    "mysql_attach",
    "mysql_execute",
    "postgres_attach",
    "postgres_execute",
    "sqlite_attach",
    "truncate_duckdb_logs",
    "write_blob",
    "write_log",
];

/// Settings and pragmas that only affect how statements run.
const SETTINGS: &str = "calendar checkpoint_threshold collations database_list database_size default_collation \
    default_null_order default_order disabled_optimizers enable_object_cache explain_output external_threads \
    force_checkpoint force_compression functions immediate_transaction_mode index_scan_max_count \
    index_scan_percentage integer_division late_materialization_max_rows max_expression_depth max_memory memory_limit \
    merge_join_threshold metadata_info nested_loop_join_threshold null_order ordered_aggregate_threshold \
    perfect_ht_threshold pivot_limit platform prefer_range_joins preserve_insertion_order schema search_path show \
    show_tables storage_info table_info threads timezone variable version wal_autocheckpoint worker_threads";

fn beyond(statement: &[Token<'_>]) -> Option<String> {
    let [verb, rest @ ..] = statement else { return None };
    if verb.is_one_of(&["explain", "prepare"]) {
        // EXPLAIN ANALYZE and EXECUTE execute the inner statement.
        let inner = rest
            .iter()
            .position(|token| token.is_one_of(&["attach", "copy", "pragma", "set", "call", "load"]));
        return match inner {
            Some(at) if !rest[at].is("set") => beyond(&rest[at..]).or_else(|| Some(format!("`{}` in it", rest[at]))),
            _ => effective_call(statement),
        };
    }
    if verb.is("attach") && !attaches_nothing(statement) {
        return Some("`attach` opens another file".into());
    }
    if verb.is("copy") && !copies_in(rest) {
        return Some("`copy … to` writes a file".into());
    }
    let is_of_all = rest.get(1).is_none_or(|next| next.is_mark("("));
    if verb.is("update") && rest.first().is_some_and(|what| what.is("extensions")) && is_of_all {
        return Some("`update extensions` downloads code".into());
    }
    if verb.is_one_of(&["set", "reset", "pragma"]) {
        let scopes = ["session", "global", "local"];
        let name = rest
            .iter()
            .find(|token| !token.is_one_of(&scopes))
            .and_then(Token::name)?;
        let is_known = SETTINGS
            .split_ascii_whitespace()
            .any(|each| each.eq_ignore_ascii_case(&name));
        if !is_known {
            return Some(format!(
                "`{} {name}` may access something outside the database",
                verb.text.to_lowercase()
            ));
        }
    }
    effective_call(statement)
}

fn effective_call(statement: &[Token<'_>]) -> Option<String> {
    let calls = calls(statement);
    let call = calls
        .iter()
        .find(|call| EFFECTIVE.contains(&call.name.to_lowercase().as_str()))?;
    Some(format!("`{}` has effects outside the database", call.name))
}

/// Whether COPY reads a file into a table.
fn copies_in(rest: &[Token<'_>]) -> bool {
    let mut depth = 0_i32;
    let direction = rest.iter().enumerate().find(|(at, token)| {
        depth += i32::from(token.is_mark("(")) - i32::from(token.is_mark(")"));
        *at > 0 && depth == 0 && token.is_one_of(&["from", "to"])
    });
    direction.is_some_and(|(_, token)| token.is("from"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::external_access::find_external_access;

    #[test]
    fn access_to_other_files_is_reported() {
        for (sql, expected) in [
            ("attach 'app.duckdb' as app", true),
            ("attach ':memory:' as m", false),
            ("select 1; copy t to 'x.csv'", true),
            ("-- /*\ncopy (select * from t) to 'x.csv'", true),
            ("copy \"from\" to 'x.csv'", true),
            ("copy t(a, b) from 'x.csv'", false),
            ("copy from database a to b", true),
            ("explain analyze copy t to 'x.csv'", true),
            ("prepare p as copy t to 'x.csv'", true),
            ("export database 'd'", true),
            ("import database 'd'", true),
            ("install httpfs", true),
            ("load httpfs", true),
            ("call enable_logging()", true),
            ("update extensions", true),
            ("update extensions set a = 1", false),
            ("set threads = 2", false),
            ("set global memory_limit = '1GB'", false),
            ("set secret_directory = '/tmp'", true),
            ("pragma enable_profiling", true),
            ("create persistent secret s (type s3)", true),
            ("create or replace temp macro m(a) as a", false),
            ("select copy from t", false),
            ("select * from read_csv('x.csv')", false),
            ("select * from postgres_execute('a', 'b')", true),
            ("insert into t values ('copy t to x')", false),
            ("explain update t set a = 1", false),
        ] {
            assert_eq!(
                find_external_access(&BOUNDS, &[sql.to_owned()], &[])[0].is_some(),
                expected,
                "{sql}"
            );
        }
    }
}
