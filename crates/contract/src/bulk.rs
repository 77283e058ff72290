//! Checks of bulk loading.
#![allow(missing_docs, reason = "the name of a check says what it checks")]

use crate::systems::{SELECT, System};
use crate::{Fails as _, Outcome, ensure, same};
use dbdyno_engine::rows::RowSource;
use dbdyno_program::value::{Owned, Value, Values};
use dbdyno_protocol::plan::document::{FailureKind, LoadTable, PrepareMode};
use serde_json::json;

const ROWS: u64 = 3000;

fn table<S: System>(system: &S, serial: serde_json::Value) -> serde_json::Value {
    let odd = [
        "",
        "plain",
        "\\N",
        "a\tb\nc\rd",
        "back\\slash\\",
        "it's \"q\"",
        "ünï 漢字 🙂",
        " ",
        "NULL",
        "\u{1a}\u{7f}",
    ];
    let column =
        |name: &str, stream: u64, fill: serde_json::Value| json!({"name": name, "stream": stream, "fill": fill});
    let nullable = |of: serde_json::Value| json!({"kind": "nullable", "share": 0.3, "of": of});
    json!({
        "name": system.table(),
        "rows": ROWS,
        "columns": [
            column(S::ID, 1, serial),
            column("i", 2, nullable(json!({"kind": "uniform", "low": i64::MIN + 1, "high": i64::MAX}))),
            column("r", 3, nullable(json!({"kind": "uniform_real", "low": -1e300, "high": 1e300}))),
            column("s", 4, nullable(json!({"kind": "pick", "values": odd}))),
            column("b", 5, nullable(json!({"kind": "uuid", "version": "v4", "format": "bytes"}))),
        ],
    })
}

/// Whether a row is compared: a sample, plus the first and last rows, and rows at the edges of batches.
fn is_compared<S: System>(number: u64) -> bool {
    let edge = |size: u64| (number + 1) % size < 3;
    number.is_multiple_of(S::COMPARED) || number < 20 || number + 3 > ROWS || [250, 500, 512].into_iter().any(edge)
}

pub fn a_loaded_table_contains_the_generated_values<S: System>(system: &S) -> Outcome {
    let table = table(system, json!({"kind": "serial"}));
    let load = json!({
        "before": [system.create()],
        "tables": [table.clone()],
        "after": [system.create_index()],
    });
    let report = system.load(load, 7)?;
    let rows: Vec<u64> = report.iter().map(|part| part.rows).collect();
    // Some engines report another step at the end, such as counting the rows or flushing them.
    ensure!(rows.starts_with(&[ROWS, 0]), "{rows:?}");
    let table: LoadTable = serde_json::from_value(table)?;
    let mut source = RowSource::of(&table, 7)?;
    let mut client = system.client(PrepareMode::Once)?;
    let mut made = Values::default();
    for number in 0.. {
        if !source.next(&mut made)? {
            break;
        }
        if !is_compared::<S>(number) {
            continue;
        }
        let made: Vec<Value<'_>> = made.iter().collect();
        let (rows, columns) = client.fetch(SELECT, &made[..1], 4)?;
        same!(rows.returned, 1);
        let seen: Vec<Value<'_>> = columns.iter().map(Owned::view).collect();
        same!(seen, made[1..]);
    }
    Ok(())
}

pub fn loading_errors_name_their_cause<S: System>(system: &S) -> Outcome {
    let twice = table(system, json!({"kind": "constant", "value": 1}));
    let load = json!({"before": [system.create()], "tables": [twice], "after": []});
    let failure = system.load(load, 7).failure()?;
    same!(failure.kind, FailureKind::Constraint, "{failure}");
    let wrong = json!({"before": ["create rubbish"], "tables": [], "after": []});
    let failure = system.load(wrong, 7).failure()?;
    ensure!(failure.message.contains("in `create rubbish`"), "{failure}");
    Ok(())
}
