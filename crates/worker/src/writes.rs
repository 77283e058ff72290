//! Which statements write, and which name something beyond their database.

use crate::error::WorkError;
use crate::events::Events;
use dbdyno_engine::driver::Driver as _;
use dbdyno_engine::writes::Writes as Answer;
use dbdyno_engines::Target;
use dbdyno_plan::document::{Reach, Writes};
use dbdyno_plan::program::{Op, Programs};
use serde_json::json;

/// Finds out which statements write, and with them which transactions do.
pub fn find(task: &Writes, seed: u64, events: &Events) -> Result<(), WorkError> {
    let programs = Programs::compile(&task.transactions, task.statements.len())?;
    let answers = Target::try_from(&task.target)?.writes(task, &programs, seed)?;
    let statements: Vec<_> = task
        .statements
        .iter()
        .zip(&answers)
        .map(|(statement, answer)| {
            let mut said = json!(answer);
            said["name"] = json!(statement.name);
            said
        })
        .collect();
    let transactions: serde_json::Map<_, _> = programs
        .all()
        .iter()
        .map(|program| {
            let used = program.ops.iter().filter_map(|op| match op {
                Op::Execute(execute) => Some(&answers[execute.statement]),
                _ => None,
            });
            // What cannot be told counts as writing.
            let writes = used.into_iter().any(|answer| *answer != Answer::No);
            (program.name.clone(), json!(writes))
        })
        .collect();
    events.line(&json!({"event": "writes", "statements": statements, "transactions": transactions}))?;
    Ok(())
}

/// Finds out which statements name something beyond their database.
pub fn look_beyond(task: &Reach, events: &Events) -> Result<(), WorkError> {
    let beyond = Target::try_from(&task.target)?.reach(&task.own, &task.statements)?;
    events.line(&json!({"event": "reach", "beyond": beyond}))?;
    Ok(())
}
