//! Which MariaDB and MySQL statements lead beyond their database.

use crate::reach::{Bounds, kind_of};
use crate::tokens::Token;

/// What stays within the database.
pub const BOUNDS: Bounds = Bounds {
    syntax: super::SYNTAX,
    verbs: &[
        "analyze", "begin", "call", "check", "checksum", "delete", "desc", "describe", "do", "explain", "handler",
        "insert", "lock", "optimize", "repair", "replace", "select", "set", "show", "table", "truncate", "unlock",
        "update", "values", "with",
    ],
    kinds: &[
        "function",
        "index",
        "procedure",
        "sequence",
        "table",
        "trigger",
        "type",
        "view",
    ],
    beyond,
};

/// Words and functions that lead to files of the server's machine, libraries among them.
const FILES: [&str; 4] = ["dumpfile", "load_file", "outfile", "soname"];

/// Words with which SET changes the server or the account.
const SET: [&str; 6] = ["default", "global", "password", "persist", "persist_only", "role"];

/// Words with which statements of a routine lead elsewhere, or are strings.
const IN_CODE: [&str; 15] = [
    "execute",
    "flush",
    "global",
    "grant",
    "install",
    "kill",
    "load",
    "password",
    "persist",
    "prepare",
    "purge",
    "revoke",
    "role",
    "shutdown",
    "uninstall",
];

fn beyond(statement: &[Token<'_>]) -> Option<String> {
    let has = |words: &[&str]| statement.iter().find(|token| token.is_one_of(words));
    let verb = statement.first()?;
    if verb.is("lock")
        && !statement
            .get(1)
            .is_some_and(|next| next.is_one_of(&["table", "tables"]))
    {
        return Some("`lock instance` accesses something outside its own database".into());
    }
    // Of the statements that begin with it, only MariaDB's BEGIN NOT ATOMIC does more than begin a transaction.
    let is_code = verb.is("begin") || verb.is("create") && has(&["function", "procedure", "trigger"]).is_some();
    let leads = |what: &str| format!("`{}` accesses something outside its own database", what.to_lowercase());
    let places_files = |pair: &[Token<'_>]| pair[0].is_one_of(&["data", "index"]) && pair[1].is("directory");
    if kind_of(statement).is_some_and(|kind| kind.is("table")) && statement.windows(2).any(places_files) {
        return Some(leads("data directory"));
    }
    if is_code {
        let foreign_kind = (1..statement.len()).find_map(|at| {
            let kind = kind_of(&statement[at..])?;
            (!kind.is_one_of(BOUNDS.kinds)).then(|| format!("{} {kind}", statement[at]))
        });
        if let Some(what) = foreign_kind {
            return Some(leads(&what));
        }
    }
    let found = has(&FILES)
        .or_else(|| has(&SET).filter(|_| verb.is("set")))
        .or_else(|| has(&IN_CODE).filter(|_| is_code));
    found.map(|word| leads(word.text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reach::reach;

    fn leads_beyond(sql: &str) -> bool {
        let others = ["app".to_owned(), "test".to_owned()];
        reach(&BOUNDS, &[sql.to_owned()], &others)[0].is_some()
    }

    #[test]
    fn what_names_another_database_is_told() {
        for (sql, expected) in [
            ("insert into users values (1)", false),
            ("insert into app.users values (1)", true),
            ("insert into `app` . `users` values (1)", true),
            ("insert into App/* a */.users values (1)", true),
            ("insert into t select * from test.t", true),
            (
                "create trigger a after insert on t for each row insert into app.log values (1)",
                true,
            ),
            (
                "create definer = root@localhost trigger a after insert on t for each row begin set @a = 1; end",
                false,
            ),
            ("/*!50000 insert into app.users values (1) */", true),
            ("drop database app", true),
            ("drop database if exists `app`", true),
            ("use app", true),
            ("set global max_connections = 1", true),
            ("set @@global.max_connections = 1", true),
            ("set session sort_buffer_size = 100000", false),
            ("select 1; flush tables", true),
            ("-- /*\nflush tables", true),
            ("select * from t into OUTFILE '/tmp/x'", true),
            ("load data infile '/tmp/x' into table t", true),
            ("insert into t (app, mapp) values ('app', 1)", false),
            ("select t.app from t", false),
            ("create table t (password varchar(9), role int)", false),
            ("set password = 'x'", true),
            ("create procedure p() begin kill 5; end", true),
            ("select load_file('/etc/passwd')", true),
            ("create table app (x int)", false),
            ("start transaction", false),
            ("lock tables t write", false),
            ("lock instance for backup", true),
            ("begin not atomic insert into t values (1); delete from t; end", false),
            (
                "begin not atomic insert into t values (1); insert into app.t values (1); end",
                true,
            ),
            ("begin not atomic select 1; set global max_connections = 1; end", true),
            ("begin not atomic execute immediate 'drop database app'; end", true),
            ("create procedure p() begin create user a; end", true),
            ("create procedure p() begin drop temporary table a; end", false),
            ("create procedure p() begin set role a; end", true),
            ("create function f returns int soname 'f.so'", true),
            ("create table t (a int) data directory = '/tmp'", true),
            ("create table t (directory int)", false),
        ] {
            assert_eq!(leads_beyond(sql), expected, "{sql}");
        }
    }
}
