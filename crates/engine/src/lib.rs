//! What an engine is to the rest of the worker.
//!
//! An engine is one folder of the crate `dbdyno-engines` behind the traits of this crate: a [`driver::Driver`] makes an
//! [`Engine`] of a plan's target, which opens sessions; a [`Session`] runs statements. None of them knows of loads, results or
//! reports. What a session is asked is answered at once ([`Poll::Ready`]) by an engine that runs in the calling thread, such
//! as SQLite; one that must wait for a server says [`Poll::Pending`], and its answer is awaited. The client loop is written
//! once, and for an engine of the first kind it compiles to plain calls.

pub mod alarm;
pub mod catalog;
pub mod changes;
pub mod driver;
pub mod estimates;
pub mod observed;
pub mod patience;
pub mod probe;
pub mod rows;
pub mod space;
pub mod waits;
pub mod writes;

use catalog::Catalog;
use dbdyno_plan::document::FailureKind;
use dbdyno_plan::transaction::BeginMode;
use dbdyno_probes::Clock;
use dbdyno_program::value::{Owned, Value, Values};
use estimates::Estimates;
pub use probe::SessionCounters;
use probe::{Probe, Unwatched};
use schemars::JsonSchema;
use serde::Serialize;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::future::Future;
use std::task::Poll;

/// Why something asked of an engine failed. It is one pointer wide, so that results of the hot path stay small.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", .0.message)]
pub struct Failure(Box<Reason>);

/// What a [`Failure`] says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reason {
    /// The kind under which it is counted.
    pub kind: FailureKind,
    /// What the engine said, with its own name or number for the error.
    pub message: String,
    /// That name or number by itself, by which failures of a kind are told apart: a status, an SQLSTATE, an errno's name.
    pub code: Option<Cow<'static, str>>,
}

/// Characters of a code that are kept: a service may put anything there.
const LONGEST_CODE: usize = 48;

impl Failure {
    /// A failure of a kind, with the engine's words, as far as they can be shown.
    pub fn new(kind: FailureKind, message: impl Into<String>) -> Self {
        Self(Box::new(Reason {
            kind,
            message: printable(message.into()),
            code: None,
        }))
    }

    /// The same failure, with the system's own name or number for it.
    pub fn coded(mut self, code: impl Into<Cow<'static, str>>) -> Self {
        let code = code.into();
        self.0.code = Some(match code {
            Cow::Borrowed(name) => Cow::Borrowed(name),
            Cow::Owned(text) => Cow::Owned(printable(text.chars().take(LONGEST_CODE).collect())),
        });
        self
    }

    /// The same failure, with more words about where it came from.
    pub fn explained(mut self, explain: impl FnOnce(&str) -> String) -> Self {
        self.0.message = explain(&self.0.message);
        self
    }
}

/// What a system said, without characters that have a terminal do something, or turn the direction of what follows.
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

/// A system that sessions can be opened to. One per worker process.
pub trait Engine: Sync {
    /// Its sessions.
    type Session: Session;

    /// Whether sessions wait for a server: then one thread serves many clients, and they are opened within a runtime of
    /// tokio. Otherwise each client has a thread of its own.
    const REMOTE: bool = false;

    /// Whether a plan says where the parameters of statements are. Otherwise the engine finds them in its statements.
    const PLACES: bool = true;

    /// How many files and connections a session has open.
    const FILES: u32 = 1;

    /// Opens the session of a client.
    fn connect(&self, client: u32) -> impl Future<Output = Result<Self::Session, Failure>>;

    /// What the system is, read back from itself.
    fn facts(&self) -> Result<Facts, Failure>;

    /// What watches the engine from within while a trial runs. Left out: nothing does.
    fn probe(&self) -> &dyn Probe {
        &Unwatched
    }
}

/// One session, used by one client.
pub trait Session {
    /// Parses all statements, so that later uses find them ready.
    fn prepare_all(&mut self) -> impl Future<Output = Result<(), Failure>>;

    /// No other client shares the thread: from now on the session may hold it up while it waits for an answer.
    fn hold_up_thread(&mut self) -> Result<(), Failure> {
        Ok(())
    }

    /// Runs a statement and fetches all its rows. The first row's columns go to `capture`.
    fn execute(
        &mut self,
        statement: usize,
        params: &Values,
        capture: Capture<'_>,
        marks: &mut Marks,
    ) -> Poll<Result<Rows, Failure>>;

    /// Begins or ends a transaction.
    fn control(&mut self, control: Control) -> Poll<Result<(), Failure>>;

    /// The answer to what was [`Poll::Pending`]; for begins and ends of transactions, no rows. Nothing else may be asked
    /// of the session before. Engines that always answer at once have no use for it.
    fn answer(&mut self, _capture: Capture<'_>, _marks: &mut Marks) -> impl Future<Output = Result<Rows, Failure>> {
        std::future::ready(Err(Failure::new(
            FailureKind::Other,
            "nothing was asked of the session",
        )))
    }

    /// Counters of this session that the engine keeps since it was opened.
    fn counters(&mut self) -> SessionCounters {
        SessionCounters::default()
    }

    /// Closes the session.
    fn close(self) -> impl Future<Output = Result<(), Failure>>;
}

/// What a session says that has sent what was asked of it: the answer is to be awaited, if the sending did not fail.
#[inline(always)]
pub fn awaited<T>(sent: Result<(), Failure>) -> Poll<Result<T, Failure>> {
    match sent {
        Ok(()) => Poll::Pending,
        Err(failure) => Poll::Ready(Err(failure)),
    }
}

