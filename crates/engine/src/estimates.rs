//! How many rows a planner expected of each step of a plan, beside those that came when the statement was run once.

use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// The longest that one statement is run for this.
const LONGEST: Duration = Duration::from_secs(10);

/// The longest that all statements of a trial take together: it is no part of the time that a trial may take.
const ALTOGETHER: Duration = Duration::from_secs(30);

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

/// The time that is left for running statements.
#[derive(Debug, Clone, Copy)]
pub struct Allowance {
    longest: Duration,
    until: Instant,
}

impl Allowance {
    /// That of a trial, from now on.
    pub fn of_a_trial() -> Self {
        Self::new(LONGEST, ALTOGETHER)
    }

    /// So much for each statement, and for all.
    pub fn new(longest: Duration, altogether: Duration) -> Self {
        Self {
            longest,
            until: Instant::now() + altogether,
        }
    }

    /// The longest that the next statement may take; none: there is no time left.
    pub fn next(&self) -> Option<Duration> {
        let left = self.until.saturating_duration_since(Instant::now());
        (!left.is_zero()).then(|| left.min(self.longest))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_ended_early_counts_where_more_came_than_was_expected() {
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
    fn time_that_is_over_is_not_given() {
        let allowance = Allowance::new(Duration::from_secs(1), Duration::from_secs(3600));
        assert_eq!(allowance.next(), Some(Duration::from_secs(1)));
        assert_eq!(Allowance::new(Duration::from_secs(1), Duration::ZERO).next(), None);
    }
}
