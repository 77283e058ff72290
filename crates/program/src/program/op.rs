//! Operations of a program.

use crate::expression::Compiled;
use crate::sampler::Sampler;
use dbdyno_protocol::plan::transaction::{BeginMode, Compare};

/// One operation of a program. Jumps refer to operations by index.
#[derive(Debug)]
pub enum Op {
    /// Run a statement and store the columns of its first row in variables.
    Execute(Execute),
    /// Begin a transaction.
    Begin(BeginMode),
    /// Commit the transaction.
    Commit,
    /// Roll the transaction back.
    Rollback,
    /// Set a variable.
    Set {
        /// Its slot.
        slot: usize,
        /// Generates the value.
        value: Sampler,
    },
    /// Set a variable to the value of an expression. The only client-side operation that can fail.
    Evaluate {
        /// Its slot.
        slot: usize,
        /// The expression.
        expression: Compiled,
    },
    /// Jump unless this is the first execution.
    JumpUnlessFirst {
        /// The slot that counts executions.
        slot: usize,
        /// Jump target.
        to: usize,
    },
    /// Jump unless the comparison is true.
    JumpUnless {
        /// The left side.
        left: Sampler,
        /// The comparison.
        compare: Compare,
        /// The right side, if the comparison has one.
        right: Option<Sampler>,
        /// Jump target.
        to: usize,
    },
    /// Jump unless a random number is below the bound.
    JumpUnlessChance {
        /// The bound.
        below: u64,
        /// Jump target.
        to: usize,
    },
    /// Store the next row of a result in variables.
    NextRow {
        /// The slot of the buffer.
        buffer: usize,
        /// The slots of the variables.
        into: Box<[usize]>,
        /// Jump target after the last row.
        to: usize,
    },
    /// Jump always.
    Jump {
        /// Jump target.
        to: usize,
    },
    /// Begin a loop.
    Repeat {
        /// The loop's slot.
        slot: usize,
        /// Number of iterations, at least one.
        times: u64,
    },
    /// Begin a loop whose number of iterations is drawn.
    RepeatDrawn {
        /// The loop's slot.
        slot: usize,
        /// Generates the number of iterations.
        times: Sampler,
        /// Jump target if it is 0 or less.
        to: usize,
    },
    /// Jump back unless the loop has completed.
    RepeatEnd {
        /// The loop's slot.
        slot: usize,
        /// The first operation of the loop's body.
        to: usize,
    },
    /// Wait.
    Think {
        /// Generates the time.
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
    /// Generate the parameters.
    pub params: Box<[Sampler]>,
    /// The slots of the variables that receive the columns of the first row.
    pub into: Box<[usize]>,
    /// The slot of the buffer that receives these columns of all rows instead, if steps follow for each.
    pub rows: Option<usize>,
}
