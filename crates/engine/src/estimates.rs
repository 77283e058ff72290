//! The planner's row estimates for the steps of a query plan, compared with the actual rows of one execution.

pub use dbdyno_protocol::event::{Estimate, Estimates};
use std::time::{Duration, Instant};

/// Time limit for executing one statement.
const PER_STATEMENT: Duration = Duration::from_secs(10);

/// Time limit for all statements of a trial. They run in addition to the trial.
const TOTAL: Duration = Duration::from_secs(30);

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
