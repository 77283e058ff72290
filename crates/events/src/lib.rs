//! The events that a worker writes: one JSON object a line. `docs/event.schema.json` is generated from their types.

mod latency;
mod result;

pub use latency::{EncodingFailed, Summary};
pub use result::TrialResult;

use dbdyno_engine::Facts;
use dbdyno_engine::probe::Tally;
use dbdyno_engine::rows::Loaded;
use dbdyno_engine::space::Object;
use dbdyno_engine::writes::Writes;
use dbdyno_probes::device::DeviceFacts;
use dbdyno_probes::disk::DiskActivity;
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
        /// What kind of failure it is.
        kind: &'a str,
        /// What went wrong.
        message: String,
        /// The system's own name or number for it, where it was the system.
        #[serde(skip_serializing_if = "Option::is_none")]
        code: Option<String>,
    },
    /// A phase of a trial begins: `connect`, `warmup`, `window`.
    Phase {
        /// Its name.
        phase: &'a str,
    },
    /// A coordinated trial waits to be told when a phase starts.
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
        /// What was done, in order.
        tables: Vec<Loaded>,
    },
    /// The file has its settings.
    FileSet,
    /// What an engine is.
    Facts {
        /// Read back from itself.
        engine: Facts,
    },
    /// The space that tables and their indexes take.
    Space {
        /// Each of them.
        objects: Vec<Object>,
    },
    /// The value that answers a question.
    Answer {
        /// As text; null where there is none.
        answer: Option<String>,
    },
    /// What inserts do to the pages of B-trees.
    Btree {
        /// An answer to each question, in order.
        answers: Vec<BtreeAnswer>,
    },
    /// What a storage device can do.
    Device {
        /// As it was measured.
        device: DeviceFacts,
    },
    /// Which statements and transactions write.
    Writes {
        /// Of each statement.
        statements: Vec<StatementWrites>,
        /// Whether a transaction writes, by its name; one of which it cannot be told does.
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
        /// What is checked.
        name: String,
        /// What came of it.
        outcome: CheckOutcome,
        /// Why it failed or was not applicable.
        why: Option<String>,
    },
    /// All checks have ended.
    Checked,
    /// What each group of statements did.
    Counted {
        /// The groups, in the order of the plan.
        groups: Vec<Tally>,
    },
}

/// What inserts do to the pages of a B-tree.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct BtreeAnswer {
    /// The figures.
    pub report: Option<dbdyno_btree::Report>,
    /// Why there are none.
    pub impossible: Option<String>,
}

/// What came of a check.
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

/// What was told of a statement.
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
    index: u64,
    /// Its start in seconds of the window.
    start_s: f64,
    /// Its end.
    end_s: f64,
    /// Transactions that ended well in it.
    ok: u64,
    /// Those that failed.
    failed: u64,
    /// Statements run in it.
    statements: u64,
    /// Rows returned or changed.
    rows: u64,
    /// Service times of the transactions in it.
    service_ms: Option<ServiceTimes>,
    /// CPU of the process, in percent of one processor.
    cpu_percent: f64,
    /// That of its busiest thread.
    hottest_thread_percent: f64,
    /// That of the whole machine.
    machine_percent: f64,
    /// What the disk did.
    disk: Option<DiskActivity>,
}

/// Service times of an interval in milliseconds.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ServiceTimes {
    /// The median.
    p50: f64,
    /// The 99th percentile.
    p99: f64,
    /// The greatest.
    max: f64,
}

impl From<&dbdyno_load::Interval> for Interval {
    fn from(interval: &dbdyno_load::Interval) -> Self {
        Self {
            index: interval.index,
            start_s: interval.span_s.0,
            end_s: interval.span_s.1,
            ok: interval.counts.ok,
            failed: interval.counts.failed,
            statements: interval.counts.statements,
            rows: interval.counts.rows,
            service_ms: interval.service_ns.map(|(p50, p99, max)| ServiceTimes {
                p50: ms(p50),
                p99: ms(p99),
                max: ms(max),
            }),
            cpu_percent: interval.cpu.process_percent,
            hottest_thread_percent: interval.cpu.hottest_thread_percent,
            machine_percent: interval.cpu.machine_percent,
            disk: interval.disk.clone(),
        }
    }
}

/// The JSON Schema (2020-12) of events, as they are written.
pub fn json_schema() -> serde_json::Value {
    SchemaSettings::draft2020_12()
        .for_serialize()
        .into_generator()
        .into_root_schema_for::<Event<'_>>()
        .to_value()
}

fn ms(nanoseconds: u64) -> f64 {
    nanoseconds as f64 / 1e6
}
