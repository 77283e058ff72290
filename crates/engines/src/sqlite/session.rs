//! One connection to a SQLite database.

mod counted;
mod tally;

pub use counted::CountedEngine;

use super::api::Api;
use super::external_access::{Denied, authorize};
use super::{SqliteEngine, counters, kind, vfs};
use crate::external_access::DENIED;
use crate::sql_text::{Dialect, Template, check_parameters};
use dbdyno_engine::recorded::{MOST_KEPT, Preparation};
use dbdyno_engine::{Capture, Control, Failure, Marks, Rows, Session, SessionCounters, check_count};
use dbdyno_probes::Clock;
use dbdyno_program::value::{Value, Values};
use dbdyno_protocol::plan::document::{FailureKind, PrepareMode, Statement};
use dbdyno_protocol::plan::transaction::BeginMode;
use libsqlite3_sys as ffi;
use std::collections::HashMap;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr::null_mut;
use std::sync::Arc;
use std::task::Poll;

/// A connection, its prepared statements and its buffers.
pub struct SqliteSession {
    api: &'static Api,
    db: *mut ffi::sqlite3,
    statements: Arc<[Statement]>,
    prepared: Vec<Prepared>,
    control: [Prepared; CONTROL.len()],
    /// The statements split at their parameters, used if values are inserted into the text.
    templates: Vec<Template>,
    prepare: PrepareMode,
    text: String,
    /// The recorded statements that are prepared, by text.
    recorded: HashMap<Box<str>, Prepared>,
    wait: Box<BusyWait>,
    /// Why the authorizer denied a statement, until it is reported.
    denied: Box<Denied>,
}

// SAFETY: one client at a time uses a session; SQLite's connections may move between threads.
unsafe impl Send for SqliteSession {}

/// Statements that begin and end transactions.
const CONTROL: [&str; 5] = ["begin", "begin immediate", "begin exclusive", "commit", "rollback"];

#[derive(Clone, Copy)]
struct Prepared {
    statement: *mut ffi::sqlite3_stmt,
    columns: c_int,
    parameters: c_int,
    readonly: bool,
}

impl Prepared {
    const NONE: Self = Self {
        statement: null_mut(),
        columns: 0,
        parameters: 0,
        readonly: true,
    };
}

struct BusyWait {
    clock: Clock,
    timeout_ms: u32,
}

/// Waits for a lock with the same delays as `sqlite3_busy_timeout`, and records the time.
unsafe extern "C" fn wait_for_lock(argument: *mut c_void, tries: c_int) -> c_int {
    const DELAYS: [u32; 12] = [1, 2, 5, 10, 15, 20, 25, 25, 25, 50, 50, 100];
    // SAFETY: the argument is the session's box, which outlives the connection.
    let wait = unsafe { &*argument.cast::<BusyWait>() };
    let tries = tries as usize;
    let slept: u32 = DELAYS.iter().take(tries).sum::<u32>() + 100 * tries.saturating_sub(DELAYS.len()) as u32;
    let delay = DELAYS
        .get(tries)
        .copied()
        .unwrap_or(100)
        .min(wait.timeout_ms.saturating_sub(slept));
    if delay == 0 {
        return 0;
    }
    let start = wait.clock.raw();
    std::thread::sleep(std::time::Duration::from_millis(u64::from(delay)));
    let spent = wait.clock.raw().saturating_sub(start);
    counters::count(|c| {
        c.file_lock_waits += u64::from(tries == 0);
        c.file_lock_raw += spent;
    });
    1
}

