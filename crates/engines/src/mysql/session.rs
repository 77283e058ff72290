//! One session: sends statements and reads the responses.

use super::DIALECT;
use super::Text;
use super::login::begin;
use super::results::Reader;
use super::values::{Column, bind};
use super::wire::{Wire, error, garbled};
use crate::server::ServerTarget;
use crate::sql_text::{Dialect, backquoted, check_parameters};
use bytes::{BufMut as _, BytesMut};
use dbdyno_engine::recorded::{MOST_KEPT, Preparation};
use dbdyno_engine::time_limits::{answer_limit, answered};
use dbdyno_engine::{Capture, Control, Failure, Marks, Rows, Session, awaited, check_count};
use dbdyno_program::value::Values;
use dbdyno_protocol::plan::document::PrepareMode;
use mysql_common::constants::{CapabilityFlags, Command, StatusFlags};
use std::collections::HashMap;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

/// A statement that the server has prepared.
#[derive(Debug)]
struct Prepared {
    /// The server's number for it.
    number: u32,
    /// The parameter types of the last execution.
    bound: Vec<u8>,
}

/// The response that is being awaited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Awaited {
    /// The results of a text.
    Text,
    /// The results of setting the isolation level and of beginning the transaction, both sent as text.
    Begin,
    /// The results of a prepared statement.
    Prepared(usize),
    /// The response to a prepare. The execution that follows is in `later`. `keep`: don't close the statement
    /// afterwards.
    Preparation { index: usize, keep: bool },
}

/// One session on a server.
pub struct MysqlSession {
    wire: Wire,
    statements: Arc<[Text]>,
    prepare: PrepareMode,
    /// The prepared statements that are kept; `None` until prepared.
    prepared: Vec<Option<Prepared>>,
    awaiting: Awaited,
    /// The parameters, and their types, of the statement being prepared.
    later: BytesMut,
    bound: Vec<u8>,
    reader: Reader,
    text: String,
    /// Whether a text may have several statements.
    takes_several: bool,
    /// The recorded statements that are prepared, by text.
    recorded: HashMap<Box<str>, Prepared>,
}

impl MysqlSession {
    pub(super) async fn open(
        target: &ServerTarget,
        statements: Arc<[Text]>,
        prepare: PrepareMode,
    ) -> Result<Self, Failure> {
        Self::open_with(target, statements, prepare, CapabilityFlags::empty()).await
    }

    /// Opens a session. `extra_capabilities`: in addition to those that every session has.
    pub(super) async fn open_with(
        target: &ServerTarget,
        statements: Arc<[Text]>,
        prepare: PrepareMode,
        extra_capabilities: CapabilityFlags,
    ) -> Result<Self, Failure> {
        let begun = begin(target, extra_capabilities).await?;
        let mut session = Self {
            wire: begun.wire,
            prepared: statements.iter().map(|_| None).collect(),
            statements,
            prepare,
            awaiting: Awaited::Text,
            later: BytesMut::new(),
            bound: Vec::new(),
            reader: Reader::new(begun.status),
            text: String::new(),
            takes_several: false,
            recorded: HashMap::new(),
        };
        if !target.session.is_empty() {
            session.query(&assignments(&target.session)).await.map_err(|failure| {
                failure.explained(|message| format!("connecting to {}: {message}", target.place()))
            })?;
        }
        if target.read_only {
            session.query("set session transaction read only").await?;
        }
        Ok(session)
    }

    pub(super) fn wire(&mut self) -> &mut Wire {
        &mut self.wire
    }

