//! MySQL and MariaDB: what the packets of a connection say about its statements.

pub mod login;
mod values;

use crate::frames::{Frames, Framing, Garbled, Message, Receiver};
use crate::reporter::{LONGEST, MOST_REQUESTS, Reporter};
use crate::session::Protocol;
use dbdyno_reports::{Execution, Parameter, Shared, Text};
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

/// Packets: a length of three bytes, and a sequence number.
pub struct Packets;

/// A packet of this length is continued by the next packet.
const FULL: usize = 0xff_ff_ff;

impl Framing for Packets {
    const HEAD: usize = 4;

    fn read(head: &[u8]) -> Result<(u8, usize), Garbled> {
        let Some(([a, b, c, number], _)) = head.split_first_chunk::<4>() else {
            return Err(Garbled);
        };
        Ok((*number, u32::from_le_bytes([*a, *b, *c, 0]) as usize))
    }
}

/// What both sides agreed on when the connection began.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Agreed {
    /// Rows end with an OK packet, and columns with nothing.
    pub deprecates_eof: bool,
    /// Queries and executions may have attributes.
    pub query_attributes: bool,
    /// Results say whether they contain the columns' definitions: before the number of columns (MySQL).
    pub optional_metadata: bool,
    /// The same, behind the number of columns (MariaDB).
    pub cached_metadata: bool,
}

const IN_TRANSACTION: u16 = 0x0001;
const MORE_RESULTS: u16 = 0x0008;
const CURSOR: u16 = 0x0040;

/// A prepared statement.
#[derive(Debug)]
struct Prepared {
    text: Text,
    parameters: usize,
    types: Vec<values::Type>,
    was_executed: bool,
    /// Parameters whose values were sent before.
    sent_before: Vec<u16>,
}

/// A statement that has not been answered.
#[derive(Debug)]
struct Statement {
    text: Text,
    parameters: Option<Vec<Parameter>>,
    /// As [`Execution::once`].
    once: Option<bool>,
    at: u64,
    rows: u64,
}

/// A request that has not been answered.
#[derive(Debug)]
enum Request {
    Statement(Statement),
    Prepare {
        text: Arc<Shared>,
        at: u64,
    },
    Fetch,
    /// The definitions of a table's columns, until an EOF packet.
    Fields,
    /// The request to log in as another user: packets until OK or an error.
    ChangeUser,
    /// A list of processes: a result that isn't recorded.
    Result,
    /// Any request that one packet answers.
    Other,
}

/// Which packets of an answer come next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Awaited {
    First,
    /// Definitions of columns; then rows.
    Columns(u64),
    /// The EOF packet after the definitions.
    EndOfColumns,
    Rows,
    /// Definitions of a prepared statement: of the remaining packets, EOF packets included.
    Definitions(u64),
}

struct State {
    reporter: Reporter,
    agreed: Agreed,
    statements: HashMap<u32, Prepared>,
    /// The last prepared statement, which MariaDB's clients can execute without its number.
    last: Option<u32>,
    requests: VecDeque<Request>,
    awaited: Awaited,
    /// Whether the client sends a file (`load data local infile`).
    sends_file: bool,
    /// Whether the last packet is continued by the next one.
    continues: (bool, bool),
    bytes: u64,
    ended: u64,
    /// Whether the connection can't be recorded any more: it became a replica's.
    is_over: bool,
    now: u64,
}

/// The parser of a connection.
pub struct Mysql {
    state: State,
    from_client: Frames,
    from_server: Frames,
}

impl Protocol for Mysql {
    fn client_sent(&mut self, bytes: &[u8], now: u64) {
        if self.state.is_over {
            return;
        }
        self.state.now = now;
        let read = self.from_client.read::<Packets>(bytes, &mut Client(&mut self.state));
        self.check(read);
    }

    fn server_sent(&mut self, bytes: &[u8], now: u64) {
        if self.state.is_over {
            return;
        }
        self.state.now = now;
        let read = self.from_server.read::<Packets>(bytes, &mut Server(&mut self.state));
        self.check(read);
    }

    fn end(&mut self) {}
}

impl Mysql {
    /// The parser of a connection that is logged in.
    pub fn new(reporter: Reporter, agreed: Agreed) -> Self {
        Self {
            state: State {
                reporter,
                agreed,
                statements: HashMap::new(),
                last: None,
                requests: VecDeque::new(),
                awaited: Awaited::First,
                sends_file: false,
                continues: (false, false),
                bytes: 0,
                ended: 0,
                is_over: false,
                now: 0,
            },
            from_client: Frames::new(),
            from_server: Frames::new(),
        }
    }

