//! A layer over SQLite's mutexes that observes contention: which mutexes were contended, for how long, and from where.
//!
//! The layer observes all the time or in time slices. Outside slices, a mutex costs one extra jump. In a slice, a free
//! mutex costs a `try` instead of an `enter`, plus an indirect call. A contended mutex is timed if the wait begins in
//! the slice, and then completely. For long waits, and for one in [`SAMPLE`] short ones at random, the stack is
//! recorded as addresses, and symbols are resolved after the trial. Recording a stack takes some microseconds, during
//! which the mutex is held.

use super::api::Api;
use super::counters::count;
use dbdyno_engine::Failure;
use dbdyno_engine::probe::{Contention, ContentionSite, Slices};
use dbdyno_probes::Clock;
use dbdyno_program::random::mix;
use dbdyno_protocol::plan::document::FailureKind;
use libsqlite3_sys as ffi;
use std::collections::HashMap;
use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Mutex, PoisonError};

const DEPTH: usize = 14;
const SAMPLE: u64 = 32;
/// From this many nanoseconds on, a wait is so long that the cost of recording its stack doesn't matter.
const LONG: u64 = 500_000;

/// One slice in 32 is observed. Observing all of the time, even with one stack in 128 waits, costs 3.4% for two clients
/// with many short statements that contend for mutexes; this costs a tenth of a percent. A slice of two milliseconds contains
/// hundreds of operations, and a window has one every 64 ms.
pub const SLICES: Slices = Slices {
    length_ns: 2_000_000,
    one_in: 32,
};

/// Frames that identify the creator of a mutex: this layer's, two of the library's allocation functions, and their
/// callers.
const BIRTH: usize = 8;

type Stack = [usize; DEPTH];
type Samples = HashMap<(Stack, Origin), (u64, u64)>;

/// The purpose of a mutex, as far as the library reveals it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Origin {
    /// The argument of `xMutexAlloc`: a constant `SQLITE_MUTEX_…`.
    kind: c_int,
    /// The stack of its creation, for mutexes created per object.
    birth: [usize; BIRTH],
}

type Enter = unsafe extern "C" fn(*mut ffi::sqlite3_mutex);

struct Layer {
    attempt: unsafe extern "C" fn(*mut ffi::sqlite3_mutex) -> c_int,
    enter: Enter,
    alloc: unsafe extern "C" fn(c_int) -> *mut ffi::sqlite3_mutex,
    free: unsafe extern "C" fn(*mut ffi::sqlite3_mutex),
    clock: Clock,
}

/// The layer once installed. It lives as long as the process.
static LAYER: AtomicPtr<Layer> = AtomicPtr::new(std::ptr::null_mut());
/// The function that enters a mutex: the library's own, or the observing one.
static ENTER: AtomicPtr<c_void> = AtomicPtr::new(std::ptr::null_mut());

#[inline(always)]
fn layer() -> &'static Layer {
    // SAFETY: the functions below are called only by a library that `install` passed them to, after it set the layer,
    // which is never freed. The library's startup made it visible to its threads.
    unsafe { &*LAYER.load(Ordering::Relaxed) }
}