impl SqliteSession {
    /// Opens a file with the engine's settings. `timeout_ms`: how long the connection waits for a lock.
    pub(super) fn open(engine: &SqliteEngine, path: &CStr, timeout_ms: u32) -> Result<Self, Failure> {
        let api = engine.api;
        let vfs = if engine.watch.io {
            vfs::NAME.as_ptr()
        } else {
            std::ptr::null()
        };
        let mut db = null_mut();
        // SAFETY: the path is a C string, and `db` receives the connection even if opening fails.
        let code = unsafe { (api.open_v2)(path.as_ptr(), &raw mut db, engine.open_flags(), vfs) };
        let wait = Box::new(BusyWait {
            clock: Clock::get(),
            timeout_ms,
        });
        let templates = match engine.prepare {
            PrepareMode::Never => engine.statements.iter().map(Template::of).collect(),
            _ => Vec::new(),
        };
        let mut session = Self {
            api,
            db,
            statements: Arc::clone(&engine.statements),
            prepared: vec![Prepared::NONE; engine.statements.len()],
            control: [Prepared::NONE; CONTROL.len()],
            templates,
            prepare: engine.prepare,
            text: String::new(),
            recorded: HashMap::new(),
            wait,
            denied: Box::default(),
        };
        if code != ffi::SQLITE_OK {
            let path = path.to_string_lossy();
            return Err(session
                .failure(code)
                .explained(|message| format!("cannot open {path}: {message}")));
        }
        // First, because the following calls may have to wait for a lock.
        if session.wait.timeout_ms > 0 {
            let argument = (&raw mut *session.wait).cast();
            // SAFETY: the box lives until the connection is closed.
            unsafe { (api.busy_handler)(db, Some(wait_for_lock), argument) };
        }
        for (name, value) in &engine.target.pragmas {
            session.pragma(name, value)?;
        }
        Ok(session)
    }

    /// Makes SQLite's authorizer deny access outside the database file from now on. A library without an authorizer
    /// denies nothing.
    pub(super) fn confine(&mut self) {
        if let Some(set_authorizer) = self.api.set_authorizer {
            let argument = (&raw mut *self.denied).cast();
            // SAFETY: the connection is open, and closed before the box is dropped.
            unsafe { set_authorizer(self.db, Some(authorize), argument) };
        }
    }

    /// Applies a setting.
    pub(super) fn pragma(&mut self, name: &str, value: &str) -> Result<(), Failure> {
        self.query(&format!("pragma {name} = {value}"), |_| {})
            .map_err(|failure| failure.explained(|message| format!("pragma {name} = {value}: {message}")))
    }

    /// Runs any SQL once and passes each row, as strings, to `row`.
    pub(super) fn query(&mut self, sql: &str, mut row: impl FnMut(&[String])) -> Result<(), Failure> {
        let mut rest = sql;
        while !rest.trim().is_empty() {
            let (prepared, read) = self.parse(rest)?;
            if prepared.statement.is_null() {
                break;
            }
            loop {
                // SAFETY: the statement was just prepared, and is finalized below on every path.
                match unsafe { (self.api.step)(prepared.statement) } {
                    ffi::SQLITE_ROW => {
                        let values: Vec<String> = (0..prepared.columns)
                            .map(|column| self.column_text(prepared.statement, column))
                            .collect();
                        row(&values);
                    }
                    ffi::SQLITE_DONE => break,
                    code => {
                        let failure = self.failure(code);
                        self.finalize(prepared.statement);
                        return Err(failure);
                    }
                }
            }
            self.finalize(prepared.statement);
            rest = &rest[read..];
        }
        Ok(())
    }

    fn column_text(&self, statement: *mut ffi::sqlite3_stmt, column: c_int) -> String {
        // SAFETY: the statement is on a row that has this column. Reading it as text converts UTF-16 to UTF-8 in place,
        // and it is read below in that form.
        unsafe {
            if (self.api.column_type)(statement, column) == ffi::SQLITE_TEXT {
                (self.api.column_text)(statement, column);
            }
        }
        match self.column(statement, column) {
            Value::Null => String::new(),
            Value::Integer(v) => v.to_string(),
            Value::Real(v) => v.to_string(),
            Value::Text(v) => v.to_owned(),
            Value::Bytes(v) => String::from_utf8_lossy(v).into_owned(),
        }
    }

    /// Parses the first statement of a text. Also returns its length in bytes.
    fn parse(&self, sql: &str) -> Result<(Prepared, usize), Failure> {
        self.parse_here(sql)
    }

