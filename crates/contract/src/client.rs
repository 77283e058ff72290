//! A blocking client: short calls that wait for the session's answer.

use crate::Problem;
use dbdyno_engine::time_limits::{answer_limit, answered};
use dbdyno_engine::{Capture, Control, Failure, Marks, Rows, Session, Wanted};
use dbdyno_program::value::{Owned, Value, Values};
use dbdyno_protocol::plan::document::FailureKind;
use std::io;
use std::task::Poll;
use tokio::runtime::{Builder, Runtime};

thread_local! {
    static RUNTIME: io::Result<Runtime> = Builder::new_current_thread().enable_all().build();
}

/// Runs a future to completion in this thread. Fails with a timeout after [`answer_limit`].
pub fn wait<T>(future: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    RUNTIME.with(|runtime| match runtime {
        Ok(runtime) => runtime.block_on(answered(answer_limit(), future)),
        Err(error) => {
            let problem = format!("cannot start the event loop: {error}");
            Err(Failure::new(FailureKind::Other, problem))
        }
    })
}

/// A session with blocking calls.
pub struct Client<S: Session>(pub S);

impl<S: Session> Client<S> {
    /// Runs a statement.
    pub fn run(&mut self, statement: usize, params: &[Value<'_>]) -> Result<Rows, Failure> {
        self.fetch(statement, params, 0).map(|(rows, _)| rows)
    }

    /// Runs a statement and returns the first `columns` of its first row.
    pub fn fetch(
        &mut self,
        statement: usize,
        params: &[Value<'_>],
        columns: usize,
    ) -> Result<(Rows, Vec<Owned>), Failure> {
        let slots: Vec<usize> = (0..columns).collect();
        let mut variables = vec![Owned::Integer(-1); columns];
        let mut wanted = Wanted {
            slots: &slots,
            variables: &mut variables,
            every: None,
        };
        let capture = if columns == 0 {
            Capture::nothing()
        } else {
            Capture::new(&mut wanted)
        };
        let rows = match self.ask(statement, params, capture) {
            Poll::Ready(result) => result?,
            Poll::Pending if columns == 0 => self.answer(Capture::nothing())?,
            Poll::Pending => self.answer(Capture::new(&mut Wanted {
                slots: &slots,
                variables: &mut variables,
                every: None,
            }))?,
        };
        Ok((rows, variables))
    }

    /// The first column of a statement's first row.
    pub fn one(&mut self, statement: usize) -> Result<Owned, Problem> {
        let (_, columns) = self.fetch(statement, &[], 1)?;
        Ok(columns.into_iter().next().unwrap_or(Owned::Null))
    }

    /// Begins or ends a transaction.
    pub fn control(&mut self, control: Control) -> Result<(), Failure> {
        match self.0.control(control) {
            Poll::Ready(result) => result,
            Poll::Pending => self.answer(Capture::nothing()).map(drop),
        }
    }

    /// Starts a statement. Its answer may be pending.
    pub fn ask(&mut self, statement: usize, params: &[Value<'_>], capture: Capture<'_>) -> Poll<Result<Rows, Failure>> {
        let mut values = Values::default();
        params.iter().for_each(|value| values.push(*value));
        self.0.execute(statement, &values, capture, &mut Marks::new(None))
    }

    /// Waits for the answer.
    pub fn answer(&mut self, capture: Capture<'_>) -> Result<Rows, Failure> {
        wait(self.0.answer(capture, &mut Marks::new(None)))
    }
}
