//! Contract checks for PostgreSQL.

use super::{PostgresqlEngine, bulk};
use crate::server::ServerTarget;
use dbdyno_contract::client::{Client, wait};
use dbdyno_contract::server;
use dbdyno_contract::systems::{Server, System, server_checks};
use dbdyno_contract::{Check, Problem, carry_out};
use dbdyno_engine::driver::Tell;
use dbdyno_engine::rows::Loaded;
use dbdyno_engine::{Engine as _, Failure};
use dbdyno_protocol::plan::document::PrepareMode;
use serde_json::{Value, json};
use std::path::PathBuf;

/// Runs the checks in the target's database.
pub fn check(target: &ServerTarget, tell: Tell<'_>) -> Result<(), Failure> {
    carry_out::<Postgresql>(
        |number| Ok(Postgresql::new(serde_json::to_value(target)?, number)),
        tell,
    );
    Ok(())
}

server!(
    Postgresql,
    PostgresqlEngine,
    ServerTarget,
    bulk::load,
    "postgresql",
    [["lock_timeout", "50"]]
);

impl System for Postgresql {
    type Engine = PostgresqlEngine;

    const TEXT: &str = "text";
    const BYTES: &str = "bytea";
    const KEY: &str = "pkey";
    const NAMES: &[&str] = &["PostgreSQL"];
    const SHOWN: &str = "shared_buffers";
    const UNPREPARED: &str = "nowhere";

    fn checks() -> Vec<Check<Self>> {
        server_checks()
    }

    fn table(&self) -> &str {
        &self.table
    }

    fn engine_for(&self, texts: &[String], prepare: PrepareMode) -> Result<PostgresqlEngine, Failure> {
        self.standard(texts, prepare)
    }

    fn load(&self, load: Value, seed: u64) -> Result<Vec<Loaded>, Failure> {
        self.fill(load, seed)
    }

    fn clean(&self) -> Result<(), Failure> {
        self.remove()
    }
}

impl Server for Postgresql {
    const SLOW: &str = "select pg_sleep(10)";
    const NUMBER: &str = "select pg_backend_pid()";
    const END: &str = "select pg_terminate_backend(?)";
    const CANCEL: &str = "select pg_cancel_backend(?)";
    const SETTING: (&str, &str, &str) = ("search_path", "show search_path", "pg_temp");
    const TYPES: &str = "select cast(-5 as smallint), cast(7 as integer), cast(1.25 as numeric(9,2)), \
                         cast(0.5 as real), true, cast('2024-02-29' as date), cast('ü' as varchar(5)), \
                         cast('2024-02-29 23:59:58.5' as timestamp)";

    const CREATE_USER: &[&[&str]] = &[
        &[
            "set password_encryption = 'scram-sha-256'",
            "create role {u} login password 'it''s right'",
        ],
        &[
            "set password_encryption = 'md5'",
            "create role {u} login password 'it''s right'",
        ],
    ];
    const DROP_USER: &str = "drop role {u}";

    fn impatient(&self) -> Result<Value, Problem> {
        Ok(json!([["statement_timeout", "100"]]))
    }

    fn longest(&self) -> Result<Option<usize>, Problem> {
        Ok(None)
    }

    fn demand_password(&self, user: &str) -> bool {
        let Some(data) = self.target["process"]["data"].as_str() else {
            return false;
        };
        // The first matching line for a user counts. `md5` accepts both kinds of password.
        let file = PathBuf::from(data).join("pg_hba.conf");
        let Ok(rules) = std::fs::read_to_string(&file) else {
            return false;
        };
        if std::fs::write(&file, format!("local all {user} md5\n{rules}")).is_err() {
            return false;
        }
        let reloaded = self
            .engine_of(json!({}), &["select pg_reload_conf()".into()], PrepareMode::Never)
            .and_then(|engine| Client(wait(engine.connect(0))?).run(0, &[]));
        let (Ok(_), Ok(nobody)) = (
            reloaded,
            self.engine_of(json!({ "user": user }), &[], PrepareMode::Never),
        ) else {
            return false;
        };
        // The reload is asynchronous.
        (0..100).any(|_| {
            std::thread::sleep(std::time::Duration::from_millis(20));
            wait(nobody.connect(0)).is_err_and(|failure| failure.message.contains("password"))
        })
    }

    fn socket(&self) -> Option<PathBuf> {
        let directory = self.target["host"].as_str().filter(|host| host.starts_with('/'))?;
        Some(PathBuf::from(directory).join(format!(".s.PGSQL.{}", self.target["port"])))
    }

    fn engine_with(&self, changes: Value, texts: &[&str]) -> Result<PostgresqlEngine, Failure> {
        self.with(changes, texts)
    }
}