    /// The notation of literals in this session.
    pub(super) fn dialect(&self) -> &'static Dialect {
        if self.reader.has(StatusFlags::SERVER_STATUS_NO_BACKSLASH_ESCAPES) {
            &Dialect::STANDARD
        } else {
            &DIALECT
        }
    }

    /// Prepares and closes a statement. Returns the number of result columns, 0 if it returns no rows.
    pub(super) async fn columns_of(&mut self, index: usize) -> Result<u16, Failure> {
        let (number, columns) = answered(answer_limit(), self.prepare_one(index)).await?;
        self.close_statement(number);
        Ok(columns)
    }

    /// Prepares a statement. Returns the server's number for it and the number of result columns.
    async fn prepare_one(&mut self, index: usize) -> Result<(u32, u16), Failure> {
        let sql = self.statements[index].statement.sql.as_bytes();
        self.wire.command(Command::COM_STMT_PREPARE as u8, sql);
        self.wire.connection.flush().await?;
        self.read_shape(index).await
    }

    /// Reads the response to a prepare. Returns the server's number for the statement.
    async fn read_preparation(&mut self, index: usize) -> Result<u32, Failure> {
        self.read_shape(index).await.map(|(number, _)| number)
    }

    /// The same, with the number of result columns.
    async fn read_shape(&mut self, index: usize) -> Result<(u32, u16), Failure> {
        let name = |failure: Failure| {
            let name = &self.statements[index].statement.name;
            failure.explained(|message| format!("{message}: in {name}"))
        };
        let (number, parameters, columns) = read_definitions(&mut self.wire).await.map_err(name)?;
        check_parameters(usize::from(parameters), &self.statements[index].statement)
            .inspect_err(|_| self.close_statement(number))?;
        Ok((number, columns))
    }

    /// Prepares a recorded statement if necessary, and executes it.
    async fn execute_prepared(
        &mut self,
        text: &str,
        preparation: &Preparation,
        marks: &mut Marks,
    ) -> Result<Rows, Failure> {
        let parameters = &preparation.parameters;
        if !preparation.once || !self.recorded.contains_key(text) {
            if self.recorded.len() >= MOST_KEPT {
                for (_, kept) in std::mem::take(&mut self.recorded) {
                    self.close_statement(kept.number);
                }
            } else if let Some(kept) = self.recorded.remove(text) {
                self.close_statement(kept.number);
            }
            self.wire.command(Command::COM_STMT_PREPARE as u8, text.as_bytes());
            self.wire.connection.flush().await?;
            let (number, wanted, _) = read_definitions(&mut self.wire).await?;
            check_count(usize::from(wanted), parameters.len()).inspect_err(|_| self.close_statement(number))?;
            let bound = Vec::new();
            self.recorded.insert(text.into(), Prepared { number, bound });
        }
        let Some(prepared) = self.recorded.get_mut(text) else {
            return Err(garbled());
        };
        let start = self.wire.begin();
        let out = &mut self.wire.connection.out;
        put_execution(prepared.number, out);
        bind(parameters, &mut prepared.bound, out);
        self.wire.end(start);
        self.wire.connection.flush().await?;
        let read = self.reader.read(&mut self.wire, true, Capture::nothing(), marks).await;
        if read.is_err() {
            // The server may not have stored the types.
            prepared.bound.clear();
        }
        read
    }

    /// Closes a statement. There is no response, so it is sent with the next request.
    fn close_statement(&mut self, number: u32) {
        self.wire.command(Command::COM_STMT_CLOSE as u8, &number.to_le_bytes());
    }

    /// Writes the packet that runs or prepares a statement.
    #[inline]
    fn ask(&mut self, index: usize, params: &Values) -> Result<(), Failure> {
        let statement = &self.statements[index];
        check_count(statement.template.parameters(), params.len())?;
        if self.prepare == PrepareMode::Never {
            let dialect = self.dialect();
            let statement = &self.statements[index];
            statement.template.render(params, dialect, &mut self.text);
            self.wire.command(Command::COM_QUERY as u8, self.text.as_bytes());
            self.awaiting = Awaited::Text;
        } else if let Some(prepared) = &mut self.prepared[index] {
            let start = self.wire.begin();
            let out = &mut self.wire.connection.out;
            put_execution(prepared.number, out);
            bind(params, &mut prepared.bound, out);
            self.wire.end(start);
            self.awaiting = Awaited::Prepared(index);
        } else {
            self.wire
                .command(Command::COM_STMT_PREPARE as u8, statement.statement.sql.as_bytes());
            self.later.clear();
            self.bound.clear();
            bind(params, &mut self.bound, &mut self.later);
            let keep = self.prepare == PrepareMode::Once;
            self.awaiting = Awaited::Preparation { index, keep };
        }
        Ok(())
    }
}

impl Session for MysqlSession {
    async fn prepare_first(&mut self, count: usize) -> Result<(), Failure> {
        for index in 0..self.statements.len().min(count) {
            if self.prepared[index].is_none() {
                let (number, _) = answered(answer_limit(), self.prepare_one(index)).await?;
                let bound = Vec::new();
                self.prepared[index] = Some(Prepared { number, bound });
            }
        }
        Ok(())
    }

    #[inline]
    fn execute(
        &mut self,
        statement: usize,
        params: &Values,
        _capture: Capture<'_>,
        _marks: &mut Marks,
    ) -> Poll<Result<Rows, Failure>> {
        awaited(self.ask(statement, params).and_then(|()| self.wire.connection.send()))
    }

