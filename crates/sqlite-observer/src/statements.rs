//! The connections and prepared statements of a process, and their executions.

use crate::reporter::{self, Reporter};
use crate::sqlite::{DONE, Db, Functions, OK, Stmt};
use crate::{now, time};
use dbdyno_reports::{Execution, Parameter, Text, Texts};
use libc::c_int;
use std::collections::HashMap;
use std::ffi::CStr;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::atomic::{AtomicI32, AtomicPtr, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Longer statements are reported without their text.
pub const LONGEST: usize = 1 << 18;

/// Longer values of parameters aren't reported.
pub const LONGEST_VALUE: usize = 1 << 14;

const SHARDS: usize = 16;

/// A connection is a session of the trace.
struct Connection {
    session: u64,
    /// SQLite's count of changed rows when the last statement ended.
    changes: AtomicI32,
}

/// A prepared statement.
struct Statement {
    text: Text,
    connection: Arc<Connection>,
    parameters: Vec<Parameter>,
    /// Whether it was executed before; `None`: it isn't a prepared statement.
    once: Option<bool>,
    /// When the first step began; 0: it isn't being executed.
    start: u64,
    /// The time of its steps, without the time between them.
    duration: u64,
    rows: u64,
}

#[derive(Default)]
struct PointerHasher(u64);

impl Hasher for PointerHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_usize(usize::from(*byte));
        }
    }

    fn write_usize(&mut self, value: usize) {
        self.0 = (self.0.rotate_left(5) ^ value as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    }
}

type Pointers<T> = Mutex<HashMap<usize, T, BuildHasherDefault<PointerHasher>>>;

struct Registry {
    connections: Pointers<Arc<Connection>>,
    statements: [Pointers<Statement>; SHARDS],
    texts: Mutex<Texts>,
    reporter: Mutex<Reporter>,
    sessions: AtomicU64,
    /// Nanoseconds since 1970 at time 0 of the monotonic clock.
    since: u64,
}

static REGISTRY: AtomicPtr<Registry> = AtomicPtr::new(std::ptr::null_mut());

fn registry() -> &'static Registry {
    let known = REGISTRY.load(Ordering::Acquire);
    // SAFETY: registries are never freed.
    unsafe { known.as_ref() }.unwrap_or_else(|| {
        let made = Box::into_raw(Box::new(Registry {
            connections: Pointers::default(),
            statements: Default::default(),
            texts: Mutex::default(),
            reporter: Mutex::default(),
            sessions: AtomicU64::new(0),
            since: time(libc::CLOCK_REALTIME).saturating_sub(now()),
        }));
        // If another thread was faster, this one isn't used.
        let used = match REGISTRY.compare_exchange(known, made, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => made,
            Err(first) => first,
        };
        // SAFETY: as above.
        unsafe { &*used }
    })
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Registry {
    fn connection(&self, db: Db, changes: impl FnOnce() -> c_int) -> Arc<Connection> {
        let mut connections = locked(&self.connections);
        let known = connections.entry(db as usize).or_insert_with(|| {
            Arc::new(Connection {
                session: self.sessions.fetch_add(1, Ordering::Relaxed) + 1,
                changes: AtomicI32::new(changes()),
            })
        });
        Arc::clone(known)
    }

    fn shard(&self, stmt: Stmt) -> &Pointers<Statement> {
        // SQLite's statements are larger than 64 bytes.
        &self.statements[(stmt as usize / 64) % SHARDS]
    }

    fn report(&self, execution: &Execution, now: u64) {
        locked(&self.reporter).add(execution, now);
    }
}

/// Forgets all, in a child process.
pub fn begin_again() {
    reporter::close_inherited();
    // The parent's registry may be locked by threads that don't exist here.
    REGISTRY.store(std::ptr::null_mut(), Ordering::Release);
}

/// Sends what waits before the process ends.
pub fn end() {
    // SAFETY: registries are never freed.
    let known = unsafe { REGISTRY.load(Ordering::Acquire).as_ref() };
    // The process may end within this library, by a signal handler.
    if let Some(mut reporter) = known.and_then(|known| known.reporter.try_lock().ok()) {
        reporter.end();
    }
}

