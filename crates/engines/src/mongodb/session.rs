//! One session: sends commands and reads the responses.

use super::Text;
use super::login;
use super::options::Options;
use super::reply::{Read, read};
use super::target::MongodbTarget;
use super::wire::Wire;
use bson::raw::cstr;
use bson::rawdoc;
use dbdyno_engine::{Capture, Control, Failure, Marks, Rows, Session, awaited};
use dbdyno_program::value::Values;
use dbdyno_protocol::plan::document::FailureKind;
use std::sync::Arc;
use std::task::Poll;

/// Default authentication database.
const AUTH_SOURCE: &str = "admin";

/// One session on a server.
pub struct MongodbSession {
    wire: Wire,
    database: Arc<str>,
    statements: Arc<[Text]>,
    /// The statement whose response is awaited.
    asked: usize,
    /// Reusable buffer for the open documents while a command is written.
    opened: Vec<usize>,
}

impl MongodbSession {
    pub(super) async fn open(
        target: &MongodbTarget,
        options: &Options,
        statements: Arc<[Text]>,
    ) -> Result<Self, Failure> {
        let auth_source = options.auth_source.as_deref().unwrap_or(AUTH_SOURCE);
        Ok(Self {
            wire: login::begin(target, auth_source).await?,
            database: target.database.as_str().into(),
            statements,
            asked: 0,
            opened: Vec::new(),
        })
    }

    pub(super) fn wire(&mut self) -> &mut Wire {
        &mut self.wire
    }

    pub(super) fn database(&self) -> &str {
        &self.database
    }

    /// Writes the message that runs a statement.
    #[inline]
    fn ask(&mut self, index: usize, params: &Values) -> Result<(), Failure> {
        self.asked = index;
        let message = self.wire.begin();
        let command = &self.statements[index].command;
        if let Err(failure) = command.write(params, &mut self.opened, &mut self.wire.connection.out) {
            self.wire.forget(message);
            return Err(failure);
        }
        self.wire.end(message);
        self.wire.connection.send()
    }
}

impl Session for MongodbSession {
    /// There are no prepared statements: each command is sent in full.
    async fn prepare_first(&mut self, _count: usize) -> Result<(), Failure> {
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
        awaited(self.ask(statement, params))
    }

    fn control(&mut self, control: Control) -> Poll<Result<(), Failure>> {
        match control {
            // No transaction is ever open.
            Control::Rollback => Poll::Ready(Ok(())),
            Control::Begin(_) | Control::Commit => Poll::Ready(Err(Failure::new(
                FailureKind::Other,
                "a single MongoDB-compatible server doesn't support transactions; each command is atomic",
            ))),
        }
    }

    async fn answer(&mut self, mut capture: Capture<'_>, marks: &mut Marks) -> Result<Rows, Failure> {
        self.wire.connection.flush().await?;
        let command = &self.statements[self.asked].command;
        let place = self.wire.answer().await?;
        marks.note_first_row();
        let Read { mut rows, mut more } = read(self.wire.bytes(&place), command, &mut capture)?;
        while let Some((cursor, collection)) = more {
            let mut next = rawdoc! {"getMore": cursor, "collection": collection};
            if let Some(batch) = command.batch {
                next.append(cstr!("batchSize"), batch);
            }
            let place = login::exchange(&mut self.wire, &self.database, next).await?;
            let next = read(self.wire.bytes(&place), command, &mut capture)?;
            rows.returned += next.rows.returned;
            more = next.more;
        }
        Ok(rows)
    }

    /// There is no logout command; closing the connection ends the session.
    async fn close(self) -> Result<(), Failure> {
        Ok(())
    }
}
