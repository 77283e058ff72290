//! Executions of statements, in a queue of bounded size between the connections and the recorder.

use dbdyno_reports::{Execution, Lines};
use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Executions that wait for the recorder. Each thread has a lane of its own.
#[derive(Debug)]
pub struct Queue {
    lanes: Vec<Mutex<Lane>>,
    /// Bytes of a lane.
    room: usize,
    ended: AtomicBool,
    began: Instant,
    began_ns: u64,
}

#[derive(Debug, Default)]
struct Lane {
    waiting: Vec<Execution>,
    problems: Vec<String>,
    bytes: usize,
    dropped: u64,
}

/// Different problems that wait; further ones are not reported.
const MOST_PROBLEMS: usize = 8;

impl Queue {
    /// `lanes`: the number of threads; `bytes`: their memory in total.
    pub fn new(lanes: usize, bytes: usize) -> Self {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self {
            lanes: (0..lanes).map(|_| Mutex::default()).collect(),
            room: bytes / lanes.max(1),
            ended: AtomicBool::new(false),
            began: Instant::now(),
            began_ns: since.as_nanos() as u64,
        }
    }

    /// The time in nanoseconds since 1970. It never goes back.
    pub fn now(&self) -> u64 {
        self.began_ns + self.began.elapsed().as_nanos() as u64
    }

    /// Adds an execution, or counts it as dropped if the lane is full. Never waits for the recorder.
    pub fn add(&self, lane: usize, execution: Execution) {
        let size = execution.size();
        let mut lane = self.lane(lane);
        if lane.bytes + size > self.room {
            lane.dropped += 1;
        } else {
            lane.bytes += size;
            lane.waiting.push(execution);
        }
    }

    /// Counts an execution that can't be recorded.
    pub fn drop_one(&self, lane: usize) {
        self.lane(lane).dropped += 1;
    }

    /// Adds a problem that the user should see.
    pub fn report(&self, lane: usize, problem: String) {
        let mut lane = self.lane(lane);
        if lane.problems.len() < MOST_PROBLEMS && !lane.problems.contains(&problem) {
            lane.problems.push(problem);
        }
    }

    /// All executions that wait.
    #[cfg(test)]
    pub fn taken(&self) -> Vec<Execution> {
        self.lanes
            .iter()
            .flat_map(|lane| std::mem::take(&mut lane.lock().unwrap().waiting))
            .collect()
    }

    /// Ends [`Self::write`] after it has written what waits.
    pub fn end(&self) {
        self.ended.store(true, Ordering::Release);
    }

    fn lane(&self, lane: usize) -> std::sync::MutexGuard<'_, Lane> {
        self.lanes[lane].lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes executions as lines of JSON until [`Self::end`], or until the reader ends.
    pub fn write(&self, out: &mut impl Write) -> io::Result<()> {
        let mut lines = Lines::default();
        loop {
            let ended = self.ended.load(Ordering::Acquire);
            for lane in &self.lanes {
                let taken = std::mem::take(&mut *lane.lock().unwrap_or_else(PoisonError::into_inner));
                for problem in taken.problems {
                    lines.line(&("problem", problem))?;
                }
                if taken.dropped > 0 {
                    lines.dropped(taken.dropped)?;
                }
                for execution in taken.waiting {
                    lines.execution(&execution)?;
                    if lines.bytes.len() >= BLOCK {
                        write_all(out, &mut lines)?;
                    }
                }
            }
            write_all(out, &mut lines)?;
            if ended {
                return Ok(());
            }
            std::thread::sleep(INTERVAL);
        }
    }
}

/// Between two looks at the queue. Waking the writer for each statement would cost more than the statement.
const INTERVAL: Duration = Duration::from_millis(20);

const BLOCK: usize = 1 << 16;

fn write_all(out: &mut impl Write, lines: &mut Lines) -> io::Result<()> {
    out.write_all(&lines.bytes)?;
    lines.bytes.clear();
    out.flush()
}

#[cfg(test)]
mod tests {
    use super::*;
    use dbdyno_reports::Text;

    #[test]
    fn a_full_queue_drops_and_counts() {
        let queue = Queue::new(1, 1000);
        for _ in 0..100 {
            queue.add(
                0,
                Execution {
                    session: 1,
                    text: Text::Own(Box::from(*b"select 1")),
                    start: 5,
                    end: 9,
                    rows: Some(2),
                    error: None,
                    bytes: None,
                    parameters: None,
                    open: Some(true),
                    once: None,
                },
            );
        }
        queue.end();
        let mut out = Vec::new();
        queue.write(&mut out).unwrap();
        let lines = String::from_utf8(out).unwrap();
        let kept = lines.lines().count() as u64 - 1;
        assert!(
            kept >= 1 && lines.starts_with(&format!("[\"dropped\",{}]\n", 100 - kept)),
            "{lines}"
        );
    }
}
