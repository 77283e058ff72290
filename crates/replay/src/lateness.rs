//! How late statements begin, and what made them late.

use dbdyno_probes::process::thread_run_queue_ns;
use std::cell::Cell;

/// Nanoseconds by which a statement began late, by cause.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Lateness {
    /// The session's previous statement had not ended, or the session was not open yet.
    pub system: u64,
    /// The worker's thread waited for a CPU.
    pub machine: u64,
    /// The rest: the worker or the controller.
    pub tool: u64,
}

/// Shorter delays are not examined, because reading the kernel's counters takes microseconds.
const SHORTEST: u64 = 100_000;

thread_local! {
    static RUN_QUEUE: Cell<u64> = const { Cell::new(0) };
}

/// Notes the thread's time without a CPU at its beginning.
pub fn begin_thread() {
    RUN_QUEUE.set(thread_run_queue_ns());
}

impl Lateness {
    /// The sum of all causes.
    pub const fn total(self) -> u64 {
        self.system + self.machine + self.tool
    }

    /// The lateness of the worker by `delay`, which has just passed in this thread.
    pub fn of_worker(delay: u64) -> Self {
        if delay < SHORTEST {
            return Self {
                tool: delay,
                ..Self::default()
            };
        }
        let now = thread_run_queue_ns();
        let machine = now.saturating_sub(RUN_QUEUE.replace(now)).min(delay);
        Self {
            machine,
            tool: delay - machine,
            ..Self::default()
        }
    }

    /// The lateness of a statement that waited for its predecessor, which was late by `self`. The system causes the part
    /// of the wait that the predecessor's lateness doesn't explain.
    pub fn inherited(self, waited: u64) -> Self {
        let known = self.at_most(waited);
        Self {
            system: known.system + (waited - known.total()),
            ..known
        }
    }

    /// The same causes in the same proportion, with at most this total.
    fn at_most(self, most: u64) -> Self {
        let total = self.total();
        if total <= most {
            return self;
        }
        let part = |each: u64| (u128::from(each) * u128::from(most) / u128::from(total)) as u64;
        let (machine, tool) = (part(self.machine), part(self.tool));
        Self {
            system: most - machine - tool,
            machine,
            tool,
        }
    }
}

impl std::ops::Add for Lateness {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            system: self.system + other.system,
            machine: self.machine + other.machine,
            tool: self.tool + other.tool,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_is_the_systems_unless_the_predecessor_was_late() {
        let late = Lateness {
            system: 0,
            machine: 20,
            tool: 10,
        };
        assert_eq!(Lateness::default().inherited(50).system, 50);
        assert_eq!(late.inherited(50), Lateness { system: 20, ..late });
        assert_eq!(
            late.inherited(15),
            Lateness {
                system: 0,
                machine: 10,
                tool: 5
            }
        );
    }

    #[test]
    fn short_delays_are_the_tools() {
        assert_eq!(Lateness::of_worker(5).tool, 5);
        assert_eq!(Lateness::of_worker(SHORTEST).total(), SHORTEST);
    }
}
