//! A value as the plan writes it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A value written in a plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Literal {
    /// SQL null.
    Null,
    /// A Boolean; sent as 0 or 1.
    Boolean(bool),
    /// A 64-bit integer.
    Integer(i64),
    /// A double.
    Real(f64),
    /// Text.
    Text(String),
}
