//! A layer over SQLite's own mutexes that sees which of them are not free when wanted, for how long, and from where.
//!
//! The layer looks either all the time or in slices of it. Where it does not look, a mutex costs a jump more than without
//! it. Where it looks, a free mutex costs one `try` in place of an `enter`, and an indirect call; one that is not free is
//! timed, if the wait for it begins in the slice: whole, however long it lasts. Of long waits, and of one short one in
//! [`SAMPLE`] by chance, the stack is taken as bare addresses, and named only when the trial is over. Taking a stack costs
//! some microseconds, in which the mutex is held.

use super::api::Api;
use super::counters::count;
use dbdyno_engine::Failure;
use dbdyno_engine::probe::{Contention, ContentionSite, Slices};
use dbdyno_plan::document::FailureKind;
use dbdyno_probes::Clock;
use dbdyno_program::random::mix;
use libsqlite3_sys as ffi;
use std::collections::HashMap;
use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Mutex, PoisonError};

const DEPTH: usize = 14;
const SAMPLE: u64 = 32;
/// Nanoseconds from which on a wait is so long that taking its stack hardly matters.
const LONG: u64 = 500_000;

/// One slice in 32 is watched: what watching costs, 3.4 % where two clients of many short statements meet at mutexes (with
/// the stack of one wait in 128), becomes a tenth of a percent. Slices of two milliseconds hold hundreds of operations, and
/// one of them comes in 64.
pub const SLICES: Slices = Slices {
    length_ns: 2_000_000,
    one_in: 32,
};

/// How many frames tell who has had a mutex made: this layer's, the library's two of asking for one, and their callers.
const BIRTH: usize = 8;

type Stack = [usize; DEPTH];
type Samples = HashMap<(Stack, Origin), (u64, u64)>;

/// What a mutex is for, as far as the library says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Origin {
    /// What `xMutexAlloc` was asked for: a constant `SQLITE_MUTEX_…`.
    kind: c_int,
    /// Where it was asked for, of one that was made for an object.
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

/// The layer, once installed; it lives as long as the process.
static LAYER: AtomicPtr<Layer> = AtomicPtr::new(std::ptr::null_mut());
/// What entering a mutex leads to: the library's own function, or one that watches.
static ENTER: AtomicPtr<c_void> = AtomicPtr::new(std::ptr::null_mut());

#[inline(always)]
fn layer() -> &'static Layer {
    // SAFETY: the functions below are called only by a library that `install` gave them to, after it set the layer, which
    // is never freed. The library's start made it visible to its threads.
    unsafe { &*LAYER.load(Ordering::Relaxed) }
}

