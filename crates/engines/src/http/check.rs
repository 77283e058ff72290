//! Contract checks for HTTP services.
//!
//! Some checks send requests to the target's service, which only has to answer. The other checks start a scripted
//! service.

use super::scripted::Scripted;
use super::{HttpEngine, HttpSession, HttpTarget};
use dbdyno_contract::client::{Client, wait};
use dbdyno_contract::systems::System;
use dbdyno_contract::{Check, Fails as _, Outcome, Problem, carry_out, checks, ensure, same};
use dbdyno_engine::driver::Tell;
use dbdyno_engine::rows::Loaded;
use dbdyno_engine::{Control, Engine as _, Failure, Session as _};
use dbdyno_program::value::{Owned, Value};
use dbdyno_protocol::plan::document::{FailureKind, PrepareMode, Statement};
use dbdyno_protocol::plan::transaction::BeginMode;
use serde_json::json;
use std::task::Poll;

/// Makes the checks.
pub fn check(target: &HttpTarget, tell: Tell<'_>) -> Result<(), Failure> {
    carry_out::<Http>(|_| Ok(Http(target.clone())), tell);
    Ok(())
}

/// A service.
pub struct Http(HttpTarget);

impl System for Http {
    type Engine = HttpEngine;

    const TEXT: &str = "";
    const BYTES: &str = "";
    const KEY: &str = "";
    const NAMES: &[&str] = &["http"];
    const SHOWN: &str = "version";
    const UNPREPARED: &str = "";

    fn checks() -> Vec<Check<Self>> {
        let mut all = checks!(
            an_engine_says_what_it_is,
            many_sessions_work_at_once,
            values_come_back_as_they_were_sent,
            nulls_and_missing_values_are_null,
            each_reply_is_a_row,
            failures_have_their_kind_and_leave_the_session_usable,
            the_number_of_values_must_match_the_parameters,
            a_request_that_can_be_none_is_told_at_once,
            a_request_that_takes_too_long_is_a_timeout,
            a_connection_that_ends_within_a_reply_is_lost,
            a_connection_that_ended_between_requests_is_opened_again,
            what_is_no_service_is_told,
            connection_errors_are_explained,
            connections_are_kept_or_not,
            very_long_values_are_sent_and_received,
            a_body_without_an_end_is_not_kept,
            replies_that_come_in_pieces_are_put_together,
            a_password_is_sent,
            a_transaction_cannot_be_begun,
            closing_ends_the_connection,
        );
        all.extend(NOT_HERE.map(|name| Check {
            name,
            run: says_nothing,
        }));
        all
    }

    fn table(&self) -> &str {
        ""
    }

    fn engine_for(&self, texts: &[String], _prepare: PrepareMode) -> Result<HttpEngine, Failure> {
        let requests = texts.iter().map(|text| serde_json::from_str(text).map_err(unreadable));
        engine(&self.0, requests.collect::<Result<Vec<_>, _>>()?)
    }

    fn load(&self, _load: serde_json::Value, _seed: u64) -> Result<Vec<Loaded>, Failure> {
        Ok(Vec::new())
    }

    fn clean(&self) -> Result<(), Failure> {
        Ok(())
    }
}

/// The common checks that do not apply to HTTP.
const NOT_HERE: [&str; 5] = [
    "a_transaction_commits_or_rolls_back",
    "a_failure_in_a_transaction_is_rolled_back",
    "a_loaded_table_contains_the_generated_values",
    "a_transaction_begins_with_an_isolation_level",
    "a_deadlock_is_recognized",
];

fn says_nothing(_: &Http) -> Outcome {
    let why = "HTTP has neither tables nor transactions of several requests";
    Err(Problem::NotApplicable(why.into()))
}

fn unreadable(error: serde_json::Error) -> Failure {
    Failure::new(
        FailureKind::Other,
        format!("a request of the check's own is wrong: {error}"),
    )
}

fn engine(target: &HttpTarget, requests: Vec<serde_json::Value>) -> Result<HttpEngine, Failure> {
    let statement = |(number, request): (usize, serde_json::Value)| {
        Ok(Statement {
            name: format!("r{number}"),
            sql: String::new(),
            places: Vec::new(),
            request: Some(serde_json::from_value(request).map_err(unreadable)?),
            example: Vec::new(),
            analyze: None,
        })
    };
    let statements: Vec<_> = requests
        .into_iter()
        .enumerate()
        .map(statement)
        .collect::<Result<_, Failure>>()?;
    HttpEngine::new(target, &statements)
}

