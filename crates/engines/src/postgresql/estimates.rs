//! Row estimates of the planner, from `EXPLAIN ANALYZE` (documentation, "Using EXPLAIN").

use super::session::PostgresqlSession;
use super::{PostgresqlEngine, Text};
use crate::server::ServerTarget;
use crate::sql_text::values_of;
use dbdyno_engine::estimates::{Estimate, Estimates, TimeBudget};
use dbdyno_engine::time_limits::{answer_limit, answered};
use dbdyno_engine::writes::BoundStatement;
use dbdyno_engine::{Failure, Session as _};
use dbdyno_program::value::Owned;
use dbdyno_protocol::plan::document::{PrepareMode, Statement};
use dbdyno_protocol::plan::literal::Literal;
use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;

/// Steps that pass rows on, or limit them; and steps without row counts, such as bitmap scans, whose heap scan reports
/// the rows.
const PASSING: [&str; 14] = [
    "Hash",
    "Sort",
    "Incremental Sort",
    "Materialize",
    "Memoize",
    "Gather",
    "Gather Merge",
    "LockRows",
    "Limit",
    "Result",
    "BitmapAnd",
    "BitmapOr",
    "Bitmap Index Scan",
    "WorkTable Scan",
];

/// Executes each statement that has example values once, and returns its estimates. Statements that write, take too
/// long or cannot be analyzed are left out.
pub async fn estimates(target: &ServerTarget, statements: &[Text], budget: TimeBudget) -> Estimates {
    let mut found = Estimates::new();
    let target = ServerTarget {
        read_only: true,
        ..target.clone()
    };
    for Text { statement, .. } in statements {
        let (Some(values), Some(longest)) = (&statement.analyze, budget.next()) else {
            continue;
        };
        if let Ok(Some(plan)) = analyse(&target, statement, values, longest).await {
            let mut all = Vec::new();
            walk(&plan, At::default(), &mut all);
            if !all.is_empty() {
                found.insert(statement.name.clone(), all);
            }
        }
    }
    found
}

/// Runs a statement under `EXPLAIN ANALYZE` in a read-only transaction that is rolled back. As in [`super::writes`],
/// the text is parsed separately, so it cannot contain a second statement that ends the transaction.
async fn analyse(
    target: &ServerTarget,
    statement: &Statement,
    values: &[Literal],
    longest: Duration,
) -> Result<Option<Value>, Failure> {
    let explain = "explain (analyze, timing off, format json) ";
    let statement = Statement {
        places: statement.places.iter().map(|place| explain.len() + place).collect(),
        ..Statement::new("", format!("{explain}{}", statement.sql))
    };
    let statements: Arc<[Text]> = PostgresqlEngine::texts(&[statement]);
    let mut session = PostgresqlSession::open(target, statements, PrepareMode::PerTransaction).await?;
    session.query("begin read only").await?;
    let limit = longest.as_millis().max(1);
    session.query(&format!("set local statement_timeout = {limit}")).await?;
    // After its first query, a transaction can no longer become read-write.
    session.query("select 1").await?;
    let mut variables = [Owned::Null];
    let params = values_of(values);
    let mut analysis = BoundStatement {
        params: &params,
        slots: &[0],
        variables: &mut variables,
    };
    let answer = answered(longest + answer_limit(), analysis.run(&mut session)).await;
    if session.in_transaction() {
        session.query("rollback").await?;
    }
    session.close().await?;
    answer?;
    let [Owned::Text(told)] = variables else {
        return Ok(None);
    };
    let read: Option<Value> = serde_json::from_str(&told).ok();
    Ok(read.map(|mut read| read[0]["Plan"].take()))
}

/// Position of a step in a plan.
#[derive(Debug, Clone, Copy, Default)]
struct At {
    depth: u32,
    /// An ancestor may stop fetching rows early.
    early: bool,
    /// An ancestor may rescan some rows, which are then counted again.
    again: bool,
    /// Set below a `Gather`, where several processes work.
    gathered: Option<Gathered>,
}

