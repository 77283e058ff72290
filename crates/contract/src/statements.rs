//! Checks of sessions and statements that apply to every system.
#![allow(missing_docs, reason = "the name of a check says what it checks")]

use crate::client::wait;
use crate::systems::{ALL, COUNT, INSERT, MANY, SELECT, System, UPDATE, UPDATE_ONE, WRONG};
use crate::{Fails as _, Outcome, Problem, ensure, same};
use dbdyno_engine::{Control, Engine, Rows, Session as _};
use dbdyno_program::value::{Owned, Value};
use dbdyno_protocol::plan::document::{FailureKind, PrepareMode};
use dbdyno_protocol::plan::transaction::BeginMode;

/// All prepare modes.
pub const MODES: [PrepareMode; 3] = [PrepareMode::Once, PrepareMode::PerTransaction, PrepareMode::Never];

pub fn row(id: i64) -> [Value<'static>; 5] {
    [
        Value::Integer(id),
        Value::Integer(id * 10),
        Value::Null,
        Value::Text("x"),
        Value::Null,
    ]
}

pub fn values_come_back_as_they_were_sent<S: System>(system: &S) -> Outcome {
    let long = "löng ".repeat(200_000);
    let texts = ["", "it's \"quoted\" \\'; -- not a comment", "ünïcödé 漢字 🙂", &long];
    let bytes: Vec<u8> = (0..=255).collect();
    for prepare in MODES {
        let mut client = system.fresh(prepare)?;
        for (id, text) in (0..).zip(texts) {
            let sent = [i64::MIN + 1 + id, i64::MAX - id][(id % 2) as usize];
            let values = [
                Value::Integer(id),
                Value::Integer(sent),
                Value::Real(-1.5e300 / (id + 1) as f64),
                Value::Text(text),
                Value::Bytes(&bytes),
            ];
            same!(
                client.run(INSERT, &values)?,
                Rows {
                    returned: 0,
                    changed: 1
                }
            );
            let (rows, columns) = client.fetch(SELECT, &[Value::Integer(id)], 4)?;
            same!(
                rows,
                Rows {
                    returned: 1,
                    changed: 0
                },
                "{prepare:?}"
            );
            let seen: Vec<Value<'_>> = columns.iter().map(Owned::view).collect();
            same!(seen, values[1..], "{prepare:?}");
        }
    }
    Ok(())
}

pub fn nulls_and_missing_rows_are_null<S: System>(system: &S) -> Outcome {
    let mut client = system.fresh(PrepareMode::Once)?;
    client.run(
        INSERT,
        &[Value::Integer(1), Value::Null, Value::Null, Value::Null, Value::Null],
    )?;
    for (id, returned) in [(1, 1), (2, 0)] {
        let (rows, columns) = client.fetch(SELECT, &[Value::Integer(id)], 4)?;
        same!(rows.returned, returned);
        same!(columns, vec![Owned::Null; 4]);
    }
    Ok(())
}

pub fn all_rows_are_fetched_and_all_changes_counted<S: System>(system: &S) -> Outcome {
    for prepare in MODES {
        let mut client = system.fresh(prepare)?;
        for id in 1..=20 {
            client.run(INSERT, &row(id))?;
        }
        same!(
            client.run(ALL, &[])?,
            Rows {
                returned: 20,
                changed: 0
            }
        );
        same!(
            client.run(UPDATE, &[Value::Integer(7)])?,
            Rows {
                returned: 0,
                changed: 7
            }
        );
        same!(
            client.run(UPDATE, &[Value::Integer(0)])?,
            Rows {
                returned: 0,
                changed: 0
            }
        );
        same!(client.run(MANY, &[])?.changed, 20);
        let (rows, columns) = client.fetch(COUNT, &[], 1)?;
        same!((rows.returned, columns), (1, vec![Owned::Integer(40)]));
    }
    Ok(())
}

pub fn the_number_of_values_must_match_the_parameters<S: System>(system: &S) -> Outcome {
    let mut client = system.fresh(PrepareMode::Once)?;
    let failure = client.run(SELECT, &[]).failure()?;
    ensure!(failure.message.contains("1 parameter"), "{failure}");
    Ok(())
}

pub fn closing_rolls_back_an_open_transaction<S: System>(system: &S) -> Outcome {
    let mut client = system.fresh(PrepareMode::Once)?;
    client.control(Control::Begin(BeginMode::Immediate))?;
    client.run(INSERT, &row(1))?;
    wait(client.0.close())?;
    let mut other = system.client(PrepareMode::Once)?;
    same!(other.run(ALL, &[])?.returned, 0);
    Ok(())
}

pub fn one_statement_accepts_values_of_changing_types<S: System>(system: &S) -> Outcome {
    for prepare in MODES {
        let mut client = system.fresh(prepare)?;
        let values = [
            [Value::Null, Value::Null, Value::Null, Value::Null],
            [
                Value::Integer(1),
                Value::Real(0.1),
                Value::Text("a"),
                Value::Bytes(&[0, 39, 92, 255]),
            ],
            [Value::Null, Value::Real(-2e-300), Value::Null, Value::Bytes(&[])],
            [Value::Integer(2), Value::Null, Value::Text("b\n\t\\"), Value::Null],
        ];
        for (id, [i, r, s, b]) in (1..).zip(values) {
            client.run(INSERT, &[Value::Integer(id), i, r, s, b])?;
        }
        for (id, sent) in (1..).zip(values) {
            let (_, columns) = client.fetch(SELECT, &[Value::Integer(id)], 4)?;
            let seen: Vec<Value<'_>> = columns.iter().map(Owned::view).collect();
            same!(seen, sent, "{prepare:?}");
        }
    }
    Ok(())
}

