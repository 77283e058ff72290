//! Records the rows that statements return, to compare them with the rows of another system.

use crate::probe::Probe;
use crate::{Capture, Control, Engine, Every, Facts, Failure, Marks, Rows, Session, SessionCounters, Wanted};
use dbdyno_program::value::{Owned, Value, Values};
pub use dbdyno_protocol::event::ExecutionRows;
use serde_json::json;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Poll;

/// Maximum bytes of the values that are kept of all executions.
const MOST_BYTES: usize = 4 << 20;

/// Hashes one hash after another.
pub fn chain(first: u64, second: u64) -> u64 {
    bytes_hash(first, &second.to_le_bytes())
}

/// FNV-1a with 64 bits (Fowler, Noll, Vo 1991; RFC 9923), starting from an earlier hash instead of the offset basis.
fn bytes_hash(start: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(start ^ 0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// Appends a value and its type to a hash.
pub fn value_hash(start: u64, value: Value<'_>) -> u64 {
    match value {
        Value::Null => bytes_hash(start, b"n"),
        Value::Integer(v) => bytes_hash(bytes_hash(start, b"i"), &v.to_le_bytes()),
        Value::Real(v) => bytes_hash(bytes_hash(start, b"r"), &v.to_bits().to_le_bytes()),
        Value::Text(v) => bytes_hash(bytes_hash(start, b"t"), v.as_bytes()),
        Value::Bytes(v) => bytes_hash(bytes_hash(start, b"b"), v),
    }
}

/// Collects the rows of one execution after another.
#[derive(Debug, Default)]
pub struct RowCollector {
    done: Vec<ExecutionRows>,
    bytes: usize,
    first: Vec<Owned>,
    rows: Vec<Vec<serde_json::Value>>,
    sums: Vec<f64>,
    magnitudes: Vec<f64>,
    seen: u64,
    row_hash: u64,
    digest: u64,
}

impl RowCollector {
    /// Takes a column of a row; column 0 begins the next row.
    pub(crate) fn take(&mut self, column: usize, value: Value<'_>) {
        if column == 0 {
            self.end_row();
            self.seen += 1;
            if self.bytes < MOST_BYTES {
                self.rows.push(Vec::new());
            }
        }
        if self.seen == 1 {
            let mut owned = Owned::Null;
            owned.assign(value);
            self.first.push(owned);
        }
        if self.sums.len() <= column {
            self.sums.resize(column + 1, 0.0);
            self.magnitudes.resize(column + 1, 0.0);
        }
        match value {
            Value::Real(number) if number.is_finite() => {
                self.sums[column] += number;
                self.magnitudes[column] += number.abs();
                self.row_hash = value_hash(self.row_hash, Value::Null);
            }
            other => self.row_hash = value_hash(self.row_hash, other),
        }
        if self.bytes < MOST_BYTES {
            self.bytes += size(value);
            if let Some(row) = self.rows.last_mut() {
                row.push(as_json(value));
            }
        }
    }

    fn end_row(&mut self) {
        if self.seen > 0 {
            // A multiple, so that two equal rows don't cancel each other.
            self.digest = self.digest.wrapping_add(chain(self.row_hash, 1));
        }
        self.row_hash = 0;
    }

    /// Ends an execution, and passes its first row on.
    fn end(&mut self, statement: usize, rows: Rows, mut capture: Capture<'_>) {
        self.end_row();
        capture.clear();
        for (column, value) in self.first.iter().enumerate() {
            capture.take(column, value.view());
        }
        self.first.clear();
        let is_whole = self.rows.len() as u64 == rows.returned && self.bytes < MOST_BYTES;
        let kept = std::mem::take(&mut self.rows);
        let texts = || kept.iter().map(|row| json!(row).to_string()).collect();
        self.done.push(ExecutionRows {
            statement,
            returned: rows.returned,
            changed: rows.changed,
            digest: (self.seen == rows.returned).then_some(self.digest),
            sums: std::mem::take(&mut self.sums),
            magnitudes: std::mem::take(&mut self.magnitudes),
            rows: is_whole.then(texts),
        });
        (self.seen, self.digest) = (0, 0);
    }

    /// Forgets the rows of an execution that failed.
    fn cancel(&mut self) {
        (self.seen, self.digest, self.row_hash) = (0, 0, 0);
        self.first.clear();
        self.rows.clear();
        self.sums.clear();
        self.magnitudes.clear();
    }
}

fn size(value: Value<'_>) -> usize {
    8 + match value {
        Value::Text(text) => text.len(),
        Value::Bytes(bytes) => 2 * bytes.len(),
        _ => 0,
    }
}

fn as_json(value: Value<'_>) -> serde_json::Value {
    match value {
        Value::Null => json!(null),
        Value::Integer(v) => json!(v),
        Value::Real(v) if v.is_finite() => json!(v),
        Value::Real(v) => json!(v.to_string()),
        Value::Text(v) => json!(v),
        Value::Bytes(v) => {
            let mut digits = String::with_capacity(2 * v.len());
            for byte in v {
                // Writing to a string can't fail.
                let _ = write!(digits, "{byte:02x}");
            }
            json!({"bytes": digits})
        }
    }
}

/// An engine whose sessions record the rows of their statements.
pub struct RowEngine<'a, E> {
    engine: &'a E,
    executions: Arc<Mutex<Vec<ExecutionRows>>>,
}

impl<'a, E: Engine> RowEngine<'a, E> {
    /// Wraps an engine.
    pub fn new(engine: &'a E) -> Self {
        let executions = Arc::default();
        Self { engine, executions }
    }

    /// The executions of all closed sessions.
    pub fn executions(&self) -> Vec<ExecutionRows> {
        std::mem::take(&mut *self.executions.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl<E: Engine> Engine for RowEngine<'_, E> {
    type Session = RowSession<E::Session>;

    const REMOTE: bool = E::REMOTE;
    const PLACES: bool = E::PLACES;
    const FILES: u32 = E::FILES;

    async fn connect(&self, client: u32) -> Result<Self::Session, Failure> {
        Ok(RowSession {
            session: self.engine.connect(client).await?,
            rows: RowCollector::default(),
            statement: None,
            executions: Arc::clone(&self.executions),
        })
    }

    fn facts(&self) -> Result<Facts, Failure> {
        self.engine.facts()
    }

    fn probe(&self) -> &dyn Probe {
        self.engine.probe()
    }
}

/// A session that records the rows of its statements.
pub struct RowSession<S> {
    session: S,
    rows: RowCollector,
    /// The statement whose answer is awaited; `None` for begin, commit and rollback.
    statement: Option<usize>,
    executions: Arc<Mutex<Vec<ExecutionRows>>>,
}

impl<S: Session> Session for RowSession<S> {
    fn prepare_first(&mut self, count: usize) -> impl Future<Output = Result<(), Failure>> {
        self.session.prepare_first(count)
    }

    fn hold_up_thread(&mut self) -> Result<(), Failure> {
        self.session.hold_up_thread()
    }

    fn execute(
        &mut self,
        statement: usize,
        params: &Values,
        capture: Capture<'_>,
        marks: &mut Marks,
    ) -> Poll<Result<Rows, Failure>> {
        self.statement = Some(statement);
        let mut wanted = every(&mut self.rows);
        let executed = self
            .session
            .execute(statement, params, Capture::new(&mut wanted), marks);
        match &executed {
            Poll::Ready(Ok(rows)) => self.rows.end(statement, *rows, capture),
            Poll::Ready(Err(_)) => self.rows.cancel(),
            Poll::Pending => {}
        }
        executed
    }

    fn control(&mut self, control: Control) -> Poll<Result<(), Failure>> {
        self.statement = None;
        self.session.control(control)
    }

    async fn answer(&mut self, capture: Capture<'_>, marks: &mut Marks) -> Result<Rows, Failure> {
        let Some(statement) = self.statement else {
            return self.session.answer(capture, marks).await;
        };
        let mut wanted = every(&mut self.rows);
        let answered = self.session.answer(Capture::new(&mut wanted), marks).await;
        match &answered {
            Ok(rows) => self.rows.end(statement, *rows, capture),
            Err(_) => self.rows.cancel(),
        }
        answered
    }

    fn counters(&mut self) -> SessionCounters {
        self.session.counters()
    }

    async fn close(self) -> Result<(), Failure> {
        append(&self.executions, self.rows.done);
        self.session.close().await
    }
}

fn append(executions: &Mutex<Vec<ExecutionRows>>, more: Vec<ExecutionRows>) {
    executions.lock().unwrap_or_else(PoisonError::into_inner).extend(more);
}

fn every(rows: &mut RowCollector) -> Wanted<'_> {
    Wanted {
        slots: &[],
        variables: &mut [],
        every: Some(Every::Collector(rows)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn execution(rows: &[&[Value<'_>]]) -> ExecutionRows {
        let mut collector = RowCollector::default();
        for row in rows {
            for (column, value) in row.iter().enumerate() {
                collector.take(column, *value);
            }
        }
        let returned = rows.len() as u64;
        collector.end(0, Rows { returned, changed: 0 }, Capture::nothing());
        collector.done.remove(0)
    }

    #[test]
    fn the_digest_ignores_the_order_of_rows_but_not_their_number() {
        let (one, two): ([_; 2], [_; 2]) = ([Value::Integer(1), Value::Text("a")], [Value::Integer(2), Value::Null]);
        let both = execution(&[&one, &two]);
        assert_eq!(both.digest, execution(&[&two, &one]).digest);
        assert_ne!(both.digest, execution(&[&one, &one, &two]).digest);
        assert_ne!(
            both.digest,
            execution(&[&one, &[Value::Integer(2), Value::Text("")]]).digest
        );
        assert_eq!(both.rows, Some(vec!["[1,\"a\"]".to_owned(), "[2,null]".to_owned()]));
    }

    #[test]
    fn real_numbers_are_summed_by_column() {
        let found = execution(&[
            &[Value::Integer(1), Value::Real(0.5)],
            &[Value::Integer(2), Value::Real(-2.0)],
        ]);
        assert_eq!((found.sums, found.magnitudes), (vec![0.0, -1.5], vec![0.0, 2.5]));
        let other = execution(&[
            &[Value::Integer(1), Value::Real(0.25)],
            &[Value::Integer(2), Value::Real(-1.75)],
        ]);
        assert_eq!(found.digest, other.digest);
    }

    #[test]
    fn rows_beyond_the_limit_are_counted_and_hashed_only() {
        let long = "x".repeat(MOST_BYTES / 2);
        let row: &[Value<'_>] = &[Value::Text(&long)];
        let found = execution(&[row, row, row]);
        assert!(found.rows.is_none() && found.digest.is_some());
    }

    #[test]
    fn an_engine_that_passes_on_the_first_row_only_has_no_digest() {
        let mut collector = RowCollector::default();
        collector.take(0, Value::Integer(1));
        collector.end(
            0,
            Rows {
                returned: 2,
                changed: 0,
            },
            Capture::nothing(),
        );
        assert_eq!((collector.done[0].digest, &collector.done[0].rows), (None, &None));
    }
}
