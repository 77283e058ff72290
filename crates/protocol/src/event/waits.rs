//! The waits of a server's sessions.

use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// Samples of the sessions.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub struct Waits {
    /// The number of samples.
    pub samples: u64,
    /// Seconds that the server needed to answer the sampling queries.
    pub query_s: f64,
    /// The sampled sessions, by wait, over all samples. Idle sessions are left out.
    #[schemars(with = "BTreeMap<String, u64>")]
    pub seen: BTreeMap<Wait, u64>,
}

/// The wait of a session when it was sampled.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Wait {
    /// The class of the wait, as the server names it; `CPU` if the session was running.
    pub class: String,
    /// The wait itself; `running`.
    pub event: String,
}

impl Serialize for Wait {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("{}:{}", self.class, self.event))
    }
}
