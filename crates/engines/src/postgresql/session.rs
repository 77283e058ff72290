//! One session: sends statements and reads the responses.

use super::DIALECT;
use super::Text;
use super::copy_text::{MESSAGE, line, put_rows};
use super::values::{format, read, write};
use super::wire::{Wire, error, garbled, number, unsayable};
use crate::server::ServerTarget;
use crate::server::net::{LONGEST_ANSWER, answer_too_long};
use dbdyno_engine::recorded::{MOST_KEPT, Preparation};
use dbdyno_engine::time_limits::{WORK, answer_limit, answered};
use dbdyno_engine::{Capture, Control, Failure, Marks, Rows, Session, awaited, check_count};
use dbdyno_program::value::{Value, Values};
use dbdyno_protocol::plan::document::PrepareMode;
use postgres_protocol::Oid;
use postgres_protocol::message::frontend;
use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

/// Types of a prepared statement's parameters and columns.
#[derive(Debug, Default)]
struct Shape {
    params: Box<[Oid]>,
    columns: Vec<Oid>,
}

/// A statement that is prepared on the server.
#[derive(Debug)]
pub(super) struct PreparedStatement {
    /// Its name in the session.
    pub name: String,
    /// Number of parameters.
    pub parameters: usize,
}

/// Source of the types of the captured columns.
#[derive(Debug, Clone, Copy)]
enum Columns {
    /// The description from when the statement was prepared.
    Described(usize),
    /// The response contains them.
    InResponse,
    /// The response contains them, and prepares the statement for later executions.
    InPrepareResponse(usize),
}

/// One session on a server.
pub struct PostgresqlSession {
    wire: Wire,
    statements: Arc<[Text]>,
    prepare: PrepareMode,
    /// The shapes of prepared statements; `None` until prepared.
    shapes: Vec<Option<Shape>>,
    /// Source of the column types for the awaited response.
    columns: Columns,
    response_types: Vec<Oid>,
    /// Whether a transaction is open.
    open: bool,
    text: String,
    /// The names of recorded statements that are prepared, by text and types.
    recorded: HashMap<Box<str>, String>,
    /// The number of names that were used.
    names: u64,
}

impl PostgresqlSession {
    pub(super) async fn open(
        target: &ServerTarget,
        statements: Arc<[Text]>,
        prepare: PrepareMode,
    ) -> Result<Self, Failure> {
        Ok(Self {
            wire: Wire::connect(target).await?,
            shapes: statements.iter().map(|_| None).collect(),
            statements,
            prepare,
            columns: Columns::InResponse,
            response_types: Vec::new(),
            open: false,
            text: String::new(),
            recorded: HashMap::new(),
            names: 0,
        })
    }

    pub(super) fn wire(&mut self) -> &mut Wire {
        &mut self.wire
    }

    /// Whether a transaction was open at the server's last response.
    pub(super) fn in_transaction(&self) -> bool {
        self.open
    }

    /// Runs one or more statements and returns the rows of all of them as strings.
    pub(super) async fn query(&mut self, sql: &str) -> Result<Vec<Vec<Option<String>>>, Failure> {
        self.query_within(answer_limit(), sql).await
    }

    /// The same, with a time limit.
    pub(super) async fn query_within(
        &mut self,
        limit: Duration,
        sql: &str,
    ) -> Result<Vec<Vec<Option<String>>>, Failure> {
        frontend::query(sql, &mut self.wire.connection.out).map_err(unsayable)?;
        answered(limit, self.rows()).await
    }

    /// Runs a single statement and returns its rows as strings.
    pub(super) async fn query_one(&mut self, sql: &str) -> Result<Vec<Vec<Option<String>>>, Failure> {
        let out = &mut self.wire.connection.out;
        frontend::parse("", sql, [], out).map_err(unsayable)?;
        bind("", &Values::default(), |_| 0, out)?;
        end(out)?;
        answered(answer_limit(), self.rows()).await
    }

