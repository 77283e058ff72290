//! The plan document: one JSON object that describes one task of one worker process.

use crate::plan::changes::Changes;
use crate::plan::error::PlanError;
use crate::plan::generator::Generator;
use crate::plan::literal::Literal;
use crate::plan::request::Request;
use crate::plan::target::Target;
use crate::plan::transaction::{Step, Transaction};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The version of the plan's format; a worker refuses any other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Schema {
    /// The first version.
    #[serde(rename = "dbdyno.plan/1")]
    V1,
}

/// Everything a worker needs to know.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// The format's version.
    pub schema: Schema,
    /// Seed of the run; every random stream is derived from it.
    pub seed: u64,
    /// The task.
    pub task: Task,
}

impl Plan {
    /// Reads a plan from its JSON text.
    pub fn from_json(text: &str) -> Result<Self, PlanError> {
        let plan: Self = serde_json::from_str(text)?;
        let statements = match &plan.task {
            Task::Trial(trial) => &trial.statements,
            Task::Writes(writes) => &writes.statements,
            _ => return Ok(plan),
        };
        for (number, statement) in statements.iter().enumerate() {
            statement.check_places(&format!("task.statements[{number}]"))?;
        }
        Ok(plan)
    }
}

/// The kinds of work a worker can do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Task {
    /// Run a load and measure it.
    Trial(Box<Trial>),
    /// Create and fill tables.
    Load(Box<Load>),
    /// Give a SQLite file the settings that it keeps.
    SetFile(Box<SetFile>),
    /// Read back the version, settings and durability of a system.
    Inspect(Box<Inspect>),
    /// Find out which statements write, and write nothing on the way.
    Writes(Box<Writes>),
    /// Find out which statements reach beyond the database that they run in.
    Reach(Box<Reach>),
    /// Ask a question that is answered by one value.
    Ask(Box<Ask>),
    /// Hold a lock on a server until standard input ends, and report databases without a lock.
    Hold(Box<Hold>),
    /// See whether a system's sessions do what every engine's must.
    Check(Box<Check>),
    /// Tell how large tables and their indexes are, and how full their leaves.
    Space(Box<Space>),
    /// Tell what inserts do to the pages of B-trees, without a system.
    Btree(Box<Btree>),
    /// Measure a storage device: sync latency, random reads and random writes.
    Device(DeviceTask),
}

/// One cell in one block: a warm-up and a measured window.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Trial {
    /// The system under load.
    pub target: Target,
    /// Sessions at work at the same time; at least 1.
    pub clients: u32,
    /// The part of the clients that this process runs, if several processes run them. The process then reports when it
    /// is ready for the warm-up and the window, and reads on standard input when they start.
    #[serde(default)]
    pub part: Option<Part>,
    /// The slices of this trial, if several trials are interleaved. It is coordinated as a part of a trial is. Embedded
    /// engines and closed loops only.
    #[serde(default)]
    pub interleaving: Option<Interleaving>,
    /// Threads that the clients of a server share; left out: one for each processor. An embedded engine has a thread for
    /// each client, whatever this says.
    #[serde(default)]
    pub threads: Option<u32>,
    /// Whether the clients' threads yield the CPU to a server on the same machine, if that helps. An ordinary client
    /// does take it, and the server is slower then.
    #[serde(default)]
    pub give_way: bool,
    /// When transactions start.
    #[serde(default)]
    pub arrival: Arrival,
    /// What is done before the window and not counted.
    #[serde(default)]
    pub warmup: Warmup,
    /// What is measured.
    pub window: Window,
    /// How long a session lives.
    #[serde(default)]
    pub connect: ConnectMode,
    /// How often a statement is parsed.
    #[serde(default)]
    pub prepare: PrepareMode,
    /// How failed transactions are retried.
    #[serde(default)]
    pub retry: Retry,
    /// The statements the transactions use, by index.
    pub statements: Vec<Statement>,
    /// The transactions, chosen by weight.
    pub transactions: Vec<Transaction>,
    /// Work that runs beside the clients at given times. It doesn't count.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub beside: Vec<Beside>,
    /// The measurements to record in addition to counts and latencies.
    #[serde(default)]
    pub record: Record,
    /// The seed with which the tables were filled, for parameters that repeat their values. Left out: the plan's.
    #[serde(default)]
    pub data_seed: Option<u64>,
    /// How often each counter was used before this trial, at least: serial values go on after that. For tables that grow from
    /// one trial to the next.
    #[serde(default)]
    pub first_use: u64,
    /// Parts of the system whose CPU time is reported separately, if they run on this machine.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tiers: Vec<Tier>,
    /// What is changed on purpose. Left out: no call is changed or counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changes: Option<Changes>,
    /// For tests of the statistics only: the number of iterations of an empty loop that each transaction of a closed
    /// loop runs in addition.
    #[serde(default)]
    pub planted_work: u32,
}

