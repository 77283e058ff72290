//! A layer over the default VFS that counts and times what SQLite asks of the file system.
//!
//! Files stay those of the VFS below: only the table of methods that an open file points to is exchanged for a copy in
//! which the methods that are to be seen lead through this layer. A call that is counted but not timed (see `counters`)
//! costs some ten instructions; a method that is not counted costs none.
//!
//! What SQLite calls most is `#[inline]`, with all that leads to it from [`super::SqliteEngine::new`]: it is compiled as a part
//! of the program that calls that, and there a thread's own counters are reached without a call.

use super::api::Api;
use super::counters::{Sampled, Spent, count};
use dbdyno_engine::Failure;
use dbdyno_engine::changes::{self, Changes, Kind};
use dbdyno_plan::document::FailureKind;
use dbdyno_probes::Clock;
use dbdyno_probes::process::{Switches, thread_switches};
use libsqlite3_sys as ffi;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// The name under which the layer is registered.
pub const NAME: &CStr = c"dbdyno";

struct Layer {
    below: *mut ffi::sqlite3_vfs,
    /// Bytes that the VFS below wants of a file's structure, rounded up to what a word needs.
    size_below: usize,
    clock: Clock,
    /// Whether what is asked of files is changed.
    changes: bool,
}

/// A table of methods, with a copy of the table that it stands for: a look at one is shorter than a look at the other.
#[repr(C)]
struct Methods {
    ours: ffi::sqlite3_io_methods,
    below: ffi::sqlite3_io_methods,
}

/// Files of which it is known what was written to them and not synced, in the order of `UNSYNCED`.
const KINDS: [c_int; 3] = [
    ffi::SQLITE_OPEN_MAIN_DB,
    ffi::SQLITE_OPEN_MAIN_JOURNAL,
    ffi::SQLITE_OPEN_WAL,
];
const JOURNAL: usize = 1;

/// Bytes written to the files of each kind since one of them was last synced. One database is under test, so that the
/// files of a kind that clients have open are one.
static UNSYNCED: [AtomicU64; KINDS.len()] = [const { AtomicU64::new(0) }; KINDS.len()];

/// Bytes that this process wrote to the database, its journal and its log, and has not had synced.
pub fn unsynced() -> u64 {
    UNSYNCED.iter().map(|bytes| bytes.load(Ordering::Relaxed)).sum()
}

/// Files that SQLite creates for a transaction. Their first sync also syncs the directory that names them.
const CREATED_FOR_TRANSACTIONS: c_int =
    ffi::SQLITE_OPEN_MAIN_JOURNAL | ffi::SQLITE_OPEN_SUPER_JOURNAL | ffi::SQLITE_OPEN_WAL;

/// What this layer keeps of an open file, behind what the VFS below keeps.
#[repr(C)]
struct Kept {
    /// The kind of the file, as an index into `UNSYNCED`, or beyond it.
    kind: usize,
    /// Whether its next sync also syncs the directory.
    syncs_directory: bool,
}

fn kept(file: *mut ffi::sqlite3_file) -> *mut Kept {
    // SAFETY: the file is as large as `register` said, which is this much larger than the VFS below wants it.
    unsafe { file.byte_add(layer().size_below).cast() }
}

fn note_unsynced(file: *mut ffi::sqlite3_file, change: impl FnOnce(&AtomicU64)) {
    // SAFETY: `open` has written it.
    if let Some(bytes) = UNSYNCED.get(unsafe { (*kept(file)).kind }) {
        change(bytes);
    }
}

/// The layer, once registered; it lives as long as the process.
static LAYER: AtomicPtr<Layer> = AtomicPtr::new(std::ptr::null_mut());

/// The address of each table below that a file has had, with that of ours for it; they live as long as the process.
static TABLES: Mutex<Vec<(usize, usize)>> = Mutex::new(Vec::new());

/// Registers the layer (not as the default), which makes the changes of a trial too where it has any. To be done once, after the library's mutexes and threading are configured.
#[inline]
pub fn register(api: &Api, changes: bool) -> Result<(), Failure> {
    let wrong = |message: &str| Failure::new(FailureKind::Connection, message);
    // SAFETY: a null name asks for the default VFS; the call initialises the library if need be.
    let below = unsafe { (api.vfs_find)(std::ptr::null()) };
    if below.is_null() {
        return Err(wrong("the SQLite library has no default VFS"));
    }
    if !LAYER.load(Ordering::Acquire).is_null() {
        return Err(wrong("the VFS layer is registered already: one library per process"));
    }
    let clock = Clock::get();
    // SAFETY: `below` was just given by the library.
    let size_below = (unsafe { (*below).szOsFile } as usize).next_multiple_of(align_of::<Kept>());
    let layer = Layer {
        below,
        size_below,
        clock,
        changes,
    };
    LAYER.store(Box::into_raw(Box::new(layer)), Ordering::Release);
    // Only files opened and deleted matter here. The other functions are the VFS's own, which work on what is in its
    // structure, and this is a copy of it.
    // SAFETY: `below` was just given by the library.
    let vfs = Box::leak(Box::new(ffi::sqlite3_vfs {
        pNext: std::ptr::null_mut(),
        szOsFile: (size_below + size_of::<Kept>()) as c_int,
        zName: NAME.as_ptr(),
        xOpen: Some(open),
        xDelete: Some(delete),
        ..unsafe { *below }
    }));
    // SAFETY: the structure is complete and lives for ever.
    match unsafe { (api.vfs_register)(vfs, 0) } {
        ffi::SQLITE_OK => Ok(()),
        code => Err(wrong(&format!("registering the VFS layer failed with code {code}"))),
    }
}

