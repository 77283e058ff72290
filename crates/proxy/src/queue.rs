//! Executions of statements, in a queue of bounded size between the connections and the recorder.

use serde_json::{Value, json};
use std::collections::{HashMap, HashSet};
use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// A statement that several executions share.
#[derive(Debug)]
pub struct Shared {
    number: u64,
    text: Box<[u8]>,
}

/// An execution's statement.
#[derive(Debug, Clone)]
pub enum Text {
    /// A prepared statement.
    Shared(Arc<Shared>),
    /// A statement that was sent with its values.
    Own(Box<[u8]>),
    /// Too long to be recorded.
    TooLong,
}

/// A bound parameter.
#[derive(Debug, Clone, PartialEq)]
pub enum Parameter {
    /// Null.
    Null,
    /// A string, or a value in the form of a string.
    Text(Box<str>),
    /// An integer.
    Integer(i64),
    /// An integer above `i64::MAX`.
    Unsigned(u64),
    /// A number.
    Real(f64),
    /// A Boolean.
    Boolean(bool),
    /// Bytes.
    Bytes(Box<[u8]>),
    /// A value that isn't known.
    Unknown,
}

/// An execution of a statement.
#[derive(Debug, Clone)]
pub struct Execution {
    /// The connection.
    pub session: u64,
    /// What was executed.
    pub text: Text,
    /// When the server could begin, in nanoseconds since 1970.
    pub start: u64,
    /// When its last byte arrived.
    pub end: u64,
    /// Rows returned or changed.
    pub rows: Option<u64>,
    /// The error's code.
    pub error: Option<Box<str>>,
    /// Bytes sent to the client.
    pub bytes: u64,
    /// The bound parameters, if any are known.
    pub parameters: Option<Vec<Parameter>>,
    /// Whether a transaction was open afterwards; `None`: unknown.
    pub open: Option<bool>,
}

impl Text {
    /// The text; `None` if it isn't known.
    #[cfg(test)]
    pub fn shown(&self) -> Option<&str> {
        match self {
            Self::Shared(shared) => std::str::from_utf8(&shared.text).ok(),
            Self::Own(text) => std::str::from_utf8(text).ok(),
            Self::TooLong => None,
        }
    }
}

impl Execution {
    /// Bytes of memory, approximately.
    fn size(&self) -> usize {
        let text = match &self.text {
            Text::Own(text) => text.len(),
            Text::Shared(_) | Text::TooLong => 0,
        };
        let parameters: usize = self.parameters.iter().flatten().map(Parameter::size).sum();
        size_of::<Self>() + text + parameters
    }
}

impl Parameter {
    fn size(&self) -> usize {
        size_of::<Self>()
            + match self {
                Self::Text(text) => text.len(),
                Self::Bytes(bytes) => bytes.len(),
                _ => 0,
            }
    }

    fn json(&self) -> Value {
        match self {
            Self::Null => Value::Null,
            Self::Text(text) => json!(text),
            Self::Integer(value) => json!(value),
            Self::Unsigned(value) => json!(value),
            // JSON doesn't have infinity.
            Self::Real(value) if !value.is_finite() => json!(value.to_string()),
            Self::Real(value) => json!(value),
            Self::Boolean(value) => json!(value),
            Self::Bytes(bytes) => json!({"hex": hex(bytes)}),
            Self::Unknown => json!({}),
        }
    }
}

fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes
        .iter()
        .fold(String::with_capacity(bytes.len() * 2), |mut made, byte| {
            // Writing to a string doesn't fail.
            let _ = write!(made, "{byte:02x}");
            made
        })
}

/// Shares equal texts between the connections of a thread.
#[derive(Debug, Default)]
pub struct Texts {
    known: HashMap<Box<[u8]>, Arc<Shared>>,
    /// At this number of statements, unused statements are removed.
    most: usize,
}

static NUMBERS: AtomicU64 = AtomicU64::new(0);
const FEWEST: usize = 4096;

