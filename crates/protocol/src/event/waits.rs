//! What the sessions of a server waited for.

use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// Sessions as they were seen now and then.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub struct Waits {
    /// How often was looked.
    pub samples: u64,
    /// Seconds that the server took to answer the looks.
    pub query_s: f64,
    /// Sessions seen, by what they did, over all looks. Those that did nothing for anybody are not among them.
    #[schemars(with = "BTreeMap<String, u64>")]
    pub seen: BTreeMap<Wait, u64>,
}

/// What a session did when it was looked at.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Wait {
    /// The class of the wait, as the server calls it; `CPU` where it waited for nothing.
    pub class: String,
    /// The wait itself; `running`.
    pub event: String,
}

impl Serialize for Wait {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("{}:{}", self.class, self.event))
    }
}