    /// Stops recording a connection whose packets can't be read.
    fn check(&mut self, read: Result<(), Garbled>) {
        if read.is_err() || self.state.requests.len() > MOST_REQUESTS {
            self.state.is_over = true;
            self.state.reporter.drop_one();
            let problem = "a connection sends unknown packets; its further statements aren't recorded";
            self.state.reporter.problem(problem.into());
        }
    }
}

struct Client<'a>(&'a mut State);

impl Receiver for Client<'_> {
    fn wanted(&mut self, number: u8, _length: usize) -> usize {
        // Others continue a request: a password, or a file. One more byte than the longest that is recorded.
        if number == 0 && !self.0.sends_file && !self.0.continues.0 {
            LONGEST + 1
        } else {
            0
        }
    }

    fn take(&mut self, packet: Message<'_>) -> Result<(), Garbled> {
        let state = &mut *self.0;
        let continued = std::mem::replace(&mut state.continues.0, packet.length == FULL);
        if state.sends_file {
            state.sends_file = packet.length > 0 || continued;
            return Ok(());
        }
        if packet.mark != 0 || continued {
            return Ok(());
        }
        let Some((command, body)) = packet.body.split_first() else {
            return Ok(());
        };
        let is_whole = packet.length <= LONGEST;
        let request = match command {
            // COM_QUIT
            0x01 => return Ok(()),
            // COM_QUERY
            0x03 => Request::Statement(state.query(body, is_whole)),
            // COM_FIELD_LIST
            0x04 => Request::Fields,
            // COM_PROCESS_INFO
            0x0a => Request::Result,
            // COM_CHANGE_USER
            0x11 => {
                state.statements.clear();
                Request::ChangeUser
            }
            // COM_BINLOG_DUMP, COM_TABLE_DUMP, COM_REGISTER_SLAVE, COM_BINLOG_DUMP_GTID: replication
            0x12 | 0x13 | 0x15 | 0x1e => {
                state.is_over = true;
                return Ok(());
            }
            // COM_STMT_PREPARE
            0x16 => Request::Prepare {
                text: state.reporter.share(if is_whole { body } else { &[] }, &[]),
                at: state.now,
            },
            // COM_STMT_EXECUTE, and MariaDB's COM_STMT_BULK_EXECUTE
            0x17 | 0xfa => Request::Statement(state.execute(body, *command == 0xfa)?),
            // COM_STMT_SEND_LONG_DATA
            0x18 => {
                state.long_data(body);
                return Ok(());
            }
            // COM_STMT_CLOSE
            0x19 => {
                if let Some(number) = values::number(body) {
                    state.statements.remove(&number);
                }
                return Ok(());
            }
            // COM_STMT_RESET
            0x1a => {
                if let Some(prepared) = values::number(body).and_then(|number| state.statements.get_mut(&number)) {
                    prepared.sent_before.clear();
                }
                Request::Other
            }
            // COM_STMT_FETCH
            0x1c => Request::Fetch,
            // COM_RESET_CONNECTION
            0x1f => {
                state.statements.clear();
                Request::Other
            }
            _ => Request::Other,
        };
        state.requests.push_back(request);
        Ok(())
    }
}

struct Server<'a>(&'a mut State);

/// The longest part of a packet that is read: an OK packet without its message.
const OK: usize = 32;

impl Receiver for Server<'_> {
    fn wanted(&mut self, _number: u8, length: usize) -> usize {
        self.0.bytes += (length + Packets::HEAD) as u64;
        OK
    }

    fn take(&mut self, packet: Message<'_>) -> Result<(), Garbled> {
        let state = &mut *self.0;
        let continued = std::mem::replace(&mut state.continues.1, packet.length == FULL);
        // Progress reports and the end of a connection answer no request.
        if continued || state.requests.is_empty() || packet.body.starts_with(&[0xff, 0xff, 0xff]) {
            return Ok(());
        }
        match state.awaited {
            Awaited::First => state.first(packet.body, packet.length),
            Awaited::Columns(left) => {
                state.awaited = match (left, state.agreed.deprecates_eof) {
                    (2.., _) => Awaited::Columns(left - 1),
                    (_, true) => Awaited::Rows,
                    (_, false) => Awaited::EndOfColumns,
                };
                Ok(())
            }
            Awaited::EndOfColumns => {
                state.awaited = Awaited::Rows;
                // The rows of a cursor are fetched by other requests.
                match status_of_eof(packet.body) {
                    Some(status) if status & CURSOR != 0 => state.result_ended(status),
                    _ => Ok(()),
                }
            }
            Awaited::Rows => state.row(packet.body, packet.length),
            Awaited::Definitions(left) => {
                if left > 1 {
                    state.awaited = Awaited::Definitions(left - 1);
                } else {
                    state.next_request();
                }
                Ok(())
            }
        }
    }
}

