//! The interface between engines and the rest of the worker.
//!
//! An engine is one folder of the crate `dbdyno-engines` that implements the traits of this crate. A [`driver::Driver`]
//! creates an [`Engine`] from a plan's target, an engine opens sessions, and a [`Session`] runs statements. Engines
//! don't depend on the load generator, results or reports. An embedded engine such as SQLite answers at once
//! ([`Poll::Ready`]). An engine that waits for a server returns [`Poll::Pending`], and the answer is awaited. The
//! client loop is written once; for embedded engines, it compiles to plain calls.

pub mod alarm;
pub mod catalog;
pub mod changes;
pub mod driver;
pub mod estimates;
pub mod observed;
pub mod probe;
pub mod recorded;
pub mod result_rows;
pub mod rows;
pub mod time_limits;
pub mod waits;
pub mod writes;

use dbdyno_probes::Clock;
use dbdyno_program::row_buffer::RowBuffer;
use dbdyno_program::value::{Owned, Value, Values};
pub use dbdyno_protocol::event::{Durability, DurabilityClass, Facts, LostUpdates};
use dbdyno_protocol::plan::document::FailureKind;
use dbdyno_protocol::plan::transaction::BeginMode;
pub use probe::SessionCounters;
use probe::{NoProbe, Probe};
use recorded::Preparation;
use result_rows::RowCollector;
use std::borrow::Cow;
use std::future::Future;
use std::task::Poll;

/// Why an engine operation failed. One pointer wide, to keep results on the hot path small.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", .0.message)]
pub struct Failure(Box<Reason>);

/// The contents of a [`Failure`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reason {
    /// The kind that it is counted as.
    pub kind: FailureKind,
    /// The engine's message, including its name or number for the error.
    pub message: String,
    /// The system's code for the error, such as an HTTP status, an SQLSTATE or an errno name. It distinguishes failures
    /// of a kind.
    pub code: Option<Cow<'static, str>>,
}

/// Maximum characters of a code. A service can send anything.
const LONGEST_CODE: usize = 48;

impl Failure {
    /// A failure with the engine's message. Unprintable characters are removed.
    pub fn new(kind: FailureKind, message: impl Into<String>) -> Self {
        Self(Box::new(Reason {
            kind,
            message: printable(message.into()),
            code: None,
        }))
    }

    /// Adds the system's name or number for the error.
    pub fn coded(mut self, code: impl Into<Cow<'static, str>>) -> Self {
        let code = code.into();
        self.0.code = Some(match code {
            Cow::Borrowed(name) => Cow::Borrowed(name),
            Cow::Owned(text) => Cow::Owned(printable(text.chars().take(LONGEST_CODE).collect())),
        });
        self
    }

    /// Adds context to the message.
    pub fn explained(mut self, explain: impl FnOnce(&str) -> String) -> Self {
        self.0.message = explain(&self.0.message);
        self
    }
}

/// Removes control characters, which could affect a terminal, and characters that change the text direction.
pub fn printable(text: String) -> String {
    let is_shown = |one: char| match one {
        '\n' | '\t' => true,
        '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => false,
        one => !one.is_control(),
    };
    if text.chars().all(is_shown) {
        return text;
    }
    text.chars()
        .map(|one| {
            if is_shown(one) {
                one
            } else {
                char::REPLACEMENT_CHARACTER
            }
        })
        .collect()
}

impl std::ops::Deref for Failure {
    type Target = Reason;

    fn deref(&self) -> &Reason {
        &self.0
    }
}

/// A system that sessions can be opened to. There is one per worker process.
pub trait Engine: Sync {
    /// Its sessions.
    type Session: Session;

    /// Whether sessions wait for a server. If so, one thread serves many clients, and sessions are opened within a
    /// tokio runtime. Otherwise each client has its own thread.
    const REMOTE: bool = false;

    /// Whether plans contain the positions of statement parameters. Otherwise the engine finds them itself.
    const PLACES: bool = true;

