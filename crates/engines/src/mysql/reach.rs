//! Which MariaDB and MySQL statements lead beyond their database.

use crate::reach::Bounds;
use crate::tokens::Token;

/// What stays within the database.
pub const BOUNDS: Bounds = Bounds {
    syntax: super::SYNTAX,
    verbs: &[
        "analyze", "call", "check", "checksum", "delete", "desc", "describe", "do", "explain", "handler", "insert",
        "lock", "optimize", "repair", "replace", "select", "set", "show", "table", "truncate", "unlock", "update",
        "values", "with",
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

/// Words and functions that lead to files of the server's machine.
const FILES: [&str; 3] = ["dumpfile", "load_file", "outfile"];

/// Words with which SET changes the server or the account.
const SET: [&str; 6] = ["default", "global", "password", "persist", "persist_only", "role"];

/// Words with which statements of a routine lead elsewhere, or are strings.
const IN_CODE: [&str; 13] = [
    "execute",
    "flush",
    "global",
    "grant",
    "install",
    "kill",
    "load",
    "persist",
    "prepare",
    "purge",
    "revoke",
    "shutdown",
    "uninstall",
];

fn beyond(statement: &[Token<'_>]) -> Option<String> {
    let has = |words: &[&str]| statement.iter().find(|token| token.is_one_of(words));
    let verb = statement.first()?;
    let is_code = verb.is("create") && has(&["function", "procedure", "trigger"]).is_some();
    let found = has(&FILES)
        .or_else(|| has(&SET).filter(|_| verb.is("set")))
        .or_else(|| has(&IN_CODE).filter(|_| is_code));
    found.map(|word| format!("`{}` leads beyond its database", word.text.to_lowercase()))
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
        ] {
            assert_eq!(leads_beyond(sql), expected, "{sql}");
        }
    }
}
