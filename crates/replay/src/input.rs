//! What the controller writes to standard input: statements in the order of their starts, in segments.
//!
//! - `["begin", us]`: a segment begins, which is at this time of the recording.
//! - `[session, start_us, unit_end_us, flags, statement, prepared]`. A unit is a transaction, or a statement outside of
//!   one. Its first statement has the unit's end; others have `null`. `flags`: 1: the last statement of its unit; 2: of
//!   its session. `prepared` is `null` if the statement is sent as text, otherwise
//!   `{"once": true, "types": [23], "parameters": [7]}`. Bytes are `{"hex": "00ff"}`, and `{"real": "inf"}` is infinity.
//! - `["queued", ns]`: since the last such line, the controller waited for a CPU for this time.
//! - `["end", 0]`: the segment ends. The worker reports `["ended", unfinished]` when its statements have ended.

use crate::ReplayError;
use dbdyno_engine::recorded::Preparation;
use dbdyno_program::value::{Value, Values};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use std::io::BufRead as _;
use std::sync::mpsc::{Receiver, sync_channel};

/// A line.
#[derive(Debug)]
pub enum Line {
    /// A segment begins, at this microsecond of the recording.
    Begin(u64),
    /// A statement.
    Statement(Recorded),
    /// How long the controller waited for a CPU, in nanoseconds.
    Queued(u64),
    /// The segment ends.
    End,
}

/// A recorded statement. Times are microseconds of the recording.
#[derive(Debug, Deserialize)]
pub struct Recorded {
    /// The number of its session.
    pub session: u32,
    /// When it began.
    pub start_us: u64,
    /// When its unit ended, if it is the unit's first statement.
    pub unit_end_us: Option<u64>,
    flags: u8,
    /// The statement.
    pub text: String,
    /// How it is prepared; `None`: it is sent as text.
    #[serde(deserialize_with = "read_preparation")]
    pub preparation: Option<Preparation>,
    /// The length of the line.
    #[serde(skip)]
    pub bytes: usize,
}

#[derive(Deserialize)]
struct Written {
    once: bool,
    #[serde(default)]
    types: Vec<u32>,
    parameters: Vec<Parameter>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Parameter {
    Null,
    Boolean(bool),
    Integer(i64),
    /// An integer above `i64::MAX`, which systems read from text.
    Unsigned(u64),
    Real(f64),
    Text(String),
    Bytes {
        hex: String,
    },
    NotFinite {
        real: String,
    },
}

fn read_preparation<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Preparation>, D::Error> {
    let Some(written) = Option::<Written>::deserialize(from)? else {
        return Ok(None);
    };
    let mut parameters = Values::default();
    for each in &written.parameters {
        match each {
            Parameter::Null => parameters.push_null(),
            Parameter::Boolean(value) => parameters.push_integer(i64::from(*value)),
            Parameter::Integer(value) => parameters.push_integer(*value),
            Parameter::Unsigned(value) => parameters.push(Value::Text(&value.to_string())),
            Parameter::Real(value) => parameters.push_real(*value),
            Parameter::Text(text) => parameters.push(Value::Text(text)),
            Parameter::Bytes { hex } => parameters.push(Value::Bytes(&bytes(hex).map_err(D::Error::custom)?)),
            Parameter::NotFinite { real } => parameters.push_real(real.parse().map_err(D::Error::custom)?),
        }
    }
    Ok(Some(Preparation {
        once: written.once,
        types: written.types,
        parameters,
    }))
}

fn bytes(hex: &str) -> Result<Vec<u8>, std::num::ParseIntError> {
    let digits = hex.as_bytes().chunks(2);
    digits
        .map(|pair| u8::from_str_radix(&String::from_utf8_lossy(pair), 16))
        .collect()
}

impl Recorded {
    /// Whether it is the last statement of its unit.
    pub const fn ends_unit(&self) -> bool {
        self.flags & 1 != 0
    }

    /// Whether it is the last statement of its session.
    pub const fn ends_session(&self) -> bool {
        self.flags & 2 != 0
    }
}

/// Lines that are read ahead.
const AHEAD: usize = 10_000;

/// Reads standard input in a thread of its own, a bounded number of lines ahead.
pub fn read() -> Receiver<Result<Line, ReplayError>> {
    let (sender, receiver) = sync_channel(AHEAD);
    std::thread::spawn(move || {
        for (number, line) in (1..).zip(std::io::stdin().lock().lines()) {
            let line = match line {
                Ok(line) => parse(&line).map_err(|error| ReplayError::Input {
                    line: number,
                    problem: error.to_string(),
                }),
                Err(error) => Err(error.into()),
            };
            if sender.send(line).is_err() {
                return;
            }
        }
    });
    receiver
}

/// Reads a line.
pub fn parse(line: &str) -> Result<Line, serde_json::Error> {
    if !line.starts_with("[\"") {
        let mut recorded: Recorded = serde_json::from_str(line)?;
        recorded.bytes = line.len();
        return Ok(Line::Statement(recorded));
    }
    let (mark, number): (String, u64) = serde_json::from_str(line)?;
    Ok(match mark.as_str() {
        "begin" => Line::Begin(number),
        "queued" => Line::Queued(number),
        _ => Line::End,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_marks_or_statements() {
        assert!(matches!(parse(r#"["begin",5]"#), Ok(Line::Begin(5))));
        assert!(matches!(parse(r#"["queued",7]"#), Ok(Line::Queued(7))));
        assert!(matches!(parse(r#"["end",0]"#), Ok(Line::End)));
        let Line::Statement(first) = parse(r#"[3,10,25,0,"select 'ä'",null]"#).unwrap() else {
            panic!("a statement");
        };
        assert_eq!(
            (first.session, first.start_us, first.unit_end_us, first.text.as_str()),
            (3, 10, Some(25), "select 'ä'")
        );
        assert!(first.preparation.is_none());
        let Line::Statement(last) = parse(r#"[3,20,null,3,"commit",null]"#).unwrap() else {
            panic!("a statement");
        };
        assert!(last.ends_unit() && last.ends_session() && last.unit_end_us.is_none());
        assert!(parse("[3,20]").is_err());
    }

    #[test]
    fn parameters_have_their_types() {
        let prepared = r#"{"once":true,"types":[23,0],"parameters":[null,true,-9223372036854775808,18446744073709551615,
            0.1,"a\u0000'",{"hex":"00ff"},{"real":"inf"}]}"#;
        let line = parse(&format!(r#"[3,10,25,0,"select",{prepared}]"#)).unwrap();
        let Line::Statement(Recorded {
            preparation: Some(made),
            ..
        }) = line
        else {
            panic!("a prepared statement");
        };
        assert!(made.once);
        assert_eq!(made.types, [23, 0]);
        let expected = [
            Value::Null,
            Value::Integer(1),
            Value::Integer(i64::MIN),
            Value::Text("18446744073709551615"),
            Value::Real(0.1),
            Value::Text("a\0'"),
            Value::Bytes(&[0, 255]),
            Value::Real(f64::INFINITY),
        ];
        assert_eq!(made.parameters.iter().collect::<Vec<_>>(), expected);
        for wrong in [r#"{"hex":"0g"}"#, r#"{"real":"x"}"#, "[1]"] {
            let prepared = format!(r#"{{"once":true,"parameters":[{wrong}]}}"#);
            assert!(
                parse(&format!(r#"[3,10,25,0,"select",{prepared}]"#)).is_err(),
                "{wrong}"
            );
        }
    }
}
