//! Mutated plans are refused or compiled, without a panic and in bounded memory.
#![allow(clippy::unwrap_used)]

use dbdyno_program::Programs;
use dbdyno_protocol::plan::{Plan, Task};
use proptest::prelude::*;
use proptest::sample::Index;
use proptest::test_runner::TestRunner;
use serde_json::{Value, json};

/// A plan with steps and generators of every kind.
fn plan() -> Value {
    let reference = json!({
        "kind": "reference", "stream": 3, "of": {"kind": "serial", "start": 1, "step": 2},
        "row": {"kind": "zipf", "low": 0, "high": 99, "exponent": 1.1, "scattered": true},
    });
    let expression = json!({
        "kind": "expression", "text": "1 + :a",
        "tree": {"op": "call", "function": "add", "arguments": [
            {"op": "constant", "value": 1}, {"op": "variable", "name": "a"},
        ]},
    });
    let params = json!([
        {"kind": "constant", "value": 5}, {"kind": "variable", "name": "a"}, {"kind": "uniform", "low": 1, "high": 9},
        {"kind": "uniform_real", "low": 0.5, "high": 2.5}, {"kind": "gaussian", "low": 1, "high": 9, "deviations": 2.0},
        {"kind": "text", "min": 3, "max": 10}, {"kind": "now", "format": "text"},
        {"kind": "words", "min": 1, "max": 3, "vocabulary": {"size": 50, "exponent": 1.0, "without": ["z"]}},
        {"kind": "pick", "values": [1, 2.5, "x", null, true], "weights": [1, 2, 3, 4, 5]},
        {"kind": "uuid", "version": "v7", "format": "hex"},
        {"kind": "uuid", "version": {"sequence_blocked": {"block_size": 10, "block_count": 300}}},
        {"kind": "uuid", "version": {"time_blocked": {"interval_length": 60, "interval_count": 65536}}},
        {"kind": "format", "template": "a{}b{}", "parts": [{"kind": "serial"}, {"kind": "text", "min": 1, "max": 1}]},
        {"kind": "nullable", "share": 0.5, "of": {"kind": "serial"}}, reference,
    ]);
    let steps = json!([
        {"do": "set", "variable": "a", "value": {"kind": "uniform", "low": 1, "high": 9}, "once": true},
        {"do": "set", "variable": "b", "value": expression},
        {"do": "begin", "mode": "immediate"},
        {"do": "execute", "statement": 0, "params": params, "into": ["c", "d"]},
        {"do": "when", "left": {"kind": "variable", "name": "c"}, "compare": "is_not_null",
         "then": [{"do": "commit"}], "otherwise": [{"do": "rollback"}]},
        {"do": "chance", "probability": 0.5, "then": [{"do": "think", "milliseconds": {"kind": "constant", "value": 1}}]},
        {"do": "repeat", "times": 3, "steps": [{"do": "pause", "microseconds": {"kind": "constant", "value": 1}}]},
    ]);
    json!({
        "schema": "dbdyno.plan/1", "seed": 7, "task": {
            "kind": "trial", "target": {"engine": "null"}, "clients": 3, "part": {"first": 0, "of": 9}, "threads": 2,
            "arrival": {"loop": "open", "rate": 10.0, "gaps": "even"}, "warmup": {"seconds": 0.1, "transactions": 5},
            "window": {"seconds": 1.0, "transactions": 10, "statements": 20, "rows": 30}, "first_use": 3,
            "retry": {"attempts": 3, "on": ["locked"], "wait_ms": 1.5}, "record": {"interval_ms": 100, "groups": [3]},
            "statements": [{"name": "s", "sql": "select ?", "places": [7], "example": [1], "analyze": [1]}],
            "transactions": [{"name": "t", "weight": 2.0, "steps": steps}],
            "changes": {"sync": {"delay_us": 5.0, "skip": false}, "message": {"delay_us": 1.0}},
            "tiers": [{"name": "db", "pids": [1]}],
        },
    })
}

/// Replacement values: extremes, and values of other types.
fn replacement() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(json!(null)),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        proptest::sample::select(vec![
            json!(0),
            json!(-1),
            json!(1),
            json!(i64::MAX),
            json!(i64::MIN),
            json!(u64::MAX),
            json!(u32::MAX),
            json!(1e300),
            json!(-1e300),
            json!(5e-324),
            json!(1_000_000_000_000_i64),
            json!(""),
            json!("\u{0}"),
            json!("a"),
            json!([]),
            json!({}),
            json!([[[[]]]]),
            json!({"kind": "serial"}),
            json!({"do": "commit"}),
        ]),
        ".{0,12}".prop_map(Value::from),
    ]
}

/// A mutation of the plan.
#[derive(Debug, Clone)]
enum Change {
    Replace(Index, Value),
    Remove(Index),
    Repeat(Index),
    /// Replaces one part by another part of the plan.
    Copy(Index, Index),
}

