//! What the systems that are servers have in common.

use super::unreadable;
use dbdyno_engines::Failure;
use serde_json::Value;

/// A target with other fields. Settings of sessions are added to those it has.
pub fn changed(target: &Value, changes: Value) -> Result<Value, Failure> {
    let mut target = target.clone();
    let Value::Object(changes) = changes else {
        return Ok(target);
    };
    for (name, value) in changes {
        match (target.get_mut(&name), value) {
            (Some(Value::Array(there)), Value::Array(more)) => there.extend(more),
            (_, value) => target[name] = value,
        }
    }
    Ok(target)
}

/// A target of an engine's own.
pub fn read<T: serde::de::DeserializeOwned>(target: Value) -> Result<T, Failure> {
    serde_json::from_value(target).map_err(unreadable)
}

/// A name for a table that no other check has, nor another process.
pub fn table_name(number: u32) -> String {
    format!("dbdyno_check_{}_{number}", std::process::id())
}

macro_rules! server {
    ($system:ident, $engine:ty, $target:ty, $load:path, $name:literal, $locks:expr) => {
        /// A server's database, and a table in it.
        pub struct $system {
            target: Value,
            table: String,
        }

        impl $system {
            /// A table in the target's database.
            pub fn new(target: Value, number: u32) -> Self {
                let table = super::server::table_name(number);
                Self { target, table }
            }

            /// An engine whose target has other fields, for some texts.
            pub fn engine_of(
                &self,
                changes: Value,
                texts: &[String],
                prepare: PrepareMode,
            ) -> Result<$engine, Failure> {
                let target: $target = super::server::read(super::server::changed(&self.target, changes)?)?;
                Ok(<$engine>::new(&target, &statements(texts), prepare))
            }

            fn fill(&self, load: Value, seed: u64) -> Result<Vec<Loaded>, Failure> {
                let target: $target = super::server::read(self.target.clone())?;
                let named = super::server::changed(&self.target, json!({ "engine": $name }))?;
                $load(&target, &as_load(load, &named)?, seed)
            }

            /// With a short wait for locks.
            fn standard(&self, texts: &[String], prepare: PrepareMode) -> Result<$engine, Failure> {
                self.engine_of(json!({ "session": $locks }), texts, prepare)
            }

            fn remove(&self) -> Result<(), Failure> {
                let drop = format!("drop table if exists {}", self.table);
                let engine = self.engine_of(json!({}), &[drop], PrepareMode::Never)?;
                Client(wait(engine.connect(0))?).run(0, &[]).map(std::mem::drop)
            }

            fn with(&self, changes: Value, texts: &[&str]) -> Result<$engine, Failure> {
                let texts: Vec<String> = texts.iter().map(|text| text.replace("{t}", &self.table)).collect();
                self.engine_of(changes, &texts, PrepareMode::Once)
            }
        }
    };
}

pub(super) use server;
