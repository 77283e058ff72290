//! Determines which statements write, and which access something outside their database.

use crate::error::WorkError;
use crate::events::Events;
use dbdyno_engine::driver::Driver as _;
use dbdyno_engine::writes::Writes as Answer;
use dbdyno_engines::Target;
use dbdyno_program::{Op, Programs};
use dbdyno_protocol::event::{Event, StatementWrites};
use dbdyno_protocol::plan::document::{Reach, Writes};

/// Determines which statements and which transactions write.
pub fn find(task: &Writes, seed: u64, events: &Events) -> Result<(), WorkError> {
    let programs = Programs::compile(&task.transactions, task.statements.len())?;
    let answers = Target::try_from(&task.target)?.writes(task, &programs, seed)?;
    let statements: Vec<_> = task
        .statements
        .iter()
        .zip(&answers)
        .map(|(statement, answer)| StatementWrites {
            name: statement.name.clone(),
            writes: answer.clone(),
        })
        .collect();
    let transactions = programs
        .all()
        .iter()
        .map(|program| {
            let used = program.ops.iter().filter_map(|op| match op {
                Op::Execute(execute) => Some(&answers[execute.statement]),
                _ => None,
            });
            // A statement with an unknown answer counts as writing.
            let writes = used.into_iter().any(|answer| *answer != Answer::No);
            (program.name.clone(), writes)
        })
        .collect();
    events.write(&Event::Writes {
        statements,
        transactions,
    })?;
    Ok(())
}

/// Determines which statements access something outside their database.
pub fn find_external_access(task: &Reach, events: &Events) -> Result<(), WorkError> {
    let beyond = Target::try_from(&task.target)?.external_access(&task.own, &task.statements)?;
    events.write(&Event::Reach { beyond })?;
    Ok(())
}
