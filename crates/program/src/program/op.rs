//! Operations of a program.

use crate::expression::Compiled;
use crate::sampler::Sampler;
use dbdyno_plan::transaction::{BeginMode, Compare};

/// One operation of a program. Jumps name the operation they go to.
#[derive(Debug)]
pub enum Op {
    /// Run a statement, and put its first row's columns into variables.
    Execute(Execute),
    /// Begin a transaction.
    Begin(BeginMode),
    /// Commit it.
    Commit,
    /// Roll it back.
    Rollback,
    /// Set a variable.
    Set {
        /// Its slot.
        slot: usize,
        /// What makes the value.
        value: Sampler,
    },
    /// Set a variable to what an expression gives; the only operation of the client's own that can fail.
    Evaluate {
        /// Its slot.
        slot: usize,
        /// The expression.
        expression: Compiled,
    },
    /// Go on at `to` unless this is the first time.
    JumpUnlessFirst {
        /// The slot that counts the times.
        slot: usize,
        /// Where to go on.
        to: usize,
    },
    /// Go on at `to` unless the comparison holds.
    JumpUnless {
        /// The left side.
        left: Sampler,
        /// The comparison.
        compare: Compare,
        /// The right side, where the comparison has one.
        right: Option<Sampler>,
        /// Where to go on.
        to: usize,
    },
    /// Go on at `to` unless a random number is below the bound.
    JumpUnlessChance {
        /// The bound.
        below: u64,
        /// Where to go on.
        to: usize,
    },
    /// Go on at `to`.
    Jump {
        /// Where to go on.
        to: usize,
    },
    /// Begin a loop.
    Repeat {
        /// The loop's slot.
        slot: usize,
        /// How often it is to run; at least once.
        times: u64,
    },
    /// Go back to `to` unless the loop has run often enough.
    RepeatEnd {
        /// The loop's slot.
        slot: usize,
        /// The first operation of the loop's body.
        to: usize,
    },
    /// Wait.
    Think {
        /// What makes the time.
        time: Sampler,
        /// Its unit in nanoseconds.
        unit_ns: u64,
    },
}

/// A statement to run.
#[derive(Debug)]
pub struct Execute {
    /// Index of the statement.
    pub statement: usize,
    /// What makes each parameter.
    pub params: Box<[Sampler]>,
    /// The slots of the variables that take the first row's columns.
    pub into: Box<[usize]>,
}
