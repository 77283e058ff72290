//! Runs the contract checks on the real engines.
//!
//! SQLite is always available. DBDYNO_TEST_DUCKDB names DuckDB's library. DBDYNO_TEST_POSTGRESQL, DBDYNO_TEST_MYSQL,
//! DBDYNO_TEST_REAL_MYSQL (in addition to a MariaDB) and DBDYNO_TEST_MONGODB contain a server's target as JSON, with
//! host, port, user and database. `tests/support/servers.py` starts servers and sets them. Without the variable, a server's
//! test is ignored, and a line reports it.
#![allow(clippy::unwrap_used, clippy::print_stderr, clippy::print_stdout)]

use dbdyno_engine::driver::{Driver as _, Problem};
use dbdyno_engines::Target;
use libtest_mimic::{Arguments, Trial, run};
use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};

/// Runs all checks. The checks that are not applicable are printed, and must be exactly these.
fn run_all(target: Value, not_applicable: &[&str]) {
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

/// The checks of a server; an ignored test if no server is configured.
fn server(variable: &'static str, engine: &'static str, not_applicable: &'static [&str]) -> Trial {
    let target = std::env::var(variable);
    if target.is_err() {
        let wanted = match engine {
            // It isn't available everywhere, so its absence must not be reported as missing.
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
        run_all(target, not_applicable);
        Ok(())
    })
    .with_ignored_flag(ignored)
}

fn sqlite() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("contract.db");
    run_all(json!({"engine": "sqlite", "path": path.to_str().unwrap()}), &[]);
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
}

/// The checks of HTTP. The service is named by DBDYNO_TEST_HTTP (a target as JSON), or one that responds to everything
/// with an empty reply.
fn http() {
    const NOT_HERE: [&str; 5] = [
        "a_transaction_commits_or_rolls_back",
        "a_failure_in_a_transaction_is_rolled_back",
        "a_loaded_table_contains_the_generated_values",
        "a_transaction_begins_with_an_isolation_level",
        "a_deadlock_is_recognized",
    ];
    if let Ok(named) = std::env::var("DBDYNO_TEST_HTTP") {
        let mut target: Value = serde_json::from_str(&named).unwrap();
        target["engine"] = json!("http");
        run_all(target, &NOT_HERE);
    }
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            std::thread::spawn(move || answer_all(stream));
        }
    });
    run_all(json!({"engine": "http", "host": "127.0.0.1", "port": port}), &NOT_HERE);
}

/// Responds to requests without bodies.
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

/// DuckDB's checks, on the configured library.
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
        run_all(
            json!({"engine": "duckdb", "path": path, "library": library.unwrap()}),
            &[],
        );
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
        Ok(())
    })
    .with_ignored_flag(ignored)
}

fn failed_checks_are_reported() {
    // No check can run on a file that is not a database.
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
        Trial::test("failed_checks_are_reported", || {
            failed_checks_are_reported();
            Ok(())
        }),
    ];
    run(&Arguments::from_args(), trials).exit();
}
