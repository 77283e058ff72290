//! The plan of a task.
//!
//! A [`Plan`] is the JSON document that the controller sends to a worker. This module contains its types: the document
//! ([`document`]), the values that a transaction sends ([`generator`]) and its steps ([`transaction`]). The crate
//! `dbdyno-program` compiles them.

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
