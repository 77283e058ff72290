//! The checks on the real engines.
//!
//! SQLite is always there. A server is where the environment says in DBDYNO_TEST_POSTGRESQL, DBDYNO_TEST_MYSQL or
//! DBDYNO_TEST_MONGODB: the JSON of a target, with host, port, user and database (`tests/servers.py` starts servers and
//! sets them). Without it its test passes, and says that it was skipped.
#![allow(clippy::unwrap_used, clippy::print_stderr)]

use dbdyno_contract::{Problem, check};
use dbdyno_plan::target::Target;
use serde_json::{Value, json};

/// Makes all checks; those that cannot be made are said, and must be these.
fn all_hold(target: Value, not_applicable: &[&str]) {
    let target: Target = serde_json::from_value(target).unwrap();
    let (mut failed, mut passed_over, mut made) = (Vec::new(), Vec::new(), 0);
    check(&target, &mut |name, outcome| {
        made += 1;
        match outcome {
            Ok(()) => {}
            Err(Problem::Failed(why)) => failed.push(format!("{name}: {why}")),
            Err(Problem::NotApplicable(why)) => {
                eprintln!("{name}: not applicable: {why}");
                passed_over.push(name.to_owned());
            }
        }
    })
    .unwrap();
    assert!(failed.is_empty(), "{}", failed.join("\n"));
    assert_eq!(passed_over, not_applicable);
    assert!(made >= 14, "{made}");
}

/// A server's checks.
fn server(variable: &str, engine: &str, not_applicable: &[&str]) {
    let Ok(text) = std::env::var(variable) else {
        eprintln!("skipped: no {engine} to test is named by {variable} (tests/servers.py starts one)");
        return;
    };
    let mut target: Value = serde_json::from_str(&text).unwrap();
    target["engine"] = json!(engine);
    all_hold(target, not_applicable);
}

#[test]
fn sqlite() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("contract.db");
    all_hold(json!({"engine": "sqlite", "path": path.to_str().unwrap()}), &[]);
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
}

#[test]
fn postgresql() {
    server("DBDYNO_TEST_POSTGRESQL", "postgresql", &[]);
}

#[test]
fn mysql() {
    server("DBDYNO_TEST_MYSQL", "mysql", &[]);
}

#[test]
fn mongodb() {
    let not_applicable = [
        "a_transaction_ends_as_it_is_told",
        "a_failure_in_a_transaction_is_rolled_back",
        "statements_are_prepared_ahead_or_it_is_told_which_cannot_be",
        "closing_ends_what_is_open",
    ];
    server("DBDYNO_TEST_MONGODB", "mongodb", &not_applicable);
}

/// There is none that can be started here: the variable is set by whoever has one.
#[test]
fn sqlserver() {
    let not_applicable = [
        "statements_are_prepared_ahead_or_it_is_told_which_cannot_be",
        "a_statement_that_takes_too_long_is_a_timeout",
        "a_statement_that_is_cancelled_is_a_timeout",
        "answers_that_come_in_pieces_are_put_together",
        "a_password_is_checked",
    ];
    server("DBDYNO_TEST_SQLSERVER", "sqlserver", &not_applicable);
}

#[test]
fn what_does_not_hold_is_told() {
    // No checks can be made on a file that is no database.
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("missing").join("contract.db");
    let target = serde_json::from_value(json!({"engine": "sqlite", "path": path.to_str().unwrap()})).unwrap();
    check(&target, &mut |name, outcome| {
        assert!(matches!(outcome, Err(Problem::Failed(_))), "{name}: {outcome:?}");
    })
    .unwrap();
    assert!(check(&Target::Null, &mut |_, _| ()).is_err());
}
