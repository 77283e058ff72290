//! Which statements write, and which name something beyond their database.

use crate::error::WorkError;
use crate::events::Events;
use dbdyno_engines::reach::reach;
use dbdyno_engines::sql_text::{Dialect, Template};
use dbdyno_engines::writes::{Use, Writes as Answer};
use dbdyno_engines::{Failure, mongodb, mysql, postgresql, sqlite};
use dbdyno_plan::document::{PrepareMode, Reach, Writes};
use dbdyno_plan::program::{Op, Programs};
use dbdyno_plan::target::Target;
use dbdyno_plan::value::Values;
use serde_json::json;

/// Finds out which statements write, and with them which transactions do.
pub fn find(task: &Writes, seed: u64, events: &Events) -> Result<(), WorkError> {
    let programs = Programs::compile(&task.transactions, task.statements.len())?;
    let texts = task.statements.iter().map(|statement| statement.sql.as_str());
    let answers = match &task.target {
        Target::Null => vec![Answer::No; task.statements.len()],
        Target::Sqlite(target) => sqlite::writes(target, texts)?,
        Target::Mongodb(_) => texts.map(mongodb::writes).collect(),
        Target::Sqlserver(_) => {
            let why = "SQL Server has no transactions that only read";
            vec![Answer::Unknown(why.into()); task.statements.len()]
        }
        Target::Postgresql(target) => {
            let ask = |one: &mut Use<'_>| postgresql::writes(target, one);
            ask_each(task, seed, &programs, Dialect::Postgresql, ask)?
        }
        Target::Mysql(target) => {
            let ask = |one: &mut Use<'_>| mysql::writes(target, one);
            ask_each(task, seed, &programs, Dialect::Mysql, ask)?
        }
    };
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

/// Asks about each use of each statement, in the order of the transactions, whatever their branches: with parameters as a
/// first client of a trial draws them, and what earlier uses have put into variables.
fn ask_each(
    task: &Writes,
    seed: u64,
    programs: &Programs,
    dialect: Dialect,
    mut ask: impl FnMut(&mut Use<'_>) -> Result<Answer, Failure>,
) -> Result<Vec<Answer>, WorkError> {
    let mut state = programs.state(seed, task.data_seed.unwrap_or(seed), 0, 1);
    let mut answers = vec![Answer::No; task.statements.len()];
    let (mut params, none, mut text) = (Values::default(), Values::default(), String::new());
    for op in programs.all().iter().flat_map(|program| &program.ops) {
        match op {
            Op::Execute(execute) => {
                state.make_all(&execute.params, &mut params);
                if matches!(answers[execute.statement], Answer::Yes(_)) {
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

/// Finds out which statements name something beyond their database.
pub fn look_beyond(task: &Reach, events: &Events) -> Result<(), WorkError> {
    let beyond = reach(&task.target, &task.own, &task.statements)?;
    events.line(&json!({"event": "reach", "beyond": beyond}))?;
    Ok(())
}
