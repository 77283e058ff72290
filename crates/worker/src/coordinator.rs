//! Coordination with the other processes of a trial: the worker reports readiness on standard output and reads the
//! start times from standard input.

use crate::events::Events;
use dbdyno_load::Coordinator;
use dbdyno_probes::Clock;
use dbdyno_protocol::event::Event;
use rustix::time::{ClockId, clock_gettime};
use serde::Deserialize;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A start time from the coordinator, in nanoseconds of the kernel's monotonic clock, which all processes of a machine
/// share.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StartMessage {
    start_ns: u64,
}

/// The coordinator's message to the last running one of several interleaved trials.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AloneMessage {
    alone: bool,
}

/// The coordinator, connected by standard input and output.
pub struct StdioCoordinator<'a> {
    events: &'a Events,
    interleaved: bool,
    alone: Arc<AtomicU64>,
}

impl<'a> StdioCoordinator<'a> {
    /// Reports readiness through these events. `interleaved`: the coordinator may announce that the other trials have
    /// ended.
    pub fn new(events: &'a Events, interleaved: bool) -> Self {
        Self {
            events,
            interleaved,
            alone: Arc::default(),
        }
    }

    /// Waits, until standard input ends, for the message that the other interleaved trials have ended.
    fn listen(&self, clock: Clock) -> io::Result<()> {
        let alone = Arc::clone(&self.alone);
        let listen = move || {
            for line in io::stdin().lines().map_while(Result::ok) {
                // Other messages mean nothing to the load.
                if serde_json::from_str(&line).is_ok_and(|AloneMessage { alone }| alone) {
                    alone.store(clock.now().max(1), Ordering::Release);
                }
            }
        };
        std::thread::Builder::new().name("coordinator".into()).spawn(listen)?;
        Ok(())
    }
}

impl Coordinator for StdioCoordinator<'_> {
    fn start(&mut self, phase: &'static str, clock: Clock, _notice: u64) -> io::Result<u64> {
        self.events.write(&Event::Ready { phase })?;
        let mut line = String::new();
        if io::stdin().read_line(&mut line)? == 0 {
            let why = "standard input has ended";
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, why));
        }
        if self.interleaved && phase == "window" {
            self.listen(clock)?;
        }
        let StartMessage { start_ns } = serde_json::from_str(&line)?;
        let now = clock_gettime(ClockId::Monotonic);
        let now = now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64;
        Ok(clock.now() + start_ns.saturating_sub(now))
    }

    fn alone(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.alone)
    }
}
