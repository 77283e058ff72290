//! What the controller writes to standard input: statements in the order of their starts, in segments.
//!
//! - `["begin", us]`: a segment begins, which is at this time of the recording.
//! - `[session, start_us, unit_end_us, flags, statement]`. A unit is a transaction, or a statement outside of one. Its
//!   first statement has the unit's end; others have `null`. `flags`: 1: the last statement of its unit; 2: of its
//!   session.
//! - `["queued", ns]`: since the last such line, the controller waited for a CPU for this time.
//! - `["end", 0]`: the segment ends. The worker reports `["ended", unfinished]` when its statements have ended.

use crate::ReplayError;
use serde::Deserialize;
use std::io::BufRead as _;
use std::sync::mpsc::{Receiver, sync_channel};

/// A line.
#[derive(Debug, Clone, PartialEq, Eq)]
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
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
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
        return serde_json::from_str(line).map(Line::Statement);
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
        assert_eq!(parse(r#"["begin",5]"#).unwrap(), Line::Begin(5));
        assert_eq!(parse(r#"["queued",7]"#).unwrap(), Line::Queued(7));
        assert_eq!(parse(r#"["end",0]"#).unwrap(), Line::End);
        let Line::Statement(first) = parse(r#"[3,10,25,0,"select 'ä'"]"#).unwrap() else {
            panic!("a statement");
        };
        assert_eq!(
            (first.session, first.start_us, first.unit_end_us, first.text.as_str()),
            (3, 10, Some(25), "select 'ä'")
        );
        let Line::Statement(last) = parse(r#"[3,20,null,3,"commit"]"#).unwrap() else {
            panic!("a statement");
        };
        assert!(last.ends_unit() && last.ends_session() && last.unit_end_us.is_none());
        assert!(parse("[3,20]").is_err());
    }
}
