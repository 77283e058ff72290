//! Complete trials on the null engine and on SQLite.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use dbdyno_engine::Engine;
use dbdyno_engine::driver::{Driver as _, Measure, Site};
use dbdyno_engines::Target;
use dbdyno_load::report::EndedBy;
use dbdyno_load::{Event, LocalCoordinator, Outcome, TrialError};
use dbdyno_protocol::plan::document::{FailureKind, Trial};
use serde_json::{Value, json};
use std::sync::atomic::{AtomicBool, Ordering};

/// A trial of one transaction, with some keys of its plan replaced.
fn trial(steps: Value, parts: Value) -> Trial {
    let mut plan = json!({
        "target": {"engine": "null"},
        "clients": 2,
        "window": {"transactions": 300},
        "statements": [],
        "transactions": [{"name": "t", "steps": steps}],
    });
    for (key, part) in parts.as_object().unwrap() {
        plan[key] = part.clone();
    }
    // Watching SQLite is installed once per process, and the trials here share one.
    for watched in ["io", "mutexes"] {
        plan["record"][watched] = json!(false);
    }
    serde_json::from_value(plan).unwrap()
}

fn run(trial: &Trial) -> Outcome {
    try_run(trial, &AtomicBool::new(false), |_| {}).unwrap()
}

/// Runs a trial on an engine.
struct Run<'a, F> {
    trial: &'a Trial,
    stop: &'a AtomicBool,
    emit: F,
}

impl<F: FnMut(Event)> Measure for Run<'_, F> {
    type Output = Result<Outcome, TrialError>;

    fn measure<E: Engine>(self, engine: &E, site: Site<'_>) -> Self::Output {
        dbdyno_load::run(engine, self.trial, 1, site, self.stop, &mut LocalCoordinator, self.emit)
    }
}

/// Matches two engines only: `Target::measure` would compile the load for every engine.
fn try_run(trial: &Trial, stop: &AtomicBool, emit: impl FnMut(Event)) -> Result<Outcome, TrialError> {
    let measured = match Target::try_from(&trial.target)? {
        Target::Null(driver) => driver.measure(trial, Run { trial, stop, emit }),
        Target::Sqlite(driver) => driver.measure(trial, Run { trial, stop, emit }),
        other => panic!("no test uses {other:?}"),
    };
    measured.unwrap_or_else(|failure| Err(TrialError::Connect { client: 0, failure }))
}

/// A SQLite file with a table of ten rows.
fn database() -> (tempfile::TempDir, Value) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("t.db");
    let target: Value = json!({"engine": "sqlite", "path": path.to_str().unwrap(), "busy_timeout_ms": 2000});
    let setup = trial(
        json!([{"do": "execute", "statement": 0}, {"do": "execute", "statement": 1}]),
        json!({"target": target, "clients": 1, "window": {"transactions": 1}, "prepare": "never", "statements": [
            {"name": "create", "sql": "create table t (id integer primary key, v integer)"},
            {"name": "fill", "sql": "with recursive n(i) as (select 1 union all select i + 1 from n where i < 10) \
                                     insert into t select i, 0 from n"},
        ]}),
    );
    assert_eq!(run(&setup).accounting.ok, 1);
    (directory, target)
}

fn balance(outcome: &Outcome) {
    let accounting = &outcome.accounting;
    assert_eq!(
        accounting.issued,
        accounting.ok + accounting.failures() + accounting.skipped + accounting.in_flight
    );
    // Transactions cut by the window's end are timed to their own end.
    assert!((accounting.ok..=accounting.ok + accounting.in_flight).contains(&outcome.completed));
    assert_eq!(outcome.histograms["service"].len(), outcome.completed);
    let failed = outcome.histograms.get("failed").map_or(0, |failed| failed.len());
    assert_eq!(failed + outcome.completed + accounting.skipped, accounting.issued);
    let at_least = outcome.histograms.get("at_least").map_or(0, |at_least| at_least.len());
    assert_eq!(at_least, failed + accounting.skipped);
}

