//! A layer over the default VFS that counts and times what SQLite asks of the file system.
//!
//! It costs two clock reads and some ten instructions a call, against a system call below it. Counters are the calling
//! thread's own: no lock, no shared cache line.

use super::api::Api;
use crate::{Failure, ThreadCounters};
use dbdyno_plan::document::FailureKind;
use dbdyno_probes::Clock;
use libsqlite3_sys as ffi;
use std::cell::Cell;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::atomic::{AtomicPtr, Ordering};

/// The name under which the layer is registered.
pub const NAME: &CStr = c"dbdyno";

thread_local! {
    static COUNTERS: Cell<ThreadCounters> = const { Cell::new(ThreadCounters {
        reads: 0, read_bytes: 0, read_ns: 0, writes: 0, write_bytes: 0, write_ns: 0, syncs: 0, sync_ns: 0,
        lock_calls: 0, lock_call_ns: 0, file_lock_waits: 0, file_lock_ns: 0, mutex_waits: 0, mutex_ns: 0,
    }) };
}

/// The calling thread's counters. What is timed here is kept in the clock's own unit and turned into nanoseconds now.
pub fn counters() -> ThreadCounters {
    let counters = COUNTERS.get();
    let clock = Clock::get();
    ThreadCounters {
        read_ns: clock.nanoseconds(counters.read_ns),
        write_ns: clock.nanoseconds(counters.write_ns),
        sync_ns: clock.nanoseconds(counters.sync_ns),
        lock_call_ns: clock.nanoseconds(counters.lock_call_ns),
        ..counters
    }
}

/// Changes the calling thread's counters.
#[inline]
pub fn count(change: impl FnOnce(&mut ThreadCounters)) {
    COUNTERS.with(|cell| {
        // SAFETY: the cell is this thread's, and `change` (all of whose callers are in this crate) does not come back here.
        change(unsafe { &mut *cell.as_ptr() });
    });
}

struct Layer {
    below: *mut ffi::sqlite3_vfs,
    clock: Clock,
    methods: [ffi::sqlite3_io_methods; 3],
}

// SAFETY: the VFS below lives as long as the process and is made for use by many threads.
unsafe impl Send for Layer {}
// SAFETY: as above; the layer itself is never changed.
unsafe impl Sync for Layer {}

/// The layer, once registered; it lives as long as the process.
static LAYER: AtomicPtr<Layer> = AtomicPtr::new(std::ptr::null_mut());

/// What stands at the beginning of each open file; the file of the VFS below follows it.
#[repr(C)]
struct File {
    base: ffi::sqlite3_file,
}

