//! Runs a query that returns one value, for the controller to inspect existing data.

use crate::error::WorkError;
use crate::events::Events;
use dbdyno_engine::driver::{Driver as _, Measure, Site};
use dbdyno_engine::{Capture, Engine, Failure, Marks, Session as _, Wanted};
use dbdyno_engines::Target;
use dbdyno_load::runtime;
use dbdyno_program::value::{Owned, Values};
use dbdyno_protocol::event::Event;
use dbdyno_protocol::plan;
use dbdyno_protocol::plan::document::{Ask, FailureKind, Trial};
use serde_json::{Value, json};
use std::task::Poll;

/// Runs the query and reports the first column of the first row as text.
pub fn ask(task: &Ask, events: &Events) -> Result<(), WorkError> {
    let target = Target::try_from(&task.target)?;
    let step = json!({"do": "execute", "statement": 0, "into": ["answer"]});
    let statements = json!([{"name": "question", "sql": task.sql}]);
    let transactions = json!([{"name": "question", "steps": [step]}]);
    let answer = target.measure(&trial(&task.target, &statements, &transactions)?, FirstValue)??;
    events.write(&Event::Answer { answer })?;
    Ok(())
}

/// A trial of one client, which an engine needs to prepare itself.
pub fn trial(target: &plan::Target, statements: &Value, transactions: &Value) -> Result<Trial, WorkError> {
    let trial = json!({
        "target": target,
        "clients": 1,
        "window": {"transactions": 1},
        "statements": statements,
        "transactions": transactions,
    });
    serde_json::from_value(trial).map_err(|error| WorkError::Output(error.into()))
}

struct FirstValue;

impl Measure for FirstValue {
    type Output = Result<Option<String>, Failure>;

    fn measure<E: Engine>(self, engine: &E, _site: Site<'_>) -> Self::Output {
        if !E::REMOTE {
            return runtime::run_inline(first_value(engine));
        }
        let mut answers = runtime::run_concurrently(std::iter::once(first_value(engine)))
            .map_err(|error| Failure::new(FailureKind::Other, format!("cannot start the event loop: {error}")))?;
        answers.pop().unwrap_or(Ok(None))
    }
}

async fn first_value<E: Engine>(engine: &E) -> Result<Option<String>, Failure> {
    let mut session = engine.connect(0).await?;
    session.prepare_all().await?;
    let (mut variables, slots) = (vec![Owned::Null], [0]);
    let mut marks = Marks::new(None);
    let mut wanted = Wanted {
        slots: &slots,
        variables: &mut variables,
        every: None,
    };
    let asked = session.execute(0, &Values::default(), Capture::new(&mut wanted), &mut marks);
    match asked {
        Poll::Ready(rows) => {
            rows?;
        }
        Poll::Pending => {
            let mut wanted = Wanted {
                slots: &slots,
                variables: &mut variables,
                every: None,
            };
            session.answer(Capture::new(&mut wanted), &mut marks).await?;
        }
    }
    // The answer has arrived, so errors while closing don't matter.
    let _ = session.close().await;
    Ok(match variables.pop() {
        None | Some(Owned::Null) => None,
        Some(Owned::Boolean(value)) => Some(value.to_string()),
        Some(Owned::Integer(value)) => Some(value.to_string()),
        Some(Owned::Real(value)) => Some(value.to_string()),
        Some(Owned::Text(value)) => Some(value),
        Some(Owned::Bytes(value)) => Some(String::from_utf8_lossy(&value).into_owned()),
    })
}
