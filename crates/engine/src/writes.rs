//! Whether a statement is known to be a read, and a statement that is run as the only one of a session.

use crate::{Capture, Failure, Marks, Rows, Session, Wanted};
use dbdyno_program::value::{Owned, Values};
use schemars::JsonSchema;
use serde::Serialize;
use std::task::Poll;

/// What is known of a statement.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(tag = "writes", content = "why", rename_all = "snake_case")]
pub enum Writes {
    /// It only reads.
    No,
    /// It cannot be told, and why.
    Unknown(String),
    /// The system does not accept it, and its error.
    Rejected(String),
    /// It writes, and what told it.
    Yes(String),
}

impl Writes {
    /// Takes another answer to the same question where that is the worse one.
    pub fn worsen(&mut self, other: Self) {
        let rank = |answer: &Self| match answer {
            Self::No => 0,
            Self::Unknown(_) => 1,
            Self::Rejected(_) => 2,
            Self::Yes(_) => 3,
        };
        if rank(&other) > rank(self) {
            *self = other;
        }
    }
}

/// A statement to run, with the values of its parameters.
#[derive(Debug)]
pub struct Use<'a> {
    /// Its parameters; none where the values stand in the text.
    pub params: &'a Values,
    /// The variables that take the columns of its first row, for the uses that follow.
    pub slots: &'a [usize],
    /// All variables.
    pub variables: &'a mut [Owned],
}

impl Use<'_> {
    /// Runs it as the only statement of a session.
    pub async fn run<S: Session>(&mut self, session: &mut S) -> Result<Rows, Failure> {
        let mut marks = Marks::new(None);
        let (slots, variables) = (self.slots, &mut *self.variables);
        let mut wanted = Wanted { slots, variables };
        match session.execute(0, self.params, Capture::new(&mut wanted), &mut marks) {
            Poll::Ready(rows) => rows,
            Poll::Pending => {
                let variables = &mut *self.variables;
                let mut wanted = Wanted { slots, variables };
                session.answer(Capture::new(&mut wanted), &mut marks).await
            }
        }
    }
}