    /// The same, always inlined into the caller.
    #[inline(always)]
    fn parse_here(&self, sql: &str) -> Result<(Prepared, usize), Failure> {
        let mut statement = null_mut();
        let mut tail = std::ptr::null();
        let length = c_int::try_from(sql.len())
            .map_err(|_| Failure::new(FailureKind::Other, "the statement is longer than 2 GiB"))?;
        // A statement that was denied at run time may not have failed.
        self.denied.take();
        // SAFETY: the length is passed, so no terminating zero is needed; both results are written before success is
        // reported.
        unsafe {
            let code = (self.api.prepare_v2)(self.db, sql.as_ptr().cast(), length, &raw mut statement, &raw mut tail);
            if code != ffi::SQLITE_OK {
                return Err(self.failure(code));
            }
            let read = tail.offset_from(sql.as_ptr().cast()) as usize;
            if statement.is_null() {
                return Ok((Prepared::NONE, read));
            }
            let columns = (self.api.column_count)(statement);
            let parameters = (self.api.bind_parameter_count)(statement);
            let readonly = (self.api.stmt_readonly)(statement) != 0;
            Ok((
                Prepared {
                    statement,
                    columns,
                    parameters,
                    readonly,
                },
                read,
            ))
        }
    }

    /// Why the authorizer denies the first statement of a text, if it does. The statement isn't executed. One that
    /// cannot be prepared has no effects.
    pub(super) fn denies(&self, sql: &str) -> Option<String> {
        match self.parse(sql) {
            Ok((prepared, _)) => {
                self.finalize(prepared.statement);
                None
            }
            Err(failure) => {
                let why = failure.message.strip_prefix(DENIED)?.trim_start_matches(": ");
                Some(why.rsplit_once(" (").map_or(why, |(why, _code)| why).to_owned())
            }
        }
    }

    /// Whether the first statement of a text is read-only, and its length in bytes. The statement isn't executed.
    pub(super) fn reads_only(&self, sql: &str) -> Result<(bool, usize), Failure> {
        let (prepared, read) = self.parse(sql)?;
        let reads = prepared.statement.is_null() || prepared.readonly;
        self.finalize(prepared.statement);
        Ok((reads, read.max(1)))
    }

