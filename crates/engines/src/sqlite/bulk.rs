//! Filling tables as fast as the library can: one transaction, prepared statements, no journal and no sync until the end.

use super::{SqliteEngine, Watch};
use crate::{Capture, Failure, Marks};
use dbdyno_plan::document::{FailureKind, Load, LoadTable, PrepareMode, Statement};
use dbdyno_plan::maker::{Maker, Place, row_scope};
use dbdyno_plan::random::row_stream;
use dbdyno_plan::target::SqliteTarget;
use dbdyno_plan::value::Values;
use dbdyno_probes::Clock;
use serde::Serialize;
use std::io::BufRead as _;

/// What loading a table took.
#[derive(Debug, Clone, Serialize)]
pub struct Loaded {
    /// The table, or `(indexes and setup)` for what is done when all are filled.
    pub table: String,
    /// Its rows.
    pub rows: u64,
    /// Seconds.
    pub seconds: f64,
}

/// Settings for the time of loading only. None of them is kept in the file.
const LOADING: [(&str, &str); 5] = [
    ("journal_mode", "off"),
    ("synchronous", "off"),
    ("locking_mode", "exclusive"),
    ("cache_size", "-65536"),
    ("foreign_keys", "off"),
];

/// Creates the tables and fills them. The file is synced when the function returns.
pub fn load(target: &SqliteTarget, load: &Load, seed: u64) -> Result<Vec<Loaded>, Failure> {
    let clock = Clock::get();
    let inserts: Vec<Statement> = load.tables.iter().map(insert).collect();
    let loading = LOADING
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    let target = SqliteTarget {
        pragmas: target.pragmas.iter().cloned().chain(loading).collect(),
        ..target.clone()
    };
    let engine = SqliteEngine::new(&target, &inserts, PrepareMode::Once, Watch::default())?;
    let mut session = engine.open()?;
    for sql in &load.before {
        run(&mut session, sql)?;
    }
    let mut report = Vec::with_capacity(load.tables.len() + 1);
    for (index, table) in load.tables.iter().enumerate() {
        let start = clock.now();
        session.query("begin", |_| {})?;
        let rows = match &table.file {
            None => generated(&mut session, index, table, seed)?,
            Some(path) => from_file(&mut session, index, table, path)?,
        };
        session.query("commit", |_| {})?;
        report.push(Loaded {
            table: table.name.clone(),
            rows,
            seconds: (clock.now() - start) as f64 / 1e9,
        });
    }
    let start = clock.now();
    for sql in &load.after {
        run(&mut session, sql)?;
    }
    drop(session);
    std::fs::File::open(&target.path)
        .and_then(|file| file.sync_all())
        .map_err(|error| Failure::new(FailureKind::Other, format!("syncing {}: {error}", target.path)))?;
    report.push(Loaded {
        table: "(indexes and setup)".into(),
        rows: 0,
        seconds: (clock.now() - start) as f64 / 1e9,
    });
    Ok(report)
}

fn run(session: &mut super::SqliteSession, sql: &str) -> Result<(), Failure> {
    session
        .query(sql, |_| {})
        .map_err(|failure| failure.explained(|message| format!("{message}: in `{sql}`")))
}

fn insert(table: &LoadTable) -> Statement {
    let quoted = |name: &str| format!("\"{}\"", name.replace('"', "\"\""));
    let columns: Vec<String> = table.columns.iter().map(|column| quoted(&column.name)).collect();
    let places = vec!["?"; columns.len()].join(", ");
    let sql = format!(
        "insert into {} ({}) values ({places})",
        quoted(&table.name),
        columns.join(", ")
    );
    Statement {
        name: format!("load {}", table.name),
        sql,
    }
}

fn generated(
    session: &mut super::SqliteSession,
    statement: usize,
    table: &LoadTable,
    seed: u64,
) -> Result<u64, Failure> {
    let makers = table
        .columns
        .iter()
        .map(|column| {
            Maker::compile(
                &column.fill,
                &format!("{}.{}", table.name, column.name),
                &mut Place::Row,
            )
        })
        .collect::<Result<Vec<_>, _>>()
        .map_err(|error| Failure::new(FailureKind::Other, error.to_string()))?;
    let mut values = Values::default();
    for row in 0..table.rows {
        values.clear();
        for (maker, column) in makers.iter().zip(&table.columns) {
            maker.make(
                &mut row_scope(seed, &mut row_stream(seed, column.stream, row), row),
                &mut values,
            );
        }
        session.run_statement(statement, &values, Capture::nothing(), &mut Marks::new(None))?;
    }
    Ok(table.rows)
}

/// Reads tab-separated text, a row a line; `\N` is null. The columns are the table's, in order.
fn from_file(
    session: &mut super::SqliteSession,
    statement: usize,
    table: &LoadTable,
    path: &str,
) -> Result<u64, Failure> {
    let wrong =
        |line: u64, problem: String| Failure::new(FailureKind::Other, format!("{path}, line {line}: {problem}"));
    let file = std::fs::File::open(path).map_err(|error| wrong(0, error.to_string()))?;
    let mut reader = std::io::BufReader::with_capacity(1 << 20, file);
    let (mut line, mut values, mut rows) = (String::new(), Values::default(), 0);
    while rows < table.rows {
        line.clear();
        if reader
            .read_line(&mut line)
            .map_err(|error| wrong(rows + 1, error.to_string()))?
            == 0
        {
            break;
        }
        let text = line.strip_suffix('\n').unwrap_or(&line);
        let text = text.strip_suffix('\r').unwrap_or(text);
        values.clear();
        for field in text.split('\t') {
            if field == "\\N" {
                values.push_null();
            } else {
                values.push_text(|out| out.push_str(field));
            }
        }
        if values.len() != table.columns.len() {
            let problem = format!("{} fields for {} columns", values.len(), table.columns.len());
            return Err(wrong(rows + 1, problem));
        }
        session.run_statement(statement, &values, Capture::nothing(), &mut Marks::new(None))?;
        rows += 1;
    }
    Ok(rows)
}
