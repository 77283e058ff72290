//! What the clients of one thread used of the machine together, within their windows.

use dbdyno_engine::Engine;
use dbdyno_engine::changes::{self, Counted};
use dbdyno_engine::probe::ThreadCounters;
use dbdyno_probes::process::{thread_cpu_ns, thread_run_queue_ns};

/// What a thread used from the start of its first client's window to the end of its last one's.
#[derive(Debug, Clone, Copy, Default)]
pub struct ThreadReport {
    /// What the engine counted for the thread.
    pub counters: ThreadCounters,
    /// The calls that the trial changes.
    pub changed: Counted,
    /// CPU nanoseconds.
    pub cpu_ns: u64,
    /// Nanoseconds in which the thread was ready without a processor.
    pub run_queue_ns: u64,
}

/// The reading of a thread: its clients begin and end it, each for itself.
#[derive(Debug, Default)]
pub struct Share {
    before: Option<ThreadReport>,
    /// The whole, once the last client has ended.
    pub report: ThreadReport,
}

fn read<E: Engine>(engine: &E) -> ThreadReport {
    ThreadReport {
        counters: engine.probe().thread_counters(),
        changed: changes::counted(),
        cpu_ns: thread_cpu_ns(),
        run_queue_ns: thread_run_queue_ns(),
    }
}

impl Share {
    /// A client's window begins.
    pub fn begin<E: Engine>(&mut self, engine: &E) {
        self.before.get_or_insert_with(|| read(engine));
    }

    /// A client's window has ended.
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