/// An engine for the scripted service.
fn told(
    service: &Scripted,
    changes: serde_json::Value,
    requests: Vec<serde_json::Value>,
) -> Result<HttpEngine, Failure> {
    let mut target = json!({"host": "127.0.0.1", "port": service.port});
    if let (Some(target), serde_json::Value::Object(changes)) = (target.as_object_mut(), changes) {
        target.extend(changes);
    }
    engine(&serde_json::from_value(target).map_err(unreadable)?, requests)
}

fn client(
    service: &Scripted,
    changes: serde_json::Value,
    requests: Vec<serde_json::Value>,
) -> Result<Client<HttpSession>, Failure> {
    Ok(Client(wait(told(service, changes, requests)?.connect(0))?))
}

/// A request that asks for a path of the scripted service.
fn get(path: &str) -> serde_json::Value {
    json!({"method": "GET", "path": [path], "take": [{"from": "header", "name": "x-target"}]})
}

/// A request whose reply is a JSON list of the first parameters.
fn echo(path: &str, values: usize) -> serde_json::Value {
    let mut pieces = vec![json!("[")];
    for number in 0..values {
        pieces.extend([json!(number), json!(if number + 1 < values { "," } else { "]" })]);
    }
    let take: Vec<_> = (0..values)
        .map(|number| json!({"from": "json", "pointer": format!("/{number}")}))
        .collect();
    json!({"method": "POST", "path": [path], "body": {"kind": "json", "pieces": pieces}, "take": take})
}

fn text(text: impl Into<String>) -> Owned {
    Owned::Text(text.into())
}

fn an_engine_says_what_it_is(system: &Http) -> Outcome {
    let facts = engine(&system.0, Vec::new())?.facts()?;
    same!(facts.engine, "http");
    same!(
        facts.settings.get("version").map(String::as_str),
        Some(system.0.version.name())
    );
    ensure!(facts.plans.is_empty() && facts.catalog == Default::default());
    Ok(())
}

fn many_sessions_work_at_once(system: &Http) -> Outcome {
    let any: Vec<u16> = (200..600).collect();
    let head = json!({"method": "HEAD", "path": ["/"], "expect": any, "take": [{"from": "status"}]});
    let engine = engine(&system.0, vec![head])?;
    let mut sessions = (0..20)
        .map(|number| Ok(Client(wait(engine.connect(number))?)))
        .collect::<Result<Vec<_>, Failure>>()?;
    for _ in 0..2 {
        for session in &mut sessions {
            let asked = session.ask(0, &[], dbdyno_engine::Capture::nothing());
            ensure!(asked.is_pending(), "{asked:?}");
        }
        for session in &mut sessions {
            same!(session.answer(dbdyno_engine::Capture::nothing())?.returned, 1);
        }
    }
    Ok(())
}

fn values_come_back_as_they_were_sent(_: &Http) -> Outcome {
    let service = Scripted::start()?;
    let mut client = client(&service, json!({}), vec![echo("/", 4)])?;
    let odd = "a \"b\"\\\n\u{1}ü€😀";
    for (values, expected) in [
        (
            [
                Value::Integer(i64::MIN),
                Value::Real(0.1),
                Value::Text(odd),
                Value::Null,
            ],
            [Owned::Integer(i64::MIN), Owned::Real(0.1), text(odd), Owned::Null],
        ),
        // The kinds may change from one use to the next.
        (
            [Value::Text(""), Value::Integer(7), Value::Null, Value::Bytes(&[0, 255])],
            [text(""), Owned::Integer(7), Owned::Null, text("AP8=")],
        ),
    ] {
        let (_, seen) = client.fetch(0, &values, 4)?;
        same!(seen, expected);
    }
    // In path and query each is one part, whatever is in it.
    let request = json!({
        "method": "GET", "path": ["/a/", 0, "/b"], "query": [{"name": "q", "value": [0]}, {"name": "r", "value": [1]}],
        "take": [{"from": "header", "name": "X-Target"}],
    });
    let mut client = self::client(&service, json!({"base": "/base"}), vec![request])?;
    let (_, seen) = client.fetch(0, &[Value::Text("x/?&=#% +"), Value::Null], 1)?;
    same!(
        seen,
        [text(
            "/base/a/x%2F%3F%26%3D%23%25%20%2B/b?q=x%2F%3F%26%3D%23%25%20%2B&r="
        )]
    );
    Ok(())
}

fn nulls_and_missing_values_are_null(_: &Http) -> Outcome {
    let service = Scripted::start()?;
    let takes = json!([
        {"from": "json", "pointer": "/9"}, {"from": "header", "name": "x-none"}, {"from": "cookie", "name": "none"},
        {"from": "regex", "pattern": "none"}, {"from": "json", "pointer": "/0"},
    ]);
    let mut request = echo("/", 1);
    request["take"] = takes;
    let mut client = client(&service, json!({}), vec![request])?;
    let (_, seen) = client.fetch(0, &[Value::Null], 5)?;
    same!(seen, [Owned::Null, Owned::Null, Owned::Null, Owned::Null, Owned::Null]);
    Ok(())
}