impl Texts {
    /// Returns the only copy of a statement.
    pub fn share(&mut self, text: &[u8]) -> Arc<Shared> {
        if let Some(known) = self.known.get(text) {
            return Arc::clone(known);
        }
        if self.known.len() >= self.most.max(FEWEST) {
            self.known.retain(|_, shared| Arc::strong_count(shared) > 1);
            self.most = self.known.len() * 2;
        }
        let shared = Arc::new(Shared {
            number: NUMBERS.fetch_add(1, Ordering::Relaxed),
            text: text.into(),
        });
        self.known.insert(text.into(), Arc::clone(&shared));
        shared
    }
}

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
        let mut writer = Writer {
            out,
            known: HashSet::new(),
            line: Vec::new(),
        };
        loop {
            let ended = self.ended.load(Ordering::Acquire);
            for lane in &self.lanes {
                let taken = std::mem::take(&mut *lane.lock().unwrap_or_else(PoisonError::into_inner));
                for problem in taken.problems {
                    writer.line(&json!(["problem", problem]))?;
                }
                if taken.dropped > 0 {
                    writer.line(&json!(["dropped", taken.dropped]))?;
                }
                for execution in taken.waiting {
                    writer.execution(&execution)?;
                }
            }
            writer.flush()?;
            if ended {
                return Ok(());
            }
            std::thread::sleep(INTERVAL);
        }
    }
}

/// Between two looks at the queue. Waking the writer for each statement would cost more than the statement.
const INTERVAL: Duration = Duration::from_millis(20);

/// Maximum number of shared statements that the reader keeps.
const MOST_KNOWN: usize = 20_000;

const BLOCK: usize = 1 << 16;

struct Writer<'a, W: Write> {
    out: &'a mut W,
    known: HashSet<u64>,
    line: Vec<u8>,
}

impl<W: Write> Writer<'_, W> {
    fn execution(&mut self, execution: &Execution) -> io::Result<()> {
        let text = match &execution.text {
            Text::Own(text) => json!(String::from_utf8_lossy(text)),
            Text::TooLong => Value::Null,
            Text::Shared(shared) => {
                if self.known.len() >= MOST_KNOWN {
                    self.known.clear();
                    self.line(&json!(["forget"]))?;
                }
                if self.known.insert(shared.number) {
                    self.line(&json!(["text", shared.number, String::from_utf8_lossy(&shared.text)]))?;
                }
                json!(shared.number)
            }
        };
        let parameters: Option<Vec<Value>> = execution
            .parameters
            .as_ref()
            .map(|parameters| parameters.iter().map(Parameter::json).collect());
        self.line(&json!([
            execution.session,
            text,
            execution.start,
            execution.end.saturating_sub(execution.start),
            execution.rows,
            execution.error,
            execution.bytes,
            parameters,
            execution.open,
        ]))
    }

    fn line(&mut self, line: &Value) -> io::Result<()> {
        serde_json::to_writer(&mut self.line, line)?;
        self.line.push(b'\n');
        if self.line.len() >= BLOCK {
            return self.flush();
        }
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.write_all(&self.line)?;
        self.line.clear();
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn execution(text: Text) -> Execution {
        Execution {
            session: 1,
            text,
            start: 5,
            end: 9,
            rows: Some(2),
            error: None,
            bytes: 7,
            parameters: Some(vec![
                Parameter::Null,
                Parameter::Bytes([1, 255].into()),
                Parameter::Unknown,
            ]),
            open: Some(true),
        }
    }

    fn written(queue: &Queue) -> String {
        queue.end();
        let mut out = Vec::new();
        queue.write(&mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_shared_text_is_written_once() {
        let queue = Queue::new(1, 1 << 20);
        let mut texts = Texts::default();
        let first = texts.share(b"select 1");
        assert!(Arc::ptr_eq(&first, &texts.share(b"select 1")));
        let number = first.number;
        for _ in 0..2 {
            queue.add(0, execution(Text::Shared(Arc::clone(&first))));
        }
        let line = format!(r#"[1,{number},5,4,2,null,7,[null,{{"hex":"01ff"}},{{}}],true]"#);
        assert_eq!(
            written(&queue),
            format!("[\"text\",{number},\"select 1\"]\n{line}\n{line}\n")
        );
    }

    #[test]
    fn a_full_queue_drops_and_counts() {
        let queue = Queue::new(1, 1000);
        for _ in 0..100 {
            queue.add(0, execution(Text::Own(Box::from(*b"select 1"))));
        }
        let lines = written(&queue);
        let kept = lines.lines().count() as u64 - 1;
        assert!(
            kept >= 1 && lines.starts_with(&format!("[\"dropped\",{}]\n", 100 - kept)),
            "{lines}"
        );
    }

    #[test]
    fn unused_texts_are_forgotten() {
        let mut texts = Texts::default();
        let used = texts.share(b"used");
        for number in 0..3 * FEWEST {
            texts.share(number.to_string().as_bytes());
        }
        assert!(texts.known.len() <= FEWEST);
        assert!(Arc::ptr_eq(&used, &texts.share(b"used")));
    }
}