#[derive(Debug, Clone, Copy)]
struct Gathered {
    /// Executions of the `Gather`.
    executions: f64,
    /// The planner's divisor for the rows of a parallel step (`get_parallel_divisor` in its source).
    divisor: f64,
}

/// Reads a step and its descendants.
fn walk(node: &Value, at: At, all: &mut Vec<Estimate>) {
    let number = |name: &str| node[name].as_f64().unwrap_or_default();
    let kind = text(node, "Node Type");
    let (expected, found, executions) = (number("Plan Rows"), number("Actual Rows"), number("Actual Loops"));
    // If a step was not executed, its descendants were not either.
    if executions == 0.0 {
        return;
    }
    let partial = text(node, "Partial Mode") == "Partial";
    if !PASSING.contains(&kind) && !at.again && !partial {
        // In a parallel step, each process reports its own rows; the sum counts.
        let divided = at.gathered.filter(|_| is_divided(node));
        let (expected, found, executions) = match divided {
            Some(gathered) => (
                expected * gathered.divisor,
                found * executions / gathered.executions,
                gathered.executions,
            ),
            None => (expected, found, executions),
        };
        Estimate {
            step: step(node),
            table: node["Relation Name"].as_str().map(str::to_owned),
            depth: at.depth,
            expected,
            found,
            executions,
            at_least: at.early,
        }
        .add_to(all);
    }
    let gathered = match kind {
        "Gather" | "Gather Merge" => {
            let workers = number("Workers Planned");
            Some(Gathered {
                executions,
                divisor: workers + (1.0 - 0.3 * workers).max(0.0),
            })
        }
        _ => at.gathered,
    };
    for child in children(node) {
        let relationship = text(child, "Parent Relationship");
        // The number of executions of a recursive step doesn't determine its total rows.
        if kind == "Recursive Union" && relationship == "Inner" {
            continue;
        }
        let below = At {
            depth: at.depth + 1,
            early: ends_early(node, child, at.early),
            again: kind == "Merge Join" && relationship == "Inner",
            gathered,
        };
        walk(child, below, all);
    }
}

/// Whether a step may stop fetching rows from an input early. `early`: the step itself may be stopped.
fn ends_early(node: &Value, child: &Value, early: bool) -> bool {
    let relationship = text(child, "Parent Relationship");
    // A subquery is read for one or two rows; a CTE scan may stop early.
    if matches!(relationship, "InitPlan" | "SubPlan") {
        return true;
    }
    let reads_all = match text(node, "Node Type") {
        "Sort" | "Hash" | "Bitmap Heap Scan" => true,
        "Aggregate" => text(node, "Strategy") != "Sorted",
        _ => false,
    };
    if reads_all {
        return false;
    }
    match (text(node, "Node Type"), relationship) {
        // A limit may exceed the estimate. If it returned fewer rows than estimated, it didn't reach its limit.
        ("Limit", _) => early || node["Actual Rows"].as_f64() >= node["Plan Rows"].as_f64(),
        ("Nested Loop", "Inner") => {
            early
                || matches!(text(node, "Join Type"), "Semi" | "Anti")
                || node["Inner Unique"].as_bool().unwrap_or_default()
        }
        ("Merge Join", _) => true,
        // If the hash table is empty, the outer input isn't read.
        ("Hash Join", "Outer") => {
            let empty = |each: &Value| {
                text(each, "Parent Relationship") == "Inner"
                    && each["Actual Rows"].as_f64().is_none_or(|rows| rows < 1.0)
            };
            early || children(node).any(empty)
        }
        _ => early,
    }
}

/// Whether the processes below a `Gather` share a step's work: one of its inputs is parallel.
fn is_divided(node: &Value) -> bool {
    let takes_from = |child: &&Value| matches!(text(child, "Parent Relationship"), "Outer" | "Member" | "Subquery");
    node["Parallel Aware"].as_bool().unwrap_or_default() || children(node).filter(takes_from).any(is_divided)
}

