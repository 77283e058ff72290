//! Which MariaDB and MySQL statements access something outside their database.

use crate::external_access::{Bounds, kind_of};
use crate::tokens::{Kind, Token, statements};

/// Statements that stay within the database.
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

/// Words and functions that access files on the server's machine, including libraries.
const FILES: [&str; 4] = ["dumpfile", "load_file", "outfile", "soname"];

/// Words with which SET changes the server or the account.
const SET: [&str; 6] = ["default", "global", "password", "persist", "persist_only", "role"];

/// Words with which a routine's statements access something outside, or run strings.
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

/// Storage engines whose tables are outside the server's own directory.
const OUTSIDE: [&str; 6] = ["connect", "federated", "federatedx", "s3", "sphinx", "spider"];

/// Variables that choose a storage engine.
const ENGINES: [&str; 4] = [
    "default_storage_engine",
    "default_tmp_storage_engine",
    "enforce_storage_engine",
    "storage_engine",
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
    // Among statements that start with BEGIN, only MariaDB's BEGIN NOT ATOMIC contains code.
    let is_code = verb.is("begin") || verb.is("create") && has(&["function", "procedure", "trigger"]).is_some();
    let leads = |what: &str| format!("`{}` accesses something outside its own database", what.to_lowercase());
    let defined = statements(statement).flat_map(|part| (0..part.len()).map(move |at| &part[at..]));
    let mut defined = defined.filter(|part| is_code || std::ptr::eq(*part, statement));
    if let Some(what) = defined.find_map(outside_table) {
        return Some(leads(&what));
    }
    if verb.is("set") || is_code {
        let names_engine = |at: usize| {
            let name = statement[at].name().map(|name| name.to_lowercase());
            name.is_some_and(|name| ENGINES.contains(&name.as_str()))
                && statement[at + 1..].iter().take(2).any(is_outside_engine)
        };
        if (0..statement.len()).any(names_engine) {
            return Some(leads("default_storage_engine"));
        }
    }
    if is_code {
        if let Some(word) = statements(statement).find_map(set_account) {
            return Some(leads(&format!("set {word}")));
        }
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

/// The option with which CREATE TABLE or ALTER TABLE places data outside the server's own directory, if it does.
fn outside_table(statement: &[Token<'_>]) -> Option<String> {
    kind_of(statement).filter(|kind| kind.is("table"))?;
    let mut depth = 0_i32;
    for (at, token) in statement.iter().enumerate() {
        depth += i32::from(token.is_mark("(")) - i32::from(token.is_mark(")"));
        // The options end here.
        if depth == 0 && token.is("select") && !token.conditional {
            break;
        }
        let mut behind = statement[at + 1..].iter().skip_while(|next| next.is_mark("="));
        let Some(value) = behind.next() else { break };
        let is_path = value.kind == Kind::String;
        if token.is("directory") && is_path && at > 0 && statement[at - 1].is_one_of(&["data", "index"]) {
            return Some("data directory".into());
        }
        if token.is("engine") && is_outside_engine(value) {
            return Some(format!("engine {value}"));
        }
        let name = token.name().unwrap_or_default().to_lowercase();
        if depth == 0 && is_path && ["connection", "file_name"].contains(&name.as_str()) {
            return Some(name);
        }
    }
    None
}

/// Whether a token is the name of a storage engine whose tables are outside.
fn is_outside_engine(token: &Token<'_>) -> bool {
    let name = match token.kind {
        Kind::String => Some(token.text.trim_matches(['\'', '"']).to_owned()),
        _ => token.name(),
    };
    name.is_some_and(|name| OUTSIDE.iter().any(|engine| engine.eq_ignore_ascii_case(&name)))
}

/// The word with which SET changes the account in a routine's statement, if it does. In UPDATE and INSERT, SET assigns
/// columns.
fn set_account<'a>(statement: &[Token<'a>]) -> Option<Token<'a>> {
    const BEFORE: [&str; 7] = ["begin", "do", "else", "loop", "repeat", "row", "then"];
    let of_columns = |set: usize| {
        let before = statement[..set]
            .iter()
            .rev()
            .take_while(|token| !token.is_one_of(&BEFORE));
        before
            .into_iter()
            .any(|token| token.is_one_of(&["insert", "replace", "update"]))
    };
    let set = (0..statement.len()).filter(|at| statement[*at].is("set") && !of_columns(*at));
    let behind = |set: usize| (set + 1..statement.len()).map(move |at| (set, at));
    set.flat_map(behind).find_map(|(set, at)| {
        let before = &statement[at - 1];
        let count = |mark: &str| statement[set..at].iter().filter(|token| token.is_mark(mark)).count();
        let follows = before.is_one_of(&["set", "default"]) || before.is_mark(",") && count("(") == count(")");
        let next = statement.get(at + 1);
        let assigned = next.is_some_and(|next| next.is_mark("=") || next.is_mark(":="));
        let named = next.is_some_and(|next| matches!(next.kind, Kind::Word | Kind::Name | Kind::String));
        let changes = match statement[at] {
            token if token.is("password") => assigned || named,
            token if token.is("role") => named,
            _ => false,
        };
        (follows && changes).then_some(statement[at])
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::external_access::find_external_access;

    fn leads_beyond(sql: &str) -> bool {
        let others = ["app".to_owned(), "test".to_owned()];
        find_external_access(&BOUNDS, &[sql.to_owned()], &others)[0].is_some()
    }

    #[test]
    fn access_to_other_databases_is_reported() {
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
            (
                "begin not atomic create table t (a int) data directory='/tmp'; end",
                true,
            ),
            (
                "create procedure p() begin create table t (a int) index directory '/tmp'; end",
                true,
            ),
            (
                "create procedure p() begin alter table t data directory = '/tmp'; end",
                true,
            ),
            (
                "create procedure p() begin select data directory from t; insert into t values ('/tmp'); end",
                false,
            ),
            (
                "create table t (a int) engine=federated connection='mysql://a@b/c/d'",
                true,
            ),
            ("create table t (a int) engine = 'CONNECT' table_type=csv", true),
            ("create table t (a int) `file_name`='/tmp/x'", true),
            ("create table t (a int) connection 'mysql://a@b/c/d'", true),
            ("alter table t engine `spider`", true),
            ("create table t (a int) /*!50000 engine = federated */", true),
            (
                "create procedure p() begin create table t (a int) engine=connect; end",
                true,
            ),
            ("set default_storage_engine = federated", true),
            ("set session default_storage_engine = InnoDB", false),
            ("create table t (a int) engine = innodb comment 'a'", false),
            (
                "create table t (connection varchar(9), file_name text, engine int)",
                false,
            ),
            ("create table t (a int) select * from u where connection = 'a'", false),
            (
                "create procedure p() begin update t set connection = 'a' where engine = 'connect'; end",
                false,
            ),
            ("create procedure p() select role, password from users", false),
            (
                "create procedure p() begin update users set a = 1, password = 'x', role = 'y'; end",
                false,
            ),
            (
                "create trigger a before update on t for each row set new.password = 'x', new.role = 'y'",
                false,
            ),
            (
                "create trigger a before update on t for each row set password = 'x'",
                true,
            ),
            (
                "create procedure p() begin if 1 then set password for a = 'x'; end if; end",
                true,
            ),
            ("create procedure p() set @a = 1, password = 'x'", true),
            (
                "create procedure p() set @a = exists (select a, password from t)",
                false,
            ),
            ("create procedure p() set default role a to b", true),
            (
                "begin not atomic insert into t (role) values (1); set role a; end",
                true,
            ),
        ] {
            assert_eq!(leads_beyond(sql), expected, "{sql}");
        }
    }
}
