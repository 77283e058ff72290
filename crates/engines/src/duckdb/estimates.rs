//! Row estimates of DuckDB's planner, from `EXPLAIN ANALYZE` (documentation, "Profile Queries").

use super::writes::is_query;
use super::{DIALECT, DuckdbEngine, DuckdbSession};
use crate::sql_text::{Template, values_of};
use dbdyno_engine::Failure;
use dbdyno_engine::estimates::{Estimate, Estimates, TimeBudget};
use dbdyno_protocol::plan::document::Statement;
use serde_json::Value;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

/// Operators that filter, join or group rows. They are reported in addition to table scans.
const TOLD: [&str; 13] = [
    "FILTER",
    "HASH_JOIN",
    "NESTED_LOOP_JOIN",
    "BLOCKWISE_NL_JOIN",
    "PIECEWISE_MERGE_JOIN",
    "IE_JOIN",
    "ASOF_JOIN",
    "CROSS_PRODUCT",
    "HASH_GROUP_BY",
    "PERFECT_HASH_GROUP_BY",
    "PARTITIONED_AGGREGATE",
    "SEQ_SCAN",
    "TABLE_SCAN",
];

/// Operators that read all input before they return the first row.
const READ_ALL: [&str; 7] = [
    "HASH_GROUP_BY",
    "PERFECT_HASH_GROUP_BY",
    "PARTITIONED_AGGREGATE",
    "UNGROUPED_AGGREGATE",
    "ORDER_BY",
    "TOP_N",
    "WINDOW",
];

/// Executes each read-only statement that has example values once, and returns its estimates. Statements that take too
/// long or cannot be analyzed are left out.
pub fn estimates(engine: &DuckdbEngine, budget: TimeBudget) -> Estimates {
    let mut found = Estimates::new();
    for statement in engine.statements.iter().filter(|each| each.analyze.is_some()) {
        let Some(longest) = budget.next() else { break };
        // A separate connection, because an interrupted one cannot be reused.
        let analysed = engine.open().and_then(|session| analyse(&session, statement, longest));
        let mut all = Vec::new();
        if let Ok(Some(plan)) = analysed {
            walk(&plan, At::default(), &mut all);
        }
        if !all.is_empty() {
            found.insert(statement.name.clone(), all);
        }
    }
    found
}

fn analyse(session: &DuckdbSession, statement: &Statement, longest: Duration) -> Result<Option<Value>, Failure> {
    let template = Template::of(statement);
    let values = values_of(statement.analyze.as_deref().unwrap_or_default());
    // It was parsed on its own, so it is a single statement.
    if template.parameters() != values.len() || !is_query(session, &statement.sql) {
        return Ok(None);
    }
    let mut text = String::new();
    template.render(&values, &DIALECT, &mut text);
    // Versions before 1.3 have no read-only transactions, so a query could write. They return no estimates.
    session.run("begin transaction read only")?;
    let answer = within(session, longest, || {
        let mut answer = session.query(&format!("explain (analyze, format json) {text}"))?;
        answer.texts()
    });
    session.run("rollback")?;
    let told = answer?.into_iter().flatten().next_back().unwrap_or_default();
    Ok(serde_json::from_str(&told).ok())
}

/// Runs `what` on a session and interrupts the session after the time limit.
fn within<T>(session: &DuckdbSession, longest: Duration, what: impl FnOnce() -> T) -> T {
    let (done, wait) = channel::<()>();
    let interrupt = session.interrupting();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            if wait.recv_timeout(longest) == Err(RecvTimeoutError::Timeout) {
                interrupt.now();
            }
        });
        let result = what();
        drop(done);
        result
    })
}

/// Position of a step in a plan.
#[derive(Debug, Clone, Copy, Default)]
struct At {
    depth: u32,
    /// An ancestor may stop fetching rows early.
    early: bool,
    /// An ancestor may make table scans skip rows at run time: a join on its probe side, or an ORDER BY with LIMIT.
    held: bool,
}

/// Reads a step and its descendants.
fn walk(step: &Value, at: At, all: &mut Vec<Estimate>) {
    let kind = kind(step);
    let info = &step["extra_info"];
    // The number of executions of a recursive part doesn't determine its total rows.
    if kind.contains("RECURSIVE") || kind.contains("REC_CTE") {
        return;
    }
    let expected = info["Estimated Cardinality"]
        .as_str()
        .and_then(|text| text.parse().ok());
    if let (Some(expected), Some(found)) = (expected, found(step))
        && (TOLD.contains(&kind) || kind.ends_with("_SCAN") && info["Table"].is_string())
    {
        let name = info["Table"]
            .as_str()
            .map(|name| name.rsplit('.').next().unwrap_or(name).to_owned());
        Estimate {
            step: line(kind, info, name.as_deref()),
            table: name,
            depth: at.depth,
            expected,
            found,
            executions: 1.0,
            // Rows that a scan skips at run time are also missing from the joins above it, except the topmost.
            at_least: at.early || has_left_out(step) && (at.held || !is_join(kind)),
        }
        .add_to(all);
    }
    let below: Vec<&Value> = children(step).collect();
    let empty = |place: usize| {
        below
            .get(place)
            .and_then(|each| found(each))
            .is_some_and(|rows| rows < 1.0)
    };
    for (place, each) in below.iter().enumerate() {
        let (early, held) = match kind {
            _ if READ_ALL.contains(&kind) => (false, kind == "TOP_N"),
            "LIMIT" | "STREAMING_LIMIT" | "LIMIT_PERCENT" => (true, at.held),
            // The second input is read into a hash table first. If it is empty, the first one isn't read.
            _ if is_join(kind) => (place == 0 && (at.early || empty(1)), place == 0),
            _ => (at.early, at.held),
        };
        let depth = at.depth + 1;
        walk(each, At { depth, early, held }, all);
    }
}

