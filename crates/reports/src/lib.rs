//! Executions of an application's statements, and the lines of JSON that report them to the recorder.
//!
//! `["text", number, statement, names, types]` gives a statement a number; `names`: of its parameters, if they
//! have names, and `types` the numbers of their types, if the application declared them.
//! `[session, text, start, duration, rows, error, bytes, parameters, open, once]` is an execution; `text` is a number, a
//! statement, or null if it is too long. After `["forget"]`, numbers mean other statements. `["dropped", count]` counts
//! executions that were not reported.

use serde::ser::{Serialize, Serializer};
use serde_json::json;
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A statement that several executions share.
#[derive(Debug)]
pub struct Shared {
    number: u64,
    text: Box<[u8]>,
    /// Names of the parameters; empty for numbered parameters.
    names: Vec<Box<str>>,
    /// Declared types of the parameters; 0: not declared.
    types: Box<[u32]>,
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
    /// A value in a binary format that isn't known.
    Binary(Box<[u8]>),
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
    /// Bytes sent to the client; `None`: unknown.
    pub bytes: Option<u64>,
    /// The bound parameters, if any are known.
    pub parameters: Option<Vec<Parameter>>,
    /// Whether a transaction was open afterwards; `None`: unknown.
    pub open: Option<bool>,
    /// `Some(true)`: it was parsed once for several executions; `Some(false)`: for this execution; `None`: it was sent
    /// as text.
    pub once: Option<bool>,
}

impl Text {
    /// The text; `None` if it isn't known.
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
    pub fn size(&self) -> usize {
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
                Self::Bytes(bytes) | Self::Binary(bytes) => bytes.len(),
                _ => 0,
            }
    }
}

impl Serialize for Parameter {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null => serializer.serialize_unit(),
            Self::Text(text) => serializer.serialize_str(text),
            Self::Integer(value) => serializer.serialize_i64(*value),
            Self::Unsigned(value) => serializer.serialize_u64(*value),
            // JSON doesn't have infinity.
            Self::Real(value) if !value.is_finite() => json!({"real": value.to_string()}).serialize(serializer),
            Self::Real(value) => serializer.serialize_f64(*value),
            Self::Boolean(value) => serializer.serialize_bool(*value),
            Self::Bytes(bytes) => json!({"hex": hex(bytes)}).serialize(serializer),
            Self::Binary(bytes) => json!({"binary": hex(bytes)}).serialize(serializer),
            Self::Unknown => json!({}).serialize(serializer),
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
    /// Returns the only copy of a statement. `types`: the declared types of its parameters. `names`: the names of its
    /// parameters, if they have names.
    pub fn share(&mut self, text: &[u8], types: &[u32], names: impl FnOnce() -> Vec<Box<str>>) -> Arc<Shared> {
        // Equal texts with other types are other statements.
        let key = if types.is_empty() {
            Cow::Borrowed(text)
        } else {
            let types = types.iter().flat_map(|of| of.to_be_bytes());
            Cow::Owned(text.iter().copied().chain([0]).chain(types).collect())
        };
        if let Some(known) = self.known.get(key.as_ref()) {
            return Arc::clone(known);
        }
        if self.known.len() >= self.most.max(FEWEST) {
            self.known.retain(|_, shared| Arc::strong_count(shared) > 1);
            self.most = self.known.len() * 2;
        }
        let shared = Arc::new(Shared {
            number: NUMBERS.fetch_add(1, Ordering::Relaxed),
            text: text.into(),
            names: names(),
            types: types.into(),
        });
        self.known.insert(key.into(), Arc::clone(&shared));
        shared
    }
}

/// Maximum number of shared statements that the reader keeps.
const MOST_KNOWN: usize = 20_000;

/// Lines for one reader, in memory.
#[derive(Debug, Default)]
pub struct Lines {
    known: HashSet<u64>,
    /// The lines that were not taken yet.
    pub bytes: Vec<u8>,
}

impl Lines {
    /// Adds an execution, and its statement if the reader doesn't know it.
    pub fn execution(&mut self, execution: &Execution) -> io::Result<()> {
        let duration = execution.end.saturating_sub(execution.start);
        let text = match &execution.text {
            Text::Own(text) => json!(String::from_utf8_lossy(text)),
            Text::TooLong => json!(null),
            Text::Shared(shared) => {
                if self.known.len() >= MOST_KNOWN {
                    self.known.clear();
                    self.line(&["forget"])?;
                }
                if self.known.insert(shared.number) {
                    let text = String::from_utf8_lossy(&shared.text);
                    self.line(&("text", shared.number, text, &shared.names, &shared.types))?;
                }
                json!(shared.number)
            }
        };
        self.line(&(
            execution.session,
            text,
            execution.start,
            duration,
            execution.rows,
            &execution.error,
            execution.bytes,
            &execution.parameters,
            execution.open,
            execution.once,
        ))
    }

    /// Adds the number of executions that were dropped.
    pub fn dropped(&mut self, count: u64) -> io::Result<()> {
        self.line(&("dropped", count))
    }

    /// Adds a line.
    pub fn line(&mut self, line: &impl Serialize) -> io::Result<()> {
        serde_json::to_writer(&mut self.bytes, line)?;
        self.bytes.push(b'\n');
        Ok(())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
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
            bytes: Some(7),
            parameters: Some(vec![
                Parameter::Null,
                Parameter::Bytes([1, 255].into()),
                Parameter::Text("2000-01-01".into()),
                Parameter::Real(f64::INFINITY),
                Parameter::Unknown,
            ]),
            open: Some(true),
            once: Some(false),
        }
    }

    #[test]
    fn a_shared_text_is_written_once() {
        let mut texts = Texts::default();
        let first = texts.share(b"select :a", &[23], || vec!["a".into()]);
        assert!(Arc::ptr_eq(&first, &texts.share(b"select :a", &[23], Vec::new)));
        assert!(!Arc::ptr_eq(&first, &texts.share(b"select :a", &[20], Vec::new)));
        let number = first.number;
        let mut lines = Lines::default();
        for _ in 0..2 {
            lines.execution(&execution(Text::Shared(Arc::clone(&first)))).unwrap();
        }
        let line = format!(
            r#"[1,{number},5,4,2,null,7,[null,{{"hex":"01ff"}},"2000-01-01",{{"real":"inf"}},{{}}],true,false]"#
        );
        assert_eq!(
            String::from_utf8(lines.bytes).unwrap(),
            format!("[\"text\",{number},\"select :a\",[\"a\"],[23]]\n{line}\n{line}\n")
        );
    }

    #[test]
    fn unused_texts_are_forgotten() {
        let mut texts = Texts::default();
        let used = texts.share(b"used", &[], Vec::new);
        for number in 0..3 * FEWEST {
            texts.share(number.to_string().as_bytes(), &[], Vec::new);
        }
        assert!(texts.known.len() <= FEWEST);
        assert!(Arc::ptr_eq(&used, &texts.share(b"used", &[], Vec::new)));
    }
}