/// Existing mutexes by address.
static ORIGINS: Mutex<Option<HashMap<usize, Origin>>> = Mutex::new(None);
/// Sampled waits: the stack and the mutex's origin, with count and nanoseconds.
static SAMPLES: Mutex<Option<Samples>> = Mutex::new(None);
/// Sum of all threads' waits; each adds its own when it leaves the window.
static TOTAL: Mutex<(u64, u64)> = Mutex::new((0, 0));

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Installs the layer between the library and its mutexes. Must be called before any other use of the library, but
/// after its threading mode is configured. Observes always, or only when [`watch`] turns it on.
pub fn install(api: &Api, always: bool) -> Result<(), Failure> {
    let failed = |words: String| Failure::new(FailureKind::Connection, words);
    let wrong = |what: &str, code: c_int| failed(format!("{what} the library's mutexes failed with code {code}"));
    // SAFETY: the default methods exist only after an initialization, and can be read and set only after a shutdown. No
    // other thread uses the library yet.
    unsafe {
        let mut below: ffi::sqlite3_mutex_methods = std::mem::zeroed();
        match (api.initialize)() {
            ffi::SQLITE_OK => {}
            code => return Err(wrong("starting", code)),
        }
        (api.shutdown)();
        match (api.config)(ffi::SQLITE_CONFIG_GETMUTEX, &raw mut below) {
            ffi::SQLITE_OK => {}
            code => return Err(wrong("reading", code)),
        }
        let (Some(attempt), Some(enter), Some(alloc), Some(free)) =
            (below.xMutexTry, below.xMutexEnter, below.xMutexAlloc, below.xMutexFree)
        else {
            return Err(failed("the SQLite library was built without mutexes".into()));
        };
        if !LAYER.load(Ordering::Acquire).is_null() {
            return Err(failed("only one SQLite library of a process can be observed".into()));
        }
        let clock = Clock::get();
        let layer = Layer {
            attempt,
            enter,
            alloc,
            free,
            clock,
        };
        LAYER.store(Box::into_raw(Box::new(layer)), Ordering::Release);
        // Recording the first stack takes milliseconds, because it reads tables. Do it now, while no client waits.
        backtrace::trace_unsynchronized(|_| true);
        watch(always);
        let wrapped = Box::leak(Box::new(ffi::sqlite3_mutex_methods {
            xMutexAlloc: Some(alloc_wrapped),
            xMutexEnter: Some(enter_wrapped),
            xMutexFree: Some(free_wrapped),
            ..below
        }));
        match (api.config)(ffi::SQLITE_CONFIG_MUTEX, &raw mut *wrapped) {
            ffi::SQLITE_OK => Ok(()),
            code => Err(wrong("wrapping", code)),
        }
    }
}

unsafe extern "C" fn alloc_wrapped(kind: c_int) -> *mut ffi::sqlite3_mutex {
    // SAFETY: the underlying method with its original argument.
    let mutex = unsafe { (layer().alloc)(kind) };
    // Connection mutexes are created often, and their kind identifies them. Other mutexes are created rarely, for
    // objects of all kinds.
    let birth = if kind == ffi::SQLITE_MUTEX_FAST {
        here()
    } else {
        [0; BIRTH]
    };
    lock(&ORIGINS)
        .get_or_insert_default()
        .insert(mutex as usize, Origin { kind, birth });
    mutex
}

unsafe extern "C" fn free_wrapped(mutex: *mut ffi::sqlite3_mutex) {
    lock(&ORIGINS).get_or_insert_default().remove(&(mutex as usize));
    // SAFETY: as above.
    unsafe { (layer().free)(mutex) }
}

/// Begins or ends a slice in which waits are observed. The layer must be installed.
pub fn watch(on: bool) {
    let enter = if on { enter_watched as Enter } else { layer().enter };
    ENTER.store(enter as *mut c_void, Ordering::Relaxed);
}

unsafe extern "C" fn enter_wrapped(mutex: *mut ffi::sqlite3_mutex) {
    // SAFETY: `install` calls `watch` to set the pointer before the library creates a mutex, and `watch` only sets it
    // to functions of this type.
    unsafe {
        let enter = std::mem::transmute::<*mut c_void, Enter>(ENTER.load(Ordering::Relaxed));
        enter(mutex);
    }
}

unsafe extern "C" fn enter_watched(mutex: *mut ffi::sqlite3_mutex) {
    // SAFETY: as above.
    if unsafe { (layer().attempt)(mutex) } != ffi::SQLITE_OK {
        wait(mutex);
    }
}

/// Waits for a contended mutex and records the time.
#[cold]
#[inline(never)]
fn wait(mutex: *mut ffi::sqlite3_mutex) {
    let layer = layer();
    let start = layer.clock.raw();
    // SAFETY: as above.
    unsafe { (layer.enter)(mutex) };
    let waited = layer.clock.raw().saturating_sub(start);
    count(|c| {
        c.mutex_waits += 1;
        c.mutex_raw += waited;
    });
    let nanoseconds = layer.clock.nanoseconds(waited);
    // A randomly chosen wait stands for those not chosen. The lowest digits of its start time are random enough: waits
    // may follow a pattern, but not in single clock ticks.
    let stands_for = if nanoseconds >= LONG {
        1
    } else if mix(start).is_multiple_of(SAMPLE) {
        SAMPLE
    } else {
        return;
    };
    let stack: Stack = here();
    let origin = lock(&ORIGINS)
        .as_ref()
        .and_then(|origins| origins.get(&(mutex as usize)).copied())
        .unwrap_or(Origin {
            kind: -1,
            birth: [0; BIRTH],
        });
    let mut samples = lock(&SAMPLES);
    let sample = samples.get_or_insert_default().entry((stack, origin)).or_default();
    sample.0 += stands_for;
    sample.1 += stands_for * nanoseconds;
}

