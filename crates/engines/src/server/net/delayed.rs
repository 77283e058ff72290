//! Delays messages on behalf of a trial: half of the delay before sending, half after the response arrives.
//!
//! A message is everything sent at once, and its response everything received until the next send. Data without a
//! response, such as a logout, is not a message.

use dbdyno_engine::alarm::Alarm;
use dbdyno_engine::changes::{self, Changes, Kind};
use dbdyno_probes::Clock;

/// A connection's delays.
pub struct Delayed {
    changes: &'static Changes,
    clock: Clock,
    alarm: Alarm,
    /// Send time and added delay, in nanoseconds, of the message whose response is awaited.
    asked: Option<(u64, u64)>,
    /// Whether the thread may block, because no other client uses it.
    blocking: bool,
}

impl Delayed {
    /// Creates the delays for a connection of the calling thread, if its trial delays messages.
    pub fn here() -> Option<Box<Self>> {
        let changes = changes::thread_changes().filter(|changes| changes.has(Kind::Message))?;
        let clock = Clock::get();
        Some(Box::new(Self {
            changes,
            clock,
            alarm: Alarm::new(clock),
            asked: None,
            blocking: false,
        }))
    }

    /// Allows blocking the thread, because no other client uses it.
    pub fn hold_up_thread(&mut self) {
        self.blocking = true;
    }

    /// Half of the active delay.
    fn half(&self) -> Option<u64> {
        changes::active_changes()?;
        self.changes.delay(Kind::Message).map(|delay| delay / 2)
    }

    async fn wait(&self, nanoseconds: u64) -> u64 {
        match nanoseconds {
            0 => 0,
            _ if self.blocking => changes::wait(nanoseconds),
            _ => self.alarm.wait_exactly(nanoseconds).await,
        }
    }

    /// Call before data is sent.
    pub async fn goes_out(&mut self) {
        let Some(half) = self.half() else { return };
        // The rest of a message that was partly sent already.
        if self.asked.is_none() {
            let added = self.wait(half).await;
            self.asked = Some((self.clock.now(), added));
        }
    }

    /// Call after data has arrived.
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

#[cfg(test)]
mod tests {
    use super::super::{Connection, block_on};
    use super::*;
    use dbdyno_engine::changes::{call_counts, enroll_thread};
    use std::io::{Read as _, Write as _};
    use std::os::unix::net::UnixListener;

    const DELAY_US: u64 = 400;

    /// Responds to each request of eight bytes with twice as many, in two parts. Returns the remaining input.
    fn server(listener: UnixListener) -> Vec<u8> {
        let (mut stream, _) = listener.accept().unwrap();
        let mut question = Vec::new();
        let mut bytes = [0; 8];
        while let Ok(read @ 1..) = stream.read(&mut bytes) {
            question.extend_from_slice(&bytes[..read]);
            if question == b"question" {
                stream.write_all(b"an answe").unwrap();
                stream.write_all(b"r of two").unwrap();
                question.clear();
            }
        }
        question
    }

    async fn ask(connection: &mut Connection) {
        connection.out.extend_from_slice(b"ques");
        connection.send().unwrap();
        connection.out.extend_from_slice(b"tion");
        connection.send().unwrap();
        assert!(!connection.out.is_empty(), "the message is held back");
        connection.flush().await.unwrap();
        while connection.there().len() < 16 {
            connection.read().await.unwrap();
        }
        connection.take(16);
    }

    #[test]
    fn a_request_and_its_response_are_one_message() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("socket");
        let listener = UnixListener::bind(&path).unwrap();
        let server = std::thread::spawn(|| server(listener));
        let plan = format!(r#"{{"message": {{"delay_us": {DELAY_US}}}}}"#);
        let changes = Changes::of(&serde_json::from_str(&plan).unwrap());
        enroll_thread(Some(changes));
        block_on(async {
            let mut connection = Connection::unix(path.to_str().unwrap()).await?;
            ask(&mut connection).await;
            assert_eq!(call_counts().of(Kind::Message).calls, 0, "no change is active yet");
            changes.enforce(true);
            for way in 1..=2 {
                for _ in 0..5 {
                    ask(&mut connection).await;
                }
                let found = call_counts().of(Kind::Message);
                assert_eq!(found.calls, way * 5);
                assert!(found.own_ns > 0 && found.added_ns >= way * 5 * DELAY_US * 1000);
                // Now blocking.
                connection.hold_up_thread()?;
            }
            connection.out.extend_from_slice(b"bye");
            connection.send_last().await?;
            assert_eq!(
                call_counts().of(Kind::Message).calls,
                10,
                "a message without a response doesn't count"
            );
            Ok(())
        })
        .unwrap();
        assert_eq!(server.join().unwrap(), b"bye");
    }

    #[test]
    fn other_connections_are_not_delayed() {
        assert!(Delayed::here().is_none());
        let plan = serde_json::from_str(r#"{"connect": {"delay_us": 1}}"#).unwrap();
        enroll_thread(Some(Changes::of(&plan)));
        assert!(Delayed::here().is_none(), "messages are not changed");
        enroll_thread(None);
        assert!(Delayed::here().is_none());
    }
}
