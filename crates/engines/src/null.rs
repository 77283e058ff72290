//! The null engine: every statement succeeds at once. What is left is the harness, so it measures the harness's ceiling.

use crate::{Capture, Durability, Engine, Facts, Failure, Marks, Rows, Session};
use dbdyno_plan::transaction::BeginMode;
use dbdyno_plan::value::Values;

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
    async fn execute(
        &mut self,
        _statement: usize,
        params: &Values,
        mut capture: Capture<'_>,
        marks: &mut Marks,
    ) -> Result<Rows, Failure> {
        std::hint::black_box(params);
        marks.note_prepared();
        marks.note_first_row();
        capture.clear();
        Ok(Rows::default())
    }

    async fn begin(&mut self, _mode: BeginMode) -> Result<(), Failure> {
        Ok(())
    }

    async fn commit(&mut self) -> Result<(), Failure> {
        Ok(())
    }

    async fn rollback(&mut self) -> Result<(), Failure> {
        Ok(())
    }

    async fn close(self) -> Result<(), Failure> {
        Ok(())
    }
}