    /// The first statement of a text, which is the one that gets executed.
    pub(super) fn first_of<'a>(&self, sql: &'a str) -> Result<&'a str, Failure> {
        let (prepared, read) = self.parse(sql)?;
        self.finalize(prepared.statement);
        Ok(sql.get(..read).unwrap_or(sql))
    }

    pub(super) fn finalize(&self, statement: *mut ffi::sqlite3_stmt) {
        // SAFETY: each statement is finalized once, by its owner. A null statement is allowed.
        unsafe { (self.api.finalize)(statement) };
    }

    pub(super) fn api(&self) -> &'static Api {
        self.api
    }

    /// The connection's last error: SQLite's message and the name of its code.
    #[cold]
    pub(super) fn failure(&self, code: c_int) -> Failure {
        // SAFETY: the connection is open, or null after a failed allocation; both calls allow that. The string is
        // copied.
        let (extended, message) = unsafe {
            let message = CStr::from_ptr((self.api.errmsg)(self.db))
                .to_string_lossy()
                .into_owned();
            ((self.api.extended_errcode)(self.db), message)
        };
        // The code is not always SQLITE_AUTH.
        let message = self.denied.take().map_or(message, |why| format!("{DENIED}: {why}"));
        let code = if extended & 0xff == code & 0xff { extended } else { code };
        let name = code_name(code);
        Failure::new(kind(code), format!("{message} ({name})")).coded(name)
    }

    #[inline(always)]
    fn bind(&self, prepared: &Prepared, params: &Values) -> Result<(), Failure> {
        check_count(prepared.parameters as usize, params.len())?;
        for index in 0..params.len() {
            let code = match params.integer(index) {
                // SAFETY: the statement belongs to this session.
                Some(v) => unsafe { (self.api.bind_int64)(prepared.statement, index as c_int + 1, v) },
                None => self.bind_other(prepared.statement, index, params),
            };
            if code != ffi::SQLITE_OK {
                return Err(self.failure(code));
            }
        }
        Ok(())
    }

    #[inline(never)]
    fn bind_other(&self, statement: *mut ffi::sqlite3_stmt, index: usize, params: &Values) -> c_int {
        self.bind_here(statement, index, params)
    }

    #[inline(always)]
    fn bind_here(&self, statement: *mut ffi::sqlite3_stmt, index: usize, params: &Values) -> c_int {
        let lasting = ffi::SQLITE_STATIC();
        let at = index as c_int + 1;
        // SAFETY: the values don't change until the statement has been reset, so static text and blobs stay valid.
        unsafe {
            match params.get(index) {
                Some(Value::Integer(v)) => (self.api.bind_int64)(statement, at, v),
                None | Some(Value::Null) => (self.api.bind_null)(statement, at),
                Some(Value::Real(v)) => (self.api.bind_double)(statement, at, v),
                Some(Value::Text(v)) => {
                    (self.api.bind_text)(statement, at, v.as_ptr().cast(), v.len() as c_int, lasting)
                }
                Some(Value::Bytes(v)) => {
                    (self.api.bind_blob)(statement, at, v.as_ptr().cast(), v.len() as c_int, lasting)
                }
            }
        }
    }

    #[inline(always)]
    fn column(&self, statement: *mut ffi::sqlite3_stmt, column: c_int) -> Value<'_> {
        // SAFETY: the statement is on a row that has this column, and the value is used before the next step.
        unsafe {
            match (self.api.column_type)(statement, column) {
                ffi::SQLITE_INTEGER => Value::Integer((self.api.column_int64)(statement, column)),
                ffi::SQLITE_FLOAT => Value::Real((self.api.column_double)(statement, column)),
                ffi::SQLITE_NULL => Value::Null,
                kind => {
                    let start = (self.api.column_blob)(statement, column).cast::<u8>();
                    let length = (self.api.column_bytes)(statement, column) as usize;
                    let bytes = if start.is_null() {
                        &[]
                    } else {
                        std::slice::from_raw_parts(start, length)
                    };
                    if kind == ffi::SQLITE_TEXT {
                        std::str::from_utf8(bytes).map_or(Value::Bytes(bytes), Value::Text)
                    } else {
                        Value::Bytes(bytes)
                    }
                }
            }
        }
    }

    /// Reads all columns of a row, as an application would. The library's functions are opaque to the compiler, so the
    /// calls are not optimized away although their results are unused.
    #[inline(always)]
    fn read_row(&self, statement: *mut ffi::sqlite3_stmt, columns: c_int) {
        // A local copy; otherwise it would be loaded again for each column.
        let api = self.api;
        for column in 0..columns {
            // SAFETY: as in `column`.
            unsafe {
                match (api.column_type)(statement, column) {
                    ffi::SQLITE_TEXT => {
                        (api.column_blob)(statement, column);
                        (api.column_bytes)(statement, column);
                    }
                    ffi::SQLITE_INTEGER => {
                        (api.column_int64)(statement, column);
                    }
                    kind => read_other(api, statement, column, kind),
                }
            }
        }
    }

    /// Steps through all rows, then resets the statement.
    #[inline(always)]
    fn run(&self, prepared: &Prepared, capture: Capture<'_>, marks: &mut Marks) -> Result<Rows, Failure> {
        let statement = prepared.statement;
        // SAFETY: the statement belongs to this session and is not finalized while it runs.
        let mut code = unsafe { (self.api.step)(statement) };
        marks.note_first_row();
        let mut returned = 0;
        if !capture.is_empty() {
            (returned, code) = self.take_rows(prepared, code, capture);
        }
        while code == ffi::SQLITE_ROW {
            returned += 1;
            self.read_row(statement, prepared.columns);
            // SAFETY: as above.
            code = unsafe { (self.api.step)(statement) };
        }
        if code != ffi::SQLITE_DONE {
            return Err(self.give_up(statement, code));
        }
        // SAFETY: as above.
        unsafe {
            let changed = if prepared.readonly {
                0
            } else {
                (self.api.changes)(self.db) as u64
            };
            match (self.api.reset)(statement) {
                ffi::SQLITE_OK => Ok(Rows { returned, changed }),
                code => Err(self.failure(code)),
            }
        }
    }

    /// Stores the columns of the current row (nulls if there is no row) in the captured variables. If all rows are
    /// captured, steps through them. Returns how many rows it has passed, and the result of the last step.
    #[inline(never)]
    fn take_rows(&self, prepared: &Prepared, first: c_int, mut capture: Capture<'_>) -> (u64, c_int) {
        let (mut passed, mut code) = (0, first);
        if code != ffi::SQLITE_ROW {
            capture.clear();
        }
        while code == ffi::SQLITE_ROW {
            for column in 0..prepared.columns.min(capture.len() as c_int) {
                capture.take(column as usize, self.column(prepared.statement, column));
            }
            if !capture.wants_every_row() {
                break;
            }
            passed += 1;
            // SAFETY: as in `run`.
            code = unsafe { (self.api.step)(prepared.statement) };
        }
        (passed, code)
    }

    /// Returns the failure that stopped a statement, and resets the statement.
    #[cold]
    fn give_up(&self, statement: *mut ffi::sqlite3_stmt, code: c_int) -> Failure {
        let failure = self.failure(code);
        // SAFETY: as in `run`; the reset returns the same error code again.
        unsafe { (self.api.reset)(statement) };
        failure
    }

    #[inline(never)]
    fn prepare_one(&mut self, index: usize) -> Result<Prepared, Failure> {
        let statement = &self.statements[index];
        let (prepared, _) = self.parse(&statement.sql)?;
        if prepared.statement.is_null() {
            let name = &statement.name;
            return Err(Failure::new(
                FailureKind::Other,
                format!("the statement {name} is empty"),
            ));
        }
        check_parameters(prepared.parameters as usize, statement).inspect_err(|_| self.finalize(prepared.statement))?;
        Ok(prepared)
    }

    /// Runs a statement of the plan.
    #[inline(always)]
    pub(super) fn run_statement(
        &mut self,
        index: usize,
        params: &Values,
        capture: Capture<'_>,
        marks: &mut Marks,
    ) -> Result<Rows, Failure> {
        if let Some(prepared) = self.prepared.get(index)
            && !prepared.statement.is_null()
        {
            self.bind(prepared, params)?;
            return self.run(prepared, capture, marks);
        }
        self.run_new(index, params, capture, marks)
    }

    /// Runs a statement of the plan that must be parsed first.
    #[inline(never)]
    fn run_new(
        &mut self,
        index: usize,
        params: &Values,
        capture: Capture<'_>,
        marks: &mut Marks,
    ) -> Result<Rows, Failure> {
        let (prepared, params) = match self.prepare {
            PrepareMode::Once | PrepareMode::PerTransaction => (self.prepare_one(index)?, Some(params)),
            PrepareMode::Never => {
                check_count(self.templates[index].parameters(), params.len())?;
                let mut text = std::mem::take(&mut self.text);
                self.templates[index].render(params, &Dialect::STANDARD, &mut text);
                let parsed = self.parse(&text);
                self.text = text;
                (parsed?.0, None)
            }
        };
        marks.note_prepared();
        let result = params
            .map_or(Ok(()), |params| self.bind(&prepared, params))
            .and_then(|()| self.run(&prepared, capture, marks));
        if self.prepare == PrepareMode::Once {
            self.prepared[index] = prepared;
        } else {
            self.finalize(prepared.statement);
        }
        result
    }

    /// Runs a statement that is not part of the plan. Returns the rows that it returned or changed.
    fn run_unplanned(&self, prepared: &Prepared) -> Result<u64, Failure> {
        // SAFETY: the connection is open.
        let before = unsafe { (self.api.total_changes)(self.db) };
        let result = self.run(prepared, Capture::nothing(), &mut Marks::new(None))?;
        // The library keeps the number of changed rows until the next change.
        // SAFETY: as above.
        let has_changed = unsafe { (self.api.total_changes)(self.db) } != before;
        Ok(match prepared.columns {
            0 if has_changed => result.changed,
            _ => result.returned,
        })
    }

    /// Runs a recorded statement, which is prepared first if necessary.
    fn run_prepared(&mut self, text: &str, preparation: &Preparation) -> Result<u64, Failure> {
        let known = self.recorded.get(text).filter(|_| preparation.once);
        let prepared = if let Some(known) = known {
            *known
        } else {
            if self.recorded.len() >= MOST_KEPT {
                for (_, kept) in std::mem::take(&mut self.recorded) {
                    self.finalize(kept.statement);
                }
            } else if let Some(kept) = self.recorded.remove(text) {
                self.finalize(kept.statement);
            }
            let (new, _) = self.parse(text)?;
            if new.statement.is_null() {
                return Ok(0);
            }
            self.recorded.insert(text.into(), new);
            new
        };
        self.bind(&prepared, &preparation.parameters)?;
        self.run_unplanned(&prepared)
    }

    /// Runs statements that are not part of the plan. Returns the rows that they returned or changed.
    fn run_text(&self, text: &str) -> Result<u64, Failure> {
        let (mut rest, mut rows) = (text, 0);
        while !rest.is_empty() {
            let (prepared, read) = self.parse(rest)?;
            if prepared.statement.is_null() {
                break;
            }
            let result = self.run_unplanned(&prepared);
            self.finalize(prepared.statement);
            rows += result?;
            rest = &rest[read..];
        }
        Ok(rows)
    }

    /// Runs a statement that begins or ends a transaction. It is prepared as often as the plan's statements.
    fn run_control(&mut self, control: Control) -> Result<(), Failure> {
        let which = match control {
            Control::Begin(BeginMode::Immediate) => 1,
            Control::Begin(BeginMode::Exclusive) => 2,
            // SQLite has no other isolation levels.
            Control::Begin(_) => 0,
            Control::Commit => 3,
            // SAFETY: the connection is open.
            Control::Rollback if unsafe { (self.api.get_autocommit)(self.db) } != 0 => return Ok(()),
            Control::Rollback => 4,
        };
        if self.prepare != PrepareMode::Once {
            return self.query(CONTROL[which], |_| {});
        }
        if self.control[which].statement.is_null() {
            self.control[which] = self.parse(CONTROL[which])?.0;
        }
        self.run(&self.control[which], Capture::nothing(), &mut Marks::new(None))
            .map(drop)
    }
}

