//! Writes events to standard output, one per line.

use dbdyno_protocol::event::Event;
use std::io::Write as _;

/// Writes events to standard output.
#[derive(Debug, Default)]
pub struct Events;

impl Events {
    /// Writes an event.
    pub fn write(&self, event: &Event<'_>) -> Result<(), std::io::Error> {
        let mut text = serde_json::to_string(event)?;
        text.push('\n');
        let mut out = std::io::stdout().lock();
        out.write_all(text.as_bytes())?;
        out.flush()
    }
}
