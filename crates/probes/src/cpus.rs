//! CPU affinity and scheduling of threads.

use crate::ProbeError;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// The CPUs that the calling thread may run on, by number.
pub fn allowed() -> Result<Vec<usize>, ProbeError> {
    let set =
        sched_getaffinity(None).map_err(|error| ProbeError::new("cannot read the thread's CPU affinity", error))?;
    Ok((0..CpuSet::MAX_CPU).filter(|cpu| set.is_set(*cpu)).collect())
}

/// Pins the calling thread to one CPU until the next call. Safe to call in a signal handler.
pub fn pin(cpu: usize) -> rustix::io::Result<()> {
    let mut set = CpuSet::new();
    set.set(cpu);
    sched_setaffinity(None, &set)
}

/// Stops the calling thread from preempting running threads when it wakes up: it waits until they block or their time
/// slice ends (`SCHED_BATCH`, see sched(7)). Requires no privileges.
pub fn use_batch_scheduling() -> Result<(), ProbeError> {
    // SAFETY: all zeroes is a valid value, and the only one that this policy accepts.
    let outcome = unsafe {
        let priority: libc::sched_param = std::mem::zeroed();
        libc::sched_setscheduler(0, libc::SCHED_BATCH, &raw const priority)
    };
    if outcome == 0 {
        return Ok(());
    }
    let error = std::io::Error::last_os_error();
    Err(ProbeError::new("cannot set the scheduling policy SCHED_BATCH", error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_calling_thread_is_scheduled_as_batch() {
        // SAFETY: the call only queries.
        let policy = || unsafe { libc::sched_getscheduler(0) };
        let before = policy();
        let within = std::thread::spawn(move || {
            use_batch_scheduling().expect("no rights are needed");
            policy()
        });
        assert_eq!(within.join().expect("the thread ends"), libc::SCHED_BATCH);
        assert_eq!(policy(), before);
    }

    #[test]
    fn a_pinned_thread_has_one_cpu() {
        let before = allowed().expect("the processors");
        let last = *before.last().expect("at least one");
        let within = std::thread::spawn(move || {
            pin(last).expect("an allowed CPU");
            allowed().expect("the processors")
        });
        assert_eq!(within.join().expect("the thread ends"), [last]);
        assert_eq!(
            allowed().expect("the processors"),
            before,
            "other threads are unchanged"
        );
        assert!(pin(CpuSet::MAX_CPU - 1).is_err());
    }
}