impl Trial {
    /// The trial with the statements of [`Beside`] after its own, which are the only ones then. The steps refer to them.
    #[must_use]
    pub fn with_all_statements(&self) -> Self {
        let mut trial = self.clone();
        for beside in &mut trial.beside {
            let first = trial.statements.len();
            trial.statements.append(&mut beside.statements);
            beside.steps.iter_mut().for_each(|step| step.shift_statements(first));
        }
        trial
    }
}

/// A part of a system: processes of this machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Tier {
    /// What results call it.
    pub name: String,
    /// Its processes; their descendants are its others.
    pub pids: Vec<u32>,
}

/// Some of a trial's clients.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Part {
    /// The number of the first client; the others follow.
    pub first: u32,
    /// How many clients all processes have.
    pub of: u32,
}

/// The slices of an interleaved trial, which runs while the other trials are suspended. The window's seconds count only
/// its slices.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Interleaving {
    /// Milliseconds of a slice. A transaction that has not ended goes on in the next.
    pub length_ms: f64,
    /// The number of the trial, from 0: the order of the slices.
    pub index: u32,
    /// How many trials are interleaved.
    pub of: u32,
    /// Each client runs on one CPU per slice, and on the next CPU in the next slice. In the first slice the first
    /// client runs on the CPU with this number (modulo the number of CPUs). Trials that are interleaved with the same
    /// number have them on the same processors.
    #[serde(default)]
    pub cpu: u32,
}

/// Work beside the clients: steps that one session of its own runs at times of the window.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Beside {
    /// A name for reports.
    pub name: String,
    /// Seconds from the window's start to the first execution.
    pub at_s: f64,
    /// Seconds between the starts of two executions; left out: there is one. One that is due while the previous one is
    /// running starts when that one ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub every_s: Option<f64>,
    /// The statements that its steps use, by index. They are parsed at their first use.
    pub statements: Vec<Statement>,
    /// Its steps, in order.
    pub steps: Vec<Step>,
}

/// When transactions start.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "loop", rename_all = "snake_case", deny_unknown_fields)]
pub enum Arrival {
    /// A client starts its next transaction when its last has ended.
    #[default]
    Closed,
    /// Transactions start by a clock, whether or not earlier ones have ended.
    Open {
        /// Transactions per second over all clients; with stages, their mean.
        rate: f64,
        /// Whether the gaps between arrivals are equal or exponentially distributed.
        #[serde(default)]
        gaps: Gaps,
        /// The stages of the window, if its rate changes. The warm-up has the rate with which the first one begins.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        stages: Vec<Stage>,
    },
}

impl Arrival {
    /// The stages of an open loop whose rate changes; otherwise empty.
    pub fn stages(&self) -> &[Stage] {
        match self {
            Self::Closed => &[],
            Self::Open { stages, .. } => stages,
        }
    }
}

/// A part of the window in which the rate is constant, or changes linearly.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Stage {
    /// Its length in seconds.
    pub seconds: f64,
    /// Transactions per second over all clients, when it begins.
    pub from: f64,
    /// The same when it ends.
    pub to: f64,
}

/// How the starts of an open loop are spaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Gaps {
    /// Evenly.
    Even,
    /// As a Poisson process.
    #[default]
    Poisson,
}

/// What comes before the window. The longer of the two applies; both zero: no warm-up.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Warmup {
    /// Seconds.
    #[serde(default)]
    pub seconds: f64,
    /// Transactions of each client.
    #[serde(default)]
    pub transactions: u64,
}

/// The end of the measured window: the first condition that is met. At least one must be.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Window {
    /// Seconds.
    #[serde(default)]
    pub seconds: Option<f64>,
    /// Transactions of each client.
    #[serde(default)]
    pub transactions: Option<u64>,
    /// Statements of each client, looked at between transactions.
    #[serde(default)]
    pub statements: Option<u64>,
    /// Rows that each client has changed, looked at between transactions.
    #[serde(default)]
    pub rows: Option<u64>,
}

/// How long a session lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ConnectMode {
    /// One session for the whole trial.
    #[default]
    Once,
    /// A new session for each transaction, its opening and closing being part of it.
    PerTransaction,
}

/// How often a statement is parsed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PrepareMode {
    /// Once a session; parameters are bound.
    #[default]
    Once,
    /// At each use; parameters are bound.
    PerTransaction,
    /// Never: the SQL contains the values as literals, and is parsed at each use.
    Never,
}

