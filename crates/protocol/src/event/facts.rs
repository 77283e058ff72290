//! What a system is, read back from the system itself.

use super::catalog::Catalog;
use super::estimate::Estimates;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// What a system is.
#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
pub struct Facts {
    /// The engine's name.
    pub engine: String,
    /// Its version.
    pub version: String,
    /// Its exact source, where it tells.
    pub source_id: Option<String>,
    /// The options it was compiled with.
    pub compile_options: Vec<String>,
    /// The settings in force, read back.
    pub settings: BTreeMap<String, String>,
    /// What an acknowledged commit survives.
    pub durability: Durability,
    /// How the engine means to carry out each statement of the plan, by its name, a step a line; where it tells.
    pub plans: BTreeMap<String, Vec<String>>,
    /// The indexes by which the engine could look up rows of a statement, and by its plan does not, by the statement's
    /// name: as far as it tells.
    pub passed_over: BTreeMap<String, Vec<String>>,
    /// How many rows the planner expected of the steps of each statement's plan, and how many there were, by the
    /// statement's name: of those that the plan has run once for this, as far as the engine tells.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub estimates: Estimates,
    /// What the tables and indexes of the statements are.
    pub catalog: Catalog,
    /// What came of updates of several sessions to one document at once, where that was tried.
    pub lost_updates: Option<LostUpdates>,
}

/// Updates that several sessions made to one document at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub struct LostUpdates {
    /// How many sessions.
    pub sessions: u32,
    /// The updates that the server acknowledged.
    pub acknowledged: u64,
    /// Those that the document had in the end.
    pub counted: u64,
}

/// What an acknowledged commit survives.
#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
pub struct Durability {
    /// The class.
    pub class: DurabilityClass,
    /// The settings that make it so.
    pub because: String,
}

/// The classes of durability, weakest first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DurabilityClass {
    /// A commit may be lost with the process.
    #[default]
    None,
    /// A commit survives the process, not the machine.
    ProcessSafe,
    /// An acknowledged commit is on the device, but a page that was half written when the power failed cannot be repaired.
    TornPages,
    /// An acknowledged commit is on the device.
    PowerSafe,
}
