//! What a trial is.
//!
//! A [`Plan`] is the JSON document the laboratory hands to a worker. This crate holds its types ([`document`]), the
//! values a transaction sends ([`generator`]), and the compilation of a transaction's steps into a flat [`program`].
//! Nothing here does I/O or knows an engine.

pub mod changes;
pub mod document;
pub mod error;
pub mod expression;
pub mod generator;
pub mod names;
pub mod program;
pub mod random;
pub mod request;
pub mod sampler;
pub mod target;
pub mod transaction;
pub mod value;
pub mod vocabulary;

pub use document::{
    Arrival, ConnectMode, DeviceTask, Hold, Inspect, Load, LoadTable, Plan, PrepareMode, Reach, Record, Retry, Schema,
    Statement, Task, Trial, Warmup, Window, Writes,
};
pub use error::PlanError;
pub use target::Target;

/// The JSON Schema of a [`Plan`], generated from the types of this crate.
pub fn json_schema() -> serde_json::Value {
    schemars::schema_for!(Plan).to_value()
}
