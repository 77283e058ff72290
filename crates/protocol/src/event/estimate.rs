//! The rows that a planner expected of each step of a plan, and the rows that came.

use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// The estimates of the statements' plans, by a statement's name.
pub type Estimates = BTreeMap<String, Vec<Estimate>>;

/// The expected and the actual rows of a step.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Estimate {
    /// The step, as the engine describes it.
    pub step: String,
    /// The table that it reads, by name or alias; null if it reads the output of other steps.
    pub table: Option<String>,
    /// Its depth in the plan.
    pub depth: u32,
    /// Rows that were expected of one execution of it.
    pub expected: f64,
    /// Rows that one execution of it gave, on average.
    pub found: f64,
    /// How often it was executed.
    pub executions: f64,
    /// Whether it may have ended early, such as below a `LIMIT`. The number of rows is then a lower bound.
    pub at_least: bool,
}

impl Estimate {
    /// Adds it if its two numbers can be compared. A step that ended early counts only if it returned more rows than
    /// expected.
    pub fn add_to(self, all: &mut Vec<Self>) {
        let known = self.executions > 0.0 && self.expected.is_finite() && self.found.is_finite();
        if known && (!self.at_least || self.found > self.expected) {
            all.push(self);
        }
    }
}
