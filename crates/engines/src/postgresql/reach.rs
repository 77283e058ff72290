//! Which statements of PostgreSQL lead beyond their database. Its databases cannot name one another.

use crate::reach::{Ways, is_word, words};
use crate::sql_text::first_words;

/// The words by which they do.
pub const WAYS: Ways = Ways {
    beginnings: &[
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
    ],
    leading: &["postgres_fdw", "mysql_fdw"],
    unheld: &[
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
    ],
    also: copied_away,
};

/// Where COPY leads, to or from a program or to a file of its machine.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reach::reach;
    use dbdyno_engine::writes::Beyond;

    /// What a statement names beyond its database `own`.
    fn told(sql: &str) -> Option<Beyond> {
        reach(&WAYS, &[], &[], &[sql.to_owned()]).remove(0)
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
            let unheld = told(sql).is_some_and(|beyond| !beyond.held);
            assert_eq!(unheld, expected, "{sql}");
        }
    }

    #[test]
    fn what_is_about_the_whole_server_is_told() {
        for (sql, expected) in [
            ("create role a", true),
            ("alter system set work_mem = '1MB'", true),
            ("drop database app", true),
            ("create table role (x int)", false),
            ("create user mapping for a server b", false),
            ("create extension postgres_fdw", true),
        ] {
            assert_eq!(told(sql).is_some(), expected, "{sql}");
        }
    }
}