impl State {
    fn query(&self, body: &[u8], is_whole: bool) -> Statement {
        let text = if self.agreed.query_attributes {
            values::after_attributes(body)
        } else {
            Some(body)
        };
        Statement {
            text: match text {
                Some(text) if is_whole => Text::Own(text.into()),
                _ => Text::TooLong,
            },
            parameters: None,
            once: None,
            at: self.now,
            rows: 0,
        }
    }

    fn execute(&mut self, body: &[u8], is_bulk: bool) -> Result<Statement, Garbled> {
        let number = values::number(body).ok_or(Garbled)?;
        let is_last = number == u32::MAX;
        let mut made = Statement {
            text: Text::TooLong,
            parameters: None,
            once: Some(false),
            at: self.now,
            rows: 0,
        };
        // MariaDB's clients execute a statement before the answer to its preparation has arrived.
        if is_last && let Some(Request::Prepare { text, .. }) = self.requests.back() {
            made.text = Text::Shared(Arc::clone(text));
            return Ok(made);
        }
        let number = if is_last { self.last.unwrap_or(number) } else { number };
        if let Some(prepared) = self.statements.get_mut(&number) {
            made.text = prepared.text.clone();
            made.once = Some(std::mem::replace(&mut prepared.was_executed, true));
            if !is_bulk && prepared.parameters > 0 {
                made.parameters = values::parameters(
                    body,
                    prepared.parameters,
                    &mut prepared.types,
                    &prepared.sent_before,
                    self.agreed.query_attributes,
                );
            }
            prepared.sent_before.clear();
        }
        Ok(made)
    }

    fn long_data(&mut self, body: &[u8]) {
        if let Some(prepared) = values::number(body).and_then(|number| self.statements.get_mut(&number))
            && let Some([low, high]) = body.get(4..6)
        {
            let parameter = u16::from_le_bytes([*low, *high]);
            if !prepared.sent_before.contains(&parameter) {
                prepared.sent_before.push(parameter);
            }
        }
    }

    /// The first packet of an answer, or of a further result.
    fn first(&mut self, body: &[u8], length: usize) -> Result<(), Garbled> {
        match (self.requests.front_mut(), body) {
            (None, _) => Ok(()),
            (Some(Request::ChangeUser), [0x00 | 0xff, ..]) | (Some(Request::Other), _) => {
                self.next_request();
                Ok(())
            }
            (Some(Request::ChangeUser), _) => Ok(()),
            (Some(Request::Fields | Request::Fetch), _) => {
                let is_last = body.starts_with(&[0xff]) || (body.starts_with(&[0xfe]) && length < FULL);
                if is_last {
                    self.next_request();
                }
                Ok(())
            }
            (Some(Request::Prepare { .. }), [0x00, ..]) => self.prepared(body),
            (Some(_), [0xff, ..]) => {
                self.failed(body);
                Ok(())
            }
            (Some(Request::Prepare { .. }), _) => Err(Garbled),
            (Some(Request::Statement(statement)), [0x00, rest @ ..]) => {
                let (changed, status) = ok(rest).ok_or(Garbled)?;
                statement.rows += changed;
                self.result_ended(status)
            }
            (Some(Request::Statement(_)), [0xfb, ..]) => {
                self.sends_file = true;
                Ok(())
            }
            (Some(_), [0xfe, ..]) if length < 9 => self.result_ended(status_of_eof(body).unwrap_or(0)),
            (Some(_), _) => self.columns(body),
        }
    }

    /// The beginning of a result with rows.
    fn columns(&mut self, mut body: &[u8]) -> Result<(), Garbled> {
        let mut has_definitions = true;
        if self.agreed.optional_metadata {
            let (first, rest) = body.split_first().ok_or(Garbled)?;
            has_definitions = *first != 0;
            body = rest;
        }
        let count = values::integer(&mut body).ok_or(Garbled)?;
        if self.agreed.cached_metadata {
            has_definitions = body.first() != Some(&0);
        }
        self.awaited = match (has_definitions && count > 0, self.agreed.deprecates_eof) {
            (true, _) => Awaited::Columns(count),
            (false, true) => Awaited::Rows,
            (false, false) => Awaited::EndOfColumns,
        };
        Ok(())
    }

