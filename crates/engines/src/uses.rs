//! Asking a server about the statements of transactions, one use after another.

use crate::sql_text::{Dialect, Template};
use dbdyno_engine::Failure;
use dbdyno_engine::writes::{Use, Writes};
use dbdyno_plan::document::{self, PrepareMode};
use dbdyno_program::value::Values;
use dbdyno_program::{Op, Programs};

/// Asks about each use of each statement, in the order of the transactions, whatever their branches: with parameters as a
/// first client of a trial draws them, and what earlier uses have put into variables.
pub fn ask_each(
    task: &document::Writes,
    seed: u64,
    programs: &Programs,
    dialect: &Dialect,
    mut ask: impl FnMut(&mut Use<'_>) -> Result<Writes, Failure>,
) -> Result<Vec<Writes>, Failure> {
    let mut state = programs.state(seed, task.data_seed.unwrap_or(seed), 0, 1, 0);
    let mut answers = vec![Writes::No; task.statements.len()];
    let (mut params, none, mut text) = (Values::default(), Values::default(), String::new());
    for op in programs.all().iter().flat_map(|program| &program.ops) {
        match op {
            Op::Execute(execute) => {
                state.make_all(&execute.params, &mut params);
                if matches!(answers[execute.statement], Writes::Yes(_)) {
                    continue;
                }
                let sql = &task.statements[execute.statement].sql;
                let never = task.prepare == PrepareMode::Never;
                if never {
                    Template::new(sql, dialect).render(&params, dialect, &mut text);
                }
                answers[execute.statement].worsen(ask(&mut Use {
                    sql: if never { &text } else { sql },
                    params: if never { &none } else { &params },
                    slots: &execute.into,
                    variables: &mut state.variables,
                })?);
            }
            Op::Set { .. } => drop(state.step(op, 0)),
            // Without a value, the variable stays as it was.
            Op::Evaluate { slot, expression } => drop(state.evaluate(*slot, expression)),
            _ => {}
        }
    }
    Ok(answers)
}