/// How failed transactions are retried. The default: count it as failed and go on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Retry {
    /// Tries in all, the first one included; 1 means no retry.
    #[serde(default = "one")]
    pub attempts: u32,
    /// The kinds of failure that are tried again; empty: locked, deadlock and serialization.
    #[serde(default)]
    pub on: Vec<FailureKind>,
    /// Milliseconds to wait before the next try.
    #[serde(default)]
    pub wait_ms: f64,
}

fn one() -> u32 {
    1
}

impl Default for Retry {
    fn default() -> Self {
        Self {
            attempts: 1,
            on: Vec::new(),
            wait_ms: 0.0,
        }
    }
}

impl Retry {
    /// Whether a failure of this kind is retried.
    pub fn covers(&self, kind: FailureKind) -> bool {
        if self.on.is_empty() {
            matches!(
                kind,
                FailureKind::Locked | FailureKind::Deadlock | FailureKind::Serialization
            )
        } else {
            self.on.contains(&kind)
        }
    }
}

/// Why a transaction failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FailureKind {
    /// A lock was not available (SQLite: "database is locked"; servers: lock timeout, nowait).
    Locked,
    /// The server chose this transaction to break a deadlock.
    Deadlock,
    /// Another transaction changed what this one had seen.
    Serialization,
    /// A statement ran longer than it may.
    Timeout,
    /// The session could not be opened, or broke.
    Connection,
    /// A constraint forbade the change.
    Constraint,
    /// The reply has a status that is not expected.
    Status,
    /// Anything else: an error in the SQL, a full disk, a fault of the engine.
    Other,
}

impl FailureKind {
    /// All kinds, in the order of their numbers.
    pub const ALL: [Self; 8] = [
        Self::Locked,
        Self::Deadlock,
        Self::Serialization,
        Self::Timeout,
        Self::Connection,
        Self::Constraint,
        Self::Status,
        Self::Other,
    ];
}

/// One SQL statement (or an engine's own operation in its textual form).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Statement {
    /// A name for reports.
    pub name: String,
    /// Its text, with `?` for each parameter. For a request: its text for reports.
    pub sql: String,
    /// Byte offsets of the `?` that are parameters, in ascending order. MongoDB and HTTP find their parameters themselves.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub places: Vec<usize>,
    /// The request, if the system is an HTTP service.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<Box<Request>>,
    /// Values with which its query plan is requested, one for each parameter; empty if they vary.
    #[serde(default)]
    pub example: Vec<Literal>,
    /// Values, one for each parameter, with which the engine runs the statement once before the load, to compare the
    /// planner's estimates with the actual rows. Left out: it does not.
    #[serde(default)]
    pub analyze: Option<Vec<Literal>>,
}

impl Statement {
    /// A statement in which each `?` is a parameter.
    pub fn new(name: impl Into<String>, sql: impl Into<String>) -> Self {
        let sql = sql.into();
        Self {
            name: name.into(),
            places: sql.match_indices('?').map(|(place, _)| place).collect(),
            sql,
            request: None,
            example: Vec::new(),
            analyze: None,
        }
    }

    /// The table and the columns, if it is `copy "table" ("column", …) from stdin`. Its values then fill whole rows,
    /// without places.
    pub fn copied(&self) -> Option<Copied> {
        let (verb, rest) = self.sql.trim().split_at_checked(5)?;
        if !verb.eq_ignore_ascii_case("copy ") {
            return None;
        }
        let (table, mut rest) = first_name(rest)?;
        let mut columns = Vec::new();
        while let Some(list) = rest.strip_prefix(if columns.is_empty() { '(' } else { ',' }) {
            let (column, after) = first_name(list)?;
            columns.push(column);
            rest = after;
        }
        let source = rest.strip_prefix(')')?.trim();
        source
            .eq_ignore_ascii_case("from stdin")
            .then_some(Copied { table, columns })
    }

    /// Fails unless `places` are in ascending order and each is a `?` of the text. `path`: of the statement in the plan.
    fn check_places(&self, path: &str) -> Result<(), PlanError> {
        let is_ascending = self.places.is_sorted_by(|one, next| one < next);
        let text = self.sql.as_bytes();
        if is_ascending && self.places.iter().all(|place| text.get(*place) == Some(&b'?')) {
            return Ok(());
        }
        let problem = "give the byte offset of each `?` that is a parameter, in ascending order";
        Err(PlanError::invalid(format!("{path}.places"), problem))
    }
}

/// The target of a statement that copies rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Copied {
    /// The table's name, without quotes.
    pub table: String,
    /// The columns' names, without quotes; at least one.
    pub columns: Vec<String>,
}