impl Session for SqliteSession {
    async fn prepare_first(&mut self, count: usize) -> Result<(), Failure> {
        for index in 0..self.statements.len().min(count) {
            self.prepared[index] = self.prepare_one(index)?;
        }
        Ok(())
    }

    #[inline(always)]
    fn execute(
        &mut self,
        statement: usize,
        params: &Values,
        capture: Capture<'_>,
        marks: &mut Marks,
    ) -> Poll<Result<Rows, Failure>> {
        Poll::Ready(self.run_statement(statement, params, capture, marks))
    }

    fn control(&mut self, control: Control) -> Poll<Result<(), Failure>> {
        Poll::Ready(self.run_control(control))
    }

    async fn execute_recorded(&mut self, text: &str, preparation: Option<&Preparation>) -> Result<u64, Failure> {
        match preparation {
            Some(preparation) => self.run_prepared(text, preparation),
            None => self.run_text(text),
        }
    }

    fn counters(&mut self) -> SessionCounters {
        let read = |what: c_int| {
            let (mut current, mut highest) = (0, 0);
            // SAFETY: the connection is open; both results are written.
            let code = unsafe { (self.api.db_status)(self.db, what, &raw mut current, &raw mut highest, 0) };
            // An older library reports an error for an unknown counter, which then counts as 0. The counters have 32
            // bits.
            if code == ffi::SQLITE_OK {
                u64::from(current as u32)
            } else {
                0
            }
        };
        SessionCounters {
            cache_hits: read(ffi::SQLITE_DBSTATUS_CACHE_HIT),
            cache_misses: read(ffi::SQLITE_DBSTATUS_CACHE_MISS),
            cache_spills: read(ffi::SQLITE_DBSTATUS_CACHE_SPILL),
        }
    }

