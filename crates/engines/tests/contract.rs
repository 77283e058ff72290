//! The checks on the real engines.
//!
//! SQLite is always there. DuckDB's library is the one that DBDYNO_TEST_DUCKDB names. A server is where the environment says in DBDYNO_TEST_POSTGRESQL, DBDYNO_TEST_MYSQL,
//! DBDYNO_TEST_REAL_MYSQL (beside a MariaDB) or DBDYNO_TEST_MONGODB: the JSON of a target, with host, port, user and
//! database (`tests/support/servers.py` starts servers and sets them). Without it its test is ignored, and a line says so.
#![allow(clippy::unwrap_used, clippy::print_stderr, clippy::print_stdout)]

use dbdyno_engine::driver::{Driver as _, Problem};
use dbdyno_engines::Target;
use libtest_mimic::{Arguments, Trial, run};
use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};

/// Makes all checks; those that cannot be made are said, and must be these.
fn all_hold(target: Value, not_applicable: &[&str]) {
    let target: Target = serde_json::from_value(target).unwrap();
    let (mut failed, mut passed_over, mut made) = (Vec::new(), Vec::new(), 0);
    target
        .check(&mut |name, outcome| {
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

/// A server's checks; a trial that is ignored where there is none.
fn server(variable: &'static str, engine: &'static str, not_applicable: &'static [&str]) -> Trial {
    let target = std::env::var(variable);
    if target.is_err() {
        let wanted = match engine {
            // It cannot be had everywhere, so that nobody is to be told that it is missing.
            "sqlserver" => "no SQL Server is named".to_owned(),
            other => format!("there is no {other} server: none is named"),
        };
        println!("SKIPPED [1] crates/engines/tests/contract.rs: {engine}: {wanted} by {variable}");
    }
    let ignored = target.is_err();
    let name = variable.trim_start_matches("DBDYNO_TEST_").to_lowercase();
    Trial::test(name, move || {
        let mut target: Value = serde_json::from_str(&target.unwrap()).unwrap();
        target["engine"] = json!(engine);
        all_hold(target, not_applicable);
        Ok(())
    })
    .with_ignored_flag(ignored)
}

fn sqlite() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("contract.db");
    all_hold(json!({"engine": "sqlite", "path": path.to_str().unwrap()}), &[]);
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
}

/// The checks of HTTP. What need not do as it is told is the service that DBDYNO_TEST_HTTP names, the JSON of a target, or
/// one that answers everything with an empty reply.
fn http() {
    const NOT_HERE: [&str; 4] = [
        "a_transaction_commits_or_rolls_back",
        "a_failure_in_a_transaction_is_rolled_back",
        "a_loaded_table_contains_the_generated_values",
        "a_deadlock_is_recognized",
    ];
    if let Ok(named) = std::env::var("DBDYNO_TEST_HTTP") {
        let mut target: Value = serde_json::from_str(&named).unwrap();
        target["engine"] = json!("http");
        all_hold(target, &NOT_HERE);
    }
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            std::thread::spawn(move || answer_all(stream));
        }
    });
    all_hold(json!({"engine": "http", "host": "127.0.0.1", "port": port}), &NOT_HERE);
}

/// Answers requests that have no bodies.
fn answer_all(stream: TcpStream) {
    let mut writer = stream.try_clone().unwrap();
    for line in BufReader::new(stream).lines().map_while(Result::ok) {
        if line.is_empty()
            && writer
                .write_all(b"HTTP/1.1 204 No Content\r\nserver: empty\r\n\r\n")
                .is_err()
        {
            return;
        }
    }
}

/// DuckDB's checks, on the library that the environment names.
fn duckdb() -> Trial {
    const VARIABLE: &str = "DBDYNO_TEST_DUCKDB";
    let library = std::env::var(VARIABLE);
    if library.is_err() {
        println!(
            "SKIPPED [1] crates/engines/tests/contract.rs: duckdb: there is no library: none is named by {VARIABLE}"
        );
    }
    let ignored = library.is_err();
    Trial::test("duckdb", move || {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("contract.db");
        let path = path.to_str().unwrap();
        all_hold(
            json!({"engine": "duckdb", "path": path, "library": library.unwrap()}),
            &[],
        );
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
        Ok(())
    })
    .with_ignored_flag(ignored)
}

fn what_does_not_hold_is_told() {
    // No checks can be made on a file that is no database.
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("missing").join("contract.db");
    let target: Target = serde_json::from_value(json!({"engine": "sqlite", "path": path.to_str().unwrap()})).unwrap();
    target
        .check(&mut |name, outcome| {
            assert!(matches!(outcome, Err(Problem::Failed(_))), "{name}: {outcome:?}");
        })
        .unwrap();
    let null: Target = serde_json::from_value(json!({"engine": "null"})).unwrap();
    assert!(null.check(&mut |_, _| ()).is_err());
}

fn main() {
    let trials = vec![
        Trial::test("sqlite", || {
            sqlite();
            Ok(())
        }),
        duckdb(),
        Trial::test("http", || {
            http();
            Ok(())
        }),
        server("DBDYNO_TEST_POSTGRESQL", "postgresql", &[]),
        server("DBDYNO_TEST_MYSQL", "mysql", &[]),
        server("DBDYNO_TEST_REAL_MYSQL", "mysql", &[]),
        server(
            "DBDYNO_TEST_MONGODB",
            "mongodb",
            &[
                "a_transaction_commits_or_rolls_back",
                "a_failure_in_a_transaction_is_rolled_back",
                "statements_are_prepared_ahead_or_named_in_the_error",
                "closing_rolls_back_an_open_transaction",
            ],
        ),
        server(
            "DBDYNO_TEST_SQLSERVER",
            "sqlserver",
            &[
                "statements_are_prepared_ahead_or_named_in_the_error",
                "a_statement_that_takes_too_long_is_a_timeout",
                "a_statement_that_is_cancelled_is_a_timeout",
                "fragmented_answers_are_reassembled",
                "a_password_is_checked",
            ],
        ),
        Trial::test("what_does_not_hold_is_told", || {
            what_does_not_hold_is_told();
            Ok(())
        }),
    ];
    run(&Arguments::from_args(), trials).exit();
}
