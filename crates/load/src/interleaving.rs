//! Trials that are interleaved: each runs in short slices of time while the others are suspended, so that what disturbs the machine
//! disturbs all of them alike.
//!
//! When the slices are is said here; how a thread keeps to them is in `suspension`.

use dbdyno_plan::document;
use dbdyno_probes::cpus;
use std::sync::OnceLock;

/// Nanoseconds between two slices, in which nobody runs. A thread that ends its slice when the next one begins would be pushed
/// off the processor that both are on, and notice only a slice of the kernel's time later that its slice is over.
const GAP: u64 = 100_000;

/// Nanoseconds within which all threads have heard that the others have ended.
const HEARD: u64 = 1_000_000;

/// When a process's slices are: one of each period, from a start that is common to all. Nanoseconds of the clock.
///
/// *Active* time is that of the slices only; a trial that is not interleaved is always active.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Interleaving {
    start: u64,
    length: u64,
    period: u64,
    /// From when on all time is the trial's own.
    alone: u64,
}

impl Interleaving {
    /// One slice without an end, from `start` on.
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

    /// The start and the number of the first slice that begins at `moment` or later.
    pub fn next(&self, moment: u64) -> (u64, u64) {
        let number = moment.saturating_sub(self.start).div_ceil(self.period);
        (self.start.saturating_add(number.saturating_mul(self.period)), number)
    }

    /// How long a slice is.
    pub fn length(&self) -> u64 {
        self.length
    }

    /// The end of the slice that began at `moment`.
    pub fn end(&self, moment: u64) -> u64 {
        moment.saturating_add(self.length)
    }

    /// The start and the number of the slice that runs at `moment`, or of the next where none does.
    pub fn at(&self, moment: u64) -> (u64, u64) {
        let number = moment.saturating_sub(self.start) / self.period;
        let start = self.start.saturating_add(number.saturating_mul(self.period));
        if moment < self.end(start) {
            (start, number)
        } else {
            self.next(moment)
        }
    }

    /// The start and the number of the slice that does not end where the others had ended at `moment`: one that begins late
    /// enough for all threads to have heard of it.
    pub fn last(&self, moment: u64) -> (u64, u64) {
        self.next(moment.saturating_add(HEARD))
    }

    /// These slices where the others had ended at `moment`; 0: they have not.
    pub fn alone_from(self, moment: u64) -> Self {
        if moment == 0 || self.alone != u64::MAX {
            return self;
        }
        Self {
            alone: self.last(moment).0,
            ..self
        }
    }

    /// The active time at a moment of a client's own clock, which runs in its slices only.
    pub fn own(&self, moment: u64) -> u64 {
        moment.saturating_sub(self.start)
    }

    /// The active time between the first slice's start and a moment.
    pub fn active(&self, moment: u64) -> u64 {
        let passed = moment.min(self.alone).saturating_sub(self.start);
        let active = (passed / self.period).saturating_mul(self.length) + (passed % self.period).min(self.length);
        active + moment.saturating_sub(self.alone)
    }

    /// The moment by which so much active time has passed.
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

/// The processors of a client of a trial that is interleaved: one for each slice.
///
/// One processor may be slower than another for a while, above all a virtual one whose host has other work, and left to
/// the kernel each trial would stay on its own. So that all trials see the same ones, a client is on the next one in each
/// of its slices, and on the same one as the other trials' client of its number. Moved there but not kept there, two clients
/// were on one of two processors for many slices: when a client waits for a moment, a virtual processor that was idle until
/// just now goes to sleep at once, and the kernel may then wake the client up on the other one.
#[derive(Debug, Clone, Copy)]
pub struct Processors {
    allowed: &'static [usize],
    first: usize,
}

impl Processors {
    /// Those of a client; `None` where it is not interleaved, or the kernel does not say which there are.
    pub fn of(trial: &document::Trial, client: u32) -> Option<Self> {
        static ALLOWED: OnceLock<Vec<usize>> = OnceLock::new();
        let interleaving = trial.interleaving?;
        let allowed = ALLOWED.get_or_init(|| cpus::allowed().unwrap_or_default());
        (!allowed.is_empty()).then_some(Self {
            allowed,
            first: (interleaving.cpu as usize).wrapping_add(client as usize),
        })
    }

    /// Has the calling thread run on that of a slice, by the slice's number. Where it may not, the trial is as good as it was.
    /// A signal handler may call it.
    pub fn take(&self, slice: u64) {
        let number = self.first.wrapping_add(slice as usize) % self.allowed.len();
        let _ = cpus::pin(self.allowed[number]);
    }
}

/// How long before a process's first slice the first of all slices is.
pub fn delay(interleaving: Option<document::Interleaving>) -> u64 {
    interleaving.map_or(0, |interleaving| {
        slot(interleaving).saturating_mul(u64::from(interleaving.index))
    })
}

/// From the start of one trial's slice to that of the next one's.
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
        fn moments_and_active_time_answer_each_other(length in 1u64..1_000, of in 1u32..9, active in 0u64..10_000_000_000) {
            let interleaving = interleaving(length as f64, of);
            let moment = interleaving.moment(active);
            prop_assert_eq!(interleaving.active(moment), active);
            prop_assert!(moment - 1_000 >= active && (of == 1) == (moment - 1_000 == active && of == 1));
        }

        #[test]
        fn active_time_never_runs_back_and_stands_between_turns(
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
        fn who_is_alone_is_not_suspended(
            length in 1u64..1_000, of in 2u32..9, alone in 1u64..10_000_000_000, later in 0u64..10_000_000_000
        ) {
            let interleaving = interleaving(length as f64, of);
            let freed = interleaving.alone_from(alone);
            prop_assert_eq!(interleaving.alone_from(0), interleaving);
            prop_assert_eq!(freed.alone_from(alone + 1), freed, "once");
            let from = freed.alone;
            prop_assert_eq!(interleaving.next(from), interleaving.last(alone));
            prop_assert_eq!(interleaving.last(alone).0, from);
            prop_assert!(from >= alone + HEARD && from < alone.max(1_000) + HEARD + interleaving.period);
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