    /// Sends the request and reads all its rows.
    async fn rows(&mut self) -> Result<Vec<Vec<Option<String>>>, Failure> {
        self.wire.connection.flush().await?;
        let (mut rows, mut failure, mut length) = (Vec::new(), None, 0);
        loop {
            let message = self.wire.message().await?;
            let body = self.wire.body(&message);
            match message.tag {
                b'D' => {
                    length += body.len() + size_of::<Vec<u8>>();
                    if length > LONGEST_ANSWER {
                        return Err(answer_too_long());
                    }
                    let fields = Fields::of(body)?;
                    let text = |field: &[u8]| String::from_utf8_lossy(field).into_owned();
                    rows.push(
                        fields
                            .map(|field| field.map(|field| field.map(text)))
                            .collect::<Result<_, _>>()?,
                    );
                }
                b'E' => failure = Some(error(body)),
                b'Z' => {
                    self.open = body != b"I";
                    return failure.map_or(Ok(rows), Err);
                }
                _ => {}
            }
        }
    }

    /// Reads to the end of the response and returns the first failure in it.
    async fn skip_to_ready(&mut self) -> Result<(), Failure> {
        let mut failure = None;
        loop {
            let message = self.wire.message().await?;
            let body = self.wire.body(&message);
            match message.tag {
                b'E' => failure = failure.or_else(|| Some(error(body))),
                b'Z' => {
                    self.open = body != b"I";
                    return failure.map_or(Ok(()), Err);
                }
                _ => {}
            }
        }
    }

    /// Prepares a statement. Returns its name on the server and the number of parameters.
    pub(super) async fn prepare_one(&mut self, index: usize) -> Result<PreparedStatement, Failure> {
        self.prepare(&[index]).await?;
        let parameters = self.shapes[index].as_ref().map_or(0, |shape| shape.params.len());
        let name = self.statements[index].prepared.clone();
        Ok(PreparedStatement { name, parameters })
    }

    /// Prepares several statements in one round trip.
    async fn prepare(&mut self, which: &[usize]) -> Result<(), Failure> {
        for index in which {
            let (statement, out) = (&self.statements[*index], &mut self.wire.connection.out);
            frontend::parse(&statement.prepared, &statement.numbered, [], out).map_err(unsayable)?;
            frontend::describe(b'S', &statement.prepared, out).map_err(unsayable)?;
        }
        frontend::sync(&mut self.wire.connection.out);
        self.wire.connection.flush().await?;
        let (mut asked, mut failure) = (which.iter(), None);
        let mut shape = Shape::default();
        loop {
            let message = self.wire.message().await?;
            let body = self.wire.body(&message);
            match message.tag {
                b't' => shape.params = oids(body)?,
                b'T' | b'n' => {
                    if message.tag == b'T' {
                        column_types(body, &mut shape.columns)?;
                    }
                    let index = asked.next().ok_or_else(garbled)?;
                    self.shapes[*index] = Some(std::mem::take(&mut shape));
                }
                b'E' => {
                    let name = asked
                        .clone()
                        .next()
                        .map(|index| self.statements[*index].statement.name.as_str());
                    failure = Some(error(body).explained(|message| format!("{message}: in {}", name.unwrap_or("?"))));
                }
                b'Z' => {
                    self.open = body != b"I";
                    return failure.map_or(Ok(()), Err);
                }
                _ => {}
            }
        }
    }

    /// Writes the messages that run a statement.
    #[inline]
    fn ask(&mut self, index: usize, params: &Values, captures: bool) -> Result<(), Failure> {
        let statement = &self.statements[index];
        let out = &mut self.wire.connection.out;
        if let Some(columns) = statement.copied {
            self.columns = Columns::InResponse;
            return ask_copy(&statement.statement.sql, columns, params, out);
        }
        check_count(statement.template.parameters(), params.len())?;
        match self.prepare {
            PrepareMode::Never => {
                statement.template.render(params, &DIALECT, &mut self.text);
                self.columns = Columns::InResponse;
                return frontend::query(&self.text, out).map_err(unsayable);
            }
            PrepareMode::PerTransaction => {
                frontend::parse("", &statement.numbered, [], out).map_err(unsayable)?;
                bind("", params, |_| 0, out)?;
                if captures {
                    frontend::describe(b'P', "", out).map_err(unsayable)?;
                }
                self.columns = Columns::InResponse;
            }
            PrepareMode::Once => {
                let name = statement.prepared.as_str();
                let Some(shape) = &self.shapes[index] else {
                    frontend::parse(name, &statement.numbered, [], out).map_err(unsayable)?;
                    frontend::describe(b'S', name, out).map_err(unsayable)?;
                    bind(name, params, |_| 0, out)?;
                    self.columns = Columns::InPrepareResponse(index);
                    return end(out);
                };
                bind(name, params, |at| shape.params.get(at).copied().unwrap_or(0), out)?;
                self.columns = Columns::Described(index);
            }
        }
        end(out)
    }