#[test]
fn a_number_of_transactions_ends_the_window() {
    let (_directory, target) = database();
    let steps = json!([{"do": "execute", "statement": 0, "params": [{"kind": "uniform", "low": 1, "high": 10}]}]);
    let statements = json!([{"name": "read", "sql": "select * from t where id = ?", "places": [27]}]);
    let outcome = run(&trial(steps, json!({"target": target, "statements": statements})));
    balance(&outcome);
    assert_eq!((outcome.accounting.issued, outcome.accounting.ok), (600, 600));
    assert_eq!(outcome.ended_by, EndedBy::Transactions);
    assert_eq!((outcome.work.statements, outcome.work.returned), (600, 600));
    assert_eq!(outcome.statements, [("read".to_owned(), 600, 600, 0)]);
}

#[test]
fn a_number_of_statements_ends_the_window_at_a_transactions_end() {
    let (_directory, target) = database();
    let steps = json!([{"do": "repeat", "times": 7, "steps": [{"do": "execute", "statement": 0}]}]);
    let statements = json!([{"name": "count", "sql": "select count(*) from t"}]);
    let parts = json!({"target": target, "statements": statements, "window": {"statements": 50}, "clients": 1});
    let outcome = run(&trial(steps, parts));
    assert_eq!(outcome.ended_by, EndedBy::Statements);
    assert_eq!((outcome.accounting.ok, outcome.work.statements), (8, 56));
    // Each transaction returned 7 rows.
    assert_eq!((outcome.work.returned, outcome.returned_squared), (56, 8.0 * 49.0));
}

#[test]
fn the_time_ends_the_window_and_running_transactions_are_in_flight() {
    let steps = json!([{"do": "think", "milliseconds": {"kind": "constant", "value": 30}}]);
    let outcome = run(&trial(steps, json!({"window": {"seconds": 0.1}})));
    balance(&outcome);
    assert_eq!(outcome.ended_by, EndedBy::Seconds);
    assert_eq!(outcome.accounting.in_flight, 2);
    assert_eq!(outcome.completed, outcome.accounting.ok + 2);
    assert!((outcome.elapsed_s - 0.1).abs() < 1e-9);
    // Think time isn't service time, but it is part of the time breakdown.
    assert!(outcome.histograms["service"].max() < 20_000_000);
    assert!(outcome.time.idle > outcome.time.total / 2);
}

#[test]
fn the_rate_of_few_transactions_follows_from_their_times() {
    // One of each ends in the window; 3 and 2 begin.
    for think in [440.0, 600.0] {
        let steps = json!([{"do": "think", "milliseconds": {"kind": "constant", "value": think}}]);
        let outcome = run(&trial(steps, json!({"clients": 1, "window": {"seconds": 0.8}})));
        balance(&outcome);
        assert_eq!((outcome.accounting.ok, outcome.completed), (1, 2));
        let rate = outcome.rate.per_s();
        // A busy machine makes it slower, never faster.
        assert!(rate <= 1000.0 / think && rate > 600.0 / think, "{rate} at {think}");
        // The times are nearly equal.
        let cycles = outcome.cycles;
        assert_eq!(cycles.count, 2);
        assert!(cycles.squares * 2.0 / cycles.seconds.powi(2) < 1.25, "{cycles:?}");
    }
}

#[test]
fn a_window_begins_and_ends_while_all_clients_are_busy() {
    let (_directory, target) = database();
    // Each client holds the lock for 20 ms. If all started at once, the first would never wait.
    let steps = json!([
        {"do": "begin", "mode": "immediate"}, {"do": "execute", "statement": 0},
        {"do": "think", "milliseconds": {"kind": "constant", "value": 20}}, {"do": "commit"},
    ]);
    let parts = json!({
        "target": target, "statements": [{"name": "add", "sql": "update t set v = v + 1"}],
        "clients": 4, "window": {"seconds": 0.3},
    });
    let outcome = run(&trial(steps, parts));
    balance(&outcome);
    assert_eq!(outcome.accounting.failures(), 0, "{:?}", outcome.messages);
    // 50 per second can have the lock, and each client has part of a transaction at the window's end.
    assert!(outcome.accounting.ok <= 16, "{:?}", outcome.accounting);
    assert!(outcome.rate.few.within <= 20.0, "{:?}", outcome.rate);
    assert!(outcome.besides >= 4);
    // Transactions before and after the window changed rows but aren't counted.
    let read = json!([{"do": "execute", "statement": 0, "into": ["v"]},
        {"do": "when", "left": {"kind": "variable", "name": "v"}, "compare": "gt",
         "right": {"kind": "constant", "value": outcome.completed}, "then": [{"do": "execute", "statement": 0}]}]);
    let parts = json!({"target": target, "clients": 1, "window": {"transactions": 1},
        "statements": [{"name": "v", "sql": "select v from t where id = 1"}]});
    assert_eq!(run(&trial(read, parts)).work.statements, 2);
    assert_eq!(outcome.work.changed, 10 * outcome.completed);
}