/// Splits a text after its first name, which may be in double quotes, and after the white space that follows.
fn first_name(text: &str) -> Option<(String, &str)> {
    let text = text.trim_start();
    let Some(quoted) = text.strip_prefix('"') else {
        let (name, rest) = text.split_at(text.find(|one: char| one.is_whitespace() || "(),".contains(one))?);
        return (!name.is_empty()).then(|| (name.to_owned(), rest.trim_start()));
    };
    let (mut name, mut rest) = (String::new(), quoted);
    loop {
        let (part, after) = rest.split_once('"')?;
        name.push_str(part);
        match after.strip_prefix('"') {
            Some(next) => rest = next,
            None => return Some((name, after.trim_start())),
        }
        name.push('"');
    }
}

/// The measurements to record in addition to the counts and latencies of transactions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Record {
    /// Time connecting, executing (until the first row) and fetching (the other rows) separately; three clock reads per
    /// statement.
    #[serde(default)]
    pub phases: bool,
    /// Time each transaction (if there are several), each statement, and each begin and end separately; one clock read
    /// for each.
    #[serde(default = "yes")]
    pub operations: bool,
    /// Length of an interval of the timeline, in milliseconds.
    #[serde(default = "second")]
    pub interval_ms: u64,
    /// Time and count the engine's file I/O, if the engine can be wrapped.
    #[serde(default = "yes")]
    pub io: bool,
    /// Time contended mutexes and record stacks of the waiters, if the engine can be wrapped. True: all the time; left
    /// out: in a sample of the time, with more than one client.
    #[serde(default)]
    pub mutexes: Option<bool>,
    /// Sample the waits of a server's sessions, if the server reports them.
    #[serde(default = "yes")]
    pub waits: bool,
    /// Run SQLite's statements so that callgrind can count them by group. The value is the group of each statement of
    /// the plan, from 3 to 63 (0, 1 and 2 are begin, commit and rollback). Their rows are hashed, and the library's
    /// clock and random seed are fixed. Left out: statements run without groups.
    #[serde(default)]
    pub groups: Option<Vec<u8>>,
    /// Report the rows that each execution returned, the warm-up included, to compare them with another trial's. For one
    /// client and few transactions.
    #[serde(default)]
    pub rows: bool,
}

fn second() -> u64 {
    1000
}

fn yes() -> bool {
    true
}

impl Default for Record {
    fn default() -> Self {
        Self {
            phases: false,
            operations: true,
            interval_ms: second(),
            io: true,
            mutexes: None,
            waits: true,
            groups: None,
            rows: false,
        }
    }
}

/// Create tables and fill them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Load {
    /// The system to fill.
    pub target: Target,
    /// Statements to run first, as `create table`.
    pub before: Vec<String>,
    /// The tables to fill, in this order.
    pub tables: Vec<LoadTable>,
    /// Statements to run last, as `create index`, `analyze`.
    pub after: Vec<String>,
}

/// The rows of one table.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LoadTable {
    /// The table's name.
    pub name: String,
    /// The columns and their contents, in this order.
    pub columns: Vec<LoadColumn>,
    /// How many rows to make; with `file`: the most rows to read from it.
    pub rows: u64,
    /// The number of the first row: the number of rows that the table already contains. Not with `file`.
    #[serde(default)]
    pub first: u64,
    /// A tab-separated file to read the rows from, instead of the generators.
    #[serde(default)]
    pub file: Option<String>,
    /// Rows per row of another table. `rows` is then only expected, and all are made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub per: Option<Per>,
}

/// How many rows each row of a parent table has.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Per {
    /// Rows of the parent table; ignored if it has rows per row of another table, too.
    pub parents: u64,
    /// How many rows each row of the parent's parent has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub above: Option<Box<Per>>,
    /// The number of rows, in the scope of the parent's row. Negative numbers count as 0.
    pub count: Generator,
    /// Number of the count's random stream.
    pub stream: u64,
}

/// One column of a table to fill.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LoadColumn {
    /// The column's name.
    pub name: String,
    /// Number of the column's random stream, unique in the experiment; a reference to the column repeats it.
    pub stream: u64,
    /// The generator of its values.
    pub fill: Generator,
}

/// Ask a question that is answered by one value.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Ask {
    /// The system.
    pub target: Target,
    /// A statement that returns the value, in its first row.
    pub sql: String,
}

/// Tell the space that tables and their indexes take.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Space {
    /// The system.
    pub target: Target,
    /// The tables.
    pub tables: Vec<String>,
}

