//! The null engine: every statement succeeds at once. What is left is the harness, so it measures the harness's ceiling.

use crate::{Capture, Control, Durability, Engine, Facts, Failure, Marks, Rows, Session};
use dbdyno_plan::value::Values;
use std::task::Poll;

/// The engine.
#[derive(Debug, Default)]
pub struct NullEngine;

/// A session to nothing.
#[derive(Debug)]
pub struct NullSession;

impl Engine for NullEngine {
    type Session = NullSession;

    async fn connect(&self, _client: u32) -> Result<NullSession, Failure> {
        Ok(NullSession)
    }

    fn facts(&self) -> Result<Facts, Failure> {
        let durability = Durability {
            because: "nothing is stored".into(),
            ..Durability::default()
        };
        let version = env!("CARGO_PKG_VERSION").into();
        Ok(Facts {
            engine: "null".into(),
            version,
            durability,
            ..Facts::default()
        })
    }
}

impl Session for NullSession {
    async fn prepare_all(&mut self) -> Result<(), Failure> {
        Ok(())
    }

    #[inline]
    fn execute(
        &mut self,
        _statement: usize,
        params: &Values,
        mut capture: Capture<'_>,
        marks: &mut Marks,
    ) -> Poll<Result<Rows, Failure>> {
        std::hint::black_box(params);
        marks.note_prepared();
        marks.note_first_row();
        capture.clear();
        Poll::Ready(Ok(Rows::default()))
    }

    fn control(&mut self, _control: Control) -> Poll<Result<(), Failure>> {
        Poll::Ready(Ok(()))
    }

    async fn close(self) -> Result<(), Failure> {
        Ok(())
    }
}
