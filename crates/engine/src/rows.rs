//! The rows to load into a table, for any engine.

use crate::Failure;
use dbdyno_probes::Clock;
use dbdyno_program::random::row_stream;
use dbdyno_program::sampler::{Place, Position, Sampler, row_scope};
use dbdyno_program::value::{Value, Values};
pub use dbdyno_protocol::event::Loaded;
use dbdyno_protocol::plan::PlanError;
use dbdyno_protocol::plan::document::{FailureKind, Load, LoadTable, Per};
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{BufRead as _, BufReader};

/// Reports work from `start` (nanoseconds of the clock) until now.
pub fn loaded(table: String, rows: u64, clock: Clock, start: u64) -> Loaded {
    let seconds = (clock.now() - start) as f64 / 1e9;
    Loaded { table, rows, seconds }
}

/// How an engine fills tables.
pub trait Loader {
    /// Runs a statement of the plan.
    fn run(&mut self, text: &str) -> impl Future<Output = Result<(), Failure>>;

    /// Fills a table and returns the number of rows.
    fn copy(&mut self, table: &LoadTable, seed: u64) -> impl Future<Output = Result<u64, Failure>>;
}

/// Runs the statements before the rows, fills the tables, and runs the statements after them.
pub async fn fill(loader: &mut impl Loader, load: &Load, seed: u64, clock: Clock) -> Result<Vec<Loaded>, Failure> {
    for text in &load.before {
        run(loader, text).await?;
    }
    let mut report = Vec::with_capacity(load.tables.len() + load.after.len() + 1);
    for table in &load.tables {
        let start = clock.now();
        let rows = loader
            .copy(table, seed)
            .await
            .map_err(|failure| failure.explained(|message| format!("{message}: loading `{}`", table.name)))?;
        report.push(loaded(table.name.clone(), rows, clock, start));
    }
    for text in &load.after {
        let start = clock.now();
        run(loader, text).await?;
        report.push(loaded(text.clone(), 0, clock, start));
    }
    Ok(report)
}

async fn run(loader: &mut impl Loader, text: &str) -> Result<(), Failure> {
    let done = loader.run(text).await;
    done.map_err(|failure| failure.explained(|message| format!("{message}: in `{text}`")))
}

/// Distinct names of the tables to fill. Some tables are filled in several parts.
pub fn names(load: &Load) -> BTreeSet<&str> {
    load.tables.iter().map(|table| table.name.as_str()).collect()
}

/// Source of a table's rows.
pub struct RowSource<'a> {
    table: &'a LoadTable,
    origin: Origin<'a>,
    done: u64,
}

enum Origin<'a> {
    Generators {
        samplers: Vec<Sampler>,
        seed: u64,
        children: Option<Children>,
    },
    File {
        path: &'a str,
        reader: BufReader<File>,
        line: String,
    },
}

/// The rows of a table that has rows per row of another table.
struct Children {
    parents: Parents,
    count: Sampler,
    /// The sampled count.
    sampled: Values,
    stream: u64,
    /// The current parent, if there is one.
    parent: Option<Position>,
    /// Number of the next row.
    row: u64,
    /// Its number among the rows of the parent, and how many the parent has.
    child: u64,
    of: u64,
}

/// The rows of a parent table.
enum Parents {
    Rows(std::ops::Range<u64>),
    Children(Box<Children>),
}

impl Children {
    fn of(per: &Per, path: &str) -> Result<Self, PlanError> {
        let path = format!("{path}.per");
        Ok(Self {
            parents: match &per.above {
                None => Parents::Rows(0..per.parents),
                Some(above) => Parents::Children(Box::new(Self::of(above, &path)?)),
            },
            count: Sampler::compile(&per.count, &format!("{path}.count"), &mut Place::Row)?,
            sampled: Values::default(),
            stream: per.stream,
            parent: None,
            row: 0,
            child: 0,
            of: 0,
        })
    }

    /// The next row; `None` at the end.
    fn next(&mut self, seed: u64) -> Result<Option<Position>, Failure> {
        while self.child >= self.of {
            let parent = match &mut self.parents {
                Parents::Rows(rows) => rows.next().map(Position::of),
                Parents::Children(children) => children.next(seed)?,
            };
            let Some(parent) = parent else { return Ok(None) };
            let of = self.count_of(seed, parent).map_err(|problem| {
                let place = format!("`count` for row {} of the parent table", parent.row);
                Failure::new(FailureKind::Other, format!("{place}: {problem}"))
            })?;
            (self.parent, self.child, self.of) = (Some(parent), 0, of);
        }
        let Some(parent) = self.parent else { return Ok(None) };
        let position = Position {
            row: self.row,
            parent: parent.row,
            child: self.child,
            above: (parent.parent, parent.child),
        };
        self.row += 1;
        self.child += 1;
        Ok(Some(position))
    }

