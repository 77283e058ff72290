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
    let name = text_for_c(&table.name)?;
    let mut appender = Appender {
        api,
        handle: null_mut(),
    };
    // SAFETY: the connection is open.
    let made = unsafe {
        (api.appender_create)(
            session.connection(),
            std::ptr::null(),
            name.as_ptr(),
            &raw mut appender.handle,
        )
    };
    appender.check(made)?;
    for column in &table.columns {
        let name = text_for_c(&column.name)?;
        // SAFETY: the appender exists.
        appender.check(unsafe { (api.appender_add_column)(appender.handle, name.as_ptr()) })?;
    }
    let (mut values, mut rows) = (Values::default(), 0);
    while source.next(&mut values)? {
        for value in values.iter() {
            // SAFETY: the appender exists, and it copies strings and blobs.
            let state = unsafe {
                match value {
                    Value::Null => (api.append_null)(appender.handle),
                    Value::Integer(v) => (api.append_int64)(appender.handle, v),
                    Value::Real(v) => (api.append_double)(appender.handle, v),
                    Value::Text(v) => (api.append_varchar_length)(appender.handle, v.as_ptr().cast(), v.len() as u64),
                    Value::Bytes(v) => (api.append_blob)(appender.handle, v.as_ptr().cast(), v.len() as u64),
                }
            };
            appender.check(state)?;
        }
        // SAFETY: as above.
        appender.check(unsafe { (api.appender_end_row)(appender.handle) })?;
        rows += 1;
    }
    // SAFETY: as above.
    appender.check(unsafe { (api.appender_close)(appender.handle) })?;
    Ok(rows)
}

/// An appender, destroyed on drop.
struct Appender<'a> {
    api: &'a Api,
    handle: Handle,
}

impl Appender<'_> {
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
