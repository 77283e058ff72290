//! Which statements of MariaDB and MySQL lead beyond their database.

use crate::reach::{Ways, nothing_else};

/// The words by which they do.
pub const WAYS: Ways = Ways {
    beginnings: &[
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
    ],
    leading: &["@@global", "@@persist", "@@persist_only"],
    unheld: &["outfile", "dumpfile"],
    also: nothing_else,
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reach::reach;
    use dbdyno_engine::writes::Beyond;

    /// What a statement names beyond its database `own`.
    fn told(sql: &str) -> Option<Beyond> {
        reach(&WAYS, &["app".to_owned(), "test".to_owned()], &[], &[sql.to_owned()]).remove(0)
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
            assert_eq!(told(sql).is_some(), expected, "{sql}");
        }
    }

    #[test]
    fn files_that_are_written_are_told() {
        assert!(told("select * from t into OUTFILE '/tmp/x'").is_some_and(|beyond| !beyond.held));
        assert!(told("select @@global.read_only").is_some_and(|beyond| beyond.held));
    }
}