#[test]
fn costs_per_transaction_refer_to_whole_transactions() {
    let (_directory, target) = database();
    let steps = json!([
        {"do": "execute", "statement": 0},
        {"do": "think", "milliseconds": {"kind": "constant", "value": 600}},
        {"do": "execute", "statement": 0},
    ]);
    let parts = json!({
        "target": target, "statements": [{"name": "add", "sql": "update t set v = v + 1 where id = 1"}],
        "clients": 1, "window": {"seconds": 0.8},
    });
    let outcome = run(&trial(steps, parts));
    balance(&outcome);
    // Each of two commits syncs a journal and a file, even if the window cuts the second.
    assert_eq!((outcome.completed, outcome.work.changed), (2, 4));
    assert_eq!(outcome.thread.syncs % 4, 0, "{:?}", outcome.thread);
    assert!(outcome.watched_s > 0.4 && outcome.time.total >= 1_200_000_000);
}

#[test]
fn a_failure_is_counted_by_kind_and_its_work_is_not() {
    let (_directory, target) = database();
    let steps = json!([{"do": "execute", "statement": 0}, {"do": "execute", "statement": 1}]);
    let statements = json!([
        {"name": "good", "sql": "select count(*) from t"},
        {"name": "bad", "sql": "insert into t values (1, 1)"},
    ]);
    let outcome = run(&trial(steps, json!({"target": target, "statements": statements})));
    balance(&outcome);
    assert_eq!(outcome.accounting.failed[&FailureKind::Constraint], 600);
    assert!(outcome.messages[&FailureKind::Constraint].contains("UNIQUE"));
    // The statements that ran are counted, but no transaction completed.
    assert_eq!(outcome.statements[0].1, 600);
    assert_eq!((outcome.work.statements, outcome.work.returned), (0, 0));
    assert_eq!(outcome.returned_squared, 0.0);
}

#[test]
fn a_failed_transaction_is_rolled_back() {
    let (_directory, target) = database();
    let steps = json!([
        {"do": "begin", "mode": "immediate"}, {"do": "execute", "statement": 0}, {"do": "execute", "statement": 1},
        {"do": "commit"},
    ]);
    let statements = json!([
        {"name": "good", "sql": "update t set v = v + 1"},
        {"name": "bad", "sql": "insert into t values (1, 1)"},
    ]);
    run(&trial(
        steps,
        json!({"target": target, "statements": statements, "window": {"transactions": 5}}),
    ));
    let steps = json!([
        {"do": "execute", "statement": 0, "into": ["v"]},
        {"do": "when", "left": {"kind": "variable", "name": "v"}, "compare": "ne",
         "right": {"kind": "constant", "value": 0}, "then": [{"do": "execute", "statement": 1}]},
    ]);
    let statements = json!([
        {"name": "sum", "sql": "select sum(v) from t"},
        {"name": "changed", "sql": "select 1"},
    ]);
    let outcome = run(&trial(steps, json!({"target": target, "statements": statements})));
    assert_eq!(outcome.statements[1].1, 0);
}

#[test]
fn a_retried_transaction_is_one_transaction_with_the_same_values() {
    let (_directory, target) = database();
    // The first attempt fails because the key exists. The second, which must draw the same key, succeeds.
    let steps = json!([
        {"do": "set", "variable": "k", "value": {"kind": "uniform", "low": 1, "high": 1_000_000}},
        {"do": "execute", "statement": 0, "params": [{"kind": "variable", "name": "k"}], "into": ["n"]},
        {"do": "execute", "statement": 1, "params": [{"kind": "variable", "name": "k"}]},
        {"do": "when", "left": {"kind": "variable", "name": "n"}, "compare": "eq",
         "right": {"kind": "constant", "value": 0}, "then": [{"do": "execute", "statement": 2}]},
    ]);
    let statements = json!([
        {"name": "seen", "sql": "select count(*) from t where id = ?", "places": [34]},
        {"name": "insert", "sql": "insert or ignore into t (id) values (?)", "places": [37]},
        {"name": "fail", "sql": "insert into t values (1, 1)"},
    ]);
    let retry = json!({"attempts": 2, "on": ["constraint"], "wait_ms": 0});
    let parts = json!({
        "target": target, "statements": statements, "retry": retry, "clients": 1, "window": {"transactions": 100},
    });
    let outcome = run(&trial(steps, parts));
    balance(&outcome);
    assert_eq!(outcome.accounting.failures(), 0, "{:?}", outcome.messages);
    assert_eq!((outcome.accounting.issued, outcome.accounting.ok), (100, 100));
    assert_eq!(outcome.accounting.retries, 100);
    // Each first attempt ran two statements before the failing one. They don't count as work of a completed
    // transaction.
    assert_eq!(outcome.statements[0].1, 200);
    assert_eq!(outcome.work.statements, 200);
}

