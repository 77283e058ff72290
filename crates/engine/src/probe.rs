//! What watches an engine from within while a trial runs: what its threads waited for, what it asked of the device, what it put
//! off. Each engine tells what it can.

use crate::Failure;
use crate::observed::{Backlog, Counters};
use crate::waits::Waits;
use schemars::JsonSchema;
use serde::Serialize;

/// What an engine tells beyond its sessions. Everything may be left out.
pub trait Probe: Sync {
    /// Counters of the calling thread that the engine keeps: what it asked of the file system, what it waited for.
    fn thread_counters(&self) -> ThreadCounters {
        ThreadCounters::default()
    }

    /// Forgets the contended mutexes seen so far, as a window begins.
    fn reset_contention(&self) {}

    /// The slices of time in which contended mutexes are watched, if watching them all the time would cost too much. What
    /// is counted of them is then counted in those slices only.
    fn slices(&self) -> Option<Slices> {
        None
    }

    /// Begins or ends such a slice.
    fn watch(&self, _on: bool) {}

    /// Adds what the calling thread waited for in its window to the sum that `contention` gives.
    fn add_contention(&self, _window: &ThreadCounters) {}

    /// The contended mutexes of the whole process since the last reset, where the engine can tell.
    fn contention(&self) -> Option<Contention> {
        None
    }

    /// What the engine has asked of the device until now, by its own count, for its whole system. `None`: it does not count.
    fn counters(&self) -> Option<Result<Counters, Failure>> {
        None
    }

    /// What the engine has put off until now. `None`: it does not tell.
    fn backlog(&self) -> Option<Result<Backlog, Failure>> {
        None
    }

    /// Looks, in the calling thread, at what the server's sessions wait for, for as long as `running` says so. `None`:
    /// there is no server, or it does not tell.
    fn sample_waits(&self, _running: &dyn Fn() -> bool) -> Option<Result<Waits, Failure>> {
        None
    }

    /// What each group of statements did in the sessions that have been closed, where groups are told apart.
    fn tallies(&self) -> Option<Vec<Tally>> {
        None
    }
}

/// The probe of an engine that tells nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct Unwatched;

impl Probe for Unwatched {}

/// Slices of time of which some, chosen by chance, are watched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slices {
    /// The length of one; nanoseconds.
    pub length_ns: u64,
    /// Of how many one is watched.
    pub one_in: u32,
}

/// What one thread's sessions asked of the file system and waited for, since the thread began.
#[derive(Debug, Clone, Copy, Default, Serialize, JsonSchema)]
pub struct ThreadCounters {
    /// Reads.
    pub reads: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Nanoseconds in reads, without those in which the thread was pushed off its processor.
    pub read_ns: u64,
    /// Those of them in reads that waited, for the device and then for a processor.
    pub read_wait_ns: u64,
    /// Writes.
    pub writes: u64,
    /// Bytes written.
    pub write_bytes: u64,
    /// Nanoseconds in writes.
    pub write_ns: u64,
    /// Syncs, of files and of directories.
    pub syncs: u64,
    /// Nanoseconds in syncs.
    pub sync_ns: u64,
    /// Calls to lock or unlock the file or its shared memory, whether or not they succeed at once.
    pub lock_calls: u64,
    /// Nanoseconds in them, without those in which the thread was pushed off its processor.
    pub lock_call_ns: u64,
    /// Those of them in calls that waited: for a mutex that guards the process's record of locks, or for a file server.
    pub lock_wait_ns: u64,
    /// Times a session waited for a lock on the file.
    pub file_lock_waits: u64,
    /// Nanoseconds of it.
    pub file_lock_ns: u64,
    /// Times a mutex was not free.
    pub mutex_waits: u64,
    /// Nanoseconds until it was.
    pub mutex_ns: u64,
}

macro_rules! sums {
    ($type:ty { $($field:ident),+ $(,)? }) => {
        impl $type {
            /// Adds another's counts.
            pub fn add(&mut self, other: &Self) { $(self.$field += other.$field;)+ }
            /// What has come since an earlier reading.
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
    /// Makes what was counted of mutexes in a part of the time, which is one in `by`, into figures of the whole.
    pub fn scale_mutexes(&mut self, by: f64) {
        let scale = |n: u64| (n as f64 * by).round() as u64;
        (self.mutex_waits, self.mutex_ns) = (scale(self.mutex_waits), scale(self.mutex_ns));
    }
}

/// What one session's page cache did since it was opened.
#[derive(Debug, Clone, Copy, Default, Serialize, JsonSchema)]
pub struct SessionCounters {
    /// Pages found in the cache.
    pub cache_hits: u64,
    /// Pages not found there.
    pub cache_misses: u64,
    /// Changed pages written to the file before the commit because the cache was full.
    pub cache_spills: u64,
}

sums!(SessionCounters {
    cache_hits,
    cache_misses,
    cache_spills
});

/// Mutexes that were not free when they were wanted.
#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
pub struct Contention {
    /// How often.
    pub contended: u64,
    /// Seconds waited, all threads together.
    pub wait_s: f64,
    /// Where, most time first. The times are of all waits; the stacks of a sample of them, scaled to all.
    pub sites: Vec<ContentionSite>,
}

impl Contention {
    /// Makes figures of a part of the time, which is one in `by`, into figures of the whole, of which so many seconds can
    /// have been waited.
    pub fn scale(&mut self, by: f64, wait_s: f64) {
        let count = |n: u64| (n as f64 * by).round() as u64;
        let longer = if self.wait_s > 0.0 { wait_s / self.wait_s } else { 0.0 };
        self.contended = count(self.contended);
        self.wait_s = wait_s;
        for site in &mut self.sites {
            site.waits = count(site.waits);
            site.wait_s *= longer;
        }
    }
}

/// One place in the code that waited for a mutex.
#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
pub struct ContentionSite {
    /// The function that wanted (and, once it had it, held) the mutex.
    pub function: String,
    /// What kind of mutex it is.
    pub mutex: String,
    /// How often it waited (scaled from the sample).
    pub waits: u64,
    /// Seconds it waited (scaled from the sample).
    pub wait_s: f64,
    /// The functions that led there, innermost first.
    pub stack: Vec<String>,
}

/// What the statements of a group did, all sessions and the warm-up included.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Tally {
    /// How often they were run.
    pub executions: u64,
    /// Rows they returned.
    pub rows: u64,
    /// Rows they changed.
    pub changed: u64,
    /// A hash over all values of all rows, in their order.
    pub ordered: u64,
    /// A hash in which the order of the rows within an execution does not matter.
    pub unordered: u64,
}
