//! Contract checks for Microsoft SQL Server.

use super::{SqlserverEngine, SqlserverTarget, bulk};
use dbdyno_contract::client::wait;
use dbdyno_contract::server;
use dbdyno_contract::systems::{Server, System, server_checks};
use dbdyno_contract::{Check, Fails as _, Outcome, Problem, carry_out, ensure};
use dbdyno_engine::driver::Tell;
use dbdyno_engine::rows::Loaded;
use dbdyno_engine::{Engine as _, Failure};
use dbdyno_protocol::plan::document::PrepareMode;
use serde_json::{Value, json};
use std::path::PathBuf;

/// Runs the checks in the target's database.
pub fn check(target: &SqlserverTarget, tell: Tell<'_>) -> Result<(), Failure> {
    carry_out::<Sqlserver>(|number| Ok(Sqlserver::new(serde_json::to_value(target)?, number)), tell);
    Ok(())
}

server!(
    Sqlserver,
    SqlserverEngine,
    SqlserverTarget,
    bulk::load,
    "sqlserver",
    [["lock_timeout", "50"]]
);

impl System for Sqlserver {
    type Engine = SqlserverEngine;

    const TEXT: &str = "nvarchar(max)";
    const BYTES: &str = "varbinary(max)";
    const KEY: &str = "";
    const NAMES: &[&str] = &["SQL Server"];
    const SHOWN: &str = "delayed_durability";
    const UNPREPARED: &str = "";

    fn checks() -> Vec<Check<Self>> {
        let mut all = server_checks::<Self>();
        for check in &mut all {
            check.run = match check.name {
                "statements_are_prepared_ahead_or_named_in_the_error" => nothing_is_prepared,
                "a_statement_that_takes_too_long_is_a_timeout" => no_time_limit,
                "a_statement_that_is_cancelled_is_a_timeout" => no_cancellation,
                "an_engine_reports_its_version_and_query_plans" => an_engine_reports_its_version,
                "connection_errors_are_explained" => connection_errors_are_explained,
                _ => check.run,
            };
        }
        all
    }

    fn table(&self) -> &str {
        &self.table
    }

    fn engine_for(&self, texts: &[String], prepare: PrepareMode) -> Result<SqlserverEngine, Failure> {
        self.standard(texts, prepare)
    }

    fn load(&self, load: Value, seed: u64) -> Result<Vec<Loaded>, Failure> {
        self.fill(load, seed)
    }

    fn clean(&self) -> Result<(), Failure> {
        self.remove()
    }
}

impl Server for Sqlserver {
    const SLOW: &str = "select count_big(*) from sys.all_columns a, sys.all_columns b, sys.all_columns c";
    const NUMBER: &str = "select cast(@@spid as int)";
    // `kill` doesn't accept a parameter.
    const END: &str = "declare @kill nvarchar(50) = N'kill ' + cast(? as nvarchar(20)); exec (@kill)";
    const CANCEL: &str = "";
    const SETTING: (&str, &str, &str) = ("lock_timeout", "select cast(@@lock_timeout as nvarchar(20))", "1234");
    const TYPES: &str = "select cast(-5 as smallint), cast(7 as int), cast(1.25 as decimal(9,2)), cast(0.5 as real), \
                         cast(1 as bit), cast('2024-02-29' as date), cast(N'ü' as nvarchar(5)), \
                         cast('2024-02-29 23:59:58.5' as datetime2)";

    const CREATE_USER: &[&[&str]] = &[];
    const DROP_USER: &str = "";

    fn impatient(&self) -> Result<Value, Problem> {
        Ok(json!([]))
    }

    fn longest(&self) -> Result<Option<usize>, Problem> {
        Ok(None)
    }

    fn demand_password(&self, _user: &str) -> bool {
        false
    }

    fn socket(&self) -> Option<PathBuf> {
        None
    }

    fn engine_with(&self, changes: Value, texts: &[&str]) -> Result<SqlserverEngine, Failure> {
        self.with(changes, texts)
    }
}

fn nothing_is_prepared(_: &Sqlserver) -> Outcome {
    let why = "the server caches the plan of a statement at its first use; there is no explicit prepare";
    Err(Problem::NotApplicable(why.into()))
}

fn no_time_limit(_: &Sqlserver) -> Outcome {
    Err(Problem::NotApplicable("the server has no statement timeout".into()))
}

fn no_cancellation(_: &Sqlserver) -> Outcome {
    Err(Problem::NotApplicable(
        "another session can be killed, but not only its statement".into(),
    ))
}

fn an_engine_reports_its_version(system: &Sqlserver) -> Outcome {
    let texts = ["select 1 as one".to_owned(), "select missing from nowhere".to_owned()];
    let facts = system.engine_for(&texts, PrepareMode::Once)?.facts()?;
    ensure!(Sqlserver::NAMES.contains(&facts.engine.as_str()), "{}", facts.engine);
    ensure!(
        facts.version.starts_with(|c: char| c.is_ascii_digit()),
        "{}",
        facts.version
    );
    ensure!(facts.source_id.is_some() && !facts.durability.because.is_empty());
    ensure!(facts.settings.contains_key(Sqlserver::SHOWN), "{:?}", facts.settings);
    ensure!(
        facts.plans.contains_key("s0") && !facts.plans.contains_key("s1"),
        "{:?}",
        facts.plans
    );
    Ok(())
}

fn connection_errors_are_explained(system: &Sqlserver) -> Outcome {
    for (changes, words) in [
        (json!({"host": "127.0.0.1", "port": 1}), "no server listens there"),
        (json!({"user": "no_such_user", "password": "wrong"}), "no_such_user"),
        (json!({"database": "no_such_database"}), "no_such_database"),
        (json!({"session": [["no_such_setting", "1"]]}), "no_such_setting"),
    ] {
        let failure = wait(system.engine_with(changes, &[])?.connect(0)).failure()?;
        ensure!(failure.message.starts_with("connecting to "), "{failure}");
        ensure!(failure.message.contains(words), "{failure}");
    }
    Ok(())
}