/// Registers the layer (not as the default). To be done once, after the library's mutexes and threading are configured.
pub fn register(api: &Api) -> Result<(), Failure> {
    let wrong = |message: &str| Failure::new(FailureKind::Connection, message);
    // SAFETY: a null name asks for the default VFS; the call initialises the library if need be.
    let below = unsafe { (api.vfs_find)(std::ptr::null()) };
    if below.is_null() {
        return Err(wrong("the SQLite library has no default VFS"));
    }
    let mut layer = Layer {
        below,
        clock: Clock::get(),
        methods: [METHODS; 3],
    };
    for (index, methods) in layer.methods.iter_mut().enumerate() {
        methods.iVersion = index as c_int + 1;
    }
    if !LAYER.load(Ordering::Acquire).is_null() {
        return Err(wrong("the VFS layer is registered already: one library per process"));
    }
    LAYER.store(Box::into_raw(Box::new(layer)), Ordering::Release);
    // SAFETY: `below` was just given by the library.
    let real = unsafe { &*below };
    let vfs = Box::leak(Box::new(ffi::sqlite3_vfs {
        iVersion: real.iVersion.min(2),
        szOsFile: real.szOsFile + size_of::<File>() as c_int,
        mxPathname: real.mxPathname,
        pNext: std::ptr::null_mut(),
        zName: NAME.as_ptr(),
        pAppData: std::ptr::null_mut(),
        xOpen: Some(open),
        xDelete: Some(delete),
        xAccess: Some(access),
        xFullPathname: Some(full_pathname),
        xDlOpen: Some(dl_open),
        xDlError: Some(dl_error),
        xDlSym: Some(dl_sym),
        xDlClose: Some(dl_close),
        xRandomness: Some(randomness),
        xSleep: Some(sleep),
        xCurrentTime: Some(current_time),
        xGetLastError: Some(get_last_error),
        xCurrentTimeInt64: real.xCurrentTimeInt64.map(|_| current_time_int64 as _),
        xSetSystemCall: None,
        xGetSystemCall: None,
        xNextSystemCall: None,
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

/// The file of the VFS below, and its methods.
#[inline(always)]
unsafe fn inner<'a>(file: *mut ffi::sqlite3_file) -> (*mut ffi::sqlite3_file, &'a ffi::sqlite3_io_methods) {
    // SAFETY: SQLite gave room for `szOsFile` bytes, of which the first are ours; `xOpen` filled the rest.
    unsafe {
        let below = file.cast::<File>().add(1).cast::<ffi::sqlite3_file>();
        (below, &*(*below).pMethods)
    }
}

/// Calls a method of the file below. A method that the version of the file's methods has not, is never called by SQLite.
macro_rules! below {
    ($file:expr, $method:ident $(, $argument:expr)*) => {{
        // SAFETY: `file` was opened by this layer, and the arguments are SQLite's own, passed on as they came.
        unsafe {
            let (file, methods) = inner($file);
            match methods.$method {
                Some(method) => method(file $(, $argument)*),
                None => ffi::SQLITE_NOTFOUND as _,
            }
        }
    }};
}

unsafe extern "C" fn read(file: *mut ffi::sqlite3_file, to: *mut c_void, amount: c_int, offset: i64) -> c_int {
    let clock = layer().clock;
    let start = clock.raw();
    let code = below!(file, xRead, to, amount, offset);
    let spent = clock.raw() - start;
    count(|c| {
        c.reads += 1;
        c.read_bytes += amount as u64;
        c.read_ns += spent;
    });
    code
}

unsafe extern "C" fn write(file: *mut ffi::sqlite3_file, from: *const c_void, amount: c_int, offset: i64) -> c_int {
    let clock = layer().clock;
    let start = clock.raw();
    let code = below!(file, xWrite, from, amount, offset);
    let spent = clock.raw() - start;
    count(|c| {
        c.writes += 1;
        c.write_bytes += amount as u64;
        c.write_ns += spent;
    });
    code
}

fn count_sync(start: u64) {
    let spent = layer().clock.raw() - start;
    count(|c| {
        c.syncs += 1;
        c.sync_ns += spent;
    });
}

fn count_lock(start: u64) {
    let spent = layer().clock.raw() - start;
    count(|c| {
        c.lock_calls += 1;
        c.lock_call_ns += spent;
    });
}

unsafe extern "C" fn sync(file: *mut ffi::sqlite3_file, flags: c_int) -> c_int {
    let start = layer().clock.raw();
    let code = below!(file, xSync, flags);
    count_sync(start);
    code
}

unsafe extern "C" fn truncate(file: *mut ffi::sqlite3_file, size: i64) -> c_int {
    let clock = layer().clock;
    let start = clock.raw();
    let code = below!(file, xTruncate, size);
    let spent = clock.raw() - start;
    count(|c| c.write_ns += spent);
    code
}

unsafe extern "C" fn close(file: *mut ffi::sqlite3_file) -> c_int {
    below!(file, xClose)
}
unsafe extern "C" fn file_size(file: *mut ffi::sqlite3_file, size: *mut i64) -> c_int {
    below!(file, xFileSize, size)
}
unsafe extern "C" fn lock(file: *mut ffi::sqlite3_file, level: c_int) -> c_int {
    let start = layer().clock.raw();
    let code = below!(file, xLock, level);
    count_lock(start);
    code
}
unsafe extern "C" fn unlock(file: *mut ffi::sqlite3_file, level: c_int) -> c_int {
    let start = layer().clock.raw();
    let code = below!(file, xUnlock, level);
    count_lock(start);
    code
}
unsafe extern "C" fn check_reserved_lock(file: *mut ffi::sqlite3_file, result: *mut c_int) -> c_int {
    let start = layer().clock.raw();
    let code = below!(file, xCheckReservedLock, result);
    count_lock(start);
    code
}
unsafe extern "C" fn file_control(file: *mut ffi::sqlite3_file, op: c_int, argument: *mut c_void) -> c_int {
    below!(file, xFileControl, op, argument)
}
unsafe extern "C" fn sector_size(file: *mut ffi::sqlite3_file) -> c_int {
    below!(file, xSectorSize)
}
unsafe extern "C" fn device_characteristics(file: *mut ffi::sqlite3_file) -> c_int {
    below!(file, xDeviceCharacteristics)
}
unsafe extern "C" fn shm_map(
    file: *mut ffi::sqlite3_file,
    page: c_int,
    size: c_int,
    extend: c_int,
    memory: *mut *mut c_void,
) -> c_int {
    below!(file, xShmMap, page, size, extend, memory)
}
unsafe extern "C" fn shm_lock(file: *mut ffi::sqlite3_file, offset: c_int, slots: c_int, flags: c_int) -> c_int {
    let start = layer().clock.raw();
    let code = below!(file, xShmLock, offset, slots, flags);
    count_lock(start);
    code
}
unsafe extern "C" fn shm_barrier(file: *mut ffi::sqlite3_file) {
    // SAFETY: as in `below!`, for a method that returns nothing.
    unsafe {
        let (file, methods) = inner(file);
        if let Some(method) = methods.xShmBarrier {
            method(file);
        }
    }
}
unsafe extern "C" fn shm_unmap(file: *mut ffi::sqlite3_file, delete: c_int) -> c_int {
    below!(file, xShmUnmap, delete)
}
unsafe extern "C" fn fetch(file: *mut ffi::sqlite3_file, offset: i64, amount: c_int, page: *mut *mut c_void) -> c_int {
    below!(file, xFetch, offset, amount, page)
}
unsafe extern "C" fn unfetch(file: *mut ffi::sqlite3_file, offset: i64, page: *mut c_void) -> c_int {
    below!(file, xUnfetch, offset, page)
}

const METHODS: ffi::sqlite3_io_methods = ffi::sqlite3_io_methods {
    iVersion: 3,
    xClose: Some(close),
    xRead: Some(read),
    xWrite: Some(write),
    xTruncate: Some(truncate),
    xSync: Some(sync),
    xFileSize: Some(file_size),
    xLock: Some(lock),
    xUnlock: Some(unlock),
    xCheckReservedLock: Some(check_reserved_lock),
    xFileControl: Some(file_control),
    xSectorSize: Some(sector_size),
    xDeviceCharacteristics: Some(device_characteristics),
    xShmMap: Some(shm_map),
    xShmLock: Some(shm_lock),
    xShmBarrier: Some(shm_barrier),
    xShmUnmap: Some(shm_unmap),
    xFetch: Some(fetch),
    xUnfetch: Some(unfetch),
};

unsafe extern "C" fn open(
    _: *mut ffi::sqlite3_vfs,
    name: *const c_char,
    file: *mut ffi::sqlite3_file,
    flags: c_int,
    flags_out: *mut c_int,
) -> c_int {
    let layer = layer();
    // SAFETY: SQLite gives room for `szOsFile` bytes; the VFS below gets what follows our part, zeroed as it may expect.
    unsafe {
        let inner = file.cast::<File>().add(1).cast::<ffi::sqlite3_file>();
        inner.cast::<u8>().write_bytes(0, (*layer.below).szOsFile as usize);
        let code = match (*layer.below).xOpen {
            Some(open) => open(layer.below, name, inner, flags, flags_out),
            None => ffi::SQLITE_CANTOPEN,
        };
        // Where the VFS below set methods, SQLite must call close even after a failure; so must we be called then.
        (*file).pMethods = if (*inner).pMethods.is_null() {
            std::ptr::null()
        } else {
            let version = (*(*inner).pMethods).iVersion.clamp(1, 3) as usize;
            &raw const layer.methods[version - 1]
        };
        code
    }
}

/// Calls a method of the VFS below.
macro_rules! vfs_below {
    ($method:ident $(, $argument:expr)*) => {{
        let vfs = layer().below;
        // SAFETY: the VFS below lives for ever, and the arguments are SQLite's own, passed on as they came.
        unsafe {
            match (*vfs).$method {
                Some(method) => method(vfs $(, $argument)*),
                None => Default::default(),
            }
        }
    }};
}
unsafe extern "C" fn delete(_: *mut ffi::sqlite3_vfs, name: *const c_char, sync_directory: c_int) -> c_int {
    let start = layer().clock.raw();
    let code = vfs_below!(xDelete, name, sync_directory);
    // Deleting a journal commits the transaction; its directory entry is synced in the same call.
    if sync_directory != 0 {
        count_sync(start);
    }
    code
}

unsafe extern "C" fn access(_: *mut ffi::sqlite3_vfs, name: *const c_char, flags: c_int, result: *mut c_int) -> c_int {
    vfs_below!(xAccess, name, flags, result)
}
unsafe extern "C" fn full_pathname(
    _: *mut ffi::sqlite3_vfs,
    name: *const c_char,
    size: c_int,
    out: *mut c_char,
) -> c_int {
    vfs_below!(xFullPathname, name, size, out)
}
unsafe extern "C" fn dl_open(_: *mut ffi::sqlite3_vfs, name: *const c_char) -> *mut c_void {
    let vfs = layer().below;
    // SAFETY: as in `vfs_below!`.
    unsafe { (*vfs).xDlOpen.map_or(std::ptr::null_mut(), |method| method(vfs, name)) }
}
unsafe extern "C" fn dl_error(_: *mut ffi::sqlite3_vfs, size: c_int, message: *mut c_char) {
    vfs_below!(xDlError, size, message);
}
unsafe extern "C" fn dl_sym(
    _: *mut ffi::sqlite3_vfs,
    library: *mut c_void,
    symbol: *const c_char,
) -> Option<unsafe extern "C" fn(*mut ffi::sqlite3_vfs, *mut c_void, *const c_char)> {
    vfs_below!(xDlSym, library, symbol)
}
unsafe extern "C" fn dl_close(_: *mut ffi::sqlite3_vfs, library: *mut c_void) {
    vfs_below!(xDlClose, library);
}
unsafe extern "C" fn randomness(_: *mut ffi::sqlite3_vfs, size: c_int, out: *mut c_char) -> c_int {
    vfs_below!(xRandomness, size, out)
}
unsafe extern "C" fn sleep(_: *mut ffi::sqlite3_vfs, microseconds: c_int) -> c_int {
    vfs_below!(xSleep, microseconds)
}
unsafe extern "C" fn current_time(_: *mut ffi::sqlite3_vfs, out: *mut f64) -> c_int {
    vfs_below!(xCurrentTime, out)
}
unsafe extern "C" fn current_time_int64(_: *mut ffi::sqlite3_vfs, out: *mut i64) -> c_int {
    vfs_below!(xCurrentTimeInt64, out)
}
unsafe extern "C" fn get_last_error(_: *mut ffi::sqlite3_vfs, size: c_int, out: *mut c_char) -> c_int {
    vfs_below!(xGetLastError, size, out)
}
