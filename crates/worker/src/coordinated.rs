//! Being one of the processes of a trial: the coordinator is told of readiness on standard output, and says on standard
//! input when to start.

use crate::events::Events;
use dbdyno_events::Event;
use dbdyno_load::Coordinator;
use dbdyno_probes::Clock;
use rustix::time::{ClockId, clock_gettime};
use serde::Deserialize;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// What the coordinator says: nanoseconds of the kernel's monotonic clock, which all processes of a machine share.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Start {
    start_ns: u64,
}

/// What the coordinator says to the last of those that are interleaved.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Last {
    alone: bool,
}

/// The coordinator, at the other end of standard input and output.
pub struct Coordinated<'a> {
    events: &'a Events,
    interleaved: bool,
    alone: Arc<AtomicU64>,
}

impl<'a> Coordinated<'a> {
    /// Tells the coordinator by these events. `interleaved`: it may tell that the others have ended.
    pub fn new(events: &'a Events, interleaved: bool) -> Self {
        Self {
            events,
            interleaved,
            alone: Arc::default(),
        }
    }

    /// Listens, until standard input ends, for being the last of those that are interleaved.
    fn listen(&self, clock: Clock) -> io::Result<()> {
        let alone = Arc::clone(&self.alone);
        let listen = move || {
            for line in io::stdin().lines().map_while(Result::ok) {
                // What else it may be is nothing that the load could act on.
                if serde_json::from_str(&line).is_ok_and(|Last { alone }| alone) {
                    alone.store(clock.now().max(1), Ordering::Release);
                }
            }
        };
        std::thread::Builder::new().name("coordinator".into()).spawn(listen)?;
        Ok(())
    }
}

impl Coordinator for Coordinated<'_> {
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
        let Start { start_ns } = serde_json::from_str(&line)?;
        let now = clock_gettime(ClockId::Monotonic);
        let now = now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64;
        Ok(clock.now() + start_ns.saturating_sub(now))
    }

    fn alone(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.alone)
    }
}