/// Calls a function that every version of SQLite has.
macro_rules! ask {
    ($functions:ident.$name:ident($($argument:expr),*), $otherwise:expr) => {
        // SAFETY: the caller of this library passes valid handles.
        $functions.$name.map_or($otherwise, |ask| unsafe { ask($($argument),*) })
    };
}

/// A connection as it was left by a call.
struct After {
    changes: c_int,
    total_changes: c_int,
    is_open: bool,
    error: Option<c_int>,
}

impl After {
    fn read(functions: &Functions, db: Db, code: c_int) -> Self {
        let error = (code != OK && code != DONE).then(|| {
            let extended = ask!(functions.extended_errcode(db), code);
            // Another thread may have used the connection in the meantime.
            if extended & 0xff == code & 0xff { extended } else { code }
        });
        Self {
            changes: ask!(functions.changes(db), 0),
            total_changes: ask!(functions.total_changes(db), 0),
            is_open: ask!(functions.get_autocommit(db), 1) == 0,
            error,
        }
    }
}

impl Statement {
    /// Ends its execution.
    fn end(&mut self, after: &After, since: u64) -> Execution {
        let before = self.connection.changes.swap(after.total_changes, Ordering::Relaxed);
        let changed = if before == after.total_changes {
            0
        } else {
            after.changes
        };
        let rows = if self.rows == 0 {
            u64::try_from(changed).unwrap_or(0)
        } else {
            self.rows
        };
        let start = self.start + since;
        let end = start + self.duration;
        (self.start, self.duration, self.rows) = (0, 0, 0);
        let once = self.once;
        self.once = once.map(|_| true);
        Execution {
            session: self.connection.session,
            text: self.text.clone(),
            start,
            end,
            rows: after.error.is_none().then_some(rows),
            error: after.error.map(|code| code.to_string().into()),
            bytes: None,
            parameters: Some(self.parameters.clone()),
            open: Some(after.is_open),
            once,
        }
    }
}

/// A statement was prepared.
pub fn prepared(functions: &Functions, db: Db, stmt: Stmt) {
    let sql = ask!(functions.sql(stmt), std::ptr::null());
    if sql.is_null() {
        return;
    }
    let registry = registry();
    // SAFETY: SQLite's string lives as long as the statement.
    let sql = unsafe { CStr::from_ptr(sql) }.to_bytes();
    let count = ask!(functions.bind_parameter_count(stmt), 0);
    let text = if sql.len() > LONGEST {
        Text::TooLong
    } else if count == 0 {
        Text::Own(sql.into())
    } else {
        let names = || names(functions, stmt, count);
        Text::Shared(locked(&registry.texts).share(sql, &[], names))
    };
    let made = Statement {
        text,
        connection: registry.connection(db, || ask!(functions.total_changes(db), 0)),
        parameters: vec![Parameter::Null; usize::try_from(count).unwrap_or(0)],
        once: Some(false),
        start: 0,
        duration: 0,
        rows: 0,
    };
    locked(registry.shard(stmt)).insert(stmt as usize, made);
}

/// The names of parameters, without the first character; empty if they are numbered.
fn names(functions: &Functions, stmt: Stmt, count: c_int) -> Vec<Box<str>> {
    let mut are_named = false;
    let names = (1..=count)
        .map(|number| {
            let name = ask!(functions.bind_parameter_name(stmt, number), std::ptr::null());
            if name.is_null() {
                return Box::default();
            }
            // SAFETY: SQLite's string lives as long as the statement.
            let name = unsafe { CStr::from_ptr(name) }.to_string_lossy();
            are_named |= !name.starts_with('?');
            name.chars().skip(1).collect::<String>().into()
        })
        .collect();
    if are_named { names } else { Vec::new() }
}