    /// Writes the messages that run a recorded statement. Returns the key and the name of a statement that is new and
    /// kept.
    fn ask_recorded(&mut self, text: &str, preparation: &Preparation) -> Result<Option<(Box<str>, String)>, Failure> {
        let Preparation {
            once,
            types,
            parameters,
        } = preparation;
        let oid = |at: usize| types.get(at).copied().unwrap_or(0);
        let out = &mut self.wire.connection.out;
        let key = if types.is_empty() {
            Cow::Borrowed(text)
        } else {
            Cow::Owned(format!("{text}\0{types:?}"))
        };
        if let Some(name) = self.recorded.get(key.as_ref()).filter(|_| *once) {
            bind(name, parameters, oid, out)?;
            end(out)?;
            return Ok(None);
        }
        let (mut name, mut new) = (String::new(), None);
        if *once {
            if self.recorded.len() >= MOST_KEPT {
                for (_, name) in self.recorded.drain() {
                    frontend::close(b'S', &name, out).map_err(unsayable)?;
                }
            }
            self.names += 1;
            name = format!("r{}", self.names);
            new = Some((key.into(), name.clone()));
        }
        frontend::parse(&name, text, types.iter().copied(), out).map_err(unsayable)?;
        bind(&name, parameters, oid, out)?;
        end(out)?;
        Ok(new)
    }

    /// Captures the columns of a row.
    fn take_row(&self, body: &[u8], capture: &mut Capture<'_>) -> Result<(), Failure> {
        let types = match self.columns {
            Columns::InResponse | Columns::InPrepareResponse(_) => &self.response_types,
            Columns::Described(index) => self.shapes[index]
                .as_ref()
                .map_or(&self.response_types, |shape| &shape.columns),
        };
        for (column, field) in Fields::of(body)?.enumerate() {
            match field? {
                None => capture.take(column, Value::Null),
                Some(text) => capture.take(column, read(types.get(column).copied().unwrap_or(0), text).view()),
            }
        }
        Ok(())
    }
}

impl Session for PostgresqlSession {
    async fn prepare_first(&mut self, count: usize) -> Result<(), Failure> {
        let first = 0..self.statements.len().min(count);
        // The server parses `copy` at each use.
        let first: Vec<usize> = first.filter(|index| self.statements[*index].copied.is_none()).collect();
        answered(answer_limit(), self.prepare(&first)).await
    }

    #[inline]
    fn execute(
        &mut self,
        statement: usize,
        params: &Values,
        capture: Capture<'_>,
        _marks: &mut Marks,
    ) -> Poll<Result<Rows, Failure>> {
        awaited(
            self.ask(statement, params, !capture.is_empty())
                .and_then(|()| self.wire.connection.send()),
        )
    }

    fn control(&mut self, control: Control) -> Poll<Result<(), Failure>> {
        let sql = match control {
            // PostgreSQL takes locks as it goes; the modes that take a lock apply to SQLite only.
            Control::Begin(mode) => match mode.isolation_level() {
                None => "begin".into(),
                Some(level) => Cow::Owned(format!("begin isolation level {level}")),
            },
            Control::Commit => "commit".into(),
            Control::Rollback if !self.open => return Poll::Ready(Ok(())),
            Control::Rollback => "rollback".into(),
        };
        self.columns = Columns::InResponse;
        awaited(
            frontend::query(&sql, &mut self.wire.connection.out)
                .map_err(unsayable)
                .and_then(|()| self.wire.connection.send()),
        )
    }

