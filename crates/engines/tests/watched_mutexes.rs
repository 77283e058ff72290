//! The layer over the bundled library's mutexes, in a process of its own: it is the whole library's.
#![allow(clippy::expect_used)]

use dbdyno_engine::probe::Probe as _;
use dbdyno_engines::sqlite::{SqliteEngine, SqliteTarget, Watch, WatchMutexes};
use dbdyno_plan::document::PrepareMode;
use libsqlite3_sys as ffi;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// A mutex of the library's, which threads share.
struct Shared(*mut ffi::sqlite3_mutex);
// SAFETY: a mutex is for several threads.
unsafe impl Sync for Shared {}

/// How many waits the engine counts for a thread that wants a mutex which another one has.
fn waits(engine: &SqliteEngine, mutex: &Shared) -> u64 {
    let wanted = AtomicBool::new(false);
    std::thread::scope(|scope| {
        // SAFETY: the mutex is there until both threads have ended, and each leaves what it has entered.
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
fn waits_are_seen_while_they_are_watched_and_only_then() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("a.db");
    let target: SqliteTarget = serde_json::from_value(serde_json::json!({ "path": path })).expect("a target");
    let watch = Watch {
        changes: false,
        io: false,
        mutexes: WatchMutexes::Sampled,
    };
    let engine = SqliteEngine::new(&target, &[], PrepareMode::Once, watch).expect("an engine");
    // SAFETY: the library is configured, and starts by itself.
    let mutex = Shared(unsafe { ffi::sqlite3_mutex_alloc(ffi::SQLITE_MUTEX_FAST) });
    assert_eq!(waits(&engine, &mutex), 0);
    for _ in 0..3 {
        engine.watch(true);
        // One that comes so late that the mutex is free again does not wait.
        let seen = (0..5).map(|_| waits(&engine, &mutex)).max();
        assert_eq!(seen, Some(1));
        engine.watch(false);
        assert_eq!(waits(&engine, &mutex), 0);
    }
    // SAFETY: nobody has it, and it is not used any more.
    unsafe { ffi::sqlite3_mutex_free(mutex.0) };
}
