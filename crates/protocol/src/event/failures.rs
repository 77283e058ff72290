//! Failures by the code of the system.

use crate::plan::document::FailureKind;
use schemars::JsonSchema;
use serde::Serialize;
use std::borrow::Cow;

/// Transactions that failed with one code.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct FailedByCode {
    /// The kind of the failures.
    pub kind: FailureKind,
    /// The system's error code; `other` if the failure has no code, or if there were too many codes already.
    pub code: Cow<'static, str>,
    /// How many transactions.
    pub count: u64,
    /// The first message.
    pub message: String,
}