    async fn answer(&mut self, mut capture: Capture<'_>, marks: &mut Marks) -> Result<Rows, Failure> {
        self.wire.connection.flush().await?;
        let (mut rows, mut failure, mut first) = (Rows::default(), None, true);
        let mut params = Box::default();
        loop {
            let message = match self.wire.message().await {
                Ok(message) => message,
                // A server that terminates a session sends the reason last.
                Err(broken) => return Err(failure.unwrap_or(broken)),
            };
            let body = self.wire.body(&message);
            match message.tag {
                b'D' => {
                    if first {
                        marks.note_first_row();
                        first = false;
                        if !capture.is_empty() {
                            self.take_row(body, &mut capture)?;
                        }
                    } else if capture.wants_every_row() {
                        self.take_row(body, &mut capture)?;
                    }
                    rows.returned += 1;
                }
                b'C' => {
                    if first {
                        marks.note_first_row();
                        first = false;
                        capture.clear();
                    }
                    rows.changed += changed(body);
                }
                b'1' => marks.note_prepared(),
                b't' => params = oids(body)?,
                b'T' | b'n' => {
                    if message.tag == b'T' {
                        column_types(body, &mut self.response_types)?;
                    }
                    if let Columns::InPrepareResponse(index) = self.columns {
                        self.shapes[index] = Some(Shape {
                            params: std::mem::take(&mut params),
                            columns: self.response_types.clone(),
                        });
                    }
                }
                b'E' => failure = failure.or_else(|| Some(error(body))),
                b'Z' => {
                    self.open = body != b"I";
                    return failure.map_or(Ok(rows), Err);
                }
                _ => {}
            }
        }
    }

    async fn execute_recorded(&mut self, text: &str, preparation: Option<&Preparation>) -> Result<u64, Failure> {
        let mut new = None;
        match preparation {
            None => frontend::query(text, &mut self.wire.connection.out).map_err(unsayable)?,
            Some(preparation) => new = self.ask_recorded(text, preparation)?,
        }
        self.wire.connection.flush().await?;
        let (mut rows, mut failure) = (0, None);
        loop {
            let message = match self.wire.message().await {
                Ok(message) => message,
                Err(broken) => return Err(failure.unwrap_or(broken)),
            };
            let body = self.wire.body(&message);
            match message.tag {
                b'1' => {
                    if let Some((key, name)) = new.take() {
                        self.recorded.insert(key, name);
                    }
                }
                b'C' => {
                    rows += tag_count(body);
                    if body.starts_with(b"DEALLOCATE ALL") || body.starts_with(b"DISCARD ALL") {
                        self.recorded.clear();
                    }
                }
                b'G' => {
                    let out = &mut self.wire.connection.out;
                    frontend::copy_fail("the data is not recorded", out).map_err(unsayable)?;
                    if preparation.is_some() {
                        // The server has ignored the first one.
                        frontend::sync(out);
                    }
                    self.wire.connection.flush().await?;
                }
                b'E' => failure = failure.or_else(|| Some(error(body))),
                b'Z' => {
                    self.open = body != b"I";
                    return failure.map_or(Ok(rows), Err);
                }
                _ => {}
            }
        }
    }

    fn hold_up_thread(&mut self) -> Result<(), Failure> {
        self.wire.connection.hold_up_thread()
    }

    async fn close(mut self) -> Result<(), Failure> {
        frontend::terminate(&mut self.wire.connection.out);
        self.wire.connection.send_last().await
    }
}

impl PostgresqlSession {
    /// Begins a COPY. The rows follow as `CopyData` messages in the wire's output.
    pub(super) async fn begin_copy(&mut self, sql: &str) -> Result<(), Failure> {
        frontend::query(sql, &mut self.wire.connection.out).map_err(unsayable)?;
        self.wire.connection.flush().await?;
        loop {
            let message = self.wire.message().await?;
            let body = self.wire.body(&message);
            match message.tag {
                b'G' => return Ok(()),
                b'E' => {
                    let failure = error(body);
                    self.skip_to_ready().await?;
                    return Err(failure);
                }
                _ => {}
            }
        }
    }

    /// Ends a COPY.
    pub(super) async fn end_copy(&mut self) -> Result<(), Failure> {
        frontend::copy_done(&mut self.wire.connection.out);
        self.wire.connection.flush().await?;
        answered(WORK, self.skip_to_ready()).await
    }
}

/// Writes the messages that copy rows to the server. If the server refuses the statement, it ignores the rows.
#[cold]
fn ask_copy(sql: &str, columns: usize, values: &Values, out: &mut bytes::BytesMut) -> Result<(), Failure> {
    let rows = values.len() / columns.max(1);
    check_count(rows * columns, values.len())?;
    frontend::query(sql, out).map_err(unsayable)?;
    let mut text = Vec::new();
    let mut values = values.iter();
    for _ in 0..rows {
        line(values.by_ref().take(columns), &mut text);
        if text.len() >= MESSAGE {
            put_rows(&mut text, out);
        }
    }
    put_rows(&mut text, out);
    frontend::copy_done(out);
    Ok(())
}