    async fn close(self) -> Result<(), Failure> {
        drop(self);
        Ok(())
    }
}

impl Drop for SqliteSession {
    fn drop(&mut self) {
        let recorded = std::mem::take(&mut self.recorded).into_values();
        let planned = std::mem::take(&mut self.prepared).into_iter().chain(self.control);
        for prepared in planned.chain(recorded) {
            self.finalize(prepared.statement);
        }
        // SAFETY: all statements have been finalized, so closing cannot fail. A null connection is allowed.
        unsafe { (self.api.close)(self.db) };
    }
}

/// Reads a column that is neither an integer nor text.
#[inline(never)]
fn read_other(api: &Api, statement: *mut ffi::sqlite3_stmt, column: c_int, kind: c_int) {
    // SAFETY: the statement is on a row that has this column.
    unsafe {
        if kind == ffi::SQLITE_BLOB {
            (api.column_blob)(statement, column);
            (api.column_bytes)(statement, column);
        } else if kind == ffi::SQLITE_FLOAT {
            (api.column_double)(statement, column);
        }
    }
}

/// The names of the result codes that add information to the message.
fn code_name(code: c_int) -> String {
    let name = match code {
        ffi::SQLITE_BUSY => "SQLITE_BUSY",
        ffi::SQLITE_BUSY_SNAPSHOT => "SQLITE_BUSY_SNAPSHOT",
        ffi::SQLITE_BUSY_RECOVERY => "SQLITE_BUSY_RECOVERY",
        ffi::SQLITE_LOCKED => "SQLITE_LOCKED",
        ffi::SQLITE_LOCKED_SHAREDCACHE => "SQLITE_LOCKED_SHAREDCACHE",
        ffi::SQLITE_FULL => "SQLITE_FULL",
        ffi::SQLITE_READONLY => "SQLITE_READONLY",
        ffi::SQLITE_CANTOPEN => "SQLITE_CANTOPEN",
        ffi::SQLITE_NOTADB => "SQLITE_NOTADB",
        ffi::SQLITE_CORRUPT => "SQLITE_CORRUPT",
        ffi::SQLITE_ERROR => "SQLITE_ERROR",
        ffi::SQLITE_AUTH => "SQLITE_AUTH",
        ffi::SQLITE_CONSTRAINT => "SQLITE_CONSTRAINT",
        ffi::SQLITE_CONSTRAINT_CHECK => "SQLITE_CONSTRAINT_CHECK",
        ffi::SQLITE_CONSTRAINT_DATATYPE => "SQLITE_CONSTRAINT_DATATYPE",
        ffi::SQLITE_CONSTRAINT_FOREIGNKEY => "SQLITE_CONSTRAINT_FOREIGNKEY",
        ffi::SQLITE_CONSTRAINT_NOTNULL => "SQLITE_CONSTRAINT_NOTNULL",
        ffi::SQLITE_CONSTRAINT_PRIMARYKEY => "SQLITE_CONSTRAINT_PRIMARYKEY",
        ffi::SQLITE_CONSTRAINT_ROWID => "SQLITE_CONSTRAINT_ROWID",
        ffi::SQLITE_CONSTRAINT_TRIGGER => "SQLITE_CONSTRAINT_TRIGGER",
        ffi::SQLITE_CONSTRAINT_UNIQUE => "SQLITE_CONSTRAINT_UNIQUE",
        ffi::SQLITE_MISMATCH => "SQLITE_MISMATCH",
        ffi::SQLITE_INTERRUPT => "SQLITE_INTERRUPT",
        _ => return format!("code {code}"),
    };
    name.to_owned()
}

/// Copies a C string, for messages.
pub(super) fn text(pointer: *const c_char) -> Option<String> {
    // SAFETY: the library's functions return null or a C string that lives as long as the library.
    (!pointer.is_null()).then(|| unsafe { CStr::from_ptr(pointer) }.to_string_lossy().into_owned())
}