fn change() -> impl Strategy<Value = Change> {
    prop_oneof![
        5 => (any::<Index>(), replacement()).prop_map(|(at, value)| Change::Replace(at, value)),
        1 => any::<Index>().prop_map(Change::Remove),
        1 => any::<Index>().prop_map(Change::Repeat),
        2 => (any::<Index>(), any::<Index>()).prop_map(|(at, from)| Change::Copy(at, from)),
    ]
}

/// The paths of all parts of a document except the root.
fn paths(value: &Value, at: &str, all: &mut Vec<String>) {
    let mut enter = |name: String, part: &Value| {
        let path = format!("{at}/{name}");
        all.push(path.clone());
        paths(part, &path, all);
    };
    match value {
        Value::Object(parts) => parts.iter().for_each(|(name, part)| enter(name.clone(), part)),
        Value::Array(parts) => (0..)
            .zip(parts)
            .for_each(|(at, part): (usize, _)| enter(at.to_string(), part)),
        _ => {}
    }
}

fn apply(plan: &mut Value, change: &Change) {
    let mut all = Vec::new();
    paths(plan, "", &mut all);
    let (Change::Replace(at, _) | Change::Remove(at) | Change::Repeat(at) | Change::Copy(at, _)) = change;
    let path = all[at.index(all.len())].clone();
    match change {
        Change::Replace(_, value) => put(plan, &path, value.clone()),
        Change::Copy(_, from) => {
            let copied = plan.pointer(&all[from.index(all.len())]).cloned();
            put(plan, &path, copied.unwrap_or_default());
        }
        Change::Remove(_) | Change::Repeat(_) => {
            let (parent, name) = path.rsplit_once('/').unwrap();
            match plan.pointer_mut(parent) {
                Some(Value::Object(parts)) => drop(parts.remove(name)),
                Some(Value::Array(parts)) if matches!(change, Change::Repeat(_)) => {
                    let again = parts[name.parse::<usize>().unwrap()].clone();
                    parts.push(again);
                }
                Some(Value::Array(parts)) => drop(parts.remove(name.parse().unwrap())),
                _ => {}
            }
        }
    }
}

fn put(plan: &mut Value, path: &str, value: Value) {
    if let Some(part) = plan.pointer_mut(path) {
        *part = value;
    }
}

/// Reads, checks and compiles a plan. Errors are fine.
fn carry_out(text: &str) {
    let Ok(plan) = Plan::from_json(text) else { return };
    let Task::Trial(trial) = plan.task else { return };
    let changes = trial.changes.as_ref().map_or(Ok(()), |changes| changes.check());
    let checked = trial.check_limits().and(changes);
    let compiled = Programs::compile(&trial.transactions, trial.statements.len());
    if let (Ok(()), Ok(programs)) = (checked, compiled) {
        let _ = programs.state(plan.seed, plan.seed, 0, trial.clients, trial.first_use);
    }
}

/// Peak memory of this process in MiB.
#[cfg(target_os = "linux")]
fn peak_mib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() / 1024
}

#[test]
fn the_plan_itself_compiles() {
    let plan = Plan::from_json(&plan().to_string()).unwrap();
    let Task::Trial(trial) = plan.task else {
        panic!("it is a trial")
    };
    trial.check_limits().unwrap();
    assert_eq!(Programs::compile(&trial.transactions, 1).unwrap().all().len(), 1);
}

/// Compiles 5,000 plans and checks the memory use.
fn carry_out_each<S: Strategy>(changes: S, plan: impl Fn(S::Value) -> String) {
    let mut runner = TestRunner::new(ProptestConfig::with_cases(5000));
    let carried_out = runner.run(&changes, |change| {
        carry_out(&plan(change));
        Ok(())
    });
    carried_out.unwrap();
    #[cfg(target_os = "linux")]
    assert!(peak_mib() < 512, "{} MiB", peak_mib());
}

#[test]
fn a_changed_plan_is_compiled_or_refused() {
    carry_out_each(proptest::collection::vec(change(), 1..4), |changes| {
        let mut changed = plan();
        for each in &changes {
            apply(&mut changed, each);
        }
        changed.to_string()
    });
}

#[test]
fn a_plan_whose_text_was_changed_is_compiled_or_refused() {
    let bytes = proptest::collection::vec(any::<u8>(), 0..6);
    carry_out_each((any::<Index>(), bytes, 0_usize..6), |(at, bytes, cut)| {
        let mut text = plan().to_string().into_bytes();
        let at = at.index(text.len());
        text.splice(at..(at + cut).min(text.len()), bytes);
        String::from_utf8_lossy(&text).into_owned()
    });
}

#[test]
fn a_plan_nested_very_deeply_is_refused() {
    let open = r#"{"do":"repeat","times":2,"steps":["#;
    let text = plan()
        .to_string()
        .replace(r#""steps":["#, &format!(r#""steps":[{}"#, open.repeat(100_000)));
    assert!(Plan::from_json(&text).is_err());
}
