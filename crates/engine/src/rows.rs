//! The rows to load into a table, for any engine.

use crate::Failure;
use dbdyno_probes::Clock;
use dbdyno_program::random::row_stream;
use dbdyno_program::sampler::{Place, Sampler, row_scope};
use dbdyno_program::value::Values;
pub use dbdyno_protocol::event::Loaded;
use dbdyno_protocol::plan::document::{FailureKind, Load, LoadTable};
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
    },
    File {
        path: &'a str,
        reader: BufReader<File>,
        line: String,
    },
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
                    samplers: samplers
                        .collect::<Result<_, _>>()
                        .map_err(|error| Failure::new(FailureKind::Other, error.to_string()))?,
                    seed,
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
        if self.done >= self.table.rows {
            return Ok(false);
        }
        values.clear();
        match &mut self.origin {
            Origin::Generators { samplers, seed } => {
                let (seed, row) = (*seed, self.table.first + self.done);
                for (sampler, column) in samplers.iter().zip(&self.table.columns) {
                    sampler.sample(
                        &mut row_scope(seed, &mut row_stream(seed, column.stream, row), row),
                        values,
                    );
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
    use dbdyno_program::value::Value;
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
}
