//! Why a plan cannot be carried out.

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
        /// The problem, and the fix.
        problem: String,
    },
}

impl PlanError {
    /// A field at `place` with a `problem`.
    pub fn invalid(place: impl Into<String>, problem: impl Into<String>) -> Self {
        Self::Invalid {
            place: place.into(),
            problem: problem.into(),
        }
    }
}
