//! A layer over the default VFS that counts and times SQLite's file system calls.
//!
//! Files remain those of the underlying VFS. Only the method table of an open file is replaced, by a copy in which the
//! observed methods go through this layer. A call that is counted but not timed (see `counters`) costs about ten
//! instructions; other methods cost nothing extra.
//!
//! The most frequent functions are `#[inline]`, together with their callers up to [`super::SqliteEngine::new`]. So they
//! are compiled as part of the calling program, which can access thread-local counters without a call.

use super::api::Api;
use super::counters::{Sampled, Spent, count};
use dbdyno_engine::Failure;
use dbdyno_engine::changes::{self, Changes, Kind};
use dbdyno_probes::Clock;
use dbdyno_probes::process::{Switches, thread_switches};
use dbdyno_protocol::plan::document::FailureKind;
use libsqlite3_sys as ffi;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// The name that the layer is registered under.
pub const NAME: &CStr = c"dbdyno";

struct Layer {
    below: *mut ffi::sqlite3_vfs,
    /// Size of the underlying VFS's file structure, rounded up to word alignment.
    size_below: usize,
    clock: Clock,
    /// Whether file operations are delayed or skipped.
    changes: bool,
}

/// A method table together with a copy of the table it replaces, so that one lookup finds both.
#[repr(C)]
struct Methods {
    ours: ffi::sqlite3_io_methods,
    below: ffi::sqlite3_io_methods,
}

/// Kinds of files whose unsynced bytes are counted, in the order of `UNSYNCED`.
const KINDS: [c_int; 3] = [
    ffi::SQLITE_OPEN_MAIN_DB,
    ffi::SQLITE_OPEN_MAIN_JOURNAL,
    ffi::SQLITE_OPEN_WAL,
];
const JOURNAL: usize = 1;

/// Bytes written to the files of each kind since one of them was last synced. Only one database is under test, so all
/// clients' files of a kind are the same file.
static UNSYNCED: [AtomicU64; KINDS.len()] = [const { AtomicU64::new(0) }; KINDS.len()];

/// Bytes that this process wrote to the database, its journal and its log, but has not synced.
pub fn unsynced() -> u64 {
    UNSYNCED.iter().map(|bytes| bytes.load(Ordering::Relaxed)).sum()
}

/// Files that SQLite creates for a transaction. Their first sync also syncs the directory that contains them.
const CREATED_FOR_TRANSACTIONS: c_int =
    ffi::SQLITE_OPEN_MAIN_JOURNAL | ffi::SQLITE_OPEN_SUPER_JOURNAL | ffi::SQLITE_OPEN_WAL;

/// This layer's data about an open file, stored after the underlying VFS's.
#[repr(C)]
struct Kept {
    /// The kind of file, as an index into `UNSYNCED`; out of range for other files.
    kind: usize,
    /// Whether its next sync also syncs the directory.
    syncs_directory: bool,
}

fn kept(file: *mut ffi::sqlite3_file) -> *mut Kept {
    // SAFETY: the file structure has the size that `register` requested, which includes this data.
    unsafe { file.byte_add(layer().size_below).cast() }
}

fn note_unsynced(file: *mut ffi::sqlite3_file, change: impl FnOnce(&AtomicU64)) {
    // SAFETY: `open` has initialized it.
    if let Some(bytes) = UNSYNCED.get(unsafe { (*kept(file)).kind }) {
        change(bytes);
    }
}

/// The layer once registered. It lives as long as the process.
static LAYER: AtomicPtr<Layer> = AtomicPtr::new(std::ptr::null_mut());

/// The address of each underlying method table, with the table that replaces it. They live as long as the process.
static TABLES: Mutex<Vec<(usize, usize)>> = Mutex::new(Vec::new());

