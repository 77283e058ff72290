//! A transaction as the plan writes it: a tree of steps. [`crate::plan::program`] flattens it.

use crate::plan::generator::Generator;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A unit of work: what is counted, timed and retried as a whole.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Transaction {
    /// A name for reports.
    pub name: String,
    /// How often it is chosen, in proportion to the others' weights.
    #[serde(default = "weight")]
    pub weight: f64,
    /// Clients that run this transaction only, the last ones by number; the weight is then ignored. Left out: it is run by
    /// the clients that have no transaction of their own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clients: Option<u32>,
    /// Its steps, in order.
    pub steps: Vec<Step>,
}

fn weight() -> f64 {
    1.0
}

/// One step of a transaction.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "do", rename_all = "snake_case")]
pub enum Step {
    /// Run a statement and fetch all its rows.
    Execute {
        /// Index into the plan's `statements`.
        statement: usize,
        /// A value for each `?`, in order.
        #[serde(default)]
        params: Vec<Generator>,
        /// Variables that take the first row's columns, in order; null if there is no row.
        #[serde(default)]
        into: Vec<String>,
        /// Steps to do for each row; `into` then takes the columns of that row.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        each: Vec<Step>,
    },
    /// Begin a transaction of the engine.
    Begin {
        /// The lock that it takes at once, or its isolation level, if the engine offers a choice.
        #[serde(default)]
        mode: BeginMode,
    },
    /// Commit it.
    Commit,
    /// Roll it back.
    Rollback,
    /// Give a variable a value.
    Set {
        /// The variable.
        variable: String,
        /// Its value.
        value: Generator,
        /// Only if no such step of the same client has given it one: a value to begin with.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        once: bool,
    },
    /// Do `then` if a comparison holds, otherwise `otherwise`.
    When {
        /// The left side.
        left: Generator,
        /// The comparison. One with null on either side never holds, but for `is_null` and `is_not_null`.
        compare: Compare,
        /// The right side; left out for `is_null` and `is_not_null`.
        #[serde(default)]
        right: Option<Generator>,
        /// Steps if it holds.
        then: Vec<Step>,
        /// Steps if it does not.
        #[serde(default)]
        otherwise: Vec<Step>,
    },
    /// Do `then` with a probability.
    Chance {
        /// From 0 to 1.
        probability: f64,
        /// The steps.
        then: Vec<Step>,
    },
    /// Do the steps a number of times.
    Repeat {
        /// How often.
        times: Times,
        /// The steps.
        steps: Vec<Step>,
    },
    /// Wait, like a user who thinks. The time counts neither as service nor as response.
    Think {
        /// Milliseconds.
        milliseconds: Generator,
    },
    /// The same, to the microsecond.
    Pause {
        /// Microseconds.
        microseconds: Generator,
    },
}

impl Step {
    /// Adds a number to the indexes of its statements.
    pub(super) fn shift_statements(&mut self, by: usize) {
        let nested: [&mut [Self]; 2] = match self {
            Self::Execute { statement, each, .. } => {
                *statement += by;
                [each, &mut []]
            }
            Self::When { then, otherwise, .. } => [then, otherwise],
            Self::Chance { then, .. } => [then, &mut []],
            Self::Repeat { steps, .. } => [steps, &mut []],
            _ => return,
        };
        nested.into_iter().flatten().for_each(|step| step.shift_statements(by));
    }
}

/// How often steps are repeated.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Times {
    /// A number.
    Always(u64),
    /// A number that is drawn when the loop begins; with 0 or less, the steps are skipped.
    Drawn(Generator),
}

/// What a begin locks at once, or the transaction's isolation level.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BeginMode {
    /// The engine's default (SQLite: nothing until the first statement).
    #[default]
    Deferred,
    /// SQLite: the right to write, at once.
    Immediate,
    /// SQLite: the whole database, at once.
    Exclusive,
    /// The isolation level `read uncommitted`.
    ReadUncommitted,
    /// The isolation level `read committed`.
    ReadCommitted,
    /// The isolation level `repeatable read`.
    RepeatableRead,
    /// The isolation level `snapshot` of SQL Server.
    Snapshot,
    /// The isolation level `serializable`.
    Serializable,
}

impl BeginMode {
    /// The isolation level in SQL, if it is one.
    pub fn isolation_level(self) -> Option<&'static str> {
        match self {
            Self::Deferred | Self::Immediate | Self::Exclusive => None,
            Self::ReadUncommitted => Some("read uncommitted"),
            Self::ReadCommitted => Some("read committed"),
            Self::RepeatableRead => Some("repeatable read"),
            Self::Snapshot => Some("snapshot"),
            Self::Serializable => Some("serializable"),
        }
    }
}

/// A comparison of two values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Compare {
    /// Equal.
    Eq,
    /// Not equal.
    Ne,
    /// Less.
    Lt,
    /// Less or equal.
    Le,
    /// Greater.
    Gt,
    /// Greater or equal.
    Ge,
    /// The left side is null.
    IsNull,
    /// The left side is not null.
    IsNotNull,
}