/// Writes the messages after the bind: execute and sync.
#[inline]
fn end(out: &mut bytes::BytesMut) -> Result<(), Failure> {
    frontend::execute("", 0, out).map_err(unsayable)?;
    frontend::sync(out);
    Ok(())
}

/// Writes the bind message. `oid` returns the types of the parameters.
#[inline]
fn bind(name: &str, params: &Values, oid: impl Fn(usize) -> Oid, out: &mut bytes::BytesMut) -> Result<(), Failure> {
    let formats = params.iter().enumerate().map(|(at, value)| format(oid(at), value));
    frontend::bind(
        "",
        name,
        formats,
        params.iter().enumerate(),
        |(at, value), out| Ok(write(oid(at), value, out)),
        // Request results in text format, like psql and most drivers.
        [0],
        out,
    )
    .map_err(|error| match error {
        frontend::BindError::Conversion(error) => unsayable(error),
        frontend::BindError::Serialization(error) => unsayable(error),
    })
}

/// The fields of a row.
struct Fields<'a>(&'a [u8], u16);

impl<'a> Fields<'a> {
    fn of(body: &'a [u8]) -> Result<Self, Failure> {
        let (count, rest) = body.split_first_chunk::<2>().ok_or_else(garbled)?;
        Ok(Self(rest, u16::from_be_bytes(*count)))
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = Result<Option<&'a [u8]>, Failure>;

    fn next(&mut self) -> Option<Self::Item> {
        self.1 = self.1.checked_sub(1)?;
        let mut take = || {
            let (length, rest) = number(self.0)?;
            let Ok(length) = usize::try_from(length) else {
                self.0 = rest;
                return Ok(None);
            };
            let (field, rest) = rest.split_at_checked(length).ok_or_else(garbled)?;
            self.0 = rest;
            Ok(Some(field))
        };
        Some(take())
    }
}

/// The types in a parameter description.
fn oids(body: &[u8]) -> Result<Box<[Oid]>, Failure> {
    let (_, rest) = body.split_first_chunk::<2>().ok_or_else(garbled)?;
    Ok(rest
        .chunks_exact(4)
        .map(|bytes| Oid::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
        .collect())
}

/// The types in a row description. Each column has a name, a table, a column number, and then its type.
fn column_types(body: &[u8], types: &mut Vec<Oid>) -> Result<(), Failure> {
    types.clear();
    let (_, mut rest) = body.split_first_chunk::<2>().ok_or_else(garbled)?;
    while !rest.is_empty() {
        let name = rest.iter().position(|byte| *byte == 0).ok_or_else(garbled)?;
        let fixed = rest.get(name + 1..name + 19).ok_or_else(garbled)?;
        types.push(Oid::from_be_bytes([fixed[6], fixed[7], fixed[8], fixed[9]]));
        rest = &rest[name + 19..];
    }
    Ok(())
}

/// Number of changed rows in a command tag: `INSERT 0 5`, `UPDATE 3`.
#[inline]
fn changed(tag: &[u8]) -> u64 {
    if tag.starts_with(b"SELECT") {
        return 0;
    }
    tag_count(tag)
}

/// Number of returned or changed rows in a command tag.
#[inline]
fn tag_count(tag: &[u8]) -> u64 {
    let mut count = 0_u64;
    let end = tag
        .iter()
        .rposition(|byte| byte.is_ascii_digit())
        .map_or(0, |at| at + 1);
    let start = tag[..end]
        .iter()
        .rposition(|byte| *byte == b' ')
        .map_or(end, |at| at + 1);
    for digit in &tag[start..end] {
        count = count.wrapping_mul(10).wrapping_add(u64::from(digit.wrapping_sub(b'0')));
    }
    count
}

#[cfg(test)]
mod tests {
    use super::super::PostgresqlEngine;
    use super::*;
    use crate::server::net::{Connection, block_on};
    use dbdyno_engine::Wanted;
    use dbdyno_program::value::Owned;
    use dbdyno_protocol::plan::document::Statement;
    use proptest::collection::vec;
    use proptest::prelude::*;

    /// Arbitrary server output: protocol messages with random bodies, and random bytes.
    fn anything_sent() -> impl Strategy<Value = Vec<u8>> {
        let body = prop_oneof![
            vec(any::<u8>(), 0..60),
            // An authentication method, or a number of fields, and lengths that are sometimes valid.
            (0u8..13, vec(0u8..4, 0..60)).prop_map(|(first, rest)| [&[0, first][..], &rest].concat()),
            (0u8..13, vec(any::<u8>(), 0..60)).prop_map(|(method, rest)| [&[0, 0, 0, method][..], &rest].concat()),
        ];
        let tag = proptest::sample::select(&b"RRDDTTCtt1nnEZSKAN2GdHv"[..]);
        let message = (tag, body).prop_map(|(tag, body)| {
            let length = (body.len() as u32 + 4).to_be_bytes();
            [&[tag][..], &length, &body].concat()
        });
        let piece = prop_oneof![8 => message, 1 => vec(any::<u8>(), 0..20)];
        vec(piece, 0..8).prop_map(|pieces| pieces.concat())
    }

    fn session_with(sent: &[u8], prepare: PrepareMode) -> PostgresqlSession {
        let statements = PostgresqlEngine::texts(&[Statement::new("s", "select ?")]);
        PostgresqlSession {
            wire: Wire::new(Connection::that_sent(sent)),
            shapes: statements.iter().map(|_| None).collect(),
            statements,
            prepare,
            columns: Columns::InResponse,
            response_types: Vec::new(),
            open: false,
            text: String::new(),
            recorded: HashMap::new(),
            names: 0,
        }
    }

    async fn run(session: &mut PostgresqlSession) -> Result<Rows, Failure> {
        let mut params = Values::default();
        params.push(Value::Integer(1));
        let (mut variables, mut marks) = (vec![Owned::Null; 3], Marks::new(None));
        let mut wanted = Wanted {
            slots: &[0, 1, 2],
            variables: &mut variables,
            every: None,
        };
        let _ = session.execute(0, &params, Capture::new(&mut wanted), &mut marks);
        let mut wanted = Wanted {
            slots: &[0, 1, 2],
            variables: &mut variables,
            every: None,
        };
        session.answer(Capture::new(&mut wanted), &mut marks).await
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1000))]

