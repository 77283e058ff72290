//! Which statements name something beyond the database that they run in: another database of their server, the server
//! itself, another file.
//!
//! A statement that runs in a database can only write to another if it names it, be it in what it defines, as a view or a
//! trigger. So what names none writes to its own. Which names there are, the server tells; that a name is meant where it
//! stands is taken for granted where it might be.

use crate::net::block_on;
use crate::sql_text::first_words;
use crate::{Failure, mongodb, mysql, sqlserver};
use dbdyno_plan::target::Target;
use serde::Serialize;

/// What a statement names beyond its database.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Beyond {
    /// What told it.
    pub why: String,
    /// Whether a transaction that only reads would keep it from being written to.
    pub held: bool,
}

/// The beginnings of statements about a whole server: a verb, and what follows it; where nothing does, any.
type Beginnings = &'static [(&'static [&'static str], &'static [&'static str])];

const OF_POSTGRESQL: Beginnings = &[
    (
        &["create", "alter", "drop", "rename"],
        &[
            "role",
            "user",
            "group",
            "database",
            "tablespace",
            "subscription",
            "system",
        ],
    ),
    (&["alter", "reassign", "drop"], &["system", "owned"]),
];
const OF_MYSQL: Beginnings = &[
    (
        &["create", "alter", "drop", "rename"],
        &[
            "user",
            "role",
            "database",
            "schema",
            "server",
            "tablespace",
            "undo",
            "logfile",
        ],
    ),
    (
        &[
            "change",
            "clone",
            "flush",
            "grant",
            "install",
            "kill",
            "purge",
            "reset",
            "restart",
            "revoke",
            "shutdown",
            "stop",
            "uninstall",
            "use",
        ],
        &[],
    ),
    (&["start"], &["slave", "replica", "all", "group_replication"]),
    (&["set"], &["password", "default", "role"]),
];
const OF_SQLSERVER: Beginnings = &[
    (
        &["create", "alter", "drop"],
        &[
            "login",
            "database",
            "server",
            "endpoint",
            "credential",
            "availability",
            "resource",
        ],
    ),
    (&["backup", "kill", "reconfigure", "restore", "shutdown", "use"], &[]),
    (
        &["exec", "execute"],
        &["sp_configure", "xp_cmdshell", "sp_addlogin", "sp_attach_db"],
    ),
];
const OF_SQLITE: Beginnings = &[(&["attach"], &[]), (&["vacuum"], &["into"])];

/// Words that lead elsewhere wherever they stand: to other servers, files of the server's machine, its variables.
type Leading = &'static [&'static str];

const FROM_POSTGRESQL: Leading = &["postgres_fdw", "mysql_fdw"];
const FROM_MYSQL: Leading = &["@@global", "@@persist", "@@persist_only"];
const FROM_SQLSERVER: Leading = &["opendatasource", "openquery", "openrowset"];

/// Those among them that a transaction which only reads does not hold; a word that ends with `*` stands for all that begin
/// so. Of functions that others define on them nothing is known.
const UNHELD_BY_POSTGRESQL: Leading = &[
    "dblink*",
    "lo_export",
    "pg_backup_*",
    "pg_cancel_backend",
    "pg_copy_*",
    "pg_create_*",
    "pg_drop_*",
    "pg_file_*",
    "pg_import_system_collations",
    "pg_logical_*",
    "pg_promote",
    "pg_reload_conf",
    "pg_replication_*",
    "pg_rotate_logfile*",
    "pg_start_backup",
    "pg_stat_reset*",
    "pg_stat_statements_reset",
    "pg_stop_backup",
    "pg_switch_*",
    "pg_sync_*",
    "pg_terminate_backend",
    "pg_wal_replay_*",
];
const UNHELD_BY_MYSQL: Leading = &["outfile", "dumpfile"];

/// Names of SQLite's databases that are no files of anybody's.
const NOBODYS: [&str; 2] = ["':memory:'", "''"];

/// What makes a variable that is set the server's.
const SCOPES: [&str; 3] = ["global", "persist", "persist_only"];

/// What stands before the name of a database, where no dot follows it.
const BEFORE_NAMES: [&str; 4] = ["database", "schema", "use", "exists"];

/// Tells for each statement what it names beyond the database of the target, if it does. `own`: the databases that were made
/// for the statements. Of MariaDB, MySQL and SQL Server, the server is asked for the names of the others.
pub fn reach(target: &Target, own: &[String], statements: &[String]) -> Result<Vec<Option<Beyond>>, Failure> {
    let held = |why: Option<String>| why.map(|why| Beyond { why, held: true });
    let (beginnings, leading, unheld, names) = match target {
        Target::Null => return Ok(vec![None; statements.len()]),
        Target::Mongodb(_) => return Ok(statements.iter().map(|each| held(mongodb::reach(each, own))).collect()),
        // Its databases cannot name one another.
        Target::Postgresql(_) => (OF_POSTGRESQL, FROM_POSTGRESQL, UNHELD_BY_POSTGRESQL, Vec::new()),
        Target::Sqlite(_) => (OF_SQLITE, &[][..], &[][..], Vec::new()),
        Target::Mysql(target) => (
            OF_MYSQL,
            FROM_MYSQL,
            UNHELD_BY_MYSQL,
            block_on(mysql::databases(target))?,
        ),
        Target::Sqlserver(target) => {
            let names = block_on(sqlserver::databases(target))?;
            (OF_SQLSERVER, FROM_SQLSERVER, &[][..], names)
        }
    };
    let copies = matches!(target, Target::Postgresql(_));
    let others: Vec<String> = names
        .iter()
        .filter(|name| !own.contains(name) && !name.eq_ignore_ascii_case("information_schema"))
        .map(|name| name.to_lowercase())
        .collect();
    Ok(statements
        .iter()
        .map(|sql| {
            let text = plain(sql);
            let away = || copies.then(|| copied_away(&text)).flatten();
            match unheld_word(&text, unheld).or_else(away) {
                Some(word) => Some(Beyond {
                    why: format!("`{word}` leads beyond its database"),
                    held: false,
                }),
                None => held(beyond(&text, beginnings, leading, &others)),
            }
        })
        .collect())
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c| !is_word(c)).filter(|word| !word.is_empty())
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '@' | '$')
}