#[test]
fn a_session_for_each_transaction_is_opened_and_closed() {
    let (_directory, target) = database();
    let steps = json!([{"do": "execute", "statement": 0}]);
    let parts = json!({
        "target": target, "statements": [{"name": "count", "sql": "select count(*) from t"}],
        "connect": "per-transaction", "prepare": "per-transaction", "window": {"transactions": 50},
        "record": {"phases": true},
    });
    let outcome = run(&trial(steps, parts));
    balance(&outcome);
    assert_eq!(outcome.accounting.ok, 100);
    for phase in ["connect", "prepare", "execute", "fetch"] {
        assert_eq!(outcome.histograms[phase].len(), 100, "{phase}");
    }
    assert!(outcome.time.prepare > 0);
}

#[test]
fn the_connect_time_of_a_lasting_session_is_kept() {
    let (_directory, target) = database();
    let steps = json!([{"do": "execute", "statement": 0}]);
    let parts = json!({
        "target": target, "statements": [{"name": "count", "sql": "select count(*) from t"}],
        "window": {"transactions": 50}, "warmup": {"transactions": 5}, "record": {"phases": true},
    });
    let outcome = run(&trial(steps, parts));
    assert_eq!(outcome.histograms["connect"].len(), 2);
    assert_eq!(outcome.histograms["execute"].len(), 100);
}

#[test]
fn an_open_loop_keeps_its_schedule_and_counts_what_it_could_not_begin() {
    // Two clients that think 20 ms can begin 100 per second; 1000 are due.
    let steps = json!([{"do": "think", "milliseconds": {"kind": "constant", "value": 20}}]);
    let parts = json!({"window": {"seconds": 0.3}, "arrival": {"loop": "open", "rate": 1000.0, "gaps": "even"}});
    let outcome = run(&trial(steps, parts));
    balance(&outcome);
    assert!(
        (298..=302).contains(&outcome.accounting.issued),
        "{}",
        outcome.accounting.issued
    );
    assert!(outcome.accounting.skipped > 200, "{}", outcome.accounting.skipped);
    assert_eq!(outcome.histograms["response"].len(), outcome.completed);
    // Skipped transactions waited since they were due.
    assert!(outcome.histograms["at_least"].max() > 200_000_000);
    // Later transactions waited for most of the window. These waits are in the response time, not in the service time.
    assert!(outcome.histograms["queue"].max() > 100_000_000);
    assert!(outcome.histograms["response"].max() >= outcome.histograms["queue"].max());
}

#[test]
fn an_open_loop_that_keeps_up_skips_nothing() {
    let parts = json!({"window": {"seconds": 0.3}, "arrival": {"loop": "open", "rate": 500.0, "gaps": "poisson"}});
    let outcome = run(&trial(json!([]), parts));
    balance(&outcome);
    assert_eq!(outcome.accounting.failures(), 0);
    assert!(
        (90..=220).contains(&outcome.accounting.issued),
        "{}",
        outcome.accounting.issued
    );
}

#[test]
fn a_trial_that_is_stopped_keeps_what_it_has() {
    let stop = AtomicBool::new(false);
    let parts = json!({"window": {"seconds": 60}, "record": {"interval_ms": 50}});
    let outcome = try_run(&trial(json!([]), parts), &stop, |event| {
        if matches!(event, Event::Interval(_)) {
            stop.store(true, Ordering::Relaxed);
        }
    })
    .unwrap();
    balance(&outcome);
    assert_eq!(outcome.ended_by, EndedBy::Interrupted);
    assert!(outcome.accounting.ok > 0 && outcome.elapsed_s < 30.0);
}

