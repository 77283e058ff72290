//! Statements that sessions have not ended yet: their number and their memory.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Memory of statements that wait for their session.
const MOST_BYTES: usize = 64 << 20;

/// If no statement ends within this time, the next one doesn't wait, because it may release a lock.
const STALL: Duration = Duration::from_secs(1);

/// Counts the statements that were given to sessions.
#[derive(Debug, Default)]
pub struct Progress {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    bytes: usize,
    statements: u64,
    ended: u64,
}

impl Progress {
    /// Adds a statement.
    pub fn begin(&self, bytes: usize) {
        let mut state = self.state();
        state.bytes += bytes;
        state.statements += 1;
    }

    /// A statement has ended.
    pub fn end(&self, bytes: usize) {
        let mut state = self.state();
        state.bytes -= bytes;
        state.statements -= 1;
        state.ended += 1;
        let is_awaited = state.statements == 0 || state.bytes + bytes >= MOST_BYTES;
        drop(state);
        if is_awaited {
            self.changed.notify_one();
        }
    }

    /// Waits until there is memory for another statement.
    pub fn wait_for_room(&self) {
        self.wait(|state| state.bytes < MOST_BYTES);
    }

    /// Waits until all statements have ended. Returns how many have not, if they wait for each other.
    pub fn drain(&self) -> u64 {
        self.wait(|state| state.statements == 0)
    }

    fn wait(&self, is_done: impl Fn(&State) -> bool) -> u64 {
        let mut state = self.state();
        while !is_done(&state) {
            let ended = state.ended;
            let (found, timeout) = self
                .changed
                .wait_timeout(state, STALL)
                .unwrap_or_else(PoisonError::into_inner);
            state = found;
            if timeout.timed_out() && state.ended == ended {
                break;
            }
        }
        state.statements
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draining_waits_for_statements_but_not_for_blocked_ones() {
        let progress = Progress::default();
        progress.begin(5);
        progress.begin(7);
        std::thread::scope(|scope| {
            scope.spawn(|| progress.end(5));
            assert_eq!(progress.drain(), 1);
        });
        progress.end(7);
        assert_eq!(progress.drain(), 0);
    }
}
