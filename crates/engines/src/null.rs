//! The null engine: every statement succeeds at once. It measures the overhead of the load generator itself, the
//! ceiling of the client.

use dbdyno_engine::driver::{Driver, Measure};
use dbdyno_engine::rows::Loaded;
use dbdyno_engine::writes::Writes;
use dbdyno_engine::{Capture, Control, Durability, Engine, Facts, Failure, Marks, Rows, Session};
use dbdyno_program::Programs;
use dbdyno_program::value::Values;
use dbdyno_protocol::plan::document::{self, Load, Trial};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::task::Poll;

/// A target without options.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NullTarget {}

impl Driver for NullTarget {
    fn measure<M: Measure>(&self, _trial: &Trial, measure: M) -> Result<M::Output, Failure> {
        Ok(measure.measure(&NullEngine, self.site()))
    }

    fn facts(&self) -> Result<Facts, Failure> {
        NullEngine.facts()
    }

    fn load(&self, _load: &Load, _seed: u64) -> Result<Vec<Loaded>, Failure> {
        Ok(Vec::new())
    }

    fn writes(&self, task: &document::Writes, _programs: &Programs, _seed: u64) -> Result<Vec<Writes>, Failure> {
        Ok(vec![Writes::No; task.statements.len()])
    }

    fn external_access(&self, _own: &[String], statements: &[String]) -> Result<Vec<Option<String>>, Failure> {
        Ok(vec![None; statements.len()])
    }
}

/// The engine.
#[derive(Debug, Default)]
pub struct NullEngine;

/// A session without a system.
#[derive(Debug)]
pub struct NullSession;

impl Engine for NullEngine {
    type Session = NullSession;

    // It accepts the plans of all engines, including those without parameter positions.
    const PLACES: bool = false;
    const FILES: u32 = 0;

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
    async fn prepare_first(&mut self, _count: usize) -> Result<(), Failure> {
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
