//! Messages that a trial delays: half on the way to the server, half on the way back.
//!
//! A message is what goes out at once, and its answer what comes until the next goes out. What is never answered, as the
//! last words of a session, is no message.

use dbdyno_engine::alarm::Alarm;
use dbdyno_engine::changes::{self, Changes, Kind};
use dbdyno_probes::Clock;

/// A connection's delays.
pub struct Delayed {
    changes: &'static Changes,
    clock: Clock,
    alarm: Alarm,
    /// Of the message whose answer is awaited: when it went out, and by how much it was delayed; nanoseconds.
    asked: Option<(u64, u64)>,
    /// Whether the thread may be held up: nobody else uses it.
    blocking: bool,
}

impl Delayed {
    /// For a connection that the calling thread makes, where its trial delays messages.
    pub fn here() -> Option<Box<Self>> {
        let changes = changes::part().filter(|changes| changes.has(Kind::Message))?;
        let clock = Clock::get();
        Some(Box::new(Self {
            changes,
            clock,
            alarm: Alarm::new(clock),
            asked: None,
            blocking: false,
        }))
    }

    /// From now on nobody else has anything to do in the thread.
    pub fn hold_up_thread(&mut self) {
        self.blocking = true;
    }

    /// Half of the delay that is in force.
    fn half(&self) -> Option<u64> {
        changes::here()?;
        self.changes.delay(Kind::Message).map(|delay| delay / 2)
    }

    async fn wait(&self, nanoseconds: u64) -> u64 {
        match nanoseconds {
            0 => 0,
            _ if self.blocking => changes::wait(nanoseconds),
            _ => self.alarm.hold(nanoseconds).await,
        }
    }

    /// Something is about to go out.
    pub async fn goes_out(&mut self) {
        let Some(half) = self.half() else { return };
        // Part of a message whose beginning is out already.
        if self.asked.is_none() {
            let added = self.wait(half).await;
            self.asked = Some((self.clock.now(), added));
        }
    }

    /// Something has come.
    pub async fn has_come(&mut self) {
        let Some((asked, there)) = self.asked.take() else {
            return;
        };
        let own = self.clock.now() - asked;
        let back = match self.half() {
            Some(half) => self.wait(half).await,
            None => 0,
        };
        changes::count(Kind::Message, own, there + back);
    }
}