fn each_reply_is_a_row(_: &Http) -> Outcome {
    let service = Scripted::start()?;
    let mut client = client(&service, json!({}), vec![get("/"), echo("/", 1)])?;
    for _ in 0..3 {
        let rows = client.run(0, &[])?;
        same!((rows.returned, rows.changed), (1, 0));
        same!(client.run(1, &[Value::Integer(1)])?.returned, 1);
    }
    same!(service.requests(), 6);
    same!(service.opened(), 1);
    Ok(())
}

fn failures_have_their_kind_and_leave_the_session_usable(_: &Http) -> Outcome {
    let service = Scripted::start()?;
    let header = json!({"method": "GET", "path": ["/"], "headers": [{"name": "x", "value": [0]}]});
    let mut client = client(
        &service,
        json!({}),
        vec![get("/status/503"), get("/status/404"), get("/fine"), header],
    )?;
    for (number, status) in [(0, "503"), (1, "404")] {
        let failure = client.run(number, &[]).failure()?;
        same!(failure.kind, FailureKind::Status);
        ensure!(
            failure.message.contains(status) && failure.message.contains("try again"),
            "{failure}"
        );
        let (_, seen) = client.fetch(2, &[], 1)?;
        same!(seen, [text("/fine")]);
    }
    // A value that is not valid in its place is never sent.
    let before = service.requests();
    let unfit = client.run(3, &[Value::Text("a\r\nb: c")]).failure()?;
    ensure!(unfit.message.contains("end of a line"), "{unfit}");
    client.run(2, &[])?;
    same!(service.requests(), before + 1);
    same!(service.opened(), 1);
    Ok(())
}

fn the_number_of_values_must_match_the_parameters(_: &Http) -> Outcome {
    let service = Scripted::start()?;
    let mut client = client(&service, json!({}), vec![echo("/", 2)])?;
    for values in [&[Value::Integer(1)][..], &[Value::Integer(1); 3]] {
        let failure = client.run(0, values).failure()?;
        ensure!(failure.message.contains("2 parameters"), "{failure}");
    }
    same!(client.run(0, &[Value::Integer(1); 2])?.returned, 1);
    Ok(())
}

fn a_request_that_can_be_none_is_told_at_once(_: &Http) -> Outcome {
    let service = Scripted::start()?;
    let wrong = json!({"method": "GET", "path": ["no path"]});
    let failure = told(&service, json!({}), vec![get("/"), wrong]).failure()?;
    ensure!(failure.message.ends_with("in r1"), "{failure}");
    same!(service.opened(), 0);
    Ok(())
}

fn a_request_that_takes_too_long_is_a_timeout(_: &Http) -> Outcome {
    let service = Scripted::start()?;
    for alone in [false, true] {
        let mut client = client(&service, json!({"timeout_ms": 50}), vec![get("/never"), get("/fine")])?;
        if alone {
            client.0.hold_up_thread()?;
        }
        for _ in 0..2 {
            same!(client.run(0, &[]).failure()?.kind, FailureKind::Timeout);
            // A late reply is not mistaken for the reply to the next request.
            let (_, seen) = client.fetch(1, &[], 1)?;
            same!(seen, [text("/fine")]);
        }
    }
    Ok(())
}

fn a_connection_that_ends_within_a_reply_is_lost(_: &Http) -> Outcome {
    let service = Scripted::start()?;
    for path in ["/half", "/drop"] {
        // A request that may change something is not sent again.
        let request = json!({"method": "POST", "path": [path]});
        let mut client = client(&service, json!({}), vec![request, get("/fine")])?;
        let before = service.requests();
        let failure = client.run(0, &[]).failure()?;
        same!(failure.kind, FailureKind::Connection);
        same!(service.requests(), before + 1);
        client.run(1, &[])?;
    }
    Ok(())
}

fn a_connection_that_ended_between_requests_is_opened_again(_: &Http) -> Outcome {
    let service = Scripted::start()?;
    for alone in [false, true] {
        let before = service.opened();
        let mut client = client(&service, json!({}), vec![get("/once")])?;
        if alone {
            client.0.hold_up_thread()?;
        }
        for _ in 0..3 {
            same!(client.run(0, &[])?.returned, 1);
        }
        same!(service.opened() - before, 3);
    }
    // If the connection ends again, the request fails: it is not retried forever.
    let mut client = client(&service, json!({}), vec![get("/drop")])?;
    let before = service.requests();
    same!(client.run(0, &[]).failure()?.kind, FailureKind::Connection);
    same!(service.requests(), before + 2);
    Ok(())
}

