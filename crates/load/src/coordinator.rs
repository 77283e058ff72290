//! When the phases of a trial start: by its own decision, or by that of the coordinator.

use dbdyno_probes::Clock;
use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

/// Says when a phase starts for which all clients are ready.
pub trait Coordinator {
    /// The start of a phase, nanoseconds of the clock. `notice`: nanoseconds that clients need to hear of it.
    fn start(&mut self, phase: &'static str, clock: Clock, notice: u64) -> io::Result<u64>;

    /// Where it is told that the others have ended of those that are interleaved: the moment, nanoseconds of the clock, else 0.
    fn alone(&self) -> Arc<AtomicU64> {
        Arc::default()
    }
}

/// A trial whose clients are all in this process.
#[derive(Debug, Clone, Copy, Default)]
pub struct Alone;

impl Coordinator for Alone {
    fn start(&mut self, _phase: &'static str, clock: Clock, notice: u64) -> io::Result<u64> {
        Ok(clock.now() + notice)
    }
}