    /// The number of rows of a parent: a fraction is rounded down, null is 0. The error is a predicate.
    fn count_of(&mut self, seed: u64, parent: Position) -> Result<u64, String> {
        let mut stream = row_stream(seed, self.stream, parent.row);
        let mut scope = row_scope(seed, &mut stream, parent);
        self.sampled.clear();
        self.count.sample(&mut scope, &mut self.sampled);
        if let Some(problem) = scope.problem.take() {
            return Err(problem.to_string());
        }
        match self.sampled.get(0) {
            Some(Value::Null) => Ok(0),
            Some(Value::Integer(count)) if count >= 0 => Ok(count as u64),
            Some(Value::Real(count)) if count >= 0.0 => Ok(count as u64),
            Some(Value::Integer(count)) => Err(format!("{count} is negative")),
            Some(Value::Real(count)) => Err(format!("{count} is negative or not a number")),
            Some(Value::Text(text)) => Err(format!("the string {text:?} is not a number")),
            Some(Value::Bytes(_)) | None => Err("the value is not a number".to_owned()),
        }
    }
}

impl<'a> RowSource<'a> {
    /// The rows of a table: generated from a seed, or read from its file.
    pub fn of(table: &'a LoadTable, seed: u64) -> Result<Self, Failure> {
        let origin = match &table.file {
            None => {
                let samplers = table.columns.iter().map(|column| {
                    let path = format!("{}.{}", table.name, column.name);
                    Sampler::compile(&column.fill, &path, &mut Place::Row)
                });
                Origin::Generators {
                    samplers: samplers.collect::<Result<_, _>>().map_err(|error| invalid(&error))?,
                    seed,
                    children: table
                        .per
                        .as_ref()
                        .map(|per| Children::of(per, &table.name).map_err(|error| invalid(&error)))
                        .transpose()?,
                }
            }
            Some(path) => Origin::File {
                path,
                reader: BufReader::with_capacity(1 << 20, File::open(path).map_err(|error| wrong(path, 0, &error))?),
                line: String::new(),
            },
        };
        Ok(Self { table, origin, done: 0 })
    }

    /// Reads the next row into `values`. Returns false at the end.
    pub fn next(&mut self, values: &mut Values) -> Result<bool, Failure> {
        if self.done >= self.table.rows && self.table.per.is_none() {
            return Ok(false);
        }
        values.clear();
        match &mut self.origin {
            Origin::Generators {
                samplers,
                seed,
                children,
            } => {
                let (seed, row) = (*seed, self.table.first + self.done);
                let mut position = Position::of(row);
                if let Some(children) = children {
                    let Some(child) = children.next(seed)? else {
                        return Ok(false);
                    };
                    position = child;
                }
                for (sampler, column) in samplers.iter().zip(&self.table.columns) {
                    let mut stream = row_stream(seed, column.stream, row);
                    let mut scope = row_scope(seed, &mut stream, position);
                    sampler.sample(&mut scope, values);
                    if let Some(problem) = scope.problem.take() {
                        let place = format!("column `{}.{}`, row {row}", self.table.name, column.name);
                        return Err(Failure::new(FailureKind::Other, format!("{place}: {problem}")));
                    }
                }
            }
            Origin::File { path, reader, line } => {
                line.clear();
                let number = self.done + 1;
                if reader.read_line(line).map_err(|error| wrong(path, number, &error))? == 0 {
                    return Ok(false);
                }
                read_line(line, values);
                if values.len() != self.table.columns.len() {
                    let problem = format!("{} fields for {} columns", values.len(), self.table.columns.len());
                    return Err(wrong(path, number, &problem));
                }
            }
        }
        self.done += 1;
        Ok(true)
    }
}

fn invalid(error: &PlanError) -> Failure {
    Failure::new(FailureKind::Other, error.to_string())
}

/// Reads a line of tab-separated text; `\N` is null.
fn read_line(line: &str, values: &mut Values) {
    let text = line.strip_suffix('\n').unwrap_or(line);
    let text = text.strip_suffix('\r').unwrap_or(text);
    for field in text.split('\t') {
        if field == "\\N" {
            values.push_null();
        } else {
            values.push_text(|out| out.push_str(field));
        }
    }
}

