//! Decides when the phases of a trial start: this process itself, or a coordinator of several processes.

use dbdyno_probes::Clock;
use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

/// Sets the start of a phase once all clients of this process are ready.
pub trait Coordinator {
    /// Returns the start of a phase in nanoseconds of the clock. `notice`: nanoseconds that clients need to be ready
    /// for it.
    fn start(&mut self, phase: &'static str, clock: Clock, notice: u64) -> io::Result<u64>;

    /// Receives the time when all other interleaved trials ended, in nanoseconds of the clock; 0 until then.
    fn alone(&self) -> Arc<AtomicU64> {
        Arc::default()
    }
}

/// The coordinator of a trial whose clients are all in this process.
#[derive(Debug, Clone, Copy, Default)]
pub struct LocalCoordinator;

impl Coordinator for LocalCoordinator {
    fn start(&mut self, _phase: &'static str, clock: Clock, notice: u64) -> io::Result<u64> {
        Ok(clock.now() + notice)
    }
}