#[test]
fn the_warm_up_is_not_counted() {
    let (_directory, target) = database();
    let steps = json!([{"do": "execute", "statement": 0}]);
    let parts = json!({
        "target": target, "statements": [{"name": "add", "sql": "update t set v = v + 1 where id = 1"}],
        "warmup": {"transactions": 40}, "window": {"transactions": 10}, "clients": 1,
    });
    let outcome = run(&trial(steps, parts));
    assert_eq!((outcome.accounting.issued, outcome.statements[0].3), (10, 10));
    let read = json!([
        {"do": "execute", "statement": 0, "into": ["v"]},
        {"do": "when", "left": {"kind": "variable", "name": "v"}, "compare": "eq",
         "right": {"kind": "constant", "value": 50}, "then": [{"do": "execute", "statement": 0}]},
    ]);
    let parts = json!({
        "target": target, "statements": [{"name": "v", "sql": "select v from t where id = 1"}], "clients": 1,
        "window": {"transactions": 1},
    });
    assert_eq!(run(&trial(read, parts)).work.statements, 2);
}

#[test]
fn an_unreachable_system_fails_the_trial() {
    let target = json!({"engine": "sqlite", "path": "/nowhere/at/all.db"});
    let error = try_run(
        &trial(json!([]), json!({"target": target})),
        &AtomicBool::new(false),
        |_| {},
    )
    .unwrap_err();
    assert!(matches!(error, TrialError::Connect { .. }), "{error}");
    assert!(error.to_string().contains("/nowhere/at/all.db"), "{error}");
}

#[test]
fn a_step_gives_a_value_for_each_place_of_its_statement() {
    let (_directory, target) = database();
    let steps = json!([{"do": "execute", "statement": 0, "params": [{"kind": "constant", "value": 1}]}]);
    let parts = json!({
        "target": target, "statements": [{"name": "read", "sql": "select * from t where id = ?"}],
        "prepare": "never", "window": {"transactions": 1},
    });
    let error = try_run(&trial(steps, parts), &AtomicBool::new(false), |_| {}).unwrap_err();
    let expected = "task.statements[0].places: the statement has 0 places, but a step gives 1 values";
    assert!(error.to_string().starts_with(expected), "{error}");
}

#[test]
fn a_plan_that_would_never_end_is_refused() {
    let error = try_run(
        &trial(json!([]), json!({"window": {}})),
        &AtomicBool::new(false),
        |_| {},
    )
    .unwrap_err();
    assert!(error.to_string().contains("the window needs an end"), "{error}");
}

#[test]
fn an_interleaved_trial_works_only_in_its_own_slices() {
    for index in 0..2 {
        // Each client is busy for the whole window, unless a thread has no CPU when a slice begins.
        assert!((0..20).any(|_| time_in_own_slices(index) > 190_000_000));
    }
}

/// Checks an interleaved trial of two clients, and returns for how many nanoseconds they were busy.
fn time_in_own_slices(index: u64) -> u64 {
    let parts = json!({
        "window": {"seconds": 0.1},
        "interleaving": {"length_ms": 5.0, "index": index, "of": 4},
        "record": {"interval_ms": 20},
    });
    let mut spans = Vec::new();
    let emit = |event| {
        if let Event::Interval(interval) = event {
            spans.push((interval.span_s, interval.counts.ok));
        }
    };
    let outcome = try_run(&trial(json!([]), parts), &AtomicBool::new(false), emit).unwrap();
    balance(&outcome);
    assert_eq!(outcome.ended_by, EndedBy::Seconds);
    assert!((outcome.elapsed_s - 0.1).abs() < 1e-9, "{}", outcome.elapsed_s);
    let (overrun_s, real_s) = outcome.interleaving.unwrap();
    // Twenty slices of 5 ms, with three slices of other trials between each two. There are fewer slices if a thread had
    // no CPU at the end of one and its transaction overran it.
    assert!(real_s >= 0.2, "{real_s}");
    assert!(overrun_s < 0.1, "{overrun_s}");
    // The clients don't work in slices of other trials.
    assert!(outcome.time.total < 300_000_000);
    assert!(outcome.time.cpu < outcome.time.total + 50_000_000);
    assert_eq!(spans.iter().map(|(_, ok)| ok).sum::<u64>(), outcome.accounting.ok);
    assert!(spans.windows(2).all(|pair| pair[0].0.1 <= pair[1].0.0 + 1e-9));
    assert!(spans[0].0.1 >= 0.02 && spans[0].0.1 < 0.1, "{spans:?}");
    outcome.time.total
}

