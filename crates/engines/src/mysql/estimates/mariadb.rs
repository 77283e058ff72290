//! Reads MariaDB's `ANALYZE FORMAT=JSON` (see the MariaDB documentation page of that name).

use dbdyno_engine::estimates::Estimate;
use serde_json::Value;

/// Properties of a joined table that isn't read completely.
const STOPPED: [&str; 4] = ["first_match", "not_exists", "distinct", "loosescan"];

/// Reads the output. `stops`: the statement may end before all rows have been read.
pub fn read(told: &str, stops: bool) -> Vec<Estimate> {
    let mut all = Vec::new();
    if let Ok(plan) = serde_json::from_str::<Value>(told) {
        walk(&plan["query_block"], 0, stops, &mut all);
    }
    all
}

/// Reads a part of the plan and its descendants.
fn walk(part: &Value, depth: u32, early: bool, all: &mut Vec<Estimate>) {
    for (name, value) in part.as_object().into_iter().flatten() {
        match name.as_str() {
            "table" => table(value, depth, early, true, all),
            // The join condition applies to pairs of rows, and only its overall selectivity is reported.
            "block-nl-join" => table(&value["table"], depth, early, false, all),
            "nested_loop" => nested_loop(value, depth, early, all),
            // All rows are read before the first is returned.
            "filesort" | "temporary_table" | "materialized" => walk(value, depth + 1, false, all),
            // A subquery may be stopped after one row.
            "subqueries" => walk_each(value, depth + 1, true, all),
            // The number of executions of a recursive part doesn't determine its total rows.
            "recursive_union" => {}
            _ if value.is_object() => walk(value, depth + 1, early, all),
            _ => walk_each(value, depth + 1, early, all),
        }
    }
}

fn walk_each(parts: &Value, depth: u32, early: bool, all: &mut Vec<Estimate>) {
    for part in parts.as_array().into_iter().flatten() {
        walk(part, depth, early, all);
    }
}

/// Reads the tables of a join, in order: the first two are the deepest.
fn nested_loop(tables: &Value, depth: u32, early: bool, all: &mut Vec<Estimate>) {
    let tables: Vec<&Value> = tables.as_array().into_iter().flatten().collect();
    let is_stopped = |part: &Value| STOPPED.iter().any(|name| part.get(*name).is_some());
    let stopped = |part: &&Value| is_stopped(&part["table"]) || is_stopped(&part["block-nl-join"]["table"]);
    let some = tables.iter().any(stopped);
    let count = u32::try_from(tables.len()).unwrap_or(u32::MAX);
    for (place, part) in (0..).zip(tables) {
        let below = if count < 2 { 0 } else { count - place.max(1) };
        walk(part, depth + below, early || some && place > 0, all);
    }
}

/// Reads a table, or the subplan of a derived table.
fn table(table: &Value, depth: u32, early: bool, alone: bool, all: &mut Vec<Estimate>) {
    let text = |name: &str| table[name].as_str().unwrap_or_default();
    let share = |name: &str| {
        if alone {
            table[name].as_f64().unwrap_or(100.0) / 100.0
        } else {
            1.0
        }
    };
    let numbers = (
        table["rows"].as_f64(),
        table["r_rows"].as_f64(),
        table["r_loops"].as_f64(),
    );
    if let (Some(expected), Some(found), Some(executions)) = numbers {
        let name = text("table_name");
        let key = table["key"]
            .as_str()
            .map(|key| format!(", key {key}"))
            .unwrap_or_default();
        Estimate {
            step: format!("{name}, {}{key}", text("access_type")),
            table: (!name.starts_with('<')).then(|| name.to_owned()),
            depth,
            expected: expected * share("filtered"),
            found: found * share("r_filtered"),
            executions,
            at_least: early,
        }
        .add_to(all);
    }
    walk(table, depth, early, all);
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn scan(name: &str, rows: [f64; 3], filtered: [f64; 2]) -> Value {
        json!({"table_name": name, "access_type": "ALL", "rows": rows[0], "r_rows": rows[1], "r_loops": rows[2],
               "filtered": filtered[0], "r_filtered": filtered[1]})
    }

    fn told(block: &Value, stops: bool) -> Vec<(String, u32, f64, f64)> {
        read(&json!({"query_block": block}).to_string(), stops)
            .into_iter()
            .map(|each| (each.step, each.depth, each.expected, each.found))
            .collect()
    }

    #[test]
    fn rows_are_counted_after_the_conditions_on_their_table() {
        let join = json!({"nested_loop": [
            {"table": scan("c", [2000.0, 2000.0, 1.0], [100.0, 1.0])},
            {"table": {"table_name": "o", "access_type": "ref", "key": "by_customer", "rows": 4, "r_rows": 10,
                       "r_loops": 20, "filtered": 50, "r_filtered": 0}},
        ]});
        assert_eq!(
            told(&join, false),
            [
                ("c, ALL".to_owned(), 1, 2000.0, 20.0),
                ("o, ref, key by_customer".to_owned(), 1, 2.0, 0.0)
            ]
        );
        // A join condition's selectivity refers to pairs of rows.
        let blocks = json!({"nested_loop": [
            {"table": scan("c", [2000.0, 2000.0, 1.0], [100.0, 100.0])},
            {"block-nl-join": {"table": scan("o", [20_000.0, 20_000.0, 1.0], [1.0, 100.0]), "r_filtered": 0}},
        ]});
        assert_eq!(told(&blocks, false)[1].2, 20_000.0);
    }

    #[test]
    fn steps_that_may_stop_early_are_left_out() {
        let scanned = json!({"nested_loop": [{"table": scan("t", [20_000.0, 9.0, 1.0], [100.0, 100.0])}]});
        assert_eq!(told(&scanned, true), []);
        assert_eq!(told(&scanned, false).len(), 1);
        let sorted = json!({"filesort": {"r_output_rows": 3, "temporary_table": scanned}});
        assert_eq!(told(&sorted, true).len(), 1);
        assert_eq!(told(&json!({"subqueries": [{"query_block": scanned}]}), false), []);
        assert_eq!(
            told(
                &json!({"subqueries": [{"query_block": {"table": scan("t", [2.0, 9.0, 1.0], [100.0; 2])}}]}),
                false
            )
            .len(),
            1
        );
        let mut second = scan("o", [100.0, 1.0, 50.0], [100.0, 100.0]);
        second["first_match"] = json!("c");
        let semi = json!({"nested_loop": [{"table": scan("c", [50.0, 50.0, 1.0], [100.0; 2])}, {"table": second}]});
        assert_eq!(told(&semi, false).len(), 1);
        let never = json!({"table": {"table_name": "t", "rows": 3, "r_rows": null, "r_loops": 0}});
        assert_eq!(told(&never, false), []);
    }

    #[test]
    fn materialized_results_are_read_completely() {
        let mut derived = scan("<derived2>", [5.0, 9.0, 1.0], [100.0, 100.0]);
        derived["materialized"] = json!({"query_block": {"table": scan("t", [20_000.0, 7.0, 1.0], [100.0; 2])}});
        let all = read(&json!({"query_block": {"table": derived}}).to_string(), true);
        let tables: Vec<_> = all.iter().map(|each| each.table.as_deref()).collect();
        assert_eq!(tables, [None, Some("t")]);
    }

    #[test]
    fn any_output_can_be_read() {
        for told in [
            "",
            "3",
            "[]",
            "{\"query_block\": [1]}",
            "{\"query_block\": {\"table\": 3, \"nested_loop\": {}}}",
        ] {
            assert_eq!(read(told, false), []);
        }
    }
}
