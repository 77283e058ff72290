//! What a trial is.
//!
//! A [`Plan`] is the JSON document the laboratory hands to a worker. This crate holds its types ([`document`]), the
//! values a transaction sends ([`generator`]), and the compilation of a transaction's steps into a flat [`program`].
//! Nothing here does I/O or knows an engine.

pub mod document;
pub mod expression;
pub mod generator;
pub mod maker;
pub mod program;
pub mod random;
pub mod target;
pub mod transaction;
pub mod value;
pub mod vocabulary;

pub use document::{
    Arrival, ConnectMode, DeviceTask, Hold, Inspect, Load, LoadTable, Plan, PrepareMode, Reach, Record, Retry, Schema,
    Statement, Task, Trial, Warmup, Window, Writes,
};
pub use target::Target;

/// Why a plan cannot be carried out. Every message says where in the plan the fault lies.
#[derive(Debug, thiserror::Error)]
pub enum PlanError {
    /// The document is not JSON, or not a plan.
    #[error("the plan is not valid: {0}")]
    Json(#[from] serde_json::Error),
    /// A field holds a value that cannot be carried out.
    #[error("{place}: {problem}")]
    Invalid {
        /// Path of the field in the plan, as `task.transactions[0].steps[1]`.
        place: String,
        /// What is wrong, and what would be right.
        problem: String,
    },
}

impl PlanError {
    pub(crate) fn invalid(place: impl Into<String>, problem: impl Into<String>) -> Self {
        Self::Invalid {
            place: place.into(),
            problem: problem.into(),
        }
    }
}

/// The JSON Schema of a [`Plan`], generated from the types of this crate.
pub fn json_schema() -> serde_json::Value {
    schemars::schema_for!(Plan).to_value()
}