#[inline(always)]
fn layer() -> &'static Layer {
    // SAFETY: SQLite calls these functions only through what `register` registered, after it set the layer, which is
    // never freed. SQLite's own locks have made it visible to this thread.
    unsafe { &*LAYER.load(Ordering::Relaxed) }
}

/// Calls the method below.
macro_rules! below {
    ($file:expr, $method:ident $(, $argument:expr)*) => {{
        // SAFETY: the file was opened by this layer, so its methods are a `Methods`, in which a method of ours stands only
        // where the table below has one. The arguments are SQLite's own, passed on as they came.
        unsafe {
            let methods = (*$file).pMethods.cast::<Methods>();
            (*methods).below.$method.unwrap_unchecked()($file $(, $argument)*)
        }
    }};
}

/// Times a call; gives its result and the ticks it took.
#[inline(always)]
fn timed<T>(call: impl FnOnce() -> T) -> (T, u64) {
    let clock = layer().clock;
    let start = clock.raw();
    let result = call();
    (result, clock.raw().saturating_sub(start))
}

/// Leaving a processor and coming back takes longer than this.
const SWITCH_NS: u64 = 3_000;

/// A call of a kind that is timed by sample. Timing is a function of its own, so that a call which is only counted needs no
/// frame on the stack.
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

/// What a call did with its time, by the switches before and after it.
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

/// Counts syncs that one call made.
fn count_syncs(syncs: u64, spent: u64) {
    count(|c| {
        c.syncs += syncs;
        c.sync_raw += spent;
    });
}

unsafe extern "C" fn sync(file: *mut ffi::sqlite3_file, flags: c_int) -> c_int {
    let (code, spent) = timed(|| below!(file, xSync, flags));
    // SAFETY: `open` has written it.
    let directory = unsafe { std::mem::take(&mut (*kept(file)).syncs_directory) };
    count_syncs(1 + u64::from(directory), spent);
    note_unsynced(file, |bytes| bytes.store(0, Ordering::Relaxed));
    code
}

/// As [`read`], in a trial that changes what is asked of files. What the call itself takes is counted there.
unsafe extern "C" fn changed_read(file: *mut ffi::sqlite3_file, to: *mut c_void, amount: c_int, offset: i64) -> c_int {
    // SAFETY: the arguments are SQLite's own.
    let code = unsafe { read(file, to, amount, offset) };
    changes::delay(Kind::Read, 0);
    code
}

/// As [`write`], likewise.
unsafe extern "C" fn changed_write(
    file: *mut ffi::sqlite3_file,
    from: *const c_void,
    amount: c_int,
    offset: i64,
) -> c_int {
    // SAFETY: the arguments are SQLite's own.
    let code = unsafe { write(file, from, amount, offset) };
    changes::delay(Kind::Write, 0);
    code
}

/// As [`sync`], likewise.
unsafe extern "C" fn changed_sync(file: *mut ffi::sqlite3_file, flags: c_int) -> c_int {
    let code = if skips_sync() {
        ffi::SQLITE_OK
    } else {
        // SAFETY: the arguments are SQLite's own.
        unsafe { sync(file, flags) }
    };
    changes::delay(Kind::Sync, 0);
    code
}

/// Whether the calling thread leaves out syncs now.
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

/// Our table for a table below; the same for all files that have it.
#[inline]
fn methods_for(below: *const ffi::sqlite3_io_methods) -> *const ffi::sqlite3_io_methods {
    let mut tables = TABLES.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, ours)) = tables.iter().find(|(known, _)| *known == below as usize) {
        return *ours as *const ffi::sqlite3_io_methods;
    }
    // SAFETY: the table is the library's. An older version of it is shorter, and its later fields are not read.
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
    // SAFETY: the arguments are SQLite's own; the file is as large as the VFS below wants it.
    unsafe {
        let code = match (*vfs).xOpen {
            Some(open) => open(vfs, name, file, flags, flags_out),
            None => ffi::SQLITE_CANTOPEN,
        };
        *kept(file) = Kept {
            kind: KINDS.iter().position(|kind| flags & kind != 0).unwrap_or(usize::MAX),
            syncs_directory: flags & ffi::SQLITE_OPEN_CREATE != 0 && flags & CREATED_FOR_TRANSACTIONS != 0,
        };
        // Where the VFS below set methods, SQLite must call close even after a failure, and finds it in our table too.
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
    // SAFETY: the arguments are SQLite's own.
    let (code, spent) = timed(|| unsafe {
        match (*vfs).xDelete {
            Some(delete) => delete(vfs, name, sync_directory),
            None => ffi::SQLITE_IOERR_DELETE,
        }
    });
    // SAFETY: a name is a string that ends with a zero.
    if unsafe { CStr::from_ptr(name) }.to_bytes().ends_with(b"-journal") {
        UNSYNCED[JOURNAL].store(0, Ordering::Relaxed);
    }
    // Deleting a journal commits the transaction; its directory entry is synced in the same call.
    if sync_directory != 0 {
        count_syncs(1, spent);
    }
    if syncs_directory && layer().changes {
        changes::delay(Kind::Sync, 0);
    }
    code
}