/// A statement as the functions below want it: in lower case and without comments.
fn plain(sql: &str) -> String {
    without_comments(sql).to_lowercase()
}

/// The word in a statement that a transaction which only reads does not hold.
fn unheld_word(text: &str, unheld: Leading) -> Option<&str> {
    words(text).find(|word| {
        unheld.iter().any(|each| match each.strip_suffix('*') {
            Some(begins) => word.starts_with(begins),
            None => word == each,
        })
    })
}

/// Where PostgreSQL's COPY leads, to or from a program or to a file of its machine.
fn copied_away(text: &str) -> Option<&'static str> {
    let copies = |part: &&str| first_words(part, 1).first().is_some_and(|word| word == "copy");
    text.split(';').filter(copies).find_map(|part| {
        if words(part).any(|word| word == "program") {
            return Some("copy … program");
        }
        // What follows TO is the client, or the name of a file in quotes of some kind.
        let to_file = part.match_indices("to").any(|(at, to)| {
            let name = part[at + to.len()..].trim_start();
            !part[..at].ends_with(is_word) && ["'", "e'", "u&'", "$"].iter().any(|quote| name.starts_with(quote))
        });
        to_file.then_some("copy … to")
    })
}

/// What a statement names beyond its database.
fn beyond(text: &str, beginnings: Beginnings, leading: Leading, others: &[String]) -> Option<String> {
    let has = |part: &str, wanted: &[&str]| words(part).any(|word| wanted.contains(&word));
    for part in text.split(';') {
        let words = first_words(part, 3);
        let at = |index: usize| words.get(index).map_or("", String::as_str);
        let (first, second) = (at(0), at(1));
        let about = |(verbs, what): &(&[&str], &[&str])| {
            verbs.contains(&first) && (what.is_empty() || what.contains(&second) && at(2) != "mapping")
        };
        // A database in memory, or one that goes with its connection, is nobody's.
        let nobodys = first == "attach" && NOBODYS.iter().any(|name| part.contains(name));
        if !nobodys && beginnings.iter().any(about) || first == "set" && has(part, &SCOPES) {
            return Some(format!("`{first}` leads beyond its database"));
        }
    }
    if let Some(word) = leading.iter().find(|word| has(text, &[word])) {
        return Some(format!("`{word}` leads beyond its database"));
    }
    others.iter().find_map(|name| {
        let named = text.match_indices(name.as_str()).any(|(at, _)| {
            let (before, behind) = (&text[..at], &text[at + name.len()..]);
            if before.ends_with(is_word) || behind.starts_with(is_word) {
                return false;
            }
            let behind = behind.trim_start_matches(['`', '"', ']', '\'']).trim_start();
            let before = before.trim_end_matches(['`', '"', '[', '\'']).trim_end();
            behind.starts_with('.') || BEFORE_NAMES.iter().any(|word| before.ends_with(word))
        });
        named.then(|| format!("it names the database `{name}`"))
    })
}

