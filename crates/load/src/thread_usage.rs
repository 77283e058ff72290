//! Resources used by the clients of one thread within their windows.

use dbdyno_engine::Engine;
use dbdyno_engine::changes::{self, CallCounts};
use dbdyno_engine::probe::ThreadCounters;
use dbdyno_probes::process::{thread_cpu_ns, thread_run_queue_ns};

/// Resources used by a thread from the start of its first client's window to the end of its last client's.
#[derive(Debug, Clone, Copy, Default)]
pub struct ThreadReport {
    /// The engine's counters for the thread.
    pub counters: ThreadCounters,
    /// Calls that the trial changes.
    pub changed: CallCounts,
    /// CPU nanoseconds.
    pub cpu_ns: u64,
    /// Nanoseconds in which the thread was runnable but had no CPU.
    pub run_queue_ns: u64,
}

/// Readings of a thread. Each of its clients begins and ends them.
#[derive(Debug, Default)]
pub struct ThreadUsage {
    before: Option<ThreadReport>,
    /// The result, once the last client has ended.
    pub report: ThreadReport,
}

fn read<E: Engine>(engine: &E) -> ThreadReport {
    ThreadReport {
        counters: engine.probe().thread_counters(),
        changed: changes::call_counts(),
        cpu_ns: thread_cpu_ns(),
        run_queue_ns: thread_run_queue_ns(),
    }
}

impl ThreadUsage {
    /// Begins a client's window.
    pub fn begin<E: Engine>(&mut self, engine: &E) {
        self.before.get_or_insert_with(|| read(engine));
    }

    /// Ends a client's window.
    pub fn end<E: Engine>(&mut self, engine: &E) {
        if let Some(before) = &self.before {
            let now = read(engine);
            self.report = ThreadReport {
                counters: now.counters.since(&before.counters),
                changed: now.changed.since(&before.changed),
                cpu_ns: now.cpu_ns.saturating_sub(before.cpu_ns),
                run_queue_ns: now.run_queue_ns.saturating_sub(before.run_queue_ns),
            };
        }
    }
}