        #[test]
        fn any_server_input_is_an_answer_or_a_failure(sent in anything_sent()) {
            let target = serde_json::json!({
                "host": "h", "port": 1, "user": "u", "password": "p", "database": "d", "session": [],
            });
            let target: ServerTarget = serde_json::from_value(target).unwrap();
            block_on(async {
                let _ = Wire::new(Connection::that_sent(&sent)).begin(&target).await;
                let _ = session_with(&sent, PrepareMode::Never).query("select 1").await;
                for once in [true, false] {
                    let preparation = Preparation { once, ..Preparation::default() };
                    let mut session = session_with(&sent, PrepareMode::Never);
                    let _ = session.execute_recorded("select 1", Some(&preparation)).await;
                }
                for prepare in [PrepareMode::Once, PrepareMode::PerTransaction, PrepareMode::Never] {
                    let mut session = session_with(&sent, prepare);
                    if prepare == PrepareMode::Once {
                        let _ = session.prepare_all().await;
                    }
                    let _ = run(&mut session).await;
                    let _ = run(&mut session_with(&sent, prepare)).await;
                }
                Ok(())
            })
            .unwrap();
        }
    }

    #[test]
    fn the_command_tag_contains_the_number_of_changed_rows() {
        for (tag, rows) in [
            ("INSERT 0 5\0", 5),
            ("UPDATE 123\0", 123),
            ("DELETE 0\0", 0),
            ("SELECT 7\0", 0),
            ("BEGIN\0", 0),
            ("CREATE TABLE\0", 0),
        ] {
            assert_eq!(changed(tag.as_bytes()), rows, "{tag}");
        }
    }

    #[test]
    fn fields_are_read_one_by_one_and_a_short_body_is_refused() {
        let body = [0, 2, 255, 255, 255, 255, 0, 0, 0, 2, b'a', b'b'];
        let fields: Vec<_> = Fields::of(&body).expect("fields").collect();
        assert_eq!(fields, [Ok(None), Ok(Some(&b"ab"[..]))]);
        assert!(Fields::of(&body[..11]).expect("fields").any(|field| field.is_err()));
    }
}
