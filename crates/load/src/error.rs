//! Why a trial gave no result.

use crate::accounting::Unbalanced;
use dbdyno_engine::Failure;
use dbdyno_probes::ProbeError;
use dbdyno_protocol::plan::PlanError;

/// Why a trial gave no result.
#[derive(Debug, thiserror::Error)]
pub enum TrialError {
    /// The plan cannot be carried out.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// A session could not be opened, or its statements could not be prepared.
    #[error("client {client}: {failure}")]
    Connect {
        /// The client's number.
        client: u32,
        /// The engine's error.
        #[source]
        failure: Failure,
    },
    /// The accounting doesn't add up.
    #[error(transparent)]
    Accounting(#[from] Unbalanced),
    /// The machine's counters could not be read.
    #[error(transparent)]
    Probe(#[from] ProbeError),
    /// The server cannot make the changes of the plan: its shared file doesn't exist, or no process maps it.
    #[error("changing the server's calls: {0}")]
    Preloaded(String),
    /// The clients' clock and the kernel's clock no longer agree, so the times of the window are unknown.
    #[error(
        "the processor's time-stamp counter and the kernel's clock differ by {seconds:.3} s over the window: the machine \
         was suspended or migrated"
    )]
    Clock {
        /// The difference in seconds.
        seconds: f64,
    },
    /// A thread could not be started, or panicked.
    #[error("{0}")]
    Thread(String),
    /// The coordinator sent no start time for a phase.
    #[error("waiting for the coordinator's start time: {0}")]
    Coordinator(#[source] std::io::Error),
}