/// Registers the layer, but not as the default. `changes`: also apply the changes of a trial. Must be called once,
/// after the library's mutexes and threading mode are configured.
#[inline]
pub fn register(api: &Api, changes: bool) -> Result<(), Failure> {
    let wrong = |message: &str| Failure::new(FailureKind::Connection, message);
    // SAFETY: a null name requests the default VFS; the call initializes the library if needed.
    let below = unsafe { (api.vfs_find)(std::ptr::null()) };
    if below.is_null() {
        return Err(wrong("the SQLite library has no default VFS"));
    }
    if !LAYER.load(Ordering::Acquire).is_null() {
        return Err(wrong("the VFS layer is registered already: one library per process"));
    }
    let clock = Clock::get();
    // SAFETY: the library just returned `below`.
    let size_below = (unsafe { (*below).szOsFile } as usize).next_multiple_of(align_of::<Kept>());
    let layer = Layer {
        below,
        size_below,
        clock,
        changes,
    };
    LAYER.store(Box::into_raw(Box::new(layer)), Ordering::Release);
    // Only opening and deleting files are intercepted. The remaining functions are the VFS's own, which work on the
    // data in this copy of its structure. SAFETY: the library just returned `below`.
    let vfs = Box::leak(Box::new(ffi::sqlite3_vfs {
        pNext: std::ptr::null_mut(),
        szOsFile: (size_below + size_of::<Kept>()) as c_int,
        zName: NAME.as_ptr(),
        xOpen: Some(open),
        xDelete: Some(delete),
        ..unsafe { *below }
    }));
    // SAFETY: the structure is complete and lives forever.
    match unsafe { (api.vfs_register)(vfs, 0) } {
        ffi::SQLITE_OK => Ok(()),
        code => Err(wrong(&format!("registering the VFS layer failed with code {code}"))),
    }
}

#[inline(always)]
fn layer() -> &'static Layer {
    // SAFETY: SQLite calls these functions only through the VFS that `register` registered after it set the layer,
    // which is never freed. SQLite's own locks have made it visible to this thread.
    unsafe { &*LAYER.load(Ordering::Relaxed) }
}

/// Calls the underlying method.
macro_rules! below {
    ($file:expr, $method:ident $(, $argument:expr)*) => {{
        // SAFETY: this layer opened the file, so its methods are a `Methods`, which replaces a method only if the
        // underlying table has it. SQLite's arguments are passed on unchanged.
        unsafe {
            let methods = (*$file).pMethods.cast::<Methods>();
            (*methods).below.$method.unwrap_unchecked()($file $(, $argument)*)
        }
    }};
}

/// Times a call. Returns its result and the elapsed ticks.
#[inline(always)]
fn timed<T>(call: impl FnOnce() -> T) -> (T, u64) {
    let clock = layer().clock;
    let start = clock.raw();
    let result = call();
    (result, clock.raw().saturating_sub(start))
}

/// A context switch and back takes longer than this.
const SWITCH_NS: u64 = 3_000;

/// Makes a call of a kind that is timed by sampling. Timing is in a separate function, so that a call that is only
/// counted needs no stack frame.
macro_rules! sampled {
    ($kind:ident, $call:expr) => {{
        #[cold]
        #[inline(never)]
        fn watched(call: impl FnOnce() -> c_int) -> c_int {
            let before = thread_switches();
            let (code, spent) = timed(call);
            let how = if layer().clock.nanoseconds(spent) > SWITCH_NS {
                how(before, thread_switches())
            } else {
                Spent::Computing
            };
            count(|c| Sampled::timed(&mut c.$kind, spent, how));
            code
        }
        if count(|c| c.$kind.begin()) {
            watched(move || $call)
        } else {
            $call
        }
    }};
}

/// Classifies how a call spent its time, from the context switches before and after it.
fn how(before: Switches, after: Switches) -> Spent {
    if after.involuntary != before.involuntary {
        Spent::Disturbed
    } else if after != before {
        Spent::Waiting
    } else {
        Spent::Computing
    }
}

#[inline]
unsafe extern "C" fn read(file: *mut ffi::sqlite3_file, to: *mut c_void, amount: c_int, offset: i64) -> c_int {
    count(|c| c.read_bytes += amount as u64);
    sampled!(reads, below!(file, xRead, to, amount, offset))
}