    /// Files and connections that a session has open.
    const FILES: u32 = 1;

    /// Opens a client's session.
    fn connect(&self, client: u32) -> impl Future<Output = Result<Self::Session, Failure>>;

    /// Reads the system's version, effective settings and durability.
    fn facts(&self) -> Result<Facts, Failure>;

    /// The probe that observes the engine during a trial. By default, there is none.
    fn probe(&self) -> &dyn Probe {
        &NoProbe
    }
}

/// One session, used by one client.
pub trait Session {
    /// Parses the first `count` statements, or all if there are fewer, before the first use.
    fn prepare_first(&mut self, count: usize) -> impl Future<Output = Result<(), Failure>>;

    /// Parses all statements before the first use.
    fn prepare_all(&mut self) -> impl Future<Output = Result<(), Failure>> {
        self.prepare_first(usize::MAX)
    }

    /// Allows the session to block the thread while it waits for an answer, because no other client shares the thread.
    fn hold_up_thread(&mut self) -> Result<(), Failure> {
        Ok(())
    }

    /// Runs a statement and fetches all its rows. The columns of the first row are passed to `capture`.
    fn execute(
        &mut self,
        statement: usize,
        params: &Values,
        capture: Capture<'_>,
        marks: &mut Marks,
    ) -> Poll<Result<Rows, Failure>>;

    /// Begins or ends a transaction.
    fn control(&mut self, control: Control) -> Poll<Result<(), Failure>>;

    /// Waits for the answer to a call that returned [`Poll::Pending`]. For begin, commit and rollback, it has no rows.
    /// No other call is allowed before. Engines that always answer at once don't need it.
    fn answer(&mut self, _capture: Capture<'_>, _marks: &mut Marks) -> impl Future<Output = Result<Rows, Failure>> {
        std::future::ready(Err(Failure::new(
            FailureKind::Other,
            "no statement is waiting for an answer",
        )))
    }

    /// Runs a recorded statement with bound parameters. Without a preparation, it is sent as text, which may contain
    /// several statements. Returns the rows that were returned or changed.
    fn execute_recorded(
        &mut self,
        _text: &str,
        _preparation: Option<&Preparation>,
    ) -> impl Future<Output = Result<u64, Failure>> {
        std::future::ready(Err(Failure::new(
            FailureKind::Other,
            "the engine can't execute recorded statements",
        )))
    }

    /// The engine's counters for this session since it was opened.
    fn counters(&mut self) -> SessionCounters {
        SessionCounters::default()
    }

    /// Closes the session.
    fn close(self) -> impl Future<Output = Result<(), Failure>>;
}

/// Returns [`Poll::Pending`] after a request was sent, or the failure if sending failed.
#[inline(always)]
pub fn awaited<T>(sent: Result<(), Failure>) -> Poll<Result<T, Failure>> {
    match sent {
        Ok(()) => Poll::Pending,
        Err(failure) => Poll::Ready(Err(failure)),
    }
}

/// Fails if the number of values differs from the number of parameters.
#[inline(always)]
pub fn check_count(wanted: usize, given: usize) -> Result<(), Failure> {
    if wanted == given {
        Ok(())
    } else {
        Err(wrong_count(wanted, given))
    }
}

#[cold]
fn wrong_count(wanted: usize, given: usize) -> Failure {
    let message = format!("the statement has {wanted} parameters, but {given} values are given");
    Failure::new(FailureKind::Other, message)
}

/// Begins or ends a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Control {
    /// Begins a transaction.
    Begin(BeginMode),
    /// Commits it.
    Commit,
    /// Rolls back the open transaction, if any.
    Rollback,
}

/// Rows of one execution.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Rows {
    /// Rows returned.
    pub returned: u64,
    /// Rows changed.
    pub changed: u64,
}

