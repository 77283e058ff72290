//! Trials that take turns: each runs in short slices of time while the others pause, so that what disturbs the machine
//! disturbs all of them alike.

use dbdyno_plan::document;
use dbdyno_probes::cpus;

/// When a process's turns are: one of each period, the first at the window's start. Nanoseconds of the clock.
///
/// *Active* time is that of the turns only; a trial that takes no turns is always active.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Turns {
    start: u64,
    length: u64,
    period: u64,
}

impl Turns {
    /// One turn without an end, from `start` on.
    pub fn none(start: u64) -> Self {
        Self {
            start,
            length: u64::MAX,
            period: u64::MAX,
        }
    }

    /// The turns of a trial whose window begins at `start`.
    pub fn new(turns: Option<document::Turns>, start: u64) -> Self {
        turns.map_or(Self::none(start), |turns| {
            let length = length(turns);
            Self {
                start,
                length,
                period: length.saturating_mul(u64::from(turns.of)),
            }
        })
    }

    /// The start of the first turn that begins at `moment` or later.
    pub fn next(&self, moment: u64) -> u64 {
        let passed = moment.saturating_sub(self.start).div_ceil(self.period);
        self.start.saturating_add(passed.saturating_mul(self.period))
    }

    /// The end of the turn that began at `moment`.
    pub fn end(&self, moment: u64) -> u64 {
        moment.saturating_add(self.length)
    }

    /// The active time between the window's start and a moment.
    pub fn active(&self, moment: u64) -> u64 {
        let passed = moment.saturating_sub(self.start);
        (passed / self.period).saturating_mul(self.length) + (passed % self.period).min(self.length)
    }

    /// The moment by which so much active time has passed.
    pub fn moment(&self, active: u64) -> u64 {
        let whole = (active / self.length).saturating_mul(self.period);
        self.start.saturating_add(whole).saturating_add(active % self.length)
    }
}

/// Has the calling thread stay on the processor of a client of a trial that takes turns, where there are more processors than
/// clients.
///
/// One processor may be slower than another, above all a virtual one whose host has other work. Trials in turn on the same
/// ones share that; the kernel would leave each on its own. Where it cannot be done, the trial is as good as it was.
pub fn stay_on_processor(trial: &document::Trial, client: u32) {
    let Some(turns) = trial.turns else { return };
    let Ok(allowed) = cpus::allowed() else { return };
    if (trial.clients as usize) < allowed.len() {
        let number = (turns.cpu as usize).wrapping_add(client as usize) % allowed.len();
        let _ = cpus::pin(allowed[number]);
    }
}

/// How long before a process's first turn the first of all turns is.
pub fn delay(turns: Option<document::Turns>) -> u64 {
    turns.map_or(0, |turns| length(turns).saturating_mul(u64::from(turns.index)))
}

fn length(turns: document::Turns) -> u64 {
    (turns.length_ms * 1e6) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn turns(length_ms: f64, of: u32) -> Turns {
        let turns = document::Turns {
            length_ms,
            index: 0,
            of,
            cpu: 0,
        };
        Turns::new(Some(turns), 1_000)
    }

    proptest! {
        #[test]
        fn moments_and_active_time_answer_each_other(length in 1u64..1_000, of in 1u32..9, active in 0u64..10_000_000_000) {
            let turns = turns(length as f64, of);
            let moment = turns.moment(active);
            prop_assert_eq!(turns.active(moment), active);
            prop_assert!(moment - 1_000 >= active && (of == 1) == (moment - 1_000 == active && of == 1));
        }

        #[test]
        fn active_time_never_runs_back_and_stands_between_turns(
            length in 1u64..1_000, of in 2u32..9, moment in 0u64..10_000_000_000, later in 0u64..10_000_000_000
        ) {
            let turns = turns(length as f64, of);
            prop_assert!(turns.active(moment + later) >= turns.active(moment));
            prop_assert!(turns.active(moment + later) - turns.active(moment) <= later);
            let next = turns.next(moment);
            prop_assert!(next >= moment && next < moment.max(1_000) + turns.period);
            prop_assert_eq!(turns.active(turns.end(next)) - turns.active(next), turns.length);
            prop_assert_eq!(turns.active(turns.next(next + 1)), turns.active(turns.end(next)), "the others' turns");
        }
    }

    #[test]
    fn without_turns_all_time_is_active() {
        let turns = Turns::none(50);
        assert_eq!(turns.active(1_050), 1_000);
        assert_eq!(turns.moment(1_000), 1_050);
        assert_eq!(turns.end(turns.next(50)), u64::MAX);
    }
}