unsafe extern "C" fn write(file: *mut ffi::sqlite3_file, from: *const c_void, amount: c_int, offset: i64) -> c_int {
    let (code, spent) = timed(|| below!(file, xWrite, from, amount, offset));
    note_unsynced(file, |bytes| {
        bytes.fetch_add(amount as u64, Ordering::Relaxed);
    });
    count(|c| {
        c.writes += 1;
        c.write_bytes += amount as u64;
        c.write_raw += spent;
    });
    code
}

unsafe extern "C" fn truncate(file: *mut ffi::sqlite3_file, size: i64) -> c_int {
    let (code, spent) = timed(|| below!(file, xTruncate, size));
    if size == 0 {
        note_unsynced(file, |bytes| bytes.store(0, Ordering::Relaxed));
    }
    count(|c| c.write_raw += spent);
    code
}

/// Counts the syncs made by one call.
fn count_syncs(syncs: u64, spent: u64) {
    count(|c| {
        c.syncs += syncs;
        c.sync_raw += spent;
    });
}

unsafe extern "C" fn sync(file: *mut ffi::sqlite3_file, flags: c_int) -> c_int {
    let (code, spent) = timed(|| below!(file, xSync, flags));
    // SAFETY: `open` has initialized it.
    let directory = unsafe { std::mem::take(&mut (*kept(file)).syncs_directory) };
    count_syncs(1 + u64::from(directory), spent);
    note_unsynced(file, |bytes| bytes.store(0, Ordering::Relaxed));
    code
}

/// Like [`read`], in a trial that changes file operations. `read` counts the call's own time.
unsafe extern "C" fn changed_read(file: *mut ffi::sqlite3_file, to: *mut c_void, amount: c_int, offset: i64) -> c_int {
    // SAFETY: SQLite passed the arguments.
    let code = unsafe { read(file, to, amount, offset) };
    changes::delay(Kind::Read, 0);
    code
}

/// Like [`write`], in a trial that changes file operations.
unsafe extern "C" fn changed_write(
    file: *mut ffi::sqlite3_file,
    from: *const c_void,
    amount: c_int,
    offset: i64,
) -> c_int {
    // SAFETY: SQLite passed the arguments.
    let code = unsafe { write(file, from, amount, offset) };
    changes::delay(Kind::Write, 0);
    code
}

/// Like [`sync`], in a trial that changes file operations.
unsafe extern "C" fn changed_sync(file: *mut ffi::sqlite3_file, flags: c_int) -> c_int {
    let code = if skips_sync() {
        ffi::SQLITE_OK
    } else {
        // SAFETY: SQLite passed the arguments.
        unsafe { sync(file, flags) }
    };
    changes::delay(Kind::Sync, 0);
    code
}

/// Whether the calling thread currently skips syncs.
fn skips_sync() -> bool {
    layer().changes && changes::active_changes().is_some_and(Changes::skips_sync)
}

#[inline]
unsafe extern "C" fn lock(file: *mut ffi::sqlite3_file, level: c_int) -> c_int {
    sampled!(locks, below!(file, xLock, level))
}
#[inline]
unsafe extern "C" fn unlock(file: *mut ffi::sqlite3_file, level: c_int) -> c_int {
    sampled!(locks, below!(file, xUnlock, level))
}
#[inline]
unsafe extern "C" fn check_reserved_lock(file: *mut ffi::sqlite3_file, result: *mut c_int) -> c_int {
    sampled!(locks, below!(file, xCheckReservedLock, result))
}
#[inline]
unsafe extern "C" fn shm_lock(file: *mut ffi::sqlite3_file, offset: c_int, slots: c_int, flags: c_int) -> c_int {
    sampled!(locks, below!(file, xShmLock, offset, slots, flags))
}

