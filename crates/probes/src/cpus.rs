//! Which processors threads run on.

use crate::ProbeError;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// The processors that the calling thread may run on, by their numbers.
pub fn allowed() -> Result<Vec<usize>, ProbeError> {
    let set = sched_getaffinity(None).map_err(|error| ProbeError::new("the thread's processors", error))?;
    Ok((0..CpuSet::MAX_CPU).filter(|cpu| set.is_set(*cpu)).collect())
}

/// Has the calling thread run on one processor only, until it is given another. A signal handler may call it.
pub fn pin(cpu: usize) -> rustix::io::Result<()> {
    let mut set = CpuSet::new();
    set.set(cpu);
    sched_setaffinity(None, &set)
}

/// Has the calling thread take no processor from another that computes when it is woken: it waits until that one is
/// done or its time is over (`SCHED_BATCH` of sched(7)). Needs no rights.
pub fn take_none_away() -> Result<(), ProbeError> {
    // SAFETY: all zeroes is a value of the structure, and the only one that this policy takes.
    let outcome = unsafe {
        let priority: libc::sched_param = std::mem::zeroed();
        libc::sched_setscheduler(0, libc::SCHED_BATCH, &raw const priority)
    };
    if outcome == 0 {
        return Ok(());
    }
    let error = std::io::Error::last_os_error();
    Err(ProbeError::new("taking no processor from other threads", error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_takes_no_processor_away_is_scheduled_so_alone() {
        // SAFETY: the call only asks.
        let policy = || unsafe { libc::sched_getscheduler(0) };
        let before = policy();
        let within = std::thread::spawn(move || {
            take_none_away().expect("no rights are needed");
            policy()
        });
        assert_eq!(within.join().expect("the thread ends"), libc::SCHED_BATCH);
        assert_eq!(policy(), before);
    }

    #[test]
    fn a_thread_that_is_pinned_has_one_processor() {
        let before = allowed().expect("the processors");
        let last = *before.last().expect("at least one");
        let within = std::thread::spawn(move || {
            pin(last).expect("one of those allowed");
            allowed().expect("the processors")
        });
        assert_eq!(within.join().expect("the thread ends"), [last]);
        assert_eq!(allowed().expect("the processors"), before, "others are as they were");
        assert!(pin(CpuSet::MAX_CPU - 1).is_err());
    }
}
