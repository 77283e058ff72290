//! Fills tables with DuckDB's appender, one transaction per table.

use super::api::{Api, Handle, OK};
use super::{DuckdbEngine, DuckdbSession, DuckdbTarget, kind, text_for_c, text_of};
use dbdyno_engine::Failure;
use dbdyno_engine::rows::{Loaded, RowSource, loaded};
use dbdyno_probes::Clock;
use dbdyno_program::value::{Value, Values};
use dbdyno_protocol::plan::document::{FailureKind, Load, LoadTable, PrepareMode};
use std::ptr::null_mut;

/// Creates the tables and fills them. When the function returns, the file is complete and synced, and its log has been
/// checkpointed.
pub fn load(target: &DuckdbTarget, load: &Load, seed: u64) -> Result<Vec<Loaded>, Failure> {
    let clock = Clock::get();
    let engine = DuckdbEngine::new(target, &[], PrepareMode::Never, false)?;
    let session = engine.open()?;
    let run = |sql: &str| {
        let done = if target.confined {
            session.run_confined(sql)
        } else {
            session.run(sql)
        };
        done.map_err(|failure| failure.explained(|message| format!("{message}: in `{sql}`")))
    };
    for sql in &load.before {
        run(sql)?;
    }
    let mut report = Vec::with_capacity(load.tables.len() + load.after.len() + 1);
    for table in &load.tables {
        let start = clock.now();
        let rows = fill(&engine.database.api, &session, table, seed)
            .map_err(|failure| failure.explained(|message| format!("{message}: loading `{}`", table.name)))?;
        report.push(loaded(table.name.clone(), rows, clock, start));
    }
    for sql in &load.after {
        let start = clock.now();
        run(sql)?;
        report.push(loaded(sql.clone(), 0, clock, start));
    }
    let start = clock.now();
    run("checkpoint")?;
    drop(session);
    drop(engine);
    if !in_memory(&target.path) {
        std::fs::File::open(&target.path)
            .and_then(|file| file.sync_all())
            .map_err(|error| Failure::new(FailureKind::Other, format!("syncing {}: {error}", target.path)))?;
    }
    report.push(loaded("(checkpoint)".into(), 0, clock, start));
    Ok(report)
}

/// Whether a path denotes an in-memory database.
pub fn in_memory(path: &str) -> bool {
    path.is_empty() || path.starts_with(":memory:")
}

fn fill(api: &Api, session: &DuckdbSession, table: &LoadTable, seed: u64) -> Result<u64, Failure> {
    let mut source = RowSource::of(table, seed)?;
    let columns = table.columns.iter().map(|column| column.name.as_str());
    let appender = Appender::open(api, session.connection(), &table.name, columns)?;
    let (mut values, mut rows) = (Values::default(), 0);
    while source.next(&mut values)? {
        appender.append(values.iter())?;
        rows += 1;
    }
    appender.close()?;
    Ok(rows)
}

/// Appends rows to a table. Destroyed on drop.
pub(super) struct Appender<'a> {
    api: &'a Api,
    handle: Handle,
}

impl<'a> Appender<'a> {
    /// Opens an appender to these columns of a table. Other columns get their defaults.
    pub(super) fn open<'b>(
        api: &'a Api,
        connection: Handle,
        table: &str,
        columns: impl Iterator<Item = &'b str>,
    ) -> Result<Self, Failure> {
        let mut appender = Self {
            api,
            handle: null_mut(),
        };
        let table = text_for_c(table)?;
        // SAFETY: the connection is open.
        let made =
            unsafe { (api.appender_create)(connection, std::ptr::null(), table.as_ptr(), &raw mut appender.handle) };
        appender.check(made)?;
        for column in columns {
            let column = text_for_c(column)?;
            // SAFETY: the appender exists.
            appender.check(unsafe { (api.appender_add_column)(appender.handle, column.as_ptr()) })?;
        }
        Ok(appender)
    }

    /// Appends a row.
    pub(super) fn append<'b>(&self, row: impl Iterator<Item = Value<'b>>) -> Result<(), Failure> {
        let api = self.api;
        for value in row {
            // SAFETY: the appender exists, and it copies strings and blobs.
            let state = unsafe {
                match value {
                    Value::Null => (api.append_null)(self.handle),
                    Value::Integer(v) => (api.append_int64)(self.handle, v),
                    Value::Real(v) => (api.append_double)(self.handle, v),
                    Value::Text(v) => (api.append_varchar_length)(self.handle, v.as_ptr().cast(), v.len() as u64),
                    Value::Bytes(v) => (api.append_blob)(self.handle, v.as_ptr().cast(), v.len() as u64),
                }
            };
            self.check(state)?;
        }
        // SAFETY: as above.
        self.check(unsafe { (api.appender_end_row)(self.handle) })
    }

    /// Writes the rows to the table. Otherwise, rows may be missing.
    pub(super) fn close(self) -> Result<(), Failure> {
        // SAFETY: the appender exists.
        self.check(unsafe { (self.api.appender_close)(self.handle) })
    }

    fn check(&self, state: i32) -> Result<(), Failure> {
        if state == OK {
            return Ok(());
        }
        // SAFETY: the appender exists, and returns null if it has no error.
        let message = unsafe { text_of((self.api.appender_error)(self.handle)) };
        let message = message.unwrap_or_else(|| "no reason given".into());
        // The appender reports no error type, but its message begins with it.
        const CONSTRAINT: i32 = 18;
        let constraint = message.contains("onstraint");
        Err(Failure::new(
            kind(if constraint { CONSTRAINT } else { 0 }, &message),
            message,
        ))
    }
}

impl Drop for Appender<'_> {
    fn drop(&mut self) {
        // SAFETY: it is destroyed once.
        unsafe { (self.api.appender_destroy)(&raw mut self.handle) };
    }
}
