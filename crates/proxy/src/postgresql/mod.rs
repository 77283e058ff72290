//! PostgreSQL: what the messages of a connection say about its statements.

pub mod login;
mod values;

use crate::frames::{Frames, Framing, Garbled, Message, Receiver};
use crate::reporter::{LONGEST, MOST_REQUESTS, Reporter};
use crate::session::Protocol;
use dbdyno_reports::{Execution, Parameter, Text};
use std::cell::RefCell;
use std::collections::{HashMap, VecDeque};
use std::rc::Rc;

/// Messages after the startup: a type, and a length that includes itself.
pub struct Messages;

impl Framing for Messages {
    const HEAD: usize = 5;

    fn read(head: &[u8]) -> Result<(u8, usize), Garbled> {
        let Some(([mark, length @ ..], _)) = head.split_first_chunk::<5>() else {
            return Err(Garbled);
        };
        let length = (u32::from_be_bytes(*length) as usize).checked_sub(4).ok_or(Garbled)?;
        Ok((*mark, length))
    }
}

/// A prepared statement.
#[derive(Debug, Clone)]
struct Prepared {
    text: Text,
    types: Vec<u32>,
    /// Whether it has a name, and so is kept for further executions.
    is_kept: bool,
}

/// A statement with its parameters. Its rows may be fetched by several executions.
#[derive(Debug)]
struct Portal {
    text: Text,
    parameters: Option<Vec<Parameter>>,
    /// Whether its statement is kept.
    is_kept: bool,
    /// What earlier executions of the portal did.
    fetched: Option<Fetched>,
}

/// In a pipeline, its name may have become another portal's before it is executed.
type SharedPortal = Rc<RefCell<Portal>>;

/// A statement, its parameters, and [`Execution::once`].
type Sent = (Text, Option<Vec<Parameter>>, Option<bool>);

#[derive(Debug, Clone, Copy)]
struct Fetched {
    start: u64,
    end: u64,
    rows: u64,
    bytes: u64,
}

/// A request that has not been answered.
#[derive(Debug)]
enum Request {
    Query {
        text: Text,
        at: u64,
        rows: u64,
        error: Option<Box<str>>,
    },
    Parse {
        name: Box<[u8]>,
        text: Text,
        before: Option<Prepared>,
        at: u64,
    },
    Bind {
        name: Box<[u8]>,
        portal: SharedPortal,
        at: u64,
    },
    Describe {
        statement: Option<Box<[u8]>>,
    },
    Execute {
        portal: Option<SharedPortal>,
        at: u64,
    },
    Close,
    Sync,
    Function,
}

/// What is known of a connection.
struct State {
    reporter: Reporter,
    statements: HashMap<Box<[u8]>, Prepared>,
    portals: HashMap<Box<[u8]>, SharedPortal>,
    requests: VecDeque<Request>,
    /// Executions since the last ReadyForQuery, which says whether a transaction is open.
    done: Vec<Execution>,
    /// Bytes from the server since the last end of an execution.
    bytes: u64,
    /// Rows from the server since the last end of an execution.
    rows: u64,
    /// When the last execution ended.
    ended: u64,
    /// Whether the server skips requests until the next Sync, after an error.
    skips: bool,
    now: u64,
}

/// The parser of a connection.
pub struct Postgresql {
    state: State,
    from_client: Frames,
    from_server: Frames,
    is_garbled: bool,
}

impl Protocol for Postgresql {
    fn client_sent(&mut self, bytes: &[u8], now: u64) {
        if self.is_garbled {
            return;
        }
        self.state.now = now;
        let read = self.from_client.read::<Messages>(bytes, &mut Client(&mut self.state));
        self.check(read);
    }

    fn server_sent(&mut self, bytes: &[u8], now: u64) {
        if self.is_garbled {
            return;
        }
        self.state.now = now;
        let read = self.from_server.read::<Messages>(bytes, &mut Server(&mut self.state));
        self.check(read);
    }

    fn end(&mut self) {
        self.state.end();
    }
}

impl Postgresql {
    /// The parser of a connection whose startup message has been sent.
    pub fn new(reporter: Reporter) -> Self {
        Self {
            state: State {
                reporter,
                statements: HashMap::new(),
                portals: HashMap::new(),
                requests: VecDeque::new(),
                done: Vec::new(),
                bytes: 0,
                rows: 0,
                ended: 0,
                skips: false,
                now: 0,
            },
            from_client: Frames::new(),
            from_server: Frames::new(),
            is_garbled: false,
        }
    }

