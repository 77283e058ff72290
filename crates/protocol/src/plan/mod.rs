//! What a trial is.
//!
//! A [`Plan`] is the JSON document the laboratory hands to a worker. This crate holds its types ([`document`]), with those of the
//! values that a transaction sends ([`generator`]) and of its steps ([`transaction`]). The crate `dbdyno-program` makes flat
//! programs of them. Nothing here does I/O or knows an engine.

pub mod changes;
pub mod document;
pub mod error;
pub mod expression;
pub mod generator;
pub mod limits;
pub mod literal;
pub mod request;
pub mod target;
pub mod transaction;

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