fn children(node: &Value) -> impl Iterator<Item = &Value> {
    node["Plans"].as_array().into_iter().flatten()
}

fn text<'a>(node: &'a Value, name: &str) -> &'a str {
    node[name].as_str().unwrap_or_default()
}

/// A step in the format of `EXPLAIN` text output.
fn step(node: &Value) -> String {
    let kind = text(node, "Node Type");
    let name = match (kind, text(node, "Strategy"), text(node, "Join Type")) {
        ("Aggregate", "Hashed", _) => "HashAggregate".to_owned(),
        ("Aggregate", "Sorted", _) => "GroupAggregate".to_owned(),
        ("Aggregate", "Mixed", _) => "MixedAggregate".to_owned(),
        (_, _, "" | "Inner") => kind.to_owned(),
        (_, _, join) => format!("{} {join} Join", kind.trim_end_matches(" Join")),
    };
    let parallel = node["Parallel Aware"].as_bool().unwrap_or_default();
    let mut line = if parallel { format!("Parallel {name}") } else { name };
    if let Some(index) = node["Index Name"].as_str() {
        line.push_str(&format!(" using {index}"));
    }
    let of = ["Relation Name", "Function Name", "CTE Name"];
    let alias = node["Alias"].as_str();
    let named = of.iter().find_map(|name| node[*name].as_str()).or(alias);
    if let Some(named) = named {
        line.push_str(&format!(" on {named}"));
        if let Some(alias) = alias.filter(|alias| *alias != named) {
            line.push_str(&format!(" {alias}"));
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn node(kind: &str, relationship: &str, numbers: [f64; 3], more: Value, plans: Vec<Value>) -> Value {
        let mut made = json!({
            "Node Type": kind, "Parent Relationship": relationship, "Plans": plans,
            "Plan Rows": numbers[0], "Actual Rows": numbers[1], "Actual Loops": numbers[2],
        });
        for (name, value) in more.as_object().into_iter().flatten() {
            made[name] = value.clone();
        }
        made
    }

    fn scan(table: &str, relationship: &str, numbers: [f64; 3]) -> Value {
        node(
            "Seq Scan",
            relationship,
            numbers,
            json!({"Relation Name": table, "Alias": table}),
            vec![],
        )
    }

    fn read(plan: &Value) -> Vec<(String, f64, f64, f64)> {
        let mut all = Vec::new();
        walk(plan, At::default(), &mut all);
        all.into_iter()
            .map(|each| (each.step, each.expected, each.found, each.executions))
            .collect()
    }

    fn told(plan: &Value) -> Vec<String> {
        read(plan).into_iter().map(|(step, ..)| step).collect()
    }

    #[test]
    fn steps_below_a_limit_count_if_they_are_read_completely() {
        let limited = |below| node("Limit", "", [5.0, 5.0, 1.0], json!({}), vec![below]);
        assert!(told(&limited(scan("t", "Outer", [9000.0, 5.0, 1.0]))).is_empty());
        // It returned more rows than estimated before it was stopped.
        assert_eq!(told(&limited(scan("t", "Outer", [2.0, 5.0, 1.0]))), ["Seq Scan on t"]);
        let sorted = node(
            "Sort",
            "Outer",
            [9000.0, 5.0, 1.0],
            json!({}),
            vec![scan("t", "Outer", [9000.0, 80.0, 1.0])],
        );
        assert_eq!(told(&limited(sorted)), ["Seq Scan on t"]);
        // The input ended before the limit.
        let unreached = node(
            "Limit",
            "",
            [5.0, 3.0, 1.0],
            json!({}),
            vec![scan("t", "Outer", [9000.0, 3.0, 1.0])],
        );
        assert_eq!(told(&unreached), ["Seq Scan on t"]);
    }

    #[test]
    fn join_inputs_that_are_not_read_completely_are_left_out() {
        let join = |kind: &str, how: &str, outer: Value, inner: Value| {
            node(
                kind,
                "",
                [10.0, 10.0, 1.0],
                json!({"Join Type": how}),
                vec![outer, inner],
            )
        };
        let outer = || scan("a", "Outer", [1000.0, 20.0, 1.0]);
        let inner = || scan("b", "Inner", [1000.0, 1.0, 20.0]);
        assert_eq!(
            told(&join("Nested Loop", "Semi", outer(), inner())),
            ["Nested Loop Semi Join", "Seq Scan on a"]
        );
        assert_eq!(
            told(&join("Nested Loop", "Inner", outer(), inner())),
            ["Nested Loop", "Seq Scan on a", "Seq Scan on b"]
        );
        // The inner input of a merge join counts rescanned rows twice; below a sort, each row is read once.
        let again = scan("b", "Inner", [10.0, 50_000.0, 1.0]);
        assert_eq!(told(&join("Merge Join", "Inner", outer(), again)), ["Merge Join"]);
        let sorted = node(
            "Sort",
            "Inner",
            [10.0, 50_000.0, 1.0],
            json!({}),
            vec![scan("b", "Outer", [10.0, 900.0, 1.0])],
        );
        let merged = join("Merge Join", "Inner", outer(), sorted);
        assert_eq!(told(&merged), ["Merge Join", "Seq Scan on b"]);
        let hashed = |rows: f64| {
            let scanned = scan("b", "Outer", [100.0, rows, 1.0]);
            node("Hash", "Inner", [100.0, rows, 1.0], json!({}), vec![scanned])
        };
        assert_eq!(
            told(&join("Hash Join", "Inner", outer(), hashed(0.0))),
            ["Hash Join", "Seq Scan on b"]
        );
        assert_eq!(
            told(&join("Hash Join", "Inner", outer(), hashed(7.0))),
            ["Hash Join", "Seq Scan on a", "Seq Scan on b"]
        );
    }

    #[test]
    fn steps_that_never_ran_and_subqueries_are_left_out() {
        let never = scan("b", "Inner", [1000.0, 0.0, 0.0]);
        let of_a_row = scan("c", "SubPlan", [1000.0, 1.0, 10.0]);
        let plan = node(
            "Nested Loop",
            "",
            [10.0, 0.0, 1.0],
            json!({}),
            vec![scan("a", "Outer", [10.0, 0.0, 1.0]), never, of_a_row],
        );
        assert_eq!(told(&plan), ["Nested Loop", "Seq Scan on a"]);
    }

    #[test]
    fn the_rows_of_all_processes_are_summed() {
        let divided = node(
            "Seq Scan",
            "Outer",
            [100.0, 20_000.0, 3.0],
            json!({"Parallel Aware": true, "Relation Name": "a", "Alias": "o"}),
            vec![],
        );
        let repeated = scan("b", "Inner", [10.0, 10.0, 60_000.0]);
        let joined = node(
            "Nested Loop",
            "Outer",
            [100.0, 20_000.0, 3.0],
            json!({}),
            vec![divided, repeated],
        );
        let plan = node(
            "Gather",
            "",
            [240.0, 60_000.0, 1.0],
            json!({"Workers Planned": 2}),
            vec![joined],
        );
        assert_eq!(
            read(&plan),
            [
                ("Nested Loop".to_owned(), 240.0, 60_000.0, 1.0),
                ("Parallel Seq Scan on a o".to_owned(), 240.0, 60_000.0, 1.0),
                ("Seq Scan on b".to_owned(), 10.0, 10.0, 60_000.0),
            ]
        );
    }

    #[test]
    fn any_output_can_be_read() {
        for plan in [
            json!(null),
            json!([]),
            json!({"Plans": [{"Plans": 3}], "Actual Loops": 1}),
        ] {
            walk(&plan, At::default(), &mut Vec::new());
        }
    }
}
