//! Observes an engine from within during a trial: waits of its threads, device operations, and deferred work. Each
//! engine reports what it can.

use crate::Failure;
use crate::observed::{Backlog, Counters};
use crate::waits::Waits;
pub use dbdyno_protocol::event::{Contention, ContentionSite, Tally};

/// Measurements of an engine beyond its sessions. All are optional.
pub trait Probe: Sync {
    /// The engine's counters for the calling thread: file system calls and waits.
    fn thread_counters(&self) -> ThreadCounters {
        ThreadCounters::default()
    }

    /// Clears the contended mutexes seen so far, when a window begins.
    fn reset_contention(&self) {}

    /// The time slices in which contended mutexes are watched, if watching them all the time would cost too much. Mutex
    /// counts then only cover these slices.
    fn slices(&self) -> Option<Slices> {
        None
    }

    /// Begins or ends watching.
    fn watch(&self, _on: bool) {}

    /// Adds the calling thread's waits in its window to the sum that `contention` returns.
    fn add_contention(&self, _window: &ThreadCounters) {}

    /// The contended mutexes of the process since the last reset, if the engine can report them.
    fn contention(&self) -> Option<Contention> {
        None
    }

    /// The engine's own counters of device operations, for the whole system. `None` if it has none.
    fn counters(&self) -> Option<Result<Counters, Failure>> {
        None
    }

    /// The engine's deferred work. `None` if it cannot report it.
    fn backlog(&self) -> Option<Result<Backlog, Failure>> {
        None
    }

    /// Samples the waits of the server's sessions in the calling thread while `running` returns true. `None` if there
    /// is no server, or it cannot report them.
    fn sample_waits(&self, _running: &dyn Fn() -> bool) -> Option<Result<Waits, Failure>> {
        None
    }

    /// Work of each group of statements in the sessions closed so far, if the engine distinguishes groups.
    fn tallies(&self) -> Option<Vec<Tally>> {
        None
    }
}

/// The probe of an engine without measurements.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoProbe;

impl Probe for NoProbe {}

/// Time slices, of which a random one in each period is watched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slices {
    /// Length of a slice in nanoseconds.
    pub length_ns: u64,
    /// One slice in this many is watched.
    pub one_in: u32,
}

/// File system calls and waits of one thread's sessions since the thread started.
#[derive(Debug, Clone, Copy, Default)]
pub struct ThreadCounters {
    /// Read calls.
    pub reads: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Nanoseconds in reads, excluding time in which the thread was preempted.
    pub read_ns: u64,
    /// Part of `read_ns` in reads that waited for the device and then for a CPU.
    pub read_wait_ns: u64,
    /// Write calls.
    pub writes: u64,
    /// Bytes written.
    pub write_bytes: u64,
    /// Nanoseconds in writes.
    pub write_ns: u64,
    /// Syncs of files and directories.
    pub syncs: u64,
    /// Nanoseconds in syncs.
    pub sync_ns: u64,
    /// Calls that lock or unlock the file or its shared memory, whether or not they succeed at once.
    pub lock_calls: u64,
    /// Nanoseconds in lock calls, excluding time in which the thread was preempted.
    pub lock_call_ns: u64,
    /// Part of `lock_call_ns` in calls that waited: for the mutex that guards the process's lock table, or for a file
    /// server.
    pub lock_wait_ns: u64,
    /// Times a session waited for a file lock.
    pub file_lock_waits: u64,
    /// Nanoseconds of waiting for file locks.
    pub file_lock_ns: u64,
    /// Times a mutex was contended.
    pub mutex_waits: u64,
    /// Nanoseconds of waiting for mutexes.
    pub mutex_ns: u64,
}

macro_rules! sums {
    ($type:ty { $($field:ident),+ $(,)? }) => {
        impl $type {
            /// Adds the counts of `other`.
            pub fn add(&mut self, other: &Self) { $(self.$field += other.$field;)+ }
            /// The increase since an earlier reading.
            pub fn since(&self, earlier: &Self) -> Self { Self { $($field: self.$field.saturating_sub(earlier.$field)),+ } }
        }
    };
}

sums!(ThreadCounters {
    reads,
    read_bytes,
    read_ns,
    read_wait_ns,
    writes,
    write_bytes,
    write_ns,
    syncs,
    sync_ns,
    lock_calls,
    lock_call_ns,
    lock_wait_ns,
    file_lock_waits,
    file_lock_ns,
    mutex_waits,
    mutex_ns,
});

impl ThreadCounters {
    /// Scales mutex counts from a part of the time to all of it. `by`: total time divided by watched time.
    pub fn scale_mutexes(&mut self, by: f64) {
        let scale = |n: u64| (n as f64 * by).round() as u64;
        (self.mutex_waits, self.mutex_ns) = (scale(self.mutex_waits), scale(self.mutex_ns));
    }
}

/// Page cache counters of one session since it was opened.
#[derive(Debug, Clone, Copy, Default)]
pub struct SessionCounters {
    /// Cache hits.
    pub cache_hits: u64,
    /// Cache misses.
    pub cache_misses: u64,
    /// Changed pages written before the commit because the cache was full.
    pub cache_spills: u64,
}

sums!(SessionCounters {
    cache_hits,
    cache_misses,
    cache_spills
});
