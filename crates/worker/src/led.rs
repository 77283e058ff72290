//! Being one of the processes of a trial: whoever leads them is told of readiness on standard output, and says on standard
//! input when to start.

use crate::events::Events;
use dbdyno_load::Lead;
use dbdyno_probes::Clock;
use rustix::time::{ClockId, clock_gettime};
use serde::Deserialize;
use serde_json::json;
use std::io;

/// What the leader says: nanoseconds of the kernel's monotonic clock, which all processes of a machine share.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Start {
    start_ns: u64,
}

/// The leader, at the other end of standard input and output.
pub struct Led<'a>(pub &'a Events);

impl Lead for Led<'_> {
    fn start(&mut self, phase: &'static str, clock: Clock, _notice: u64) -> io::Result<u64> {
        self.0.line(&json!({"event": "ready", "phase": phase}))?;
        let mut line = String::new();
        if io::stdin().read_line(&mut line)? == 0 {
            let why = "standard input has ended";
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, why));
        }
        let Start { start_ns } = serde_json::from_str(&line)?;
        let now = clock_gettime(ClockId::Monotonic);
        let now = now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64;
        Ok(clock.now() + start_ns.saturating_sub(now))
    }
}