/// The addresses of the innermost calls on the stack.
fn here<const DEEP: usize>() -> [usize; DEEP] {
    let mut stack = [0; DEEP];
    let mut depth = 0;
    // SAFETY: "unsynchronized" refers to symbol resolution, which runs only after the clients have ended.
    unsafe {
        backtrace::trace_unsynchronized(|frame| {
            stack[depth] = frame.ip() as usize;
            depth += 1;
            depth < DEEP
        });
    }
    stack
}

/// Clears all waits so far.
pub fn reset() {
    *lock(&SAMPLES) = None;
    *lock(&TOTAL) = (0, 0);
}

/// Adds the calling thread's waits in the window to the sum over threads.
pub fn add_total(waits: u64, nanoseconds: u64) {
    let mut total = lock(&TOTAL);
    total.0 += waits;
    total.1 += nanoseconds;
}

/// All waits since the last reset, with symbols; `None` if the layer isn't installed.
pub fn contention() -> Option<Contention> {
    if LAYER.load(Ordering::Acquire).is_null() {
        return None;
    }
    let (contended, wait_ns) = *lock(&TOTAL);
    let samples = lock(&SAMPLES).take().unwrap_or_default();
    let mut named: HashMap<(Vec<String>, &'static str), (u64, u64)> = HashMap::new();
    let mut names = HashMap::new();
    let mut functions = |stack: &[usize]| -> Vec<String> {
        let addresses = stack.iter().take_while(|address| **address != 0);
        addresses
            .flat_map(|address| names.entry(*address).or_insert_with(|| functions_at(*address)).clone())
            .collect()
    };
    for ((stack, origin), (waits, nanoseconds)) in &samples {
        let wanted_by = functions(stack);
        let mutex = purpose(origin.kind, &functions(&origin.birth), &wanted_by);
        let entry = named.entry((wanted_by, mutex)).or_default();
        entry.0 += waits;
        entry.1 += nanoseconds;
    }
    let sampled: (u64, u64) = named
        .values()
        .fold((0, 0), |sum, value| (sum.0 + value.0, sum.1 + value.1));
    let scale = |part: u64, sampled: u64, all: u64| {
        if sampled > 0 {
            part as f64 / sampled as f64 * all as f64
        } else {
            0.0
        }
    };
    let mut sites: Vec<ContentionSite> = named
        .into_iter()
        .map(|((stack, mutex), (waits, nanoseconds))| ContentionSite {
            function: function(&stack),
            mutex: mutex.to_owned(),
            waits: scale(waits, sampled.0, contended).round() as u64,
            wait_s: scale(nanoseconds, sampled.1, wait_ns) / 1e9,
            stack,
        })
        .collect();
    sites.sort_by(|a, b| b.wait_s.total_cmp(&a.wait_s).then_with(|| a.stack.cmp(&b.stack)));
    Some(Contention {
        contended,
        wait_s: wait_ns as f64 / 1e9,
        sites,
    })
}

/// The engine's functions at an address, inlined ones first. Empty if the address has no symbol or belongs to the
/// worker.
fn functions_at(address: usize) -> Vec<String> {
    let mut found = Vec::new();
    // A return address is after the call, possibly in another line or function, so use the call itself.
    backtrace::resolve((address - 1) as *mut c_void, |symbol| {
        let in_rust = symbol
            .filename()
            .and_then(|path| path.extension())
            .is_some_and(|extension| extension == "rs");
        found.extend(
            symbol
                .name()
                .map(|name| format!("{name:#}"))
                .filter(|name| !in_rust && is_engine(name)),
        );
    });
    found
}

/// Whether a function without a file name may belong to the engine, not to Rust or the C library's startup.
fn is_engine(name: &str) -> bool {
    !name.contains("::")
        && ![
            "sqlite3_mutex_enter",
            "main",
            "start_thread",
            "clone",
            "clone3",
            "__clone",
        ]
        .contains(&name)
}

/// The innermost function with a public SQLite name (`sqlite3…`), otherwise the innermost function.
fn function(stack: &[String]) -> String {
    stack
        .iter()
        .find(|name| name.starts_with("sqlite3"))
        .or(stack.first())
        .cloned()
        .unwrap_or_else(|| "(no name)".into())
}

/// The purpose of a mutex, according to its constant `SQLITE_MUTEX_…`. For an object's mutex, it follows from the
/// function that created it or, if that function has no symbol, from the waiting function.
fn purpose(kind: c_int, made_by: &[String], wanted_by: &[String]) -> &'static str {
    match kind {
        ffi::SQLITE_MUTEX_FAST => object(made_by)
            .or_else(|| object(&wanted_by[..wanted_by.len().min(4)]))
            .unwrap_or("one object"),
        ffi::SQLITE_MUTEX_RECURSIVE => "connection",
        ffi::SQLITE_MUTEX_STATIC_MASTER => "library start-up and shared caches",
        ffi::SQLITE_MUTEX_STATIC_MEM => "memory allocator",
        ffi::SQLITE_MUTEX_STATIC_MEM2 => "opening",
        ffi::SQLITE_MUTEX_STATIC_PRNG => "random numbers",
        ffi::SQLITE_MUTEX_STATIC_LRU => "page cache",
        ffi::SQLITE_MUTEX_STATIC_LRU2 => "page cache memory",
        11..=13 => "file system layer",
        _ => "unknown",
    }
}

