//! The engines, one line each. The rest of the worker uses them through [`Target`].

use dbdyno_engine::changes::Changeable;
use dbdyno_engine::driver::{Driver, Measure, Site, Tell};
use dbdyno_engine::rows::Loaded;
use dbdyno_engine::writes::Writes;
use dbdyno_engine::{Facts, Failure};
use dbdyno_program::Programs;
use dbdyno_protocol::event::Object;
use dbdyno_protocol::plan::PlanError;
use dbdyno_protocol::plan::document::{self, Load, Trial};
use dbdyno_protocol::plan::target::DEFINITION;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Defines [`Target`] from the engines, with their lower-case names as used in plans, and forwards all calls. `of`
/// names the feature that the engine requires.
macro_rules! engines {
    ($($(#[$about:meta])* $name:ident($target:ty) $(of $feature:literal)?),+ $(,)?) => {
        /// A system that the worker can load.
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(tag = "engine", rename_all = "lowercase")]
        pub enum Target {
            $($(#[$about])* $(#[cfg(feature = $feature)])? $name($target)),+
        }

        /// Engines that this build of the worker lacks, as spelled in the registry.
        const LEFT_OUT: &[&str] = &[$($(#[cfg(not(feature = $feature))] stringify!($name),)?)+];

        impl Driver for Target {
            fn measure<M: Measure>(&self, trial: &Trial, measure: M) -> Result<M::Output, Failure> {
                match self { $($(#[cfg(feature = $feature)])? Self::$name(driver) => driver.measure(trial, measure)),+ }
            }

            fn facts(&self) -> Result<Facts, Failure> {
                match self { $($(#[cfg(feature = $feature)])? Self::$name(driver) => driver.facts()),+ }
            }

            fn load(&self, load: &Load, seed: u64) -> Result<Vec<Loaded>, Failure> {
                match self { $($(#[cfg(feature = $feature)])? Self::$name(driver) => driver.load(load, seed)),+ }
            }

            fn writes(&self, task: &document::Writes, programs: &Programs, seed: u64) -> Result<Vec<Writes>, Failure> {
                match self { $($(#[cfg(feature = $feature)])? Self::$name(driver) => driver.writes(task, programs, seed)),+ }
            }

            fn external_access(&self, own: &[String], statements: &[String]) -> Result<Vec<Option<String>>, Failure> {
                match self { $($(#[cfg(feature = $feature)])? Self::$name(driver) => driver.external_access(own, statements)),+ }
            }

            fn check(&self, tell: Tell<'_>) -> Result<(), Failure> {
                match self { $($(#[cfg(feature = $feature)])? Self::$name(driver) => driver.check(tell)),+ }
            }

            fn changeable(&self) -> Changeable {
                match self { $($(#[cfg(feature = $feature)])? Self::$name(driver) => driver.changeable()),+ }
            }

            fn site(&self) -> Site<'_> {
                match self { $($(#[cfg(feature = $feature)])? Self::$name(driver) => driver.site()),+ }
            }

            fn space(&self, tables: &[String]) -> Result<Vec<Object>, Failure> {
                match self { $($(#[cfg(feature = $feature)])? Self::$name(driver) => driver.space(tables)),+ }
            }

            fn set_file(&self) -> Result<(), Failure> {
                match self { $($(#[cfg(feature = $feature)])? Self::$name(driver) => driver.set_file()),+ }
            }

            fn hold_lock(
                &self,
                token: &str,
                report: &mut dyn FnMut(Vec<String>),
                over: &dyn Fn() -> bool,
            ) -> Result<(), Failure> {
                match self { $($(#[cfg(feature = $feature)])? Self::$name(driver) => driver.hold_lock(token, report, over)),+ }
            }
        }
    };
}

engines! {
    /// No database: every statement succeeds at once. Measures the ceiling of the client.
    Null(crate::null::NullTarget),
    /// A SQLite library and a database file.
    Sqlite(crate::sqlite::SqliteTarget),
    /// A DuckDB library and a database file.
    Duckdb(crate::duckdb::DuckdbTarget),
    /// A PostgreSQL server.
    Postgresql(crate::postgresql::PostgresqlTarget) of "servers",
    /// A MariaDB or MySQL server.
    Mysql(crate::mysql::MysqlTarget) of "servers",
    /// A MongoDB server or a compatible one.
    Mongodb(crate::mongodb::MongodbTarget) of "servers",
    /// A service that speaks HTTP.
    Http(crate::http::HttpTarget) of "servers",
    /// A Microsoft SQL Server.
    Sqlserver(crate::sqlserver::SqlserverTarget) of "servers",
}

impl TryFrom<&dbdyno_protocol::plan::Target> for Target {
    type Error = PlanError;

    /// Reads the target of a plan. Fails for an unknown engine or invalid options.
    fn try_from(target: &dbdyno_protocol::plan::Target) -> Result<Self, PlanError> {
        let engine = target.0.get("engine").and_then(Value::as_str).unwrap_or_default();
        if LEFT_OUT.iter().any(|each| each.eq_ignore_ascii_case(engine)) {
            return Err(PlanError::Invalid {
                place: "task.target.engine".into(),
                problem: format!("this worker is built without `{engine}`; `make install` builds it with every engine"),
            });
        }
        serde_json::from_value(Value::Object(target.0.clone())).map_err(|error| PlanError::Invalid {
            place: "task.target".into(),
            problem: error.to_string(),
        })
    }
}

/// The JSON Schema of plans, including the targets of all engines.
pub fn plan_schema() -> Value {
    let mut plan = dbdyno_protocol::plan::json_schema();
    let mut target = schemars::schema_for!(Target).to_value();
    if let (Some(definitions), Some(target)) = (plan["$defs"].as_object_mut(), target.as_object_mut()) {
        target.remove("$schema");
        target.remove("title");
        if let Some(Value::Object(more)) = target.remove("$defs") {
            definitions.extend(more);
        }
        definitions.insert(DEFINITION.into(), Value::Object(std::mem::take(target)));
    }
    plan
}