    /// Stops recording a connection whose messages can't be read.
    fn check(&mut self, read: Result<(), Garbled>) {
        if read.is_err() || self.state.requests.len() > MOST_REQUESTS {
            self.is_garbled = true;
            self.state.reporter.drop_one();
            let problem = "a connection sends unknown messages; its further statements aren't recorded";
            self.state.reporter.problem(problem.into());
        }
    }
}

struct Client<'a>(&'a mut State);

impl Receiver for Client<'_> {
    fn wanted(&mut self, mark: u8, _length: usize) -> usize {
        match mark {
            // One more byte than the longest that is recorded.
            b'Q' | b'P' | b'B' | b'D' | b'E' | b'C' => LONGEST + 1,
            // Passwords, data of COPY, and messages without content.
            _ => 0,
        }
    }

    fn take(&mut self, message: Message<'_>) -> Result<(), Garbled> {
        let state = &mut *self.0;
        let body = message.body;
        let at = state.now;
        match message.mark {
            b'S' => {
                state.skips = false;
                state.requests.push_back(Request::Sync);
                return Ok(());
            }
            // In extended queries, the server ignores a Sync that arrives before the end of the data.
            b'c' | b'f' => state.requests.retain(|request| !matches!(request, Request::Sync)),
            _ => {}
        }
        if state.skips {
            return Ok(());
        }
        let request = match message.mark {
            b'Q' => Request::Query {
                text: own(body, message.length),
                at,
                rows: 0,
                error: None,
            },
            b'P' => state.parse(body, message.length)?,
            b'B' => state.bind(body)?,
            b'D' => Request::Describe {
                statement: match body.split_first() {
                    Some((b'S', name)) => Some(string(name)?.0.into()),
                    _ => None,
                },
            },
            b'E' => Request::Execute {
                portal: state.portals.get(string(body)?.0).map(Rc::clone),
                at,
            },
            b'C' => {
                state.close(body)?;
                Request::Close
            }
            b'F' => Request::Function,
            _ => return Ok(()),
        };
        state.requests.push_back(request);
        Ok(())
    }
}

struct Server<'a>(&'a mut State);

impl Receiver for Server<'_> {
    fn wanted(&mut self, mark: u8, length: usize) -> usize {
        self.0.bytes += (length + Messages::HEAD) as u64;
        match mark {
            b'D' => {
                self.0.rows += 1;
                0
            }
            b'C' | b'Z' => 64,
            b'E' => 4096,
            b't' => LONGEST,
            _ => 0,
        }
    }

    fn take(&mut self, message: Message<'_>) -> Result<(), Garbled> {
        let state = &mut *self.0;
        match message.mark {
            b'1' | b'2' | b'3' => state.answered(),
            b't' => state.described(message.body)?,
            b'T' | b'n' => {
                if let Some(Request::Describe { .. }) = state.requests.front() {
                    state.requests.pop_front();
                }
            }
            b'C' => state.completed(tag_rows(message.body)),
            b'I' => state.completed(0),
            b's' => state.suspended(),
            b'E' => state.failed(sqlstate(message.body)),
            b'Z' => state.ready(message.body.first().copied()),
            _ => {}
        }
        Ok(())
    }
}

impl State {
    fn parse(&mut self, body: &[u8], length: usize) -> Result<Request, Garbled> {
        let (name, rest) = string(body)?;
        let (text, types) = match string(rest) {
            Ok((text, rest)) => {
                let types = values::types(rest);
                (
                    Text::Shared(self.reporter.share(text, &values::portable(&types))),
                    types,
                )
            }
            Err(error) if length <= LONGEST => return Err(error),
            Err(_) => (Text::TooLong, Vec::new()),
        };
        let prepared = Prepared {
            text: text.clone(),
            types,
            is_kept: !name.is_empty(),
        };
        Ok(Request::Parse {
            name: name.into(),
            text,
            before: self.statements.insert(name.into(), prepared),
            at: self.now,
        })
    }