fn wrong(path: &str, line: u64, problem: &dyn std::fmt::Display) -> Failure {
    Failure::new(FailureKind::Other, format!("{path}, line {line}: {problem}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn rows(first: u64, rows: u64) -> Vec<(i64, i64)> {
        let table: LoadTable = serde_json::from_value(json!({
            "name": "t", "first": first, "rows": rows, "columns": [
                {"name": "id", "stream": 1, "fill": {"kind": "serial", "start": 5, "step": 2}},
                {"name": "v", "stream": 2, "fill": {"kind": "uniform", "low": 0, "high": 1_000_000}},
            ],
        }))
        .expect("a table");
        let mut source = RowSource::of(&table, 7).expect("its rows");
        let (mut values, mut found) = (Values::default(), Vec::new());
        while source.next(&mut values).expect("a row") {
            match (values.get(0), values.get(1)) {
                (Some(Value::Integer(id)), Some(Value::Integer(v))) => found.push((id, v)),
                other => panic!("{other:?}"),
            }
        }
        found
    }

    #[test]
    fn added_rows_continue_the_sequence() {
        let all = rows(0, 100);
        assert_eq!(all[0].0, 5);
        assert_eq!([rows(0, 40), rows(40, 60)].concat(), all);
        assert_eq!(rows(100, 0), []);
    }

    /// Row, parent and number of each row of a table that has rows per row of another.
    fn children(parents: u64, count: &serde_json::Value) -> Result<Vec<(i64, i64, i64)>, Failure> {
        let numbers = ["row", "parent", "child"].map(|name| {
            let tree = json!({"op": "variable", "name": name});
            json!({"name": name, "stream": 1, "fill": {"kind": "expression", "tree": tree}})
        });
        let table: LoadTable = serde_json::from_value(json!({
            "name": "t", "rows": 1, "columns": numbers, "per": {"parents": parents, "count": count, "stream": 9},
        }))
        .expect("a table");
        let mut source = RowSource::of(&table, 7).expect("its rows");
        let (mut values, mut found) = (Values::default(), Vec::new());
        while source.next(&mut values)? {
            let [Some(row), Some(parent), Some(child)] = [0, 1, 2].map(|at| values.integer(at)) else {
                panic!("not three integers");
            };
            found.push((row, parent, child));
        }
        Ok(found)
    }

    #[test]
    fn each_parent_has_its_number_of_rows() {
        for parents in [0, 1, 100] {
            let count = json!({"kind": "uniform", "low": 0, "high": 3});
            let found = children(parents, &count).expect("rows");
            let mut counts = vec![0; parents as usize];
            for (number, (row, parent, child)) in found.iter().enumerate() {
                assert_eq!((*row, *child), (number as i64, counts[*parent as usize]));
                counts[*parent as usize] += 1;
            }
            assert!(counts.iter().all(|count| (0..=3).contains(count)));
            assert_eq!(found, children(parents, &count).expect("rows"));
        }
        let alike = children(3, &json!({"kind": "constant", "value": 2})).expect("rows");
        assert_eq!(alike.iter().map(|each| each.1).collect::<Vec<_>>(), [0, 0, 1, 1, 2, 2]);
    }

    #[test]
    fn a_count_is_a_number_of_rows() {
        let problem = |count| {
            children(3, &count)
                .err()
                .map(|failure| failure.message.clone())
                .unwrap_or_default()
        };
        assert_eq!(problem(json!({"kind": "constant", "value": null})), "");
        assert_eq!(
            problem(json!({"kind": "constant", "value": -2})),
            "`count` for row 0 of the parent table: -2 is negative"
        );
        assert_eq!(
            problem(json!({"kind": "constant", "value": "3"})),
            "`count` for row 0 of the parent table: the string \"3\" is not a number"
        );
        let row = json!({"op": "variable", "name": "row"});
        let one = json!({"op": "constant", "value": 1});
        let divided = json!({"op": "call", "function": "divide", "arguments": [one, row]});
        let message = problem(json!({"kind": "expression", "tree": divided}));
        assert!(
            message.contains("row 0 of the parent table: ") && message.contains("zero"),
            "{message}"
        );
    }

    #[test]
    fn rows_know_the_parents_of_their_parents() {
        let tree = |name| json!({"op": "variable", "name": name});
        let number = |name| json!({"kind": "expression", "tree": tree(name)});
        // The parent's column is ten times its parent's row, plus its number.
        let column = json!({"kind": "expression", "tree": {"op": "call", "function": "add", "arguments": [
            {"op": "call", "function": "multiply", "arguments": [{"op": "constant", "value": 10}, tree("parent")]},
            tree("child"),
        ]}});
        let of_parent = json!({"kind": "reference", "of": column, "stream": 5, "row": number("parent")});
        let table: LoadTable = serde_json::from_value(json!({
            "name": "t", "rows": 1,
            "columns": [
                {"name": "above", "stream": 1, "fill": of_parent},
                {"name": "child", "stream": 2, "fill": number("child")},
            ],
            "per": {
                "parents": 0, "stream": 9, "count": {"kind": "constant", "value": 2},
                "above": {"parents": 2, "stream": 8, "count": {"kind": "uniform", "low": 1, "high": 3}},
            },
        }))
        .expect("a table");
        let mut source = RowSource::of(&table, 7).expect("its rows");
        let (mut values, mut found) = (Values::default(), Vec::new());
        while source.next(&mut values).expect("a row") {
            found.push((values.integer(0), values.integer(1)));
        }
        let expected: Vec<_> = (0..2)
            .flat_map(|parent| (0..3).map(move |child| 10 * parent + child))
            .flat_map(|above| (0..2).map(move |child| (Some(above), Some(child))))
            .filter(|row| found.contains(row))
            .collect();
        assert_eq!(found, expected);
        assert!((4..=12).contains(&found.len()));
    }
}
