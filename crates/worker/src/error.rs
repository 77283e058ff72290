//! Why a plan failed.

use crate::latency::EncodingFailed;
use dbdyno_engine::Failure;
use dbdyno_load::TrialError;
use dbdyno_probes::ProbeError;
use dbdyno_protocol::plan::PlanError;

/// Why a plan failed.
#[derive(Debug, thiserror::Error)]
pub enum WorkError {
    /// The plan is wrong.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The trial has no result.
    #[error(transparent)]
    Trial(TrialError),
    /// Something suspended the process while it measured.
    #[error("the worker was suspended during the trial (SIGSTOP), so its results are not valid")]
    Suspended,
    /// The engine returned an error.
    #[error("{0}")]
    Engine(#[from] Failure),
    /// The machine could not be measured.
    #[error(transparent)]
    Probe(#[from] ProbeError),
    /// The proxy could not begin, or ended.
    #[cfg(feature = "servers")]
    #[error(transparent)]
    Proxy(#[from] dbdyno_proxy::ProxyError),
    /// A replay could not begin, or ended.
    #[error(transparent)]
    Replay(#[from] dbdyno_replay::ReplayError),
    /// A histogram could not be written.
    #[error(transparent)]
    Encoding(#[from] EncodingFailed),
    /// The plan could not be read, or an event could not be written.
    #[error("{0}")]
    Output(#[from] std::io::Error),
}

impl From<TrialError> for WorkError {
    fn from(error: TrialError) -> Self {
        match error {
            TrialError::Plan(error) => Self::Plan(error),
            other => Self::Trial(other),
        }
    }
}

impl WorkError {
    /// The system's name or number for the error, if the system caused it.
    pub fn code(&self) -> Option<&str> {
        match self {
            Self::Engine(failure) | Self::Trial(TrialError::Connect { failure, .. }) => failure.code.as_deref(),
            _ => None,
        }
    }

    /// The kind of error, as the controller knows it.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Plan(_) => "plan",
            Self::Trial(TrialError::Connect { .. }) => "connect",
            Self::Trial(TrialError::Accounting(_)) => "accounting",
            Self::Trial(_) => "trial",
            Self::Suspended => "suspended",
            Self::Engine(_) => "engine",
            Self::Probe(_) => "probe",
            #[cfg(feature = "servers")]
            Self::Proxy(_) => "proxy",
            Self::Replay(_) => "replay",
            Self::Encoding(_) | Self::Output(_) => "output",
        }
    }
}