    fn control(&mut self, control: Control) -> Poll<Result<(), Failure>> {
        self.awaiting = Awaited::Text;
        let sql = match control {
            // Transactions take locks as they go; the modes that take a lock apply to SQLite only.
            Control::Begin(mode) => {
                if let Some(level) = mode.isolation_level() {
                    // For the next transaction only. The server answers both commands in order.
                    let set = format!("set transaction isolation level {level}");
                    self.wire.command(Command::COM_QUERY as u8, set.as_bytes());
                    self.awaiting = Awaited::Begin;
                }
                "start transaction"
            }
            Control::Commit => "commit",
            // Without autocommit, a transaction whose statements all failed may be open without the flag.
            Control::Rollback
                if !self.reader.has(StatusFlags::SERVER_STATUS_IN_TRANS)
                    && self.reader.has(StatusFlags::SERVER_STATUS_AUTOCOMMIT) =>
            {
                return Poll::Ready(Ok(()));
            }
            Control::Rollback => "rollback",
        };
        self.wire.command(Command::COM_QUERY as u8, sql.as_bytes());
        awaited(self.wire.connection.send())
    }

    async fn answer(&mut self, capture: Capture<'_>, marks: &mut Marks) -> Result<Rows, Failure> {
        self.wire.connection.flush().await?;
        match self.awaiting {
            Awaited::Text => self.reader.read(&mut self.wire, false, capture, marks).await,
            Awaited::Begin => {
                let set = self.reader.read(&mut self.wire, false, Capture::nothing(), marks).await;
                let begun = self.reader.read(&mut self.wire, false, capture, marks).await;
                set.and(begun)
            }
            Awaited::Prepared(index) => {
                let read = self.reader.read(&mut self.wire, true, capture, marks).await;
                if let (Err(_), Some(prepared)) = (&read, &mut self.prepared[index]) {
                    // The server may not have stored the types.
                    prepared.bound.clear();
                }
                read
            }
            Awaited::Preparation { index, keep } => {
                let number = self.read_preparation(index).await?;
                marks.note_prepared();
                let start = self.wire.begin();
                let out = &mut self.wire.connection.out;
                put_execution(number, out);
                out.put_slice(&self.later);
                self.wire.end(start);
                self.wire.connection.flush().await?;
                let read = self.reader.read(&mut self.wire, true, capture, marks).await;
                if keep {
                    let bound = if read.is_ok() { self.bound.clone() } else { Vec::new() };
                    self.prepared[index] = Some(Prepared { number, bound });
                } else {
                    self.close_statement(number);
                }
                read
            }
        }
    }

    async fn execute_recorded(&mut self, text: &str, preparation: Option<&Preparation>) -> Result<u64, Failure> {
        let marks = &mut Marks::new(None);
        if let Some(preparation) = preparation {
            let rows = self.execute_prepared(text, preparation, marks).await?;
            return Ok(rows.returned + rows.changed);
        }
        if !self.takes_several {
            // The option 0 switches several statements on.
            self.wire.command(Command::COM_SET_OPTION as u8, &[0, 0]);
            self.wire.connection.flush().await?;
            let place = self.wire.packet().await?;
            let body = self.wire.body(&place);
            if body.first() == Some(&0xff) {
                return Err(error(body));
            }
            self.takes_several = true;
        }
        self.wire.command(Command::COM_QUERY as u8, text.as_bytes());
        self.wire.connection.flush().await?;
        let rows = self
            .reader
            .read(&mut self.wire, false, Capture::nothing(), marks)
            .await?;
        Ok(rows.returned + rows.changed)
    }

    fn hold_up_thread(&mut self) -> Result<(), Failure> {
        self.wire.connection.hold_up_thread()
    }

    async fn close(mut self) -> Result<(), Failure> {
        self.wire.command(Command::COM_QUIT as u8, &[]);
        self.wire.connection.send_last().await
    }
}

impl MysqlSession {
    /// Runs a text and returns the rows of all its statements as strings.
    pub(super) async fn query(&mut self, sql: &str) -> Result<Vec<Vec<Option<String>>>, Failure> {
        self.query_within(answer_limit(), sql).await
    }

    /// The same, with a time limit.
    pub(super) async fn query_within(
        &mut self,
        limit: Duration,
        sql: &str,
    ) -> Result<Vec<Vec<Option<String>>>, Failure> {
        self.wire.command(Command::COM_QUERY as u8, sql.as_bytes());
        let answer = async {
            self.wire.connection.flush().await?;
            self.reader.read_words(&mut self.wire).await
        };
        answered(limit, answer).await
    }

    /// The columns of the last [`Self::query`].
    pub(super) fn columns(&self) -> &[Column] {
        &self.reader.columns
    }
}

