//! Facts about a system, read back from the system itself.

use super::catalog::Catalog;
use super::estimate::Estimates;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// Facts about a system.
#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
pub struct Facts {
    /// The engine's name.
    pub engine: String,
    /// Its version.
    pub version: String,
    /// Its exact source version, if it reports one.
    pub source_id: Option<String>,
    /// Its compile-time options.
    pub compile_options: Vec<String>,
    /// The settings in force, read back.
    pub settings: BTreeMap<String, String>,
    /// What an acknowledged commit survives.
    pub durability: Durability,
    /// The engine's query plan of each statement, by the statement's name, one step per line; if the engine reports
    /// plans.
    pub plans: BTreeMap<String, Vec<String>>,
    /// Indexes that the engine could use for a statement but does not use in its query plan, by the statement's name;
    /// if the engine reports them.
    pub passed_over: BTreeMap<String, Vec<String>>,
    /// Expected and actual rows of the steps of each query plan, by the statement's name. Only for statements that were
    /// run once for this purpose, and if the engine reports them.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub estimates: Estimates,
    /// The generic plans of prepared statements, and their plans for certain values, by the statement's name; if the
    /// engine has both and they differ.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub prepared: BTreeMap<String, PreparedPlans>,
    /// The tables and indexes that the statements use.
    pub catalog: Catalog,
    /// The result of concurrent updates to one document, if that was tested.
    pub lost_updates: Option<LostUpdates>,
}

/// The two plans of a prepared statement.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub struct PreparedPlans {
    /// The plan for any values.
    pub generic: Vec<String>,
    /// Its estimated cost.
    pub generic_cost: f64,
    /// The plan for the statement's example or representative values.
    pub custom: Vec<String>,
    /// Its estimated cost, without the cost of planning.
    pub custom_cost: f64,
}

/// Updates that several sessions made to one document at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub struct LostUpdates {
    /// The number of sessions.
    pub sessions: u32,
    /// The updates that the server acknowledged.
    pub acknowledged: u64,
    /// The updates that the document contains afterwards.
    pub counted: u64,
}

/// What an acknowledged commit survives.
#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
pub struct Durability {
    /// The class.
    pub class: DurabilityClass,
    /// The settings that determine the class.
    pub because: String,
}

/// The durability classes, weakest first.
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