pub fn a_transaction_commits_or_rolls_back<S: System>(system: &S) -> Outcome {
    let begins = [BeginMode::Deferred, BeginMode::Immediate, BeginMode::Exclusive];
    for (prepare, begin) in MODES.into_iter().zip(begins) {
        let mut client = system.fresh(prepare)?;
        // A rollback without a transaction succeeds.
        client.control(Control::Rollback)?;
        client.control(Control::Begin(begin))?;
        client.run(INSERT, &row(1))?;
        client.control(Control::Rollback)?;
        same!(client.run(ALL, &[])?.returned, 0);
        client.control(Control::Begin(begin))?;
        client.run(INSERT, &row(1))?;
        client.control(Control::Commit)?;
        let mut other = system.client(prepare)?;
        same!(other.run(ALL, &[])?.returned, 1);
    }
    Ok(())
}

pub fn failures_have_their_kind_and_leave_the_session_usable<S: System>(system: &S) -> Outcome {
    for prepare in MODES {
        let mut client = system.fresh(prepare)?;
        client.run(INSERT, &row(1))?;
        for _ in 0..2 {
            let twice = client.run(INSERT, &row(1)).failure()?;
            same!(twice.kind, FailureKind::Constraint, "{twice}");
        }
        let wrong = client.run(WRONG, &[]).failure()?;
        same!(wrong.kind, FailureKind::Other);
        ensure!(wrong.message.contains("nowhere"), "{wrong}");
        let mut other = system.client(prepare)?;
        other.control(Control::Begin(BeginMode::Immediate))?;
        other.run(UPDATE_ONE, &[Value::Integer(1)])?;
        let locked = client.run(UPDATE_ONE, &[Value::Integer(1)]).failure()?;
        same!(locked.kind, FailureKind::Locked, "{locked}");
        other.control(Control::Rollback)?;
        same!(client.run(UPDATE_ONE, &[Value::Integer(1)])?.changed, 1);
    }
    Ok(())
}

pub fn a_failure_in_a_transaction_is_rolled_back<S: System>(system: &S) -> Outcome {
    for prepare in MODES {
        let mut client = system.fresh(prepare)?;
        client.run(INSERT, &row(1))?;
        client.control(Control::Begin(BeginMode::Deferred))?;
        client.run(INSERT, &row(2))?;
        client.run(INSERT, &row(1)).failure()?;
        client.control(Control::Rollback)?;
        same!(client.run(ALL, &[])?.returned, 1, "{prepare:?}");
        same!(client.run(INSERT, &row(2))?.changed, 1);
    }
    Ok(())
}

pub fn statements_are_prepared_ahead_or_named_in_the_error<S: System>(system: &S) -> Outcome {
    drop(system.fresh(PrepareMode::Never)?);
    let mut client = system.client(PrepareMode::Once)?;
    let failure = wait(client.0.prepare_all()).failure()?;
    ensure!(failure.message.contains(S::UNPREPARED), "{failure}");
    let texts = system.texts();
    let mut client = system.client_for(&[&texts[INSERT], &texts[ALL]], PrepareMode::Once)?;
    wait(client.0.prepare_all())?;
    client.run(0, &row(1))?;
    same!(client.run(1, &[])?.returned, 1);
    // A statement beside the load may refer to a table that doesn't exist yet.
    let mut client = system.client_for(&[&texts[ALL], &texts[WRONG]], PrepareMode::Once)?;
    wait(client.0.prepare_first(1))?;
    same!(client.run(0, &[])?.returned, 1);
    client.run(1, &[]).failure()?;
    same!(client.run(0, &[])?.returned, 1);
    Ok(())
}

pub fn an_engine_reports_its_version_and_query_plans<S: System>(system: &S) -> Outcome {
    let mut client = system.fresh(PrepareMode::Once)?;
    client.run(INSERT, &row(1))?;
    let facts = system.engine(PrepareMode::Once)?.facts()?;
    ensure!(S::NAMES.contains(&facts.engine.as_str()), "{}", facts.engine);
    ensure!(
        facts.version.starts_with(|c: char| c.is_ascii_digit()),
        "{}",
        facts.version
    );
    ensure!(facts.source_id.is_some() && !facts.durability.because.is_empty());
    ensure!(facts.settings.contains_key(S::SHOWN), "{:?}", facts.settings);
    let Some(plan) = facts.plans.get(&format!("s{SELECT}")) else {
        return Err(Problem::Failed("the query plan of a lookup is missing".into()));
    };
    let plan = plan.join("\n");
    ensure!(plan.contains(S::KEY), "{plan}");
    ensure!(!facts.plans.contains_key(&format!("s{WRONG}")));
    Ok(())
}
