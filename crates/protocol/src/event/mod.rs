//! The events that a worker writes: one JSON object per line. `docs/event.schema.json` is generated from their types.

mod accounting;
pub mod catalog;
mod changed;
mod contention;
mod cpu;
mod cycles;
mod device;
mod disk;
mod ended_by;
mod estimate;
mod execution;
mod facts;
mod failures;
mod latency;
mod loaded;
mod locks;
mod observed;
mod rate;
pub mod result;
mod result_rows;
mod space;
mod tally;
mod waits;
mod writes;

pub use accounting::Accounting;
pub use changed::{Calls, Changed};
pub use contention::{Contention, ContentionSite};
pub use cpu::{CpuShare, Throttling};
pub use cycles::Cycles;
pub use device::{DeviceFacts, RandomAccess};
pub use disk::{DeviceFlushes, DiskActivity};
pub use ended_by::EndedBy;
pub use estimate::{Estimate, Estimates};
pub use execution::Execution;
pub use facts::{Durability, DurabilityClass, Facts, LostUpdates, PreparedPlans};
pub use failures::FailedByCode;
pub use latency::Summary;
pub use loaded::Loaded;
pub use locks::{LockHolder, LockHolders};
pub use observed::{Backlog, Counters, Observed};
pub use rate::{Few, Rate, Whole};
pub use result::TrialResult;
pub use result_rows::ExecutionRows;
pub use space::{Object, ObjectKind};
pub use tally::Tally;
pub use waits::{Wait, Waits};
pub use writes::Writes;

use crate::btree::Report;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::Serialize;
use std::collections::BTreeMap;

/// An event.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event<'a> {
    /// The plan could not be carried out.
    Error {
        /// The kind of failure.
        kind: &'a str,
        /// The problem.
        message: String,
        /// The system's error code, if the system failed.
        #[serde(skip_serializing_if = "Option::is_none")]
        code: Option<String>,
    },
    /// A phase of a trial begins: `connect`, `warmup`, `window`.
    Phase {
        /// Its name.
        phase: &'a str,
    },
    /// A coordinated trial waits for the start of a phase.
    Ready {
        /// The phase's name.
        phase: &'a str,
    },
    /// An interval of a trial's window is over.
    Interval(Interval),
    /// A trial has ended.
    Result(Box<TrialResult<'a>>),
    /// The tables are filled.
    Loaded {
        /// The steps, in order.
        tables: Vec<Loaded>,
    },
    /// The file has its settings.
    FileSet,
    /// Facts about an engine.
    Facts {
        /// Read back from itself.
        engine: Facts,
    },
    /// The space that tables and their indexes take.
    Space {
        /// The tables and indexes.
        objects: Vec<Object>,
    },
    /// The value that answers a question.
    Answer {
        /// As a string; null if the query returned no value.
        answer: Option<String>,
    },
    /// The costs of inserts into B-trees.
    Btree {
        /// An answer to each question, in order.
        answers: Vec<BtreeAnswer>,
    },
    /// The capabilities of a storage device.
    Device {
        /// As it was measured.
        device: DeviceFacts,
    },
    /// Which statements and transactions write.
    Writes {
        /// For each statement.
        statements: Vec<StatementWrites>,
        /// Whether each transaction writes, by name; true if that is unknown.
        transactions: BTreeMap<String, bool>,
    },
    /// Which statements lead beyond their database.
    Reach {
        /// Why each statement does, in order; null if it doesn't.
        beyond: Vec<Option<String>>,
    },
    /// A lock is held.
    Held {
        /// Databases of killed runs.
        abandoned: Vec<String>,
    },
    /// A check of the contract has ended.
    Check {
        /// The name of the check.
        name: String,
        /// The outcome.
        outcome: CheckOutcome,
        /// Why it failed or was not applicable.
        why: Option<String>,
    },
    /// All checks have ended.
    Checked,
    /// The work of each group of statements.
    Counted {
        /// The groups, in the order of the plan.
        groups: Vec<Tally>,
    },
    /// The rows that the statements of a trial returned.
    Rows {
        /// The executions, in order.
        executions: Vec<ExecutionRows>,
    },
}

/// The costs of inserts into a B-tree, or why they cannot be computed.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct BtreeAnswer {
    /// The results.
    pub report: Option<Report>,
    /// Why the results cannot be computed.
    pub impossible: Option<String>,
}

/// The outcome of a check.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
pub enum CheckOutcome {
    /// The engine does what is asked.
    #[serde(rename = "ok")]
    Ok,
    /// It does not.
    #[serde(rename = "failed")]
    Failed,
    /// The engine lacks what is checked.
    #[serde(rename = "not applicable")]
    NotApplicable,
}

/// Whether a statement writes.
#[derive(Debug, Serialize, JsonSchema)]
pub struct StatementWrites {
    /// Its name.
    pub name: String,
    /// Whether it writes.
    #[serde(flatten)]
    pub writes: Writes,
}

/// An interval of a trial's timeline.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Interval {
    /// Its number, from 0.
    pub index: u64,
    /// Its start in seconds of the window.
    pub start_s: f64,
    /// Its end.
    pub end_s: f64,
    /// Transactions that ended well in it.
    pub ok: u64,
    /// Those that failed.
    pub failed: u64,
    /// Statements run in it.
    pub statements: u64,
    /// Rows returned or changed.
    pub rows: u64,
    /// Service times of the transactions in it.
    pub service_ms: Option<ServiceTimes>,
    /// CPU of the process, in percent of one processor.
    pub cpu_percent: f64,
    /// That of its busiest thread.
    pub hottest_thread_percent: f64,
    /// That of the whole machine.
    pub machine_percent: f64,
    /// What the disk did.
    pub disk: Option<DiskActivity>,
}

/// Service times of an interval in milliseconds.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ServiceTimes {
    /// The median.
    pub p50: f64,
    /// The 99th percentile.
    pub p99: f64,
    /// The greatest.
    pub max: f64,
}

/// The JSON Schema (2020-12) of events, as they are written.
pub fn json_schema() -> serde_json::Value {
    SchemaSettings::draft2020_12()
        .for_serialize()
        .into_generator()
        .into_root_schema_for::<Event<'_>>()
        .to_value()
}