/// The variables that receive the columns of a statement's first row.
#[derive(Debug)]
pub struct Wanted<'a> {
    /// The first column goes to `variables[slots[0]]`, and so on.
    pub slots: &'a [usize],
    /// All variables.
    pub variables: &'a mut [Owned],
    /// Receives all rows instead.
    pub every: Option<Every<'a>>,
}

/// Receives all rows of a statement.
#[derive(Debug)]
pub enum Every<'a> {
    /// All columns, to compare them with another system's.
    Collector(&'a mut RowCollector),
    /// The columns of the variables, to run steps for each row.
    Buffer(&'a mut RowBuffer),
}

/// Receives the columns of a statement's first row; usually empty. One pointer wide, for the hot path.
#[derive(Debug)]
pub struct Capture<'a>(Option<&'a mut Wanted<'a>>);

impl<'a> Capture<'a> {
    /// Captures columns into variables.
    pub fn new(wanted: &'a mut Wanted<'a>) -> Self {
        Self(Some(wanted))
    }

    /// Captures nothing.
    #[inline(always)]
    pub fn nothing() -> Self {
        Self(None)
    }

    /// Whether nothing is captured.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// Whether it captures all rows, not only the first. An engine that ignores this is reported as not knowing its rows.
    #[inline(always)]
    pub fn wants_every_row(&self) -> bool {
        self.0.as_ref().is_some_and(|wanted| wanted.every.is_some())
    }

    /// Number of captured columns, at most.
    pub fn len(&self) -> usize {
        self.0.as_ref().map_or(0, |wanted| {
            if matches!(wanted.every, Some(Every::Collector(_))) {
                u16::MAX.into()
            } else {
                wanted.slots.len()
            }
        })
    }

    /// Stores the value of a column, if it is captured.
    pub fn take(&mut self, column: usize, value: Value<'_>) {
        let Some(wanted) = &mut self.0 else { return };
        if let Some(every) = &mut wanted.every {
            match every {
                Every::Collector(rows) => rows.take(column, value),
                Every::Buffer(rows) => rows.take(column, value),
            }
        } else if let Some(slot) = wanted.slots.get(column) {
            wanted.variables[*slot].assign(value);
        }
    }

    /// Sets all captured variables to null, because there was no row.
    #[inline(always)]
    pub fn clear(&mut self) {
        if let Some(wanted) = &mut self.0 {
            for slot in wanted.slots {
                wanted.variables[*slot].assign(Value::Null);
            }
        }
    }
}

/// Timestamps within one statement, recorded only if phases are measured.
#[derive(Debug)]
pub struct Marks {
    clock: Option<Clock>,
    /// When the statement was parsed; 0 if not recorded.
    pub prepared: u64,
    /// When the first row (or the end, if there are no rows) arrived; 0 if not recorded.
    pub first_row: u64,
}

impl Marks {
    /// Records timestamps if a clock is given.
    pub fn new(clock: Option<Clock>) -> Self {
        Self {
            clock,
            prepared: 0,
            first_row: 0,
        }
    }

    /// Clears the timestamps.
    #[inline]
    pub fn reset(&mut self) {
        self.prepared = 0;
        self.first_row = 0;
    }

    /// Records that the statement has been parsed.
    #[inline]
    pub fn note_prepared(&mut self) {
        if let Some(clock) = self.clock {
            self.prepared = clock.now();
        }
    }

    /// Records that the first row, or the end, has arrived.
    #[inline]
    pub fn note_first_row(&mut self) {
        if let Some(clock) = self.clock {
            self.first_row = clock.now();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_contain_no_control_characters() {
        let said = "\u{1b}[31mred\u{1b}]0;title\u{7} tab\tline\n\u{9b}2J \u{202e}wörter ✓";
        let told = Failure::new(FailureKind::Other, said).message.clone();
        assert_eq!(
            told,
            "\u{fffd}[31mred\u{fffd}]0;title\u{fffd} tab\tline\n\u{fffd}2J \u{fffd}wörter ✓"
        );
        assert_eq!(printable("wörter ✓\n".into()), "wörter ✓\n");
    }
}
