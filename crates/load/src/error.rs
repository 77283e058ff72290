//! Why a trial gave no result.

use crate::accounting::Unbalanced;
use dbdyno_engine::Failure;
use dbdyno_plan::PlanError;
use dbdyno_probes::ProbeError;

/// Why a trial gave no result.
#[derive(Debug, thiserror::Error)]
pub enum TrialError {
    /// The plan cannot be carried out.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// No session could be opened, or its statements could not be prepared.
    #[error("client {client}: {failure}")]
    Connect {
        /// The client's number.
        client: u32,
        /// What the engine said.
        #[source]
        failure: Failure,
    },
    /// The accounts do not add up.
    #[error(transparent)]
    Accounting(#[from] Unbalanced),
    /// The machine's figures could not be read.
    #[error(transparent)]
    Probe(#[from] ProbeError),
    /// The server cannot change what the plan has it change: the file that it shares is not there, or nobody shares it.
    #[error("changing the server's calls: {0}")]
    Preloaded(String),
    /// The clients' clock and the kernel's clock no longer agree, so that no time of the window is known.
    #[error(
        "the processor's time-stamp counter and the kernel's clock differ by {seconds:.3} s over the window: the machine \
         was suspended or migrated"
    )]
    Clock {
        /// By how many seconds they differ.
        seconds: f64,
    },
    /// A thread could not be started, or broke off.
    #[error("{0}")]
    Thread(String),
    /// The coordinator did not say when a phase starts.
    #[error("waiting to be told when to start: {0}")]
    Coordinator(#[source] std::io::Error),
}
