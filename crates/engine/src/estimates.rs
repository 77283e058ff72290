//! The planner's row estimates for the steps of a query plan, compared with the actual rows of one execution.

use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// Time limit for executing one statement.
const PER_STATEMENT: Duration = Duration::from_secs(10);

/// Time limit for all statements of a trial. They run in addition to the trial.
const TOTAL: Duration = Duration::from_secs(30);

/// Estimates by statement name.
pub type Estimates = BTreeMap<String, Vec<Estimate>>;

/// Estimated and actual rows of a plan step.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Estimate {
    /// The step, as the engine describes it.
    pub step: String,
    /// The name or alias of the table that it reads; null if it processes the output of other steps.
    pub table: Option<String>,
    /// Its depth below the root of the plan.
    pub depth: u32,
    /// Estimated rows per execution.
    pub expected: f64,
    /// Actual rows per execution, on average.
    pub found: f64,
    /// Number of executions.
    pub executions: f64,
    /// Whether it was, or may have been, stopped early (for example by a `LIMIT`). Then `found` is a lower bound.
    pub at_least: bool,
}

impl Estimate {
    /// Adds it to the list if the two numbers are comparable. For a step that was stopped early, they are comparable
    /// only if it already returned more rows than estimated.
    pub fn add_to(self, all: &mut Vec<Self>) {
        let known = self.executions > 0.0 && self.expected.is_finite() && self.found.is_finite();
        if known && (!self.at_least || self.found > self.expected) {
            all.push(self);
        }
    }
}

/// Remaining time for executing statements.
#[derive(Debug, Clone, Copy)]
pub struct TimeBudget {
    per_statement: Duration,
    until: Instant,
}

impl TimeBudget {
    /// The budget of a trial, starting now.
    pub fn for_trial() -> Self {
        Self::new(PER_STATEMENT, TOTAL)
    }

    /// A budget with limits per statement and in total.
    pub fn new(per_statement: Duration, total: Duration) -> Self {
        Self {
            per_statement,
            until: Instant::now() + total,
        }
    }

    /// Time limit for the next statement; `None` if no time is left.
    pub fn next(&self) -> Option<Duration> {
        let left = self.until.saturating_duration_since(Instant::now());
        (!left.is_zero()).then(|| left.min(self.per_statement))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_stopped_early_counts_if_it_exceeded_its_estimate() {
        let mut all = Vec::new();
        for (expected, found, executions, at_least) in [
            (5.0, 50.0, 1.0, true),
            (50.0, 5.0, 1.0, true),
            (50.0, 5.0, 1.0, false),
            (5.0, 0.0, 0.0, false),
            (f64::NAN, 5.0, 1.0, false),
        ] {
            Estimate {
                step: String::new(),
                table: None,
                depth: 0,
                expected,
                found,
                executions,
                at_least,
            }
            .add_to(&mut all);
        }
        let kept: Vec<_> = all.iter().map(|each| (each.expected, each.found)).collect();
        assert_eq!(kept, [(5.0, 50.0), (50.0, 5.0)]);
    }

    #[test]
    fn the_budget_ends() {
        let allowance = TimeBudget::new(Duration::from_secs(1), Duration::from_secs(3600));
        assert_eq!(allowance.next(), Some(Duration::from_secs(1)));
        assert_eq!(TimeBudget::new(Duration::from_secs(1), Duration::ZERO).next(), None);
    }
}
