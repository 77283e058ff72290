//! The DuckDB target of a plan.

use crate::os_cache::OsCache;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A DuckDB library, a file, and how to open it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DuckdbTarget {
    /// The database file.
    pub path: String,
    /// The shared library that exports DuckDB's C API.
    pub library: String,
    /// Settings to open the database with: name and value.
    #[serde(default)]
    pub settings: Vec<(String, String)>,
    /// Deny statements that access something outside the file.
    #[serde(default)]
    pub confined: bool,
    /// The state of the operating system's cache of the file at the start of the trial.
    #[serde(default)]
    pub os_cache: OsCache,
}