/// Reads the response to a prepare. Returns the server's number for the statement, and the numbers of parameters and
/// result columns.
async fn read_definitions(wire: &mut Wire) -> Result<(u32, u16, u16), Failure> {
    let place = wire.packet().await?;
    let body = wire.body(&place);
    let Some([0, n0, n1, n2, n3, c0, c1, p0, p1, ..]) = body.first_chunk::<12>() else {
        return Err(if body.first() == Some(&0xff) {
            error(body)
        } else {
            garbled()
        });
    };
    let number = u32::from_le_bytes([*n0, *n1, *n2, *n3]);
    let (parameters, columns) = (u16::from_le_bytes([*p0, *p1]), u16::from_le_bytes([*c0, *c1]));
    for definitions in [parameters, columns] {
        // An EOF packet follows the definitions, unless it is deprecated.
        let end = u32::from(definitions > 0 && !wire.deprecates_eof);
        for _ in 0..u32::from(definitions) + end {
            wire.packet().await?;
        }
    }
    Ok((number, parameters, columns))
}

/// Writes the packet that executes a statement, up to its parameters: no cursor, one iteration.
#[inline]
fn put_execution(number: u32, out: &mut BytesMut) {
    out.put_u8(Command::COM_STMT_EXECUTE as u8);
    out.put_u32_le(number);
    out.put_u8(0);
    out.put_u32_le(1);
}

/// The statement that sets session variables. Numbers are not quoted, because numeric variables reject strings.
fn assignments(settings: &[(String, String)]) -> String {
    let assignments = settings.iter().map(|(name, value)| {
        let plain = value.parse::<f64>().is_ok_and(f64::is_finite) || value.eq_ignore_ascii_case("default");
        let value = if plain {
            value.clone()
        } else {
            format!("'{}'", value.replace('\\', "\\\\").replace('\'', "''"))
        };
        format!("session {} = {value}", backquoted(name))
    });
    format!("set {}", assignments.collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use super::super::MysqlEngine;
    use super::super::script::{any_packets, framed};
    use super::super::wire::Wire;
    use super::*;
    use crate::server::net::{Connection, block_on};
    use dbdyno_engine::Wanted;
    use dbdyno_program::value::{Owned, Value};
    use dbdyno_protocol::plan::document::Statement;
    use proptest::prelude::*;

    fn session_with(sent: &[u8], prepare: PrepareMode) -> MysqlSession {
        let statements = MysqlEngine::texts(&[Statement::new("s", "select ?")]);
        MysqlSession {
            wire: Wire::new(Connection::that_sent(sent)),
            prepared: statements.iter().map(|_| None).collect(),
            statements,
            prepare,
            awaiting: Awaited::Text,
            later: BytesMut::new(),
            bound: Vec::new(),
            reader: Reader::new(2),
            text: String::new(),
            takes_several: false,
            recorded: HashMap::new(),
        }
    }

    async fn run(session: &mut MysqlSession) -> Result<Rows, Failure> {
        let mut params = Values::default();
        params.push(Value::Integer(1));
        let (mut variables, mut marks) = (vec![Owned::Null; 3], Marks::new(None));
        let _ = session.execute(0, &params, Capture::nothing(), &mut marks);
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
        fn any_server_input_is_an_answer_or_a_failure(
            packets in any_packets(), tail in proptest::collection::vec(any::<u8>(), 0..8), deprecates_eof: bool,
        ) {
            // One parameter and no column, so that the execution is reached.
            let prepared = framed(1, &[vec![0, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0], vec![0]]);
            let sent = [framed(1, &packets), tail].concat();
            block_on(async {
                let _ = session_with(&sent, PrepareMode::Never).query("select 1").await;
                for prepare in [PrepareMode::Once, PrepareMode::PerTransaction, PrepareMode::Never] {
                    for before in [&[][..], &prepared] {
                        let mut session = session_with(&[before, &sent].concat(), prepare);
                        session.wire.deprecates_eof = deprecates_eof;
                        if prepare == PrepareMode::Once {
                            let _ = session.prepare_all().await;
                        }
                        let _ = run(&mut session).await;
                        let mut preparation = Preparation { once: true, ..Preparation::default() };
                        preparation.parameters.push_integer(1);
                        let mut session = session_with(&[before, &sent].concat(), prepare);
                        session.wire.deprecates_eof = deprecates_eof;
                        let _ = session.execute_recorded("select ?", Some(&preparation)).await;
                    }
                }
                Ok(())
            }).unwrap();
        }
    }

    #[test]
    fn variables_are_set_with_numbers_and_strings() {
        let settings = [
            ("max_statement_time", "0.5"),
            ("sql_mode", "ANSI,STRICT_ALL_TABLES"),
            ("time_zone", "it's \\"),
            ("wait_timeout", "DEFAULT"),
        ];
        let settings = settings.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let expected = [
            r"set session `max_statement_time` = 0.5",
            r"session `sql_mode` = 'ANSI,STRICT_ALL_TABLES'",
            r"session `time_zone` = 'it''s \\'",
            r"session `wait_timeout` = DEFAULT",
        ];
        assert_eq!(assignments(&settings), expected.join(", "));
    }
}
