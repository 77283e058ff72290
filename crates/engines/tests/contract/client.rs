//! A session with short calls that take the answer, whenever it comes.

use dbdyno_engines::{Capture, Control, Failure, Marks, Rows, Session, Wanted};
use dbdyno_plan::value::{Owned, Value, Values};
use std::task::Poll;

thread_local! {
    static RUNTIME: tokio::runtime::Runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
}

/// Runs a future to its end in this thread.
pub fn wait<F: Future>(future: F) -> F::Output {
    RUNTIME.with(|runtime| runtime.block_on(future))
}

pub struct Client<S: Session>(pub S);

impl<S: Session> Client<S> {
    pub fn run(&mut self, statement: usize, params: &[Value<'_>]) -> Result<Rows, Failure> {
        self.fetch(statement, params, 0).map(|(rows, _)| rows)
    }

    /// Runs a statement and gives the first `columns` of its first row.
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
            }))?,
        };
        Ok((rows, variables))
    }

    /// The first column of a statement's first row.
    pub fn one(&mut self, statement: usize) -> Owned {
        self.fetch(statement, &[], 1).unwrap().1.remove(0)
    }

    pub fn control(&mut self, control: Control) -> Result<(), Failure> {
        match self.0.control(control) {
            Poll::Ready(result) => result,
            Poll::Pending => self.answer(Capture::nothing()).map(drop),
        }
    }

    /// Begins a statement, whose answer may be still to come.
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
