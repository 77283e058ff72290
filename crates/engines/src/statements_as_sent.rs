//! Statements as a trial sends them.

use crate::sql_text::{Dialect, Template};
use dbdyno_program::value::Values;
use dbdyno_program::{Op, Programs};
use dbdyno_protocol::plan::document::{self, PrepareMode, Statement};

/// The statements of a task. If nothing is prepared, they contain values: those that a trial's first client draws
/// first, and null for results of earlier statements.
pub fn as_sent(task: &document::Writes, seed: u64, programs: &Programs, dialect: &Dialect) -> Vec<Statement> {
    let mut statements = task.statements.clone();
    if task.prepare != PrepareMode::Never {
        return statements;
    }
    let mut state = programs.state(seed, task.data_seed.unwrap_or(seed), 0, 1, 0);
    let (mut params, mut is_rendered) = (Values::default(), vec![false; statements.len()]);
    for op in programs.all().iter().flat_map(|program| &program.ops) {
        match op {
            Op::Execute(execute) => {
                state.make_all(&execute.params, &mut params);
                if !std::mem::replace(&mut is_rendered[execute.statement], true) {
                    let statement = &mut statements[execute.statement];
                    Template::of(statement).render(&params, dialect, &mut statement.sql);
                    statement.places.clear();
                }
            }
            Op::Set { .. } => drop(state.step(op, 0)),
            // Without a value, the variable keeps its old one.
            Op::Evaluate { slot, expression } => drop(state.evaluate(*slot, expression)),
            _ => {}
        }
    }
    statements
}
