//! Tests the layer over the bundled library's mutexes, in a separate process, because it affects the whole library.
#![allow(clippy::expect_used)]

use dbdyno_engine::probe::Probe as _;
use dbdyno_engines::sqlite::{SqliteEngine, SqliteTarget, Watch, WatchMutexes};
use dbdyno_protocol::plan::document::PrepareMode;
use libsqlite3_sys as ffi;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// A mutex of the library, shared by threads.
struct Shared(*mut ffi::sqlite3_mutex);
// SAFETY: a mutex is designed for several threads.
unsafe impl Sync for Shared {}

/// Number of waits that the engine counts for a thread that wants a mutex held by another one.
fn waits(engine: &SqliteEngine, mutex: &Shared) -> u64 {
    let wanted = AtomicBool::new(false);
    std::thread::scope(|scope| {
        // SAFETY: the mutex exists until both threads have ended, and each leaves the mutex that it entered.
        unsafe { ffi::sqlite3_mutex_enter(mutex.0) };
        let waiting = scope.spawn(|| {
            let before = engine.thread_counters().mutex_waits;
            wanted.store(true, Ordering::Release);
            // SAFETY: as above.
            unsafe {
                ffi::sqlite3_mutex_enter(mutex.0);
                ffi::sqlite3_mutex_leave(mutex.0);
            }
            engine.thread_counters().mutex_waits - before
        });
        while !wanted.load(Ordering::Acquire) {
            std::thread::yield_now();
        }
        std::thread::sleep(Duration::from_millis(20));
        // SAFETY: as above.
        unsafe { ffi::sqlite3_mutex_leave(mutex.0) };
        waiting.join().expect("the thread ends")
    })
}

#[test]
fn waits_are_counted_only_while_watching() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("a.db");
    let target: SqliteTarget = serde_json::from_value(serde_json::json!({ "path": path })).expect("a target");
    let watch = Watch {
        changes: false,
        io: false,
        mutexes: WatchMutexes::Sampled,
    };
    let engine = SqliteEngine::new(&target, &[], PrepareMode::Once, watch).expect("an engine");
    // SAFETY: the library is configured, and initializes itself.
    let mutex = Shared(unsafe { ffi::sqlite3_mutex_alloc(ffi::SQLITE_MUTEX_FAST) });
    assert_eq!(waits(&engine, &mutex), 0);
    for _ in 0..3 {
        engine.watch(true);
        // A thread that is so late that the mutex is free again doesn't wait.
        let seen = (0..5).map(|_| waits(&engine, &mutex)).max();
        assert_eq!(seen, Some(1));
        engine.watch(false);
        assert_eq!(waits(&engine, &mutex), 0);
    }
    // SAFETY: no thread holds it, and it is not used afterwards.
    unsafe { ffi::sqlite3_mutex_free(mutex.0) };
}
