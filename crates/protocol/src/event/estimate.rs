//! The rows that a planner expected of each step of a plan, and the rows that came.

use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// The estimates of the statements' plans, by a statement's name.
pub type Estimates = BTreeMap<String, Vec<Estimate>>;

/// What the planner expected of a step, and what came of it.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Estimate {
    /// The step, in the engine's words.
    pub step: String,
    /// The table that it reads, by its name or its alias; none: it works on what other steps give.
    pub table: Option<String>,
    /// How many steps lie above it.
    pub depth: u32,
    /// Rows that were expected of one execution of it.
    pub expected: f64,
    /// Rows that one execution of it gave, on average.
    pub found: f64,
    /// How often it was executed.
    pub executions: f64,
    /// Whether it was, or may have been, ended early, as below a `LIMIT`: it would have given as many rows, or more.
    pub at_least: bool,
}

impl Estimate {
    /// Keeps it where its two numbers can be compared. Those of a step that was ended early cannot, unless more rows had
    /// come by then than were expected.
    pub fn add_to(self, all: &mut Vec<Self>) {
        let known = self.executions > 0.0 && self.expected.is_finite() && self.found.is_finite();
        if known && (!self.at_least || self.found > self.expected) {
            all.push(self);
        }
    }
}