    fn row(&mut self, body: &[u8], length: usize) -> Result<(), Garbled> {
        let longest_end = if self.agreed.deprecates_eof { FULL } else { 9 };
        match body {
            [0xff, ..] => {
                self.failed(body);
                Ok(())
            }
            [0xfe, ..] if length < longest_end => {
                let status = if self.agreed.deprecates_eof {
                    ok(&body[1..]).map(|(_, status)| status)
                } else {
                    status_of_eof(body)
                };
                self.result_ended(status.unwrap_or(0))
            }
            _ => {
                if let Some(Request::Statement(statement)) = self.requests.front_mut() {
                    statement.rows += 1;
                }
                Ok(())
            }
        }
    }

    fn result_ended(&mut self, status: u16) -> Result<(), Garbled> {
        self.awaited = Awaited::First;
        if status & MORE_RESULTS == 0 {
            self.finish(None, Some(status & IN_TRANSACTION != 0));
        }
        Ok(())
    }

    fn failed(&mut self, body: &[u8]) {
        let code = match body {
            [_, low, high, ..] => u16::from_le_bytes([*low, *high]).to_string(),
            _ => "error".into(),
        };
        self.finish(Some(code.into()), None);
    }

    /// Reports the statement whose answer has ended.
    fn finish(&mut self, error: Option<Box<str>>, open: Option<bool>) {
        let statement = match self.requests.front_mut() {
            Some(Request::Statement(statement)) => statement,
            Some(Request::Prepare { text, at }) if error.is_some() => &mut Statement {
                text: Text::Shared(Arc::clone(text)),
                parameters: None,
                once: Some(false),
                at: *at,
                rows: 0,
            },
            _ => return self.next_request(),
        };
        let execution = Execution {
            session: self.reporter.session,
            text: std::mem::replace(&mut statement.text, Text::TooLong),
            start: statement.at.max(self.ended),
            end: self.now,
            rows: Some(statement.rows),
            error,
            bytes: Some(self.bytes),
            parameters: statement.parameters.take(),
            open,
            once: statement.once,
        };
        self.reporter.add(execution);
        self.next_request();
    }

    fn next_request(&mut self) {
        self.requests.pop_front();
        self.awaited = Awaited::First;
        self.bytes = 0;
        self.ended = self.now;
    }

    /// The answer to a preparation: the statement's number, and how many columns and parameters are defined next.
    fn prepared(&mut self, body: &[u8]) -> Result<(), Garbled> {
        let Some(Request::Prepare { text, .. }) = self.requests.front() else {
            return Err(Garbled);
        };
        let number = values::number(&body[1..]).ok_or(Garbled)?;
        let counts = body.get(5..9).ok_or(Garbled)?;
        let columns = u16::from_le_bytes([counts[0], counts[1]]);
        let parameters = u16::from_le_bytes([counts[2], counts[3]]);
        let prepared = Prepared {
            text: Text::Shared(Arc::clone(text)),
            parameters: parameters.into(),
            types: Vec::new(),
            was_executed: false,
            sent_before: Vec::new(),
        };
        self.statements.insert(number, prepared);
        self.last = Some(number);
        let has_definitions = !self.agreed.optional_metadata || body.get(12) != Some(&0);
        let end = u64::from(!self.agreed.deprecates_eof);
        let packets: u64 = [columns, parameters]
            .into_iter()
            .filter(|count| *count > 0 && has_definitions)
            .map(|count| u64::from(count) + end)
            .sum();
        if packets > 0 {
            self.awaited = Awaited::Definitions(packets);
        } else {
            self.next_request();
        }
        Ok(())
    }
}

/// The rows and the status flags of an OK packet.
fn ok(mut body: &[u8]) -> Option<(u64, u16)> {
    let changed = values::integer(&mut body)?;
    values::integer(&mut body)?;
    let status = body.first_chunk::<2>()?;
    Some((changed, u16::from_le_bytes(*status)))
}

fn status_of_eof(body: &[u8]) -> Option<u16> {
    // An OK packet may be in its place.
    body.get(3..5).map(|status| u16::from_le_bytes([status[0], status[1]]))
}

#[cfg(test)]
mod tests;
