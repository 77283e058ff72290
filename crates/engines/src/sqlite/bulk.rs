//! Fills tables as fast as the library can: one transaction, prepared statements, no journal, and no sync until the
//! end.

use super::{SqliteEngine, Watch};
use crate::sql_text::quoted;
use crate::sqlite::target::SqliteTarget;
use dbdyno_engine::rows::{Loaded, RowSource, loaded};
use dbdyno_engine::{Capture, Failure, Marks};
use dbdyno_probes::Clock;
use dbdyno_program::value::Values;
use dbdyno_protocol::plan::document::{FailureKind, Load, LoadTable, PrepareMode, Statement};
use std::os::unix::fs::FileExt as _;

/// Settings used only while loading. The file stores none of them.
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
    let logged = has_log(&target.path);
    let engine = SqliteEngine::new(&target, &inserts, PrepareMode::Once, Watch::default())?;
    let mut session = engine.open()?;
    for sql in &load.before {
        run(&mut session, sql)?;
    }
    let mut report = Vec::with_capacity(load.tables.len() + load.after.len() + 1);
    for (index, table) in load.tables.iter().enumerate() {
        let start = clock.now();
        session.query("begin", |_| {})?;
        let rows = fill(&mut session, index, table, seed)?;
        session.query("commit", |_| {})?;
        report.push(loaded(table.name.clone(), rows, clock, start));
    }
    for sql in &load.after {
        let start = clock.now();
        run(&mut session, sql)?;
        report.push(loaded(sql.clone(), 0, clock, start));
    }
    let start = clock.now();
    if logged {
        // Loading without a journal has removed the log.
        run(&mut session, "pragma journal_mode = wal")?;
    }
    drop(session);
    std::fs::File::open(&target.path)
        .and_then(|file| file.sync_all())
        .map_err(|error| Failure::new(FailureKind::Other, format!("syncing {}: {error}", target.path)))?;
    report.push(loaded("(sync)".into(), 0, clock, start));
    Ok(report)
}

/// Whether a file uses a write-ahead log, according to its header
/// (<https://sqlite.org/fileformat2.html#file_format_version_numbers>).
fn has_log(path: &str) -> bool {
    let mut version = [0];
    std::fs::File::open(path)
        .and_then(|file| file.read_exact_at(&mut version, 18))
        .is_ok_and(|()| version == [2])
}

fn run(session: &mut super::SqliteSession, sql: &str) -> Result<(), Failure> {
    session
        .query(sql, |_| {})
        .map_err(|failure| failure.explained(|message| format!("{message}: in `{sql}`")))
}

fn insert(table: &LoadTable) -> Statement {
    let columns: Vec<String> = table.columns.iter().map(|column| quoted(&column.name)).collect();
    let beginning = format!("insert into {} ({}) values (", quoted(&table.name), columns.join(", "));
    let values = vec!["?"; columns.len()].join(", ");
    let place = |number| beginning.len() + number * "?, ".len();
    Statement {
        places: (0..columns.len()).map(place).collect(),
        ..Statement::new(format!("load {}", table.name), format!("{beginning}{values})"))
    }
}

fn fill(session: &mut super::SqliteSession, statement: usize, table: &LoadTable, seed: u64) -> Result<u64, Failure> {
    let mut source = RowSource::of(table, seed)?;
    let (mut values, mut rows) = (Values::default(), 0);
    while source.next(&mut values)? {
        session.run_statement(statement, &values, Capture::nothing(), &mut Marks::new(None))?;
        rows += 1;
    }
    Ok(rows)
}