/// A parameter was bound. `number`: from 1.
pub fn bound(stmt: Stmt, number: c_int, value: Parameter) {
    if let Some(known) = locked(registry().shard(stmt)).get_mut(&(stmt as usize))
        && let Some(place) = usize::try_from(number - 1)
            .ok()
            .and_then(|at| known.parameters.get_mut(at))
    {
        *place = value;
    }
}

/// All parameters were set to null.
pub fn cleared(stmt: Stmt) {
    if let Some(known) = locked(registry().shard(stmt)).get_mut(&(stmt as usize)) {
        known.parameters.fill(Parameter::Null);
    }
}

/// A step returned a row. `start`, `end`: its times.
pub fn returned_row(stmt: Stmt, start: u64, end: u64) {
    if let Some(known) = locked(registry().shard(stmt)).get_mut(&(stmt as usize)) {
        if known.start == 0 {
            known.start = start;
        }
        known.duration += end - start;
        known.rows += 1;
    }
}

/// A step returned `code`, which isn't a row: the execution has ended.
pub fn completed(functions: &Functions, stmt: Stmt, code: c_int, start: u64, end: u64) {
    let registry = registry();
    let after = After::read(functions, ask!(functions.db_handle(stmt), std::ptr::null_mut()), code);
    let execution = locked(registry.shard(stmt)).get_mut(&(stmt as usize)).map(|known| {
        if known.start == 0 {
            known.start = start;
        }
        known.duration += end - start;
        known.end(&after, registry.since)
    });
    if let Some(execution) = execution {
        registry.report(&execution, end);
    }
}

/// A statement was reset. It may have been executed until then.
pub fn reset(functions: &Functions, stmt: Stmt) {
    let registry = registry();
    let is_executed = locked(registry.shard(stmt))
        .get(&(stmt as usize))
        .is_some_and(|known| known.start != 0);
    if !is_executed {
        return;
    }
    let after = After::read(functions, ask!(functions.db_handle(stmt), std::ptr::null_mut()), OK);
    let execution = locked(registry.shard(stmt))
        .get_mut(&(stmt as usize))
        .map(|known| known.end(&after, registry.since));
    if let Some(execution) = execution {
        registry.report(&execution, now());
    }
}

/// Finalizes a statement by calling `finalize`. It may have been executed until then.
pub fn finalize<T>(functions: &Functions, stmt: Stmt, finalize: impl FnOnce() -> T) -> T {
    let registry = registry();
    // Another thread may get a new statement at the same address as soon as SQLite has freed this one.
    let known = locked(registry.shard(stmt)).remove(&(stmt as usize));
    let executed = known.filter(|known| known.start != 0);
    let db = executed
        .as_ref()
        .map(|_| ask!(functions.db_handle(stmt), std::ptr::null_mut()));
    let result = finalize();
    if let (Some(mut known), Some(db)) = (executed, db) {
        registry.report(&known.end(&After::read(functions, db, OK), registry.since), now());
    }
    result
}

/// Closes a connection by calling `close`, which returns a code.
pub fn close(db: Db, close: impl FnOnce() -> c_int) -> c_int {
    let registry = registry();
    // As above: the address may be used again.
    let known = locked(&registry.connections).remove(&(db as usize));
    let code = close();
    let Some(known) = known else { return code };
    if code == OK {
        locked(&registry.reporter).send(now());
    } else {
        locked(&registry.connections).entry(db as usize).or_insert(known);
    }
    code
}

/// A text was executed as a whole, or could not be prepared. `text`: `None` if it isn't known.
pub fn executed(functions: &Functions, db: Db, text: Option<&[u8]>, code: c_int, (start, end): (u64, u64)) {
    let registry = registry();
    let after = After::read(functions, db, code);
    let mut made = Statement {
        text: text
            .filter(|text| text.len() <= LONGEST)
            .map_or(Text::TooLong, |text| Text::Own(text.into())),
        connection: registry.connection(db, || after.total_changes),
        parameters: Vec::new(),
        once: None,
        start,
        duration: end - start,
        rows: 0,
    };
    registry.report(&made.end(&after, registry.since), end);
}
