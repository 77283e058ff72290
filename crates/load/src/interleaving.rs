//! Schedule of interleaved trials: each runs in short time slices while the other trials are suspended, so that
//! disturbances of the machine affect all trials equally.
//!
//! `suspension` makes a thread follow the schedule.

use dbdyno_probes::cpus;
use dbdyno_protocol::plan::document;
use std::sync::OnceLock;

/// Nanoseconds of gap between two slices. If a slice ended exactly when the next one begins, its thread would be
/// preempted on their shared CPU, and would notice the end of its slice only one scheduler time slice later.
const GAP: u64 = 100_000;

/// Nanoseconds within which all threads have seen that the other trials ended.
const NOTICE: u64 = 1_000_000;

/// Schedule of a process's time slices: one slice per period, counted from a start time shared by all processes. In
/// nanoseconds of the clock.
///
/// *Active* time is time within the slices. A trial that isn't interleaved is always active.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Interleaving {
    start: u64,
    length: u64,
    period: u64,
    /// From here on, all time belongs to this trial.
    alone: u64,
}

impl Interleaving {
    /// One slice without an end, starting at `start`.
    pub fn none(start: u64) -> Self {
        Self {
            start,
            length: u64::MAX,
            period: u64::MAX,
            alone: u64::MAX,
        }
    }

    /// The slices of a trial whose window begins at `start`.
    pub fn new(interleaving: document::Interleaving, start: u64) -> Self {
        Self {
            length: length(interleaving),
            period: slot(interleaving).saturating_mul(u64::from(interleaving.of)),
            ..Self::none(start)
        }
    }

    /// The start and number of the first slice that begins at `moment` or later.
    pub fn next(&self, moment: u64) -> (u64, u64) {
        let number = moment.saturating_sub(self.start).div_ceil(self.period);
        (self.start.saturating_add(number.saturating_mul(self.period)), number)
    }

    /// Length of a slice.
    pub fn length(&self) -> u64 {
        self.length
    }

    /// The end of the slice that began at `moment`.
    pub fn end(&self, moment: u64) -> u64 {
        moment.saturating_add(self.length)
    }

    /// The start and number of the slice that is running at `moment`, or of the next one.
    pub fn at(&self, moment: u64) -> (u64, u64) {
        let number = moment.saturating_sub(self.start) / self.period;
        let start = self.start.saturating_add(number.saturating_mul(self.period));
        if moment < self.end(start) {
            (start, number)
        } else {
            self.next(moment)
        }
    }

    /// The start and number of the slice that doesn't end, if the other trials ended at `moment`. It begins late enough
    /// for all threads to notice.
    pub fn last(&self, moment: u64) -> (u64, u64) {
        self.next(moment.saturating_add(NOTICE))
    }

    /// This schedule if the other trials ended at `moment`; 0 means they haven't.
    pub fn alone_from(self, moment: u64) -> Self {
        if moment == 0 || self.alone != u64::MAX {
            return self;
        }
        Self {
            alone: self.last(moment).0,
            ..self
        }
    }

    /// The active time at a moment of a client's own clock, which only runs in its slices.
    pub fn own(&self, moment: u64) -> u64 {
        moment.saturating_sub(self.start)
    }

    /// The active time between the first slice's start and a moment.
    pub fn active(&self, moment: u64) -> u64 {
        let passed = moment.min(self.alone).saturating_sub(self.start);
        let active = (passed / self.period).saturating_mul(self.length) + (passed % self.period).min(self.length);
        active + moment.saturating_sub(self.alone)
    }

    /// The moment at which `active` nanoseconds of active time have passed.
    pub fn moment(&self, active: u64) -> u64 {
        if self.alone != u64::MAX {
            let before = self.active(self.alone);
            if active > before {
                return self.alone.saturating_add(active - before);
            }
        }
        let whole = (active / self.length).saturating_mul(self.period);
        self.start.saturating_add(whole).saturating_add(active % self.length)
    }
}

/// The CPUs of a client of an interleaved trial, one per slice.
///
/// One CPU may be slower than another for a while, especially a virtual CPU whose host is busy, and the kernel tends to
/// keep a process where it is. To give all trials the same CPUs, a client moves to the next CPU in each of its slices,
/// in step with the client of the same number in the other trials. The client is pinned rather than only moved: when it
/// waits for a moment, its idle virtual CPU goes to sleep and the kernel may wake the client on another one. Without
/// pinning, two clients shared one of two CPUs for many slices.
#[derive(Debug, Clone, Copy)]
pub struct Processors {
    allowed: &'static [usize],
    first: usize,
}

