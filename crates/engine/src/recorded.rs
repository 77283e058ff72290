//! How recorded statements are prepared.

use dbdyno_program::value::Values;

/// Maximum number of recorded statements that a session keeps prepared. Before the next one, all are closed.
pub const MOST_KEPT: usize = 1000;

/// How an execution of a recorded statement is prepared, and its parameters.
#[derive(Debug, Default)]
pub struct Preparation {
    /// Whether the session parses it once, for several executions. Otherwise it is parsed for this execution.
    pub once: bool,
    /// The system's numbers of the parameters' types. The system infers the types that are 0 or missing.
    pub types: Vec<u32>,
    /// The parameters.
    pub parameters: Values,
}