/// Fails unless as many values are given as a statement has parameters.
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
    let message = format!("the statement has {wanted} parameters, the plan gives {given}");
    Failure::new(FailureKind::Other, message)
}

/// The beginning or the end of a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Control {
    /// Begins one.
    Begin(BeginMode),
    /// Commits it.
    Commit,
    /// Rolls back whatever transaction is open; does nothing if none is.
    Rollback,
}

/// What a statement did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Rows {
    /// Rows it returned.
    pub returned: u64,
    /// Rows it changed.
    pub changed: u64,
}

/// The variables that take the columns of a statement's first row.
#[derive(Debug)]
pub struct Wanted<'a> {
    /// The first column goes to `variables[slots[0]]`, and so on.
    pub slots: &'a [usize],
    /// All variables.
    pub variables: &'a mut [Owned],
}

/// Where the columns of a statement's first row go; mostly nowhere. It is one pointer wide, for the hot path.
#[derive(Debug)]
pub struct Capture<'a>(Option<&'a mut Wanted<'a>>);

impl<'a> Capture<'a> {
    /// Columns go where they are wanted.
    pub fn new(wanted: &'a mut Wanted<'a>) -> Self {
        Self(Some(wanted))
    }

    /// Captures nothing.
    #[inline(always)]
    pub fn nothing() -> Self {
        Self(None)
    }

    /// Whether there is nothing to capture.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// How many columns are wanted.
    pub fn len(&self) -> usize {
        self.0.as_ref().map_or(0, |wanted| wanted.slots.len())
    }

    /// Takes the value of a column, if it is wanted.
    pub fn take(&mut self, column: usize, value: Value<'_>) {
        if let Some(wanted) = &mut self.0
            && let Some(slot) = wanted.slots.get(column)
        {
            wanted.variables[*slot].assign(value);
        }
    }

    /// Sets all wanted columns to null: there was no row.
    #[inline(always)]
    pub fn clear(&mut self) {
        if let Some(wanted) = &mut self.0 {
            for slot in wanted.slots {
                wanted.variables[*slot].assign(Value::Null);
            }
        }
    }
}

/// Times within one statement, noted by the session as it passes them, if anyone wants them.
#[derive(Debug)]
pub struct Marks {
    clock: Option<Clock>,
    /// When the statement's text had been parsed; 0: not noted.
    pub prepared: u64,
    /// When the first row (or the end, where there is none) had come; 0: not noted.
    pub first_row: u64,
}

impl Marks {
    /// With a clock, times are noted; without, nothing is done.
    pub fn new(clock: Option<Clock>) -> Self {
        Self {
            clock,
            prepared: 0,
            first_row: 0,
        }
    }

    /// Forgets what was noted.
    #[inline]
    pub fn reset(&mut self) {
        self.prepared = 0;
        self.first_row = 0;
    }

    /// The text has been parsed.
    #[inline]
    pub fn note_prepared(&mut self) {
        if let Some(clock) = self.clock {
            self.prepared = clock.now();
        }
    }

    /// The first row, or the end, has come.
    #[inline]
    pub fn note_first_row(&mut self) {
        if let Some(clock) = self.clock {
            self.first_row = clock.now();
        }
    }
}

/// What a system is.
#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
pub struct Facts {
    /// The engine's name.
    pub engine: String,
    /// Its version.
    pub version: String,
    /// Its exact source, where it tells.
    pub source_id: Option<String>,
    /// The options it was compiled with.
    pub compile_options: Vec<String>,
    /// The settings in force, read back.
    pub settings: BTreeMap<String, String>,
    /// What an acknowledged commit survives.
    pub durability: Durability,
    /// How the engine means to carry out each statement of the plan, by its name, a step a line; where it tells.
    pub plans: BTreeMap<String, Vec<String>>,
    /// The indexes by which the engine could look up rows of a statement, and by its plan does not, by the statement's
    /// name: as far as it tells.
    pub passed_over: BTreeMap<String, Vec<String>>,
    /// How many rows the planner expected of the steps of each statement's plan, and how many there were, by the
    /// statement's name: of those that the plan has run once for this, as far as the engine tells.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub estimates: Estimates,
    /// What the tables and indexes of the statements are.
    pub catalog: Catalog,
    /// What came of updates of several sessions to one document at once, where that was tried.
    pub lost_updates: Option<LostUpdates>,
}

/// Updates that several sessions made to one document at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub struct LostUpdates {
    /// How many sessions.
    pub sessions: u32,
    /// The updates that the server acknowledged.
    pub acknowledged: u64,
    /// Those that the document had in the end.
    pub counted: u64,
}

/// What an acknowledged commit survives.
#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
pub struct Durability {
    /// The class.
    pub class: DurabilityClass,
    /// The settings that make it so.
    pub because: String,
}

/// The classes of durability, weakest first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DurabilityClass {
    /// A commit may be lost with the process.
    #[default]
    None,
    /// A commit survives the process, not the machine.
    ProcessSafe,
    /// An acknowledged commit is on the device, but a page that was half written when the power failed cannot be repaired.
    TornPages,
    /// An acknowledged commit is on the device.
    PowerSafe,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_system_says_is_told_without_what_terminals_obey() {
        let said = "\u{1b}[31mred\u{1b}]0;title\u{7} tab\tline\n\u{9b}2J \u{202e}wörter ✓";
        let told = Failure::new(FailureKind::Other, said).message.clone();
        assert_eq!(
            told,
            "\u{fffd}[31mred\u{fffd}]0;title\u{fffd} tab\tline\n\u{fffd}2J \u{fffd}wörter ✓"
        );
        assert_eq!(printable("wörter ✓\n".into()), "wörter ✓\n");
    }
}