/// The object to which these functions belong, innermost first.
fn object(functions: &[String]) -> Option<&'static str> {
    functions.iter().find_map(|name| {
        let has = |part: &str| name.contains(part);
        if has("Btree") || has("btree") {
            Some("shared B-tree")
        } else if has("pcache") {
            Some("page cache")
        } else if has("Shm") || has("SharedMemory") {
            Some("index of the write-ahead log")
        } else if has("unix") || has("Inode") {
            Some("file locks of the process")
        } else {
            None
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(list: &[&str]) -> Vec<String> {
        list.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn a_wait_is_attributed_to_the_innermost_library_function() {
        let stack = names(&[
            "lockBtreeMutex",
            "btreeLockCarefully",
            "sqlite3BtreeEnter",
            "sqlite3VdbeExec",
            "sqlite3_step",
        ]);
        assert_eq!(function(&stack), "sqlite3BtreeEnter");
        assert_eq!(purpose(ffi::SQLITE_MUTEX_FAST, &[], &stack), "shared B-tree");
        assert_eq!(function(&names(&["unixLock"])), "unixLock");
        assert_eq!(function(&[]), "(no name)");
    }

    #[test]
    fn a_mutex_is_named_after_its_creator() {
        let fast =
            |made_by: &[&str], wanted_by: &[&str]| purpose(ffi::SQLITE_MUTEX_FAST, &names(made_by), &names(wanted_by));
        let open = names(&[
            "sqlite3MutexAlloc",
            "findInodeInfo",
            "fillInUnixFile",
            "unixOpen",
            "sqlite3BtreeOpen",
        ]);
        assert_eq!(purpose(ffi::SQLITE_MUTEX_FAST, &open, &[]), "file locks of the process");
        assert_eq!(
            fast(&["sqlite3MutexAlloc", "sqlite3BtreeOpen"], &["sqlite3_step"]),
            "shared B-tree"
        );
        let shared = ["sqlite3MutexAlloc", "unixOpenSharedMemory", "unixShmMap"];
        assert_eq!(fast(&shared, &["unixShmLock"]), "index of the write-ahead log");
        // In a library without symbols, the creator is unknown.
        assert_eq!(fast(&[], &["unixLock", "sqlite3VdbeExec"]), "file locks of the process");
        assert_eq!(
            fast(&["sqlite3MutexAlloc"], &["a", "b", "c", "d", "unixLock"]),
            "one object"
        );
    }

    #[test]
    fn foreign_frames_are_left_out() {
        assert!(is_engine("sqlite3BtreeEnter"));
        assert!(!is_engine("dbdyno_load::client::run"));
        assert!(!is_engine("sqlite3_mutex_enter"));
    }
}