/// The replacement for an underlying method table; files with the same table share it.
#[inline]
fn methods_for(below: *const ffi::sqlite3_io_methods) -> *const ffi::sqlite3_io_methods {
    let mut tables = TABLES.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, ours)) = tables.iter().find(|(known, _)| *known == below as usize) {
        return *ours as *const ffi::sqlite3_io_methods;
    }
    // SAFETY: the table is the library's. An older version of it is shorter, and its missing fields are not read.
    let known = unsafe {
        let version = (*below).iVersion.clamp(1, 3);
        let shared_memory = version >= 2;
        let mapped = version >= 3;
        ffi::sqlite3_io_methods {
            iVersion: version,
            xClose: (*below).xClose,
            xRead: (*below).xRead,
            xWrite: (*below).xWrite,
            xTruncate: (*below).xTruncate,
            xSync: (*below).xSync,
            xFileSize: (*below).xFileSize,
            xLock: (*below).xLock,
            xUnlock: (*below).xUnlock,
            xCheckReservedLock: (*below).xCheckReservedLock,
            xFileControl: (*below).xFileControl,
            xSectorSize: (*below).xSectorSize,
            xDeviceCharacteristics: (*below).xDeviceCharacteristics,
            xShmMap: if shared_memory { (*below).xShmMap } else { None },
            xShmLock: if shared_memory { (*below).xShmLock } else { None },
            xShmBarrier: if shared_memory { (*below).xShmBarrier } else { None },
            xShmUnmap: if shared_memory { (*below).xShmUnmap } else { None },
            xFetch: if mapped { (*below).xFetch } else { None },
            xUnfetch: if mapped { (*below).xUnfetch } else { None },
        }
    };
    let changes = layer().changes;
    let ours = ffi::sqlite3_io_methods {
        xRead: known.xRead.map(|_| if changes { changed_read } else { read } as _),
        xWrite: known.xWrite.map(|_| if changes { changed_write } else { write } as _),
        xTruncate: known.xTruncate.map(|_| truncate as _),
        xSync: known.xSync.map(|_| if changes { changed_sync } else { sync } as _),
        xLock: known.xLock.map(|_| lock as _),
        xUnlock: known.xUnlock.map(|_| unlock as _),
        xCheckReservedLock: known.xCheckReservedLock.map(|_| check_reserved_lock as _),
        xShmLock: known.xShmLock.map(|_| shm_lock as _),
        ..known
    };
    let table: *const Methods = Box::leak(Box::new(Methods { ours, below: known }));
    tables.push((below as usize, table as usize));
    table.cast()
}

#[inline]
unsafe extern "C" fn open(
    _: *mut ffi::sqlite3_vfs,
    name: *const c_char,
    file: *mut ffi::sqlite3_file,
    flags: c_int,
    flags_out: *mut c_int,
) -> c_int {
    let vfs = layer().below;
    // SAFETY: SQLite passed the arguments; the file structure is as large as the underlying VFS requires.
    unsafe {
        let code = match (*vfs).xOpen {
            Some(open) => open(vfs, name, file, flags, flags_out),
            None => ffi::SQLITE_CANTOPEN,
        };
        *kept(file) = Kept {
            kind: KINDS.iter().position(|kind| flags & kind != 0).unwrap_or(usize::MAX),
            syncs_directory: flags & ffi::SQLITE_OPEN_CREATE != 0 && flags & CREATED_FOR_TRANSACTIONS != 0,
        };
        // If the underlying VFS set methods, SQLite must call `close` even after a failure, and finds it in the
        // replacement table too.
        if !(*file).pMethods.is_null() {
            (*file).pMethods = methods_for((*file).pMethods);
        }
        code
    }
}

unsafe extern "C" fn delete(_: *mut ffi::sqlite3_vfs, name: *const c_char, sync_directory: c_int) -> c_int {
    let vfs = layer().below;
    let syncs_directory = sync_directory != 0;
    let sync_directory = if skips_sync() { 0 } else { sync_directory };
    // SAFETY: SQLite passed the arguments.
    let (code, spent) = timed(|| unsafe {
        match (*vfs).xDelete {
            Some(delete) => delete(vfs, name, sync_directory),
            None => ffi::SQLITE_IOERR_DELETE,
        }
    });
    // SAFETY: a name is a string that ends with a zero byte.
    if unsafe { CStr::from_ptr(name) }.to_bytes().ends_with(b"-journal") {
        UNSYNCED[JOURNAL].store(0, Ordering::Relaxed);
    }
    // Deleting a journal commits the transaction; the same call syncs its directory entry.
    if sync_directory != 0 {
        count_syncs(1, spent);
    }
    if syncs_directory && layer().changes {
        changes::delay(Kind::Sync, 0);
    }
    code
}