/// The mutexes there are, by address.
static ORIGINS: Mutex<Option<HashMap<usize, Origin>>> = Mutex::new(None);
/// Sampled waits: the stack and the mutex's origin, with how often and how many nanoseconds.
static SAMPLES: Mutex<Option<Samples>> = Mutex::new(None);
/// All waits of threads, added by each as it leaves the window.
static TOTAL: Mutex<(u64, u64)> = Mutex::new((0, 0));

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Puts the layer between the library and its mutexes. To be done before anything else is asked of the library, but
/// after its threading mode is configured. It looks always, or only when it is told to by [`watch`].
pub fn install(api: &Api, always: bool) -> Result<(), Failure> {
    let wrong = |what: &str, code: c_int| {
        Failure::new(
            FailureKind::Connection,
            format!("{what} the library's mutexes failed with code {code}"),
        )
    };
    // SAFETY: the default methods are there only after an initialisation, and can be read and set only after a shutdown.
    // No other thread uses the library yet.
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
            return Err(wrong("wrapping incomplete methods:", 0));
        };
        if !LAYER.load(Ordering::Acquire).is_null() {
            return Err(wrong("wrapping a second library:", 0));
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
        // The first stack is taken in milliseconds, as tables are read for it: here nobody waits meanwhile.
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
    // SAFETY: the method below, with the argument it was meant for.
    let mutex = unsafe { (layer().alloc)(kind) };
    // Connections' are made often and say by their kind what they are; of the others few are made, for objects of all kinds.
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

/// Begins or ends a slice of time in which waits are watched. The layer is installed.
pub fn watch(on: bool) {
    let enter = if on { enter_watched as Enter } else { layer().enter };
    ENTER.store(enter as *mut c_void, Ordering::Relaxed);
}

unsafe extern "C" fn enter_wrapped(mutex: *mut ffi::sqlite3_mutex) {
    // SAFETY: `install` has `watch` set the pointer before the library has the first mutex, and `watch` only ever sets it to
    // functions of this type.
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

/// Waits for a mutex that was not free, and notes how long.
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
    // One that is chosen by chance stands for those that are not. The lowest digits of the time at which it began are chance
    // enough: waits at several mutexes may follow each other in a pattern, but not in one of clock ticks.
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

/// The addresses of the innermost calls that led here.
fn here<const DEEP: usize>() -> [usize; DEEP] {
    let mut stack = [0; DEEP];
    let mut depth = 0;
    // SAFETY: it is "unsynchronized" against naming of addresses, which is done only when the clients have ended.
    unsafe {
        backtrace::trace_unsynchronized(|frame| {
            stack[depth] = frame.ip() as usize;
            depth += 1;
            depth < DEEP
        });
    }
    stack
}

/// Forgets all waits so far.
pub fn reset() {
    *lock(&SAMPLES) = None;
    *lock(&TOTAL) = (0, 0);
}

/// Adds the calling thread's waits in the window to the sum of all threads.
pub fn add_total(waits: u64, nanoseconds: u64) {
    let mut total = lock(&TOTAL);
    total.0 += waits;
    total.1 += nanoseconds;
}

/// All waits since the last reset, with the places named; `None` if the layer is not installed.
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

/// The engine's functions at an address, inlined ones first; empty where it has no name, or is the worker's own.
fn functions_at(address: usize) -> Vec<String> {
    let mut found = Vec::new();
    // A return address points behind the call, which may be another line or function: look at the call itself.
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

/// Whether a function without a file's name may be the engine's: not Rust's, not the C library's frames about it.
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

/// The innermost function whose name belongs to SQLite as a whole (`sqlite3…`), else the innermost.
fn function(stack: &[String]) -> String {
    stack
        .iter()
        .find(|name| name.starts_with("sqlite3"))
        .or(stack.first())
        .cloned()
        .unwrap_or_else(|| "(no name)".into())
}

/// What a mutex protects, from the constants `SQLITE_MUTEX_…` and, for those made for one object, from who made it, or, where
/// that has no name, who wants it.
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

/// The object whose functions these are, innermost first.
fn object(functions: &[String]) -> Option<&'static str> {
    functions.iter().find_map(|name| {
        let of = |part: &str| name.contains(part);
        if of("Btree") || of("btree") {
            Some("shared B-tree")
        } else if of("pcache") {
            Some("page cache")
        } else if of("Shm") || of("SharedMemory") {
            Some("index of the write-ahead log")
        } else if of("unix") || of("Inode") {
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
    fn the_innermost_function_of_the_library_names_the_place() {
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
    fn a_mutex_is_named_after_who_made_it() {
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
        // Who made it has no name in a library without symbols.
        assert_eq!(fast(&[], &["unixLock", "sqlite3VdbeExec"]), "file locks of the process");
        assert_eq!(
            fast(&["sqlite3MutexAlloc"], &["a", "b", "c", "d", "unixLock"]),
            "one object"
        );
    }

    #[test]
    fn frames_of_others_are_left_out() {
        assert!(is_engine("sqlite3BtreeEnter"));
        assert!(!is_engine("dbdyno_load::client::run"));
        assert!(!is_engine("sqlite3_mutex_enter"));
    }
}
