//! What every engine's sessions must do, on the real engine.
//!
//! The suite is written once, over the traits; a system is a directory of its own and a way to make an engine for it.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use dbdyno_engines::sqlite::{SqliteEngine, Watch};
use dbdyno_engines::{Capture, Control, Engine, Failure, Marks, Rows, Session, Wanted};
use dbdyno_plan::document::{FailureKind, PrepareMode, Statement};
use dbdyno_plan::target::SqliteTarget;
use dbdyno_plan::transaction::BeginMode;
use dbdyno_plan::value::{Owned, Value, Values};
use std::pin::pin;
use std::task::{Context, Poll, Waker};

/// Runs a future to its end in this thread.
fn wait<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            return output;
        }
        std::thread::yield_now();
    }
}

/// A session with short calls that take the answer, whenever it comes.
struct Client<S: Session>(S);

impl<S: Session> Client<S> {
    fn run(&mut self, statement: usize, params: &[Value<'_>]) -> Result<Rows, Failure> {
        self.fetch(statement, params, 0).map(|(rows, _)| rows)
    }

    /// Runs a statement and gives the first `columns` of its first row.
    fn fetch(&mut self, statement: usize, params: &[Value<'_>], columns: usize) -> Result<(Rows, Vec<Owned>), Failure> {
        let mut values = Values::default();
        params.iter().for_each(|value| values.push(*value));
        let slots: Vec<usize> = (0..columns).collect();
        let mut variables = vec![Owned::Integer(-1); columns];
        let mut marks = Marks::new(None);
        let wanted = &mut Wanted {
            slots: &slots,
            variables: &mut variables,
        };
        let rows = match self.0.execute(statement, &values, Capture::new(wanted), &mut marks) {
            Poll::Ready(result) => result?,
            Poll::Pending => {
                let wanted = &mut Wanted {
                    slots: &slots,
                    variables: &mut variables,
                };
                wait(self.0.answer(Capture::new(wanted), &mut marks))?
            }
        };
        Ok((rows, variables))
    }

    fn control(&mut self, control: Control) -> Result<(), Failure> {
        match self.0.control(control) {
            Poll::Ready(result) => result,
            Poll::Pending => wait(self.0.answer(Capture::nothing(), &mut Marks::new(None))).map(drop),
        }
    }
}

const CREATE: usize = 0;
const INSERT: usize = 1;
const SELECT: usize = 2;
const UPDATE: usize = 3;
const COUNT: usize = 4;
const WRONG: usize = 5;
const ALL: usize = 6;
const MANY: usize = 7;

fn statements() -> Vec<Statement> {
    [
        "create table t (id integer primary key, i bigint, r double precision, s text, b blob)",
        "insert into t values (?, ?, ?, ?, ?)",
        "select i, r, s, b from t where id = ?",
        "update t set i = i + 1 where id <= ?",
        "select count(*) from t",
        "select missing from nowhere",
        "select id, s from t order by id",
        "insert into t (id) select id + 1000 from t",
    ]
    .iter()
    .enumerate()
    .map(|(index, sql)| Statement {
        name: format!("s{index}"),
        sql: (*sql).to_owned(),
        example: Vec::new(),
    })
    .collect()
}

/// A system with an empty database, and engines for it with each way of preparing.
struct System {
    directory: tempfile::TempDir,
}

impl System {
    fn new() -> Self {
        Self {
            directory: tempfile::tempdir().unwrap(),
        }
    }

    fn engine(&self, prepare: PrepareMode) -> SqliteEngine {
        let path = self.directory.path().join("contract.db");
        let target: SqliteTarget = serde_json::from_value(serde_json::json!({
            "path": path.to_str().unwrap(), "busy_timeout_ms": 50,
        }))
        .unwrap();
        SqliteEngine::new(&target, &statements(), prepare, Watch::default()).unwrap()
    }

    fn client(&self, prepare: PrepareMode) -> Client<<SqliteEngine as Engine>::Session> {
        Client(wait(self.engine(prepare).connect(0)).unwrap())
    }
}

const MODES: [PrepareMode; 3] = [PrepareMode::Once, PrepareMode::PerTransaction, PrepareMode::Never];

fn row(id: i64) -> [Value<'static>; 5] {
    [
        Value::Integer(id),
        Value::Integer(id * 10),
        Value::Null,
        Value::Text("x"),
        Value::Null,
    ]
}

#[test]
fn values_come_back_as_they_were_sent() {
    let long = "long ".repeat(20_000);
    let texts = ["", "it's \"quoted\"; -- not a comment", "ünïcödé 漢字 🙂", &long];
    let bytes: Vec<u8> = (0..=255).collect();
    for prepare in MODES {
        let system = System::new();
        let mut client = system.client(prepare);
        client.run(CREATE, &[]).unwrap();
        for (id, text) in (0..).zip(texts) {
            let sent = [i64::MIN + 1 + id, i64::MAX - id][(id % 2) as usize];
            let values = [
                Value::Integer(id),
                Value::Integer(sent),
                Value::Real(-1.5e300 / (id + 1) as f64),
                Value::Text(text),
                Value::Bytes(&bytes),
            ];
            assert_eq!(
                client.run(INSERT, &values).unwrap(),
                Rows {
                    returned: 0,
                    changed: 1
                }
            );
            let (rows, columns) = client.fetch(SELECT, &[Value::Integer(id)], 4).unwrap();
            assert_eq!(
                rows,
                Rows {
                    returned: 1,
                    changed: 0
                },
                "{prepare:?}"
            );
            let seen: Vec<Value<'_>> = columns.iter().map(Owned::view).collect();
            assert_eq!(seen, values[1..], "{prepare:?}");
        }
    }
}

#[test]
fn nulls_and_missing_rows_are_null() {
    let system = System::new();
    let mut client = system.client(PrepareMode::Once);
    client.run(CREATE, &[]).unwrap();
    client
        .run(
            INSERT,
            &[Value::Integer(1), Value::Null, Value::Null, Value::Null, Value::Null],
        )
        .unwrap();
    for (id, returned) in [(1, 1), (2, 0)] {
        let (rows, columns) = client.fetch(SELECT, &[Value::Integer(id)], 4).unwrap();
        assert_eq!(rows.returned, returned);
        assert_eq!(columns, vec![Owned::Null; 4]);
    }
}

#[test]
fn all_rows_are_fetched_and_all_changes_counted() {
    for prepare in MODES {
        let system = System::new();
        let mut client = system.client(prepare);
        client.run(CREATE, &[]).unwrap();
        for id in 1..=20 {
            client.run(INSERT, &row(id)).unwrap();
        }
        assert_eq!(
            client.run(ALL, &[]).unwrap(),
            Rows {
                returned: 20,
                changed: 0
            }
        );
        assert_eq!(
            client.run(UPDATE, &[Value::Integer(7)]).unwrap(),
            Rows {
                returned: 0,
                changed: 7
            }
        );
        assert_eq!(
            client.run(UPDATE, &[Value::Integer(0)]).unwrap(),
            Rows {
                returned: 0,
                changed: 0
            }
        );
        assert_eq!(client.run(MANY, &[]).unwrap().changed, 20);
        let (rows, columns) = client.fetch(COUNT, &[], 1).unwrap();
        assert_eq!((rows.returned, columns), (1, vec![Owned::Integer(40)]));
    }
}

#[test]
fn a_transaction_ends_as_it_is_told() {
    let begins = [BeginMode::Deferred, BeginMode::Immediate, BeginMode::Exclusive];
    for (prepare, begin) in MODES.into_iter().zip(begins) {
        let system = System::new();
        let mut client = system.client(prepare);
        client.run(CREATE, &[]).unwrap();
        // Rolling back without a transaction is no failure.
        client.control(Control::Rollback).unwrap();
        client.control(Control::Begin(begin)).unwrap();
        client.run(INSERT, &row(1)).unwrap();
        client.control(Control::Rollback).unwrap();
        assert_eq!(client.run(ALL, &[]).unwrap().returned, 0);
        client.control(Control::Begin(begin)).unwrap();
        client.run(INSERT, &row(1)).unwrap();
        client.control(Control::Commit).unwrap();
        let mut other = system.client(prepare);
        assert_eq!(other.run(ALL, &[]).unwrap().returned, 1);
    }
}

#[test]
fn failures_have_their_kind_and_leave_the_session_usable() {
    for prepare in MODES {
        let system = System::new();
        let mut client = system.client(prepare);
        client.run(CREATE, &[]).unwrap();
        client.run(INSERT, &row(1)).unwrap();
        let twice = client.run(INSERT, &row(1)).unwrap_err();
        assert_eq!(twice.kind, FailureKind::Constraint, "{twice}");
        let wrong = client.run(WRONG, &[]).unwrap_err();
        assert_eq!(wrong.kind, FailureKind::Other);
        assert!(wrong.message.contains("nowhere"), "{wrong}");
        let mut other = system.client(prepare);
        other.control(Control::Begin(BeginMode::Immediate)).unwrap();
        let locked = client.run(UPDATE, &[Value::Integer(1)]).unwrap_err();
        assert_eq!(locked.kind, FailureKind::Locked, "{locked}");
        other.control(Control::Rollback).unwrap();
        assert_eq!(client.run(UPDATE, &[Value::Integer(1)]).unwrap().changed, 1);
    }
}

#[test]
fn the_number_of_values_must_be_that_of_the_parameters() {
    let system = System::new();
    let mut client = system.client(PrepareMode::Once);
    client.run(CREATE, &[]).unwrap();
    let failure = client.run(SELECT, &[]).unwrap_err();
    assert!(failure.message.contains("1 parameter"), "{failure}");
}

#[test]
fn statements_are_prepared_ahead_or_it_is_told_which_cannot_be() {
    let system = System::new();
    system.client(PrepareMode::Never).run(CREATE, &[]).unwrap();
    let mut client = system.client(PrepareMode::Once);
    let failure = wait(client.0.prepare_all()).unwrap_err();
    assert!(failure.message.contains("t already exists"), "{failure}");
}

#[test]
fn an_engine_says_what_it_is_and_how_it_will_do_each_statement() {
    let system = System::new();
    system.client(PrepareMode::Once).run(CREATE, &[]).unwrap();
    let facts = system.engine(PrepareMode::Once).facts().unwrap();
    assert_eq!(facts.engine, "sqlite");
    assert!(!facts.version.is_empty() && facts.source_id.is_some());
    assert_eq!(facts.settings["busy_timeout"], "50");
    let plan = &facts.plans[&format!("s{SELECT}")];
    assert!(plan[0].contains("PRIMARY KEY"), "{plan:?}");
    assert!(!facts.plans.contains_key(&format!("s{WRONG}")));
}

#[test]
fn a_file_that_is_no_database_is_told_so() {
    let system = System::new();
    std::fs::write(system.directory.path().join("contract.db"), vec![b'x'; 4096]).unwrap();
    let failure = system.client(PrepareMode::Once).run(COUNT, &[]).unwrap_err();
    assert_eq!(failure.kind, FailureKind::Connection, "{failure}");
}

#[test]
fn closing_ends_what_is_open() {
    let system = System::new();
    let mut client = system.client(PrepareMode::Once);
    client.run(CREATE, &[]).unwrap();
    client.control(Control::Begin(BeginMode::Immediate)).unwrap();
    client.run(INSERT, &row(1)).unwrap();
    wait(client.0.close()).unwrap();
    let mut other = system.client(PrepareMode::Once);
    assert_eq!(other.run(ALL, &[]).unwrap().returned, 0);
}
