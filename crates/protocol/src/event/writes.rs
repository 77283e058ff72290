//! Whether a statement writes.

use schemars::JsonSchema;
use serde::Serialize;

/// Whether a statement writes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(tag = "writes", content = "why", rename_all = "snake_case")]
pub enum Writes {
    /// It only reads.
    No,
    /// Unknown, and why.
    Unknown(String),
    /// The system does not accept it, and its error.
    Rejected(String),
    /// It writes, and the evidence.
    Yes(String),
}

impl Writes {
    /// Keeps the worse of two answers.
    pub fn worsen(&mut self, other: Self) {
        let rank = |answer: &Self| match answer {
            Self::No => 0,
            Self::Unknown(_) => 1,
            Self::Rejected(_) => 2,
            Self::Yes(_) => 3,
        };
        if rank(&other) > rank(self) {
            *self = other;
        }
    }
}