impl Processors {
    /// The CPUs of a client. `None` if the trial isn't interleaved or the kernel doesn't report the allowed CPUs.
    pub fn of(trial: &document::Trial, client: u32) -> Option<Self> {
        static ALLOWED: OnceLock<Vec<usize>> = OnceLock::new();
        let interleaving = trial.interleaving?;
        let allowed = ALLOWED.get_or_init(|| cpus::allowed().unwrap_or_default());
        (!allowed.is_empty()).then_some(Self {
            allowed,
            first: (interleaving.cpu as usize).wrapping_add(client as usize),
        })
    }

    /// Pins the calling thread to the CPU of a slice. If pinning isn't permitted, the trial continues without it. Safe
    /// to call in a signal handler.
    pub fn take(&self, slice: u64) {
        let number = self.first.wrapping_add(slice as usize) % self.allowed.len();
        let _ = cpus::pin(self.allowed[number]);
    }
}

/// Time from the first slice of all trials to the first slice of this process.
pub fn delay(interleaving: Option<document::Interleaving>) -> u64 {
    interleaving.map_or(0, |interleaving| {
        slot(interleaving).saturating_mul(u64::from(interleaving.index))
    })
}

/// Time from the start of one trial's slice to the start of the next trial's slice.
fn slot(interleaving: document::Interleaving) -> u64 {
    length(interleaving) + if interleaving.of > 1 { GAP } else { 0 }
}

fn length(interleaving: document::Interleaving) -> u64 {
    (interleaving.length_ms * 1e6) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn interleaving(length_ms: f64, of: u32) -> Interleaving {
        let interleaving = document::Interleaving {
            length_ms,
            index: 0,
            of,
            cpu: 0,
        };
        Interleaving::new(interleaving, 1_000)
    }

    proptest! {
        #[test]
        fn moment_is_the_inverse_of_active_time(length in 1u64..1_000, of in 1u32..9, active in 0u64..10_000_000_000) {
            let interleaving = interleaving(length as f64, of);
            let moment = interleaving.moment(active);
            prop_assert_eq!(interleaving.active(moment), active);
            prop_assert!(moment - 1_000 >= active && (of == 1) == (moment - 1_000 == active && of == 1));
        }

        #[test]
        fn active_time_is_monotonic_and_stops_between_slices(
            length in 1u64..1_000, of in 2u32..9, moment in 0u64..10_000_000_000, later in 0u64..10_000_000_000
        ) {
            let interleaving = interleaving(length as f64, of);
            prop_assert!(interleaving.active(moment + later) >= interleaving.active(moment));
            prop_assert!(interleaving.active(moment + later) - interleaving.active(moment) <= later);
            let (next, number) = interleaving.next(moment);
            prop_assert_eq!(interleaving.next(next + 1).1, number + 1);
            let (start, number) = interleaving.at(moment);
            prop_assert_eq!(interleaving.next(start), (start, number));
            prop_assert!(start <= moment.max(1_000) && moment < interleaving.end(start) || start == next);
            prop_assert!(next >= moment && next < moment.max(1_000) + interleaving.period);
            prop_assert_eq!(interleaving.active(interleaving.end(next)) - interleaving.active(next), interleaving.length);
            prop_assert_eq!(interleaving.active(interleaving.next(next + 1).0), interleaving.active(interleaving.end(next)), "the others' slices");
        }
    }

    proptest! {
        #[test]
        fn a_trial_is_not_suspended_after_the_others_ended(
            length in 1u64..1_000, of in 2u32..9, alone in 1u64..10_000_000_000, later in 0u64..10_000_000_000
        ) {
            let interleaving = interleaving(length as f64, of);
            let freed = interleaving.alone_from(alone);
            prop_assert_eq!(interleaving.alone_from(0), interleaving);
            prop_assert_eq!(freed.alone_from(alone + 1), freed, "once");
            let from = freed.alone;
            prop_assert_eq!(interleaving.next(from), interleaving.last(alone));
            prop_assert_eq!(interleaving.last(alone).0, from);
            prop_assert!(from >= alone + NOTICE && from < alone.max(1_000) + NOTICE + interleaving.period);
            prop_assert_eq!(freed.active(from), interleaving.active(from));
            prop_assert_eq!(freed.active(from + later) - freed.active(from), later);
            let active = freed.active(from + later);
            prop_assert_eq!(freed.active(freed.moment(active)), active);
        }
    }

    #[test]
    fn without_interleaving_all_time_is_active() {
        let interleaving = Interleaving::none(50);
        assert_eq!(interleaving.active(1_050), 1_000);
        assert_eq!(interleaving.moment(1_000), 1_050);
        assert_eq!(interleaving.end(interleaving.next(50).0), u64::MAX);
    }
}