    fn bind(&mut self, body: &[u8]) -> Result<Request, Garbled> {
        let (portal, rest) = string(body)?;
        let (name, rest) = string(rest)?;
        let prepared = self.statements.get(name);
        let text = prepared.map_or(Text::TooLong, |prepared| prepared.text.clone());
        let made = Rc::new(RefCell::new(Portal {
            text,
            parameters: prepared.and_then(|prepared| values::parameters(rest, &prepared.types)),
            is_kept: prepared.is_some_and(|prepared| prepared.is_kept),
            fetched: None,
        }));
        if let Some(before) = self.portals.insert(portal.into(), Rc::clone(&made)) {
            self.report_fetched(&before);
        }
        Ok(Request::Bind {
            name: portal.into(),
            portal: made,
            at: self.now,
        })
    }

    fn close(&mut self, body: &[u8]) -> Result<(), Garbled> {
        let (kind, name) = body.split_first().ok_or(Garbled)?;
        let name = string(name)?.0;
        match kind {
            b'S' => drop(self.statements.remove(name)),
            _ => {
                if let Some(portal) = self.portals.remove(name) {
                    self.report_fetched(&portal);
                }
            }
        }
        Ok(())
    }

    /// Removes the request that a message without content answers.
    fn answered(&mut self) {
        self.skip_syncs();
        if let Some(Request::Parse { .. } | Request::Bind { .. } | Request::Close) = self.requests.front() {
            self.requests.pop_front();
        }
    }

    /// Removes Syncs that the server has ignored: otherwise it would have answered them before.
    fn skip_syncs(&mut self) {
        while let Some(Request::Sync) = self.requests.front() {
            self.requests.pop_front();
        }
    }

    /// The types of a statement's parameters.
    fn described(&mut self, body: &[u8]) -> Result<(), Garbled> {
        if let Some(Request::Describe { statement: Some(name) }) = self.requests.front()
            && let Some(prepared) = self.statements.get_mut(name)
        {
            prepared.types = values::types(body);
        }
        Ok(())
    }

    fn completed(&mut self, rows: u64) {
        self.skip_syncs();
        match self.requests.front_mut() {
            Some(Request::Query { rows: sum, .. }) => *sum += rows,
            Some(Request::Execute { .. }) => {
                if let Some(Request::Execute { portal, at }) = self.requests.pop_front() {
                    self.executed(portal, at, rows, None);
                }
            }
            _ => {}
        }
    }

    /// The portal has further rows.
    fn suspended(&mut self) {
        let Some(Request::Execute { portal, at }) = self.requests.pop_front() else {
            return;
        };
        let (start, rows, bytes) = (self.start(at), self.rows, self.bytes);
        if let Some(portal) = portal {
            let mut portal = portal.borrow_mut();
            let before = portal.fetched;
            portal.fetched = Some(Fetched {
                start: before.map_or(start, |before| before.start),
                end: self.now,
                rows: rows + before.map_or(0, |before| before.rows),
                bytes: bytes + before.map_or(0, |before| before.bytes),
            });
        }
        self.mark_end();
    }

    /// A request failed. The server skips further requests until the next Sync.
    fn failed(&mut self, code: Option<Box<str>>) {
        match self.requests.front_mut() {
            None | Some(Request::Sync) => return,
            Some(Request::Query { error, .. }) => {
                *error = code;
                return;
            }
            Some(Request::Function) => return,
            Some(_) => {}
        }
        let code = code.unwrap_or_else(|| "error".into());
        let mut is_first = true;
        while let Some(request) = self.requests.pop_front() {
            match request {
                Request::Sync | Request::Query { .. } | Request::Function => {
                    self.requests.push_front(request);
                    return;
                }
                Request::Parse { name, text, before, at } => {
                    match before {
                        Some(before) => drop(self.statements.insert(name, before)),
                        None => drop(self.statements.remove(&name)),
                    }
                    if is_first {
                        self.finish((text, None, Some(false)), (at, 0, 0), Some(code.clone()));
                    }
                }
                Request::Bind { name, portal, at } => {
                    if self.portals.get(&name).is_some_and(|known| Rc::ptr_eq(known, &portal)) {
                        self.portals.remove(&name);
                    }
                    if is_first {
                        self.executed(Some(portal), at, 0, Some(code.clone()));
                    }
                }
                Request::Execute { portal, at } if is_first => self.executed(portal, at, 0, Some(code.clone())),
                Request::Execute { .. } | Request::Describe { .. } | Request::Close => {}
            }
            is_first = false;
        }
        // The Sync has not arrived.
        self.skips = true;
    }