fn what_is_no_service_is_told(_: &Http) -> Outcome {
    let service = Scripted::start()?;
    let mut client = client(&service, json!({}), vec![get("/garbage")])?;
    let failure = client.run(0, &[]).failure()?;
    same!(failure.kind, FailureKind::Connection);
    ensure!(failure.message.contains("not a valid HTTP/1.1 reply"), "{failure}");
    Ok(())
}

fn connection_errors_are_explained(_: &Http) -> Outcome {
    let port = std::net::TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port();
    for version in ["1.1", "2"] {
        let target = json!({"host": "127.0.0.1", "port": port, "version": version});
        let engine = engine(&serde_json::from_value(target)?, Vec::new())?;
        let failure = wait(engine.connect(0)).map(drop).failure()?;
        same!(failure.kind, FailureKind::Connection);
        let place = format!("127.0.0.1:{port}");
        ensure!(
            failure.message.contains(&place) && failure.message.contains("no server listens"),
            "{failure}"
        );
    }
    Ok(())
}

fn connections_are_kept_or_not(_: &Http) -> Outcome {
    let service = Scripted::start()?;
    let mut kept = client(&service, json!({}), vec![get("/")])?;
    let mut not = client(&service, json!({"keepalive": false}), vec![get("/")])?;
    for _ in 0..5 {
        kept.run(0, &[])?;
        not.run(0, &[])?;
    }
    same!(service.opened(), 1 + 5);
    Ok(())
}

fn very_long_values_are_sent_and_received(_: &Http) -> Outcome {
    let service = Scripted::start()?;
    for path in ["/", "/chunks"] {
        for alone in [false, true] {
            let mut client = client(&service, json!({}), vec![echo(path, 2)])?;
            if alone {
                client.0.hold_up_thread()?;
            }
            let long = "wörter ".repeat(500_000);
            let (_, seen) = client.fetch(0, &[Value::Text(&long), Value::Integer(1)], 2)?;
            ensure!(seen == [text(long), Owned::Integer(1)], "{path}");
        }
    }
    Ok(())
}

fn a_body_without_an_end_is_not_kept(_: &Http) -> Outcome {
    let service = Scripted::start()?;
    let endless = json!({"method": "GET", "path": ["/endless"], "take": [{"from": "body"}]});
    for alone in [false, true] {
        let mut client = client(&service, json!({}), vec![endless.clone(), get("/fine")])?;
        if alone {
            client.0.hold_up_thread()?;
        }
        let failure = client.run(0, &[]).failure()?;
        same!(failure.kind, FailureKind::Other);
        ensure!(failure.message.contains("16 MiB or longer"), "{failure}");
        let (_, seen) = client.fetch(1, &[], 1)?;
        same!(seen, [text("/fine")]);
    }
    Ok(())
}

fn replies_that_come_in_pieces_are_put_together(_: &Http) -> Outcome {
    let service = Scripted::start()?;
    let mut client = client(&service, json!({}), vec![echo("/pieces", 2), echo("/chunks", 2)])?;
    for _ in 0..3 {
        for number in 0..2 {
            let (_, seen) = client.fetch(number, &[Value::Text("ab"), Value::Integer(2)], 2)?;
            same!(seen, [text("ab"), Owned::Integer(2)]);
        }
    }
    same!(service.opened(), 1);
    Ok(())
}

fn a_password_is_sent(_: &Http) -> Outcome {
    let service = Scripted::start()?;
    let request = json!({"method": "GET", "path": ["/"], "take": [{"from": "header", "name": "x-authorization"}]});
    let mut client = client(&service, json!({"password": "me:it's right"}), vec![request])?;
    let (_, seen) = client.fetch(0, &[], 1)?;
    same!(seen, [text("Basic bWU6aXQncyByaWdodA==")]);
    Ok(())
}

fn a_transaction_cannot_be_begun(_: &Http) -> Outcome {
    let service = Scripted::start()?;
    let mut client = client(&service, json!({}), vec![get("/")])?;
    for control in [Control::Begin(BeginMode::Deferred), Control::Commit] {
        let failure = client.control(control).failure()?;
        ensure!(failure.message.contains("no transactions"), "{failure}");
    }
    // No transaction is open, so rolling back succeeds.
    ensure!(matches!(client.0.control(Control::Rollback), Poll::Ready(Ok(()))));
    client.run(0, &[])?;
    Ok(())
}

fn closing_ends_the_connection(_: &Http) -> Outcome {
    let service = Scripted::start()?;
    for _ in 0..3 {
        let mut client = client(&service, json!({}), vec![get("/")])?;
        client.run(0, &[])?;
        wait(client.0.close())?;
    }
    same!(service.opened(), 3);
    ensure!(service.all_end());
    Ok(())
}
