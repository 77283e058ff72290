//! MariaDB and MySQL.

use super::server::server;
use super::{Server, System, as_load, of_servers, statements};
use crate::client::{Client, wait};
use crate::{Check, Problem, checks};
use dbdyno_engines::mysql::{self, MysqlEngine};
use dbdyno_engines::rows::Loaded;
use dbdyno_engines::{Engine as _, Failure};
use dbdyno_plan::document::PrepareMode;
use dbdyno_plan::target::ServerTarget;
use dbdyno_plan::value::Owned;
use serde_json::{Value, json};
use std::path::PathBuf;

server!(
    Mysql,
    MysqlEngine,
    ServerTarget,
    mysql::load,
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
        let mut all = of_servers();
        all.extend(checks!(servers:
            the_durability_is_that_of_the_tables,
            text_in_the_text_is_what_it_was_whatever_backslashes_mean,
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
    // A sleep or a benchmark that is ended says so in its value, and is no failure.
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
        let facts = self.engine_of(json!({}), &[], PrepareMode::Once)?.facts()?;
        Ok(if facts.engine == "MariaDB" {
            json!([["max_statement_time", "0.1"]])
        } else {
            json!([["max_execution_time", "100"]])
        })
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
