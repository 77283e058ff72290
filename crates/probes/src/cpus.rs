//! Which processors threads run on.

use crate::ProbeError;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// The processors that the calling thread may run on, by their numbers.
pub fn allowed() -> Result<Vec<usize>, ProbeError> {
    let set = sched_getaffinity(None).map_err(|error| ProbeError::new("the thread's processors", error))?;
    Ok((0..CpuSet::MAX_CPU).filter(|cpu| set.is_set(*cpu)).collect())
}

/// Has the calling thread run on one processor only, for as long as it lives.
pub fn pin(cpu: usize) -> Result<(), ProbeError> {
    let mut set = CpuSet::new();
    set.set(cpu);
    sched_setaffinity(None, &set).map_err(|error| ProbeError::new(format!("running on processor {cpu} only"), error))
}

#[cfg(test)]
mod tests {
    use super::*;

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