    fn ready(&mut self, status: Option<u8>) {
        while let Some(request) = self.requests.pop_front() {
            match request {
                Request::Query { text, at, rows, error } => {
                    self.finish((text, None, None), (at, rows, 0), error);
                    break;
                }
                Request::Sync | Request::Function => break,
                _ => {}
            }
        }
        if status == Some(b'I') {
            // Portals end with the transaction.
            for (_, portal) in std::mem::take(&mut self.portals) {
                self.report_fetched(&portal);
            }
        }
        if let Some(last) = self.done.last_mut() {
            last.open = status.map(|status| status != b'I');
        }
        for execution in self.done.drain(..) {
            self.reporter.add(execution);
        }
        self.mark_end();
    }

    fn executed(&mut self, portal: Option<SharedPortal>, at: u64, rows: u64, error: Option<Box<str>>) {
        let Some(portal) = portal else {
            self.mark_end();
            return;
        };
        let mut portal = portal.borrow_mut();
        let fetched = portal.fetched.take();
        // A portal is rarely executed again.
        let sent = (portal.text.clone(), portal.parameters.take(), Some(portal.is_kept));
        let began = fetched.map_or(at, |fetched| fetched.start);
        let before = fetched.map_or((0, 0), |fetched| (fetched.rows, fetched.bytes));
        if fetched.is_some() {
            self.ended = 0;
        }
        self.finish(sent, (began, rows + before.0, before.1), error);
    }

    /// Reports a portal that was closed before its last row was fetched.
    fn report_fetched(&mut self, portal: &SharedPortal) {
        let mut portal = portal.borrow_mut();
        let Some(fetched) = portal.fetched.take() else { return };
        self.done.push(Execution {
            session: self.reporter.session,
            text: portal.text.clone(),
            start: fetched.start,
            end: fetched.end,
            rows: Some(fetched.rows),
            error: None,
            bytes: Some(fetched.bytes),
            parameters: portal.parameters.take(),
            open: None,
            once: Some(portal.is_kept),
        });
    }

    /// Reports an execution that was requested `at` a time, with its rows, and its bytes before this answer.
    fn finish(&mut self, (text, parameters, once): Sent, (at, rows, bytes): (u64, u64, u64), error: Option<Box<str>>) {
        let execution = Execution {
            session: self.reporter.session,
            text,
            start: self.start(at),
            end: self.now,
            rows: Some(rows),
            error,
            bytes: Some(bytes + self.bytes),
            parameters,
            open: None,
            once,
        };
        if self.done.len() < MOST_DONE {
            self.done.push(execution);
        } else {
            self.reporter.add(execution);
        }
        self.mark_end();
    }

    /// When the server could begin: in a pipeline, after the statement before.
    fn start(&self, at: u64) -> u64 {
        at.max(self.ended)
    }

    fn mark_end(&mut self) {
        self.ended = self.now;
        (self.bytes, self.rows) = (0, 0);
    }

    fn end(&mut self) {
        for execution in self.done.drain(..) {
            self.reporter.add(execution);
        }
    }
}

/// Executions that wait for ReadyForQuery. A pipeline without Sync has any number of executions.
const MOST_DONE: usize = 1000;

fn own(body: &[u8], length: usize) -> Text {
    if length > LONGEST {
        return Text::TooLong;
    }
    Text::Own(body.strip_suffix(&[0]).unwrap_or(body).into())
}

/// A string that ends with a zero, and what follows.
fn string(body: &[u8]) -> Result<(&[u8], &[u8]), Garbled> {
    let end = body.iter().position(|byte| *byte == 0).ok_or(Garbled)?;
    Ok((&body[..end], &body[end + 1..]))
}

/// The number at the end of `INSERT 0 5`; 0 for `BEGIN`.
fn tag_rows(tag: &[u8]) -> u64 {
    let tag = tag.strip_suffix(&[0]).unwrap_or(tag);
    let number = tag.rsplit(|byte| *byte == b' ').next().unwrap_or_default();
    std::str::from_utf8(number)
        .ok()
        .and_then(|number| number.parse().ok())
        .unwrap_or(0)
}

/// The SQLSTATE of an error.
fn sqlstate(body: &[u8]) -> Option<Box<str>> {
    let code = body
        .split(|byte| *byte == 0)
        .find_map(|field| field.strip_prefix(b"C"))?;
    std::str::from_utf8(code).ok().map(Box::from)
}

#[cfg(test)]
mod tests;