#[test]
fn a_transaction_longer_than_a_slice_continues_in_the_next() {
    let steps = json!([{"do": "think", "milliseconds": {"kind": "constant", "value": 12}}]);
    let parts = json!({
        "clients": 1,
        "window": {"transactions": 4},
        "interleaving": {"length_ms": 5.0, "index": 0, "of": 2},
    });
    let outcome = run(&trial(steps, parts));
    balance(&outcome);
    assert_eq!((outcome.accounting.ok, outcome.ended_by), (4, EndedBy::Transactions));
    assert!(outcome.elapsed_s >= 0.048, "{}", outcome.elapsed_s);
    let (overrun_s, real_s) = outcome.interleaving.unwrap();
    // Nine slices pass before it ends, each followed by one of another trial; fewer if a thread had no CPU and overran.
    // An overrun happens in the other trial's slices.
    let in_turn_s = outcome.elapsed_s - overrun_s;
    let pauses = (in_turn_s / 0.005 - 1.0).floor();
    assert!(real_s >= in_turn_s + pauses * 0.005, "{real_s}, {overrun_s}");
}

#[test]
fn plans_that_cannot_be_interleaved_are_refused() {
    for (parts, said) in [
        (
            json!({"interleaving": {"length_ms": 0.5, "index": 0, "of": 2}}),
            "task.interleaving.length_ms: 0.5 is out of range",
        ),
        (
            json!({"interleaving": {"length_ms": 5.0, "index": 2, "of": 2}}),
            "less than",
        ),
        (
            json!({"interleaving": {"length_ms": 5.0, "index": 0, "of": 2}, "arrival": {"loop": "open", "rate": 10.0}}),
            "cannot be interleaved",
        ),
    ] {
        let refused = try_run(&trial(json!([]), parts), &AtomicBool::new(false), |_| {});
        assert!(refused.unwrap_err().to_string().contains(said));
    }
}

#[test]
fn a_number_of_rows_changed_ends_the_window_and_counters_go_on() {
    let (_directory, target) = database();
    let id = json!({"kind": "serial", "start": 11, "step": 1});
    let steps = json!([{"do": "repeat", "times": 3, "steps": [{"do": "execute", "statement": 0, "params": [id]}]}]);
    let statements = json!([{"name": "insert", "sql": "insert into t values (?, 0)", "places": [22]}]);
    let retry = json!({"attempts": 1000, "on": ["locked"]});
    let mut first_use = 0;
    for round in 0..3 {
        let outcome = run(&trial(
            steps.clone(),
            json!({
                "target": target, "statements": statements, "window": {"rows": 10}, "warmup": {"transactions": 1},
                "retry": retry, "first_use": first_use,
            }),
        ));
        balance(&outcome);
        assert_eq!(
            outcome.accounting.failures(),
            0,
            "round {round}: {:?}",
            outcome.messages
        );
        assert_eq!(outcome.ended_by, EndedBy::Rows);
        // Four transactions of three rows each pass ten, for both clients.
        assert_eq!((outcome.accounting.ok, outcome.work.changed), (8, 24));
        // The warm-up also used three numbers per client, and each client uses every second number.
        assert!(
            outcome.next_use >= first_use + 30,
            "{} after {first_use}",
            outcome.next_use
        );
        first_use = outcome.next_use;
    }
}

#[test]
fn clients_that_have_ended_use_no_cpu() {
    let first = json!({"do": "when", "left": {"kind": "serial"}, "compare": "eq",
        "right": {"kind": "constant", "value": 1},
        "then": [{"do": "think", "milliseconds": {"kind": "constant", "value": 1000}}]});
    let outcome = run(&trial(
        json!([first]),
        json!({"clients": 100, "window": {"transactions": 1}}),
    ));
    assert_eq!(outcome.accounting.ok, 100);
    // A polling thread would cause thousands of context switches per second. Other tests share the process.
    assert!(outcome.switches.0 < 50_000, "{:?}", outcome.switches);
}