/// A text whose comments are spaces, but for those that a server carries out.
fn without_comments(sql: &str) -> String {
    let mut text = String::with_capacity(sql.len());
    let mut rest = sql;
    while let Some(at) = rest.find("/*") {
        text.push_str(&rest[..at]);
        rest = &rest[at..];
        let executed = rest.starts_with("/*!") || rest.starts_with("/*M!");
        let end = rest.find("*/").map_or(rest.len(), |end| end + 2);
        text.push(' ');
        if executed {
            text.push_str(rest[..end].trim_matches(|c: char| "/*!M".contains(c) || c.is_ascii_digit()));
        }
        text.push(' ');
        rest = &rest[end..];
    }
    text + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_names_another_database_is_told() {
        let others = ["app".to_owned(), "test".to_owned()];
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
            ("/*!50000 insert into app.users values (1) */", true),
            ("drop database app", true),
            ("drop database if exists `app`", true),
            ("use app", true),
            ("set global max_connections = 1", true),
            ("set @@global.max_connections = 1", true),
            ("set session sort_buffer_size = 100000", false),
            ("select 1; flush tables", true),
            ("insert into t (app, mapp) values ('app', 1)", false),
            ("select t.app from t", false),
            ("create table app (x int)", false),
            ("start transaction", false),
        ] {
            let told = beyond(&plain(sql), OF_MYSQL, FROM_MYSQL, &others);
            assert_eq!(told.is_some(), expected, "{sql}");
        }
    }

    #[test]
    fn what_a_transaction_that_only_reads_does_not_hold_is_told() {
        for (sql, expected) in [
            (
                "select * from dblink('dbname=app', 'insert into a values (1)') as t(n int)",
                true,
            ),
            ("select DBLINK_connect_u('a')", true),
            ("copy t to '/tmp/out.csv'", true),
            ("copy (select 1) to E'/tmp/a' csv", true),
            ("select 1; copy t from program 'id'", true),
            ("copy t\nto'/tmp/out.csv'", true),
            ("copy t to $$/tmp/out.csv$$", true),
            ("copy t to stdout", false),
            ("copy t from stdin", false),
            ("select pg_stat_reset(), 1", true),
            ("select pg_terminate_backend(1)", true),
            ("select pg_stat_activity from a", false),
            ("insert into copy values (' to ')", false),
            ("select /* dblink */ 1", false),
        ] {
            let text = plain(sql);
            let told = unheld_word(&text, UNHELD_BY_POSTGRESQL).or_else(|| copied_away(&text));
            assert_eq!(told.is_some(), expected, "{sql}");
        }
        assert!(unheld_word(&plain("select * from t into OUTFILE '/tmp/x'"), UNHELD_BY_MYSQL).is_some());
        assert!(unheld_word("select @@global.read_only", UNHELD_BY_MYSQL).is_none());
    }

    #[test]
    fn what_is_about_a_whole_server_or_another_file_is_told() {
        for (sql, expected) in [
            ("create role a", true),
            ("alter system set work_mem = '1MB'", true),
            ("drop database app", true),
            ("create table role (x int)", false),
            ("create user mapping for a server b", false),
            ("create extension postgres_fdw", true),
        ] {
            assert_eq!(
                beyond(&plain(sql), OF_POSTGRESQL, FROM_POSTGRESQL, &[]).is_some(),
                expected,
                "{sql}"
            );
        }
        for (sql, expected) in [
            ("attach 'app.db' as app", true),
            ("select 1; /* a */ ATTACH 'app.db' as app", true),
            ("attach ':memory:' as m", false),
            ("vacuum into 'app.db'", true),
            ("vacuum", false),
            ("insert into attach values (1)", false),
        ] {
            assert_eq!(beyond(&plain(sql), OF_SQLITE, &[], &[]).is_some(), expected, "{sql}");
        }
    }
}
