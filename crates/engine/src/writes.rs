//! Whether a statement is known to be read-only, and execution of a single statement in its own session.

use crate::{Capture, Failure, Marks, Rows, Session, Wanted};
use dbdyno_program::value::{Owned, Values};
pub use dbdyno_protocol::event::Writes;
use std::task::Poll;

/// A statement to execute with its parameter values.
#[derive(Debug)]
pub struct BoundStatement<'a> {
    /// Its parameters; empty if the values are in the text.
    pub params: &'a Values,
    /// The variables that receive the columns of its first row, for later statements.
    pub slots: &'a [usize],
    /// All variables.
    pub variables: &'a mut [Owned],
}

impl BoundStatement<'_> {
    /// Runs it as the only statement of a session.
    pub async fn run<S: Session>(&mut self, session: &mut S) -> Result<Rows, Failure> {
        let mut marks = Marks::new(None);
        let (slots, variables) = (self.slots, &mut *self.variables);
        let mut wanted = Wanted {
            slots,
            variables,
            every: None,
        };
        match session.execute(0, self.params, Capture::new(&mut wanted), &mut marks) {
            Poll::Ready(rows) => rows,
            Poll::Pending => {
                let variables = &mut *self.variables;
                let mut wanted = Wanted {
                    slots,
                    variables,
                    every: None,
                };
                session.answer(Capture::new(&mut wanted), &mut marks).await
            }
        }
    }
}