/// Whether a step returns fewer rows because a table scan below it skipped rows that an ancestor would discard.
fn has_left_out(step: &Value) -> bool {
    let kind = kind(step);
    if READ_ALL.contains(&kind) {
        return false;
    }
    step["extra_info"].to_string().contains("Dynamic Filter") || children(step).next().is_some_and(has_left_out)
}

fn is_join(kind: &str) -> bool {
    kind.ends_with("_JOIN") || kind == "CROSS_PRODUCT"
}

fn children(step: &Value) -> impl Iterator<Item = &Value> {
    step["children"].as_array().into_iter().flatten()
}

fn kind(step: &Value) -> &str {
    let name = step["operator_name"].as_str().or(step["operator_type"].as_str());
    name.unwrap_or_default().trim()
}

fn found(step: &Value) -> Option<f64> {
    step["operator_cardinality"].as_f64()
}

/// A step as one line: its operator, its table, and its condition or groups.
fn line(kind: &str, info: &Value, table: Option<&str>) -> String {
    let mut line = kind.to_owned();
    let what = ["Filters", "Expression", "Conditions", "Groups"]
        .iter()
        .map(|name| &info[*name]);
    let texts = table.into_iter().chain(what.filter_map(Value::as_str));
    for text in texts.filter(|text| !text.is_empty()) {
        line.push(' ');
        line.push_str(text);
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn step(kind: &str, found: f64, info: Value, children: Vec<Value>) -> Value {
        json!({"operator_name": kind, "operator_cardinality": found, "extra_info": info, "children": children})
    }

    fn scan(table: &str, expected: &str, found: f64) -> Value {
        let info =
            json!({"Table": format!("memory.main.{table}"), "Estimated Cardinality": expected, "Filters": "a=1"});
        step("SEQ_SCAN", found, info, vec![])
    }

    fn told(plan: &Value) -> Vec<(String, f64, f64)> {
        let mut all = Vec::new();
        walk(plan, At::default(), &mut all);
        all.into_iter()
            .map(|each| (each.step, each.expected, each.found))
            .collect()
    }

    fn join(left: Value, right: Value) -> Value {
        let info = json!({"Conditions": "a = b", "Estimated Cardinality": "30"});
        step("HASH_JOIN", 3.0, info, vec![left, right])
    }

    #[test]
    fn tables_and_joins_are_reported() {
        let plan = join(scan("a", "10", 20.0), scan("b", "6", 2000.0));
        assert_eq!(
            told(&plan),
            [
                ("HASH_JOIN a = b".to_owned(), 30.0, 3.0),
                ("SEQ_SCAN a a=1".to_owned(), 10.0, 20.0),
                ("SEQ_SCAN b a=1".to_owned(), 6.0, 2000.0)
            ]
        );
    }

    #[test]
    fn steps_that_may_stop_early_or_skip_rows_are_left_out() {
        let limited = |below| step("STREAMING_LIMIT", 3.0, json!({}), vec![below]);
        assert_eq!(told(&limited(scan("a", "9000", 2048.0))), []);
        assert_eq!(told(&limited(scan("a", "5", 2048.0))).len(), 1);
        let sorted = step("TOP_N", 3.0, json!({}), vec![scan("a", "9000", 20.0)]);
        assert_eq!(told(&limited(sorted)).len(), 1);
        // The build side is read completely.
        let joined = limited(join(scan("a", "9000", 20.0), scan("b", "9000", 20.0)));
        assert_eq!(told(&joined), [("SEQ_SCAN b a=1".to_owned(), 9000.0, 20.0)]);
        let empty = join(scan("a", "9000", 0.0), scan("b", "9000", 0.0));
        assert_eq!(told(&empty).len(), 2);
        let mut kept = scan("a", "9000", 20.0);
        kept["extra_info"]["Dynamic Filters"] = json!("");
        assert_eq!(told(&kept), []);
        // The topmost join returns the same rows either way.
        let info = json!({"Expression": "(b >= 1)", "Estimated Cardinality": "9000"});
        let lower = join(step("FILTER", 20.0, info, vec![kept]), scan("b", "9", 9.0));
        let upper = join(lower, scan("c", "9", 9.0));
        let steps: Vec<_> = told(&upper).into_iter().map(|(step, ..)| step).collect();
        assert_eq!(steps, ["HASH_JOIN a = b", "SEQ_SCAN b a=1", "SEQ_SCAN c a=1"]);
    }

    #[test]
    fn any_output_can_be_read() {
        for plan in [json!(null), json!([]), json!({"children": [3], "extra_info": []})] {
            assert_eq!(told(&plan), []);
        }
    }
}
