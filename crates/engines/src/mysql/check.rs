//! Contract checks for MariaDB and MySQL.

use super::{MysqlEngine, bulk};
use crate::server::ServerTarget;
use dbdyno_contract::client::{Client, wait};
use dbdyno_contract::server;
use dbdyno_contract::systems::{Server, System, server_checks};
use dbdyno_contract::{Check, Outcome, Problem, carry_out, checks, ensure, same};
use dbdyno_engine::driver::Tell;
use dbdyno_engine::rows::Loaded;
use dbdyno_engine::{Durability, DurabilityClass, Engine as _, Failure};
use dbdyno_program::value::{Owned, Value as Sent};
use dbdyno_protocol::plan::document::PrepareMode;
use serde_json::{Value, json};
use std::path::PathBuf;

/// Runs the checks in the target's database.
pub fn check(target: &ServerTarget, tell: Tell<'_>) -> Result<(), Failure> {
    carry_out::<Mysql>(|number| Ok(Mysql::new(serde_json::to_value(target)?, number)), tell);
    Ok(())
}

server!(
    Mysql,
    MysqlEngine,
    ServerTarget,
    bulk::load,
    "mysql",
    [["innodb_lock_wait_timeout", "1"]]
);

impl System for Mysql {
    type Engine = MysqlEngine;

    const TEXT: &str = "longtext";
    const BYTES: &str = "longblob";
    const KEY: &str = "PRIMARY";
    const NAMES: &[&str] = &["MariaDB", "MySQL"];
    const SHOWN: &str = "innodb_buffer_pool_size";
    const UNPREPARED: &str = "nowhere";

    fn checks() -> Vec<Check<Self>> {
        let mut all = server_checks();
        all.extend(checks!(
            the_durability_depends_on_the_storage_engines,
            strings_in_statements_are_preserved_with_any_sql_mode,
        ));
        all
    }

    fn table(&self) -> &str {
        &self.table
    }

    fn engine_for(&self, texts: &[String], prepare: PrepareMode) -> Result<MysqlEngine, Failure> {
        self.standard(texts, prepare)
    }

    fn load(&self, load: Value, seed: u64) -> Result<Vec<Loaded>, Failure> {
        self.fill(load, seed)
    }

    fn clean(&self) -> Result<(), Failure> {
        self.remove()
    }
}

impl Server for Mysql {
    // A query, because an interrupted `sleep` or `benchmark` returns a value instead of an error.
    const SLOW: &str = "select count(*) from information_schema.collations a, information_schema.collations b, \
                        information_schema.collations c, information_schema.collations d";
    const NUMBER: &str = "select connection_id()";
    const END: &str = "kill ?";
    const CANCEL: &str = "kill query ?";
    const SETTING: (&str, &str, &str) = ("sql_mode", "select @@sql_mode", "NO_ENGINE_SUBSTITUTION");
    const TYPES: &str = "select cast(-5 as signed), cast(7 as unsigned), cast(1.25 as decimal(9,2)), 0.5e0, true, \
                         cast('2024-02-29' as date), cast('ü' as char(5)), \
                         cast('2024-02-29 23:59:58.5' as datetime(1))";

    const CREATE_USER: &[&[&str]] = &[&[
        "create user {u}@localhost identified by 'it''s right'",
        "grant all on *.* to {u}@localhost",
    ]];
    const DROP_USER: &str = "drop user {u}@localhost";

    fn impatient(&self) -> Result<Value, Problem> {
        for (name, value) in [("max_statement_time", "0.1"), ("max_execution_time", "100")] {
            let shown = format!("show variables like '{name}'");
            if self
                .client_for(&[shown.as_str()], PrepareMode::Never)?
                .run(0, &[])?
                .returned
                > 0
            {
                return Ok(json!([[name, value]]));
            }
        }
        let why = "the server has no statement timeout; MySQL has one since 5.7.8, MariaDB since 10.1";
        Err(Problem::NotApplicable(why.into()))
    }

    fn longest(&self) -> Result<Option<usize>, Problem> {
        let texts = ["select cast(@@max_allowed_packet as signed)"];
        let found = self.client_for(&texts, PrepareMode::Never)?.one(0)?;
        Ok(match found {
            Owned::Integer(bytes) => usize::try_from(bytes).ok(),
            _ => None,
        })
    }

    fn demand_password(&self, _user: &str) -> bool {
        self.target["process"].is_object()
    }

    fn socket(&self) -> Option<PathBuf> {
        let path = self.target["host"].as_str().filter(|host| host.starts_with('/'))?;
        Some(PathBuf::from(path))
    }

    fn engine_with(&self, changes: Value, texts: &[&str]) -> Result<MysqlEngine, Failure> {
        self.with(changes, texts)
    }
}

fn strings_in_statements_are_preserved_with_any_sql_mode(system: &Mysql) -> Outcome {
    for mode in ["", "NO_BACKSLASH_ESCAPES", "ANSI_QUOTES"] {
        let session = json!({"session": [["sql_mode", mode]]});
        let engine = system.engine_of(session, &["select ?".into()], PrepareMode::Never)?;
        let mut client = Client(wait(engine.connect(0))?);
        for text in ["a\\b'c\\", "\\'", "'", "\"\\n\""] {
            let (_, columns) = client.fetch(0, &[Sent::Text(text)], 1)?;
            same!(columns, [Owned::Text(text.into())], "{mode}");
        }
    }
    Ok(())
}

fn the_durability_depends_on_the_storage_engines(system: &Mysql) -> Outcome {
    // A separate database, so that other users' tables don't count.
    let database = format!("d{}", system.table());
    let texts = [
        format!("create database {database}"),
        format!("create table {database}.t (a int) engine = innodb"),
        format!("create table {database}.m (a int) engine = myisam"),
        format!("drop database {database}"),
    ];
    let mut client = Client(wait(system.engine_for(&texts, PrepareMode::Never)?.connect(0))?);
    if let Err(failure) = client.run(0, &[]) {
        return Err(Problem::NotApplicable(format!("cannot create a database: {failure}")));
    }
    let mut durability = |create: usize| -> Result<Durability, Failure> {
        client.run(create, &[])?;
        let engine = system.engine_with(json!({"database": database}), &[])?;
        Ok(engine.facts()?.durability)
    };
    let (with_innodb, with_myisam) = (durability(1), durability(2));
    client.run(3, &[])?;
    let (with_innodb, with_myisam) = (with_innodb?, with_myisam?);
    ensure!(
        with_innodb.because.starts_with("innodb_flush_log_at_trx_commit="),
        "{with_innodb:?}"
    );
    same!(with_myisam.class, DurabilityClass::None);
    ensure!(with_myisam.because.starts_with("MyISAM"), "{with_myisam:?}");
    Ok(())
}
