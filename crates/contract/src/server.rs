//! Helpers shared by the systems that are servers.

use crate::systems::unreadable;
pub use dbdyno_engine::Failure;
pub use dbdyno_engine::rows::Loaded;
pub use dbdyno_protocol::plan::document::PrepareMode;
pub use serde_json::{Value, json};

/// Returns the target with some fields replaced. Session settings are merged.
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

/// Reads an engine's own target.
pub fn read<T: serde::de::DeserializeOwned>(target: Value) -> Result<T, Failure> {
    serde_json::from_value(target).map_err(unreadable)
}

/// A table name that no other check and no other process uses.
pub fn table_name(number: u32) -> String {
    format!("dbdyno_check_{}_{number}", std::process::id())
}

/// Defines a system that is a server: its type, engine, target, bulk loader, the engine's name in plans, and the
/// session settings for a short lock timeout.
#[macro_export]
macro_rules! server {
    ($system:ident, $engine:ty, $target:ty, $load:path, $name:literal, $locks:expr) => {
        /// A server's database with one table.
        pub struct $system {
            target: $crate::server::Value,
            table: String,
        }

        impl $system {
            /// Uses a table in the target's database.
            pub fn new(target: $crate::server::Value, number: u32) -> Self {
                let table = $crate::server::table_name(number);
                Self { target, table }
            }

            /// An engine for these statements, with some target fields replaced.
            pub fn engine_of(
                &self,
                changes: $crate::server::Value,
                texts: &[String],
                prepare: $crate::server::PrepareMode,
            ) -> Result<$engine, $crate::server::Failure> {
                let target: $target = $crate::server::read($crate::server::changed(&self.target, changes)?)?;
                Ok(<$engine>::new(&target, &$crate::systems::statements(texts), prepare))
            }

            fn fill(&self, load: $crate::server::Value, seed: u64) -> Result<Vec<$crate::server::Loaded>, $crate::server::Failure> {
                let target: $target = $crate::server::read(self.target.clone())?;
                let named = $crate::server::changed(&self.target, $crate::server::json!({ "engine": $name }))?;
                $load(&target, &$crate::systems::as_load(load, &named)?, seed)
            }

            /// With a short lock timeout.
            fn standard(&self, texts: &[String], prepare: $crate::server::PrepareMode) -> Result<$engine, $crate::server::Failure> {
                self.engine_of($crate::server::json!({ "session": $locks }), texts, prepare)
            }

            fn remove(&self) -> Result<(), $crate::server::Failure> {
                let drop = format!("drop table if exists {}", self.table);
                let engine = self.engine_of($crate::server::json!({}), &[drop], $crate::server::PrepareMode::Never)?;
                $crate::client::Client($crate::client::wait(engine.connect(0))?).run(0, &[]).map(std::mem::drop)
            }

            fn with(&self, changes: $crate::server::Value, texts: &[&str]) -> Result<$engine, $crate::server::Failure> {
                let texts: Vec<String> = texts.iter().map(|text| text.replace("{t}", &self.table)).collect();
                self.engine_of(changes, &texts, $crate::server::PrepareMode::Once)
            }
        }
    };
}
