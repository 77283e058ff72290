//! What a replay costs the system: CPU time, file operations, and the engine's own counters.

use dbdyno_engine::driver::Site;
use dbdyno_engine::observed::{Counters, rise};
use dbdyno_engine::probe::{SessionCounters, ThreadCounters};
use dbdyno_engine::{Engine, Failure};
use dbdyno_probes::process::thread_cpu_ns;
use dbdyno_probes::tree::trees_usage;
use std::sync::{Mutex, PoisonError};

/// The cost of a replay.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Usage {
    /// CPU seconds of the server, or of the threads with an embedded database. `None` for a server elsewhere.
    pub cpu_s: Option<f64>,
    /// Counts by name. A trial's result uses the same names.
    pub counters: Counters,
}

/// Adds up what the sessions of an embedded database use.
#[derive(Debug, Default)]
pub struct SessionUsage(Mutex<Embedded>);

#[derive(Debug, Default)]
struct Embedded {
    cpu_ns: u64,
    thread: ThreadCounters,
    session: SessionCounters,
}

impl SessionUsage {
    /// Adds a session, whose thread has no other.
    pub fn add<E: Engine>(&self, engine: &E, session: &SessionCounters) {
        let mut sum = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        sum.cpu_ns += thread_cpu_ns();
        sum.thread.add(&engine.probe().thread_counters());
        sum.session.add(session);
    }

    fn usage(&self) -> Usage {
        let sum = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let counters = [
            ("syncs", sum.thread.syncs),
            ("reads", sum.thread.reads),
            ("read_bytes", sum.thread.read_bytes),
            ("writes", sum.thread.writes),
            ("write_bytes", sum.thread.write_bytes),
            ("cache_hits", sum.session.cache_hits),
            ("cache_misses", sum.session.cache_misses),
        ];
        Usage {
            cpu_s: Some(sum.cpu_ns as f64 / 1e9),
            counters: counters.into_iter().map(|(name, count)| (name, count as f64)).collect(),
        }
    }
}

/// Readings of a system before the first session.
#[derive(Debug)]
pub struct Before {
    server: Option<u32>,
    cpu_ns: Option<u64>,
    counters: Option<Result<Counters, Failure>>,
}

impl Before {
    /// Reads a system.
    pub fn read<E: Engine>(engine: &E, site: Site<'_>) -> Self {
        Self {
            server: site.server,
            cpu_ns: server_cpu_ns(site.server),
            counters: engine.probe().counters(),
        }
    }

    /// The cost since then, after the last session. Counters that can't be read are left out.
    pub fn usage<E: Engine>(self, engine: &E, sessions: &SessionUsage) -> Usage {
        if !E::REMOTE {
            return sessions.usage();
        }
        let used = server_cpu_ns(self.server).zip(self.cpu_ns);
        let counters = match (self.counters, engine.probe().counters()) {
            (Some(Ok(before)), Some(Ok(after))) => rise(&before, &after),
            _ => Counters::new(),
        };
        Usage {
            cpu_s: used.map(|(after, before)| after.saturating_sub(before) as f64 / 1e9),
            counters,
        }
    }
}

fn server_cpu_ns(server: Option<u32>) -> Option<u64> {
    Some(trees_usage(&[server?])?.cpu_ns)
}
