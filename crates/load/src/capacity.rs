//! Limits on the clients of one process.

use dbdyno_engine::Engine;
use dbdyno_protocol::plan::PlanError;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Files that the process opens in addition to its clients' files, such as libraries, pipes and files in `/proc`.
const OTHER_FILES: u64 = 64;

/// Threads of one process. Each has a stack, histograms and a place in the kernel's tables.
const MOST_THREADS: u32 = 10_000;

/// Raises the number of files that this process may have open to the most it is allowed. Fails if its clients need more, or
/// too many threads.
pub fn check<E: Engine>(clients: u32) -> Result<(), PlanError> {
    if !E::REMOTE && clients > MOST_THREADS {
        let problem =
            format!("{clients} clients of an embedded engine need as many threads: use at most {MOST_THREADS}");
        return Err(PlanError::invalid("task.clients", problem));
    }
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: limit.maximum,
        maximum: limit.maximum,
    };
    // If the limit cannot be raised, the current one applies.
    let allowed = match setrlimit(Resource::Nofile, raised) {
        Ok(()) => limit.maximum,
        Err(_) => limit.current,
    };
    let needed = u64::from(clients) * u64::from(E::FILES) + OTHER_FILES;
    let Some(allowed) = allowed.filter(|allowed| *allowed < needed) else {
        return Ok(());
    };
    let possible = allowed.saturating_sub(OTHER_FILES) / u64::from(E::FILES.max(1));
    Err(PlanError::invalid(
        "task.clients",
        format!(
            "{clients} clients need {needed} open files, and a process may have {allowed} (`ulimit -n`): use at most \
             {possible} clients"
        ),
    ))
}