/// Tell what inserts do to the pages of B-trees far larger than their cache.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Btree {
    /// What is asked; each is answered by a report.
    pub questions: Vec<Question>,
}

/// A B-tree, and how what inserts do to it is found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Question {
    /// The tree, its keys, its cache, and the sizes.
    pub setting: crate::btree::Setting,
    /// How.
    pub by: Means,
}

/// How a question about a B-tree is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Means {
    /// By formulas; not where keys come in blocks.
    Formula,
    /// By simulation.
    Simulation,
}

/// Give a SQLite file its `file_pragmas`, by one connection that is alone. Files that an earlier process left next to
/// it (a log, a journal) are merged into it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SetFile {
    /// The file.
    pub target: Target,
}

/// Read back what a system is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Inspect {
    /// The system.
    pub target: Target,
}

/// Find out which statements of some transactions are known to be reads. None is executed: each is cut into tokens,
/// prepared, and looked up in the system's catalog. An unknown outcome is reported as unknown.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Writes {
    /// The system, with the tables that the statements are about.
    pub target: Target,
    /// The statements, as in a trial.
    pub statements: Vec<Statement>,
    /// The transactions that use them.
    pub transactions: Vec<Transaction>,
    /// How the trial's statements are given their parameters.
    #[serde(default)]
    pub prepare: PrepareMode,
    /// As the trial's.
    #[serde(default)]
    pub data_seed: Option<u64>,
}

/// Find out which statements lead beyond the database that they run in: to another database of the server, the server
/// itself, another file or program. None is executed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Reach {
    /// The system, with a database in which to query the names of the others.
    pub target: Target,
    /// The names of the databases that were made for the statements.
    #[serde(default)]
    pub own: Vec<String>,
    /// The statements.
    pub statements: Vec<String>,
}

/// Hold a lock on a server, by a session, until standard input ends. The lock marks databases with a unique name as
/// used. Databases with such names but without a lock were left behind.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Hold {
    /// The server: PostgreSQL, MariaDB or MySQL.
    pub target: Target,
    /// The unique part of the names: twelve hexadecimal digits, in `dbdyno_DIGITS_trial` and `dbdyno_DIGITS_template`.
    pub token: String,
}

/// See whether a system's sessions do what every engine's must, in tables that are made for it and removed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Check {
    /// The system: a database to make tables in; of SQLite a file, beside which others are made.
    pub target: Target,
}

/// Measure the storage device under a directory.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DeviceTask {
    /// A directory on the device; a scratch file is made in it and removed.
    pub directory: String,
    /// Seconds for each of the measurements.
    pub seconds: f64,
    /// Size of the scratch file for the random reads, in bytes.
    pub bytes: u64,
    /// Numbers of reads under way at once.
    pub depths: Vec<u32>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn problem(statement: &serde_json::Value) -> String {
        let task = json!({
            "kind": "writes", "target": {"engine": "sqlite"}, "statements": [statement], "transactions": [],
        });
        let plan = json!({"schema": "dbdyno.plan/1", "seed": 1, "task": task});
        Plan::from_json(&plan.to_string()).map_or_else(|error| error.to_string(), |_| String::new())
    }

    #[test]
    fn places_that_are_not_parameters_are_refused() {
        let sql = "select '?', ?, ?";
        for places in [json!([]), json!([12]), json!([12, 15])] {
            assert_eq!(problem(&json!({"name": "s", "sql": sql, "places": places})), "");
        }
        for places in [json!([11]), json!([15, 12]), json!([12, 12]), json!([16])] {
            let problem = problem(&json!({"name": "s", "sql": sql, "places": places}));
            assert!(
                problem.starts_with("task.statements[0].places: "),
                "{places}: {problem}"
            );
        }
    }

    #[test]
    fn a_copy_has_a_table_and_columns() {
        for (sql, table, columns) in [
            (
                r#"copy "e""v" ("id", "na,m(e""s", "at") from stdin"#,
                r#"e"v"#,
                &["id", r#"na,m(e"s"#, "at"][..],
            ),
            ("COPY event(id) FROM STDIN", "event", &["id"]),
        ] {
            let copied = Statement::new("x", sql).copied().unwrap();
            assert_eq!(
                (
                    copied.table.as_str(),
                    copied.columns.iter().map(String::as_str).collect()
                ),
                (table, columns.to_vec())
            );
        }
        for sql in [
            "copy event from stdin",
            "copy event () from stdin",
            "copy event (id) to stdin",
            "copy \"event (id) from stdin",
            "select ') from stdin'",
            "copy",
            "",
        ] {
            assert_eq!(Statement::new("x", sql).copied(), None, "{sql}");
        }
    }
}
