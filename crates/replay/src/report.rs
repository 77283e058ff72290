//! What is reported about each statement.

use crate::lateness::Lateness;
use crate::usage::Usage;
use serde_json::json;
use std::io::{self, Write};
use std::sync::mpsc::{Receiver, TryRecvError};

/// A report.
#[derive(Debug)]
pub enum Report {
    /// A statement has ended.
    Ended(Execution),
    /// A segment has ended, except for this number of statements.
    Segment(u64),
    /// All sessions have ended, and this is what they cost the system.
    Used(Usage),
}

/// An execution.
#[derive(Debug)]
pub struct Execution {
    /// The number of the statement, from 0, in the order of the input.
    pub number: u64,
    /// When it began, in nanoseconds of the clock.
    pub begun_ns: u64,
    /// Its time.
    pub duration_ns: u64,
    /// Its rows, or the error's code and message.
    pub result: Result<u64, (String, String)>,
    /// By how much it began late.
    pub late: Lateness,
}

/// Writes reports as lines of JSON until all sessions have ended: `["ended", unfinished]`, `["used", cpu_s, counters]`,
/// or `[number, begun_ns, duration_ns, rows, code, message, [system, machine, tool]]`.
pub fn write(reports: &Receiver<Report>, out: &mut impl Write) -> io::Result<()> {
    let mut lines = Vec::new();
    loop {
        let report = match reports.try_recv() {
            Ok(report) => report,
            Err(TryRecvError::Empty) => {
                out.write_all(&lines)?;
                out.flush()?;
                lines.clear();
                match reports.recv() {
                    Ok(report) => report,
                    Err(_) => return Ok(()),
                }
            }
            Err(TryRecvError::Disconnected) => {
                out.write_all(&lines)?;
                return out.flush();
            }
        };
        let line = match report {
            Report::Segment(unfinished) => json!(["ended", unfinished]),
            Report::Used(usage) => json!(["used", usage.cpu_s, usage.counters]),
            Report::Ended(each) => {
                let (rows, code, message) = match each.result {
                    Ok(rows) => (Some(rows), None, None),
                    Err((code, message)) => (None, Some(code), Some(message)),
                };
                let late = [each.late.system, each.late.machine, each.late.tool];
                json!([each.number, each.begun_ns, each.duration_ns, rows, code, message, late])
            }
        };
        serde_json::to_writer(&mut lines, &line)?;
        lines.push(b'\n');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_are_lines() {
        let (sender, receiver) = std::sync::mpsc::channel();
        let late = Lateness {
            system: 1,
            machine: 2,
            tool: 3,
        };
        for result in [Ok(4), Err(("42P01".into(), "no table".into()))] {
            let number = 7;
            let (begun_ns, duration_ns) = (8, 9);
            let execution = Execution {
                number,
                begun_ns,
                duration_ns,
                result,
                late,
            };
            sender.send(Report::Ended(execution)).unwrap();
        }
        sender.send(Report::Segment(0)).unwrap();
        let usage = Usage {
            cpu_s: Some(0.5),
            counters: [("syncs", 3.0)].into(),
        };
        sender.send(Report::Used(usage)).unwrap();
        drop(sender);
        let mut out = Vec::new();
        write(&receiver, &mut out).unwrap();
        let expected = r#"[7,8,9,4,null,null,[1,2,3]]
[7,8,9,null,"42P01","no table",[1,2,3]]
["ended",0]
["used",0.5,{"syncs":3.0}]
"#;
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }
}
