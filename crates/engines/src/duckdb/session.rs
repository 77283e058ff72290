//! One connection to a DuckDB database.

use super::api::{Api, Handle, OK};
use super::result::Answer;
use super::{DIALECT, Database, confinement, text_for_c, text_of};
use crate::reach::DENIED;
use crate::sql_text::{Template, check_parameters};
use dbdyno_engine::{Capture, Control, Failure, Marks, Rows, Session, check_count};
use dbdyno_plan::document::{FailureKind, PrepareMode, Statement};
use dbdyno_program::value::{Value, Values};
use std::ptr::null_mut;
use std::sync::Arc;
use std::task::Poll;

/// A connection, and its prepared statements.
pub struct DuckdbSession {
    /// Behind the connection and its statements, which must go before it.
    database: Arc<Database>,
    connection: Handle,
    statements: Arc<[Statement]>,
    prepared: Vec<Handle>,
    /// The texts cut at their placeholders, where values are to be written into them.
    templates: Vec<Template>,
    prepare: PrepareMode,
    text: String,
    in_transaction: bool,
}

// SAFETY: a session is used by one client at a time; DuckDB's connections may move between threads.
unsafe impl Send for DuckdbSession {}

/// Ends what a connection is doing.
pub struct Interrupt<'a>(&'a DuckdbSession);

// SAFETY: of the session it only uses the connection's handle, and interrupting one is for other threads to do.
unsafe impl Send for Interrupt<'_> {}

impl Interrupt<'_> {
    /// Ends it. What it is doing fails.
    pub(super) fn now(&self) {
        // SAFETY: the connection is open as long as the session is.
        unsafe { (self.0.api().interrupt)(self.0.connection) };
    }
}

impl DuckdbSession {
    /// Connects to an open database.
    pub(super) fn open(
        database: &Arc<Database>,
        statements: &Arc<[Statement]>,
        prepare: PrepareMode,
    ) -> Result<Self, Failure> {
        let mut connection = null_mut();
        // SAFETY: the database is open.
        if unsafe { (database.api.connect)(database.handle, &raw mut connection) } != OK {
            let what = format!("connecting to {}: DuckDB says no reason", database.target.path);
            return Err(Failure::new(FailureKind::Connection, what));
        }
        let templates = match prepare {
            PrepareMode::Never => statements.iter().map(Template::of).collect(),
            PrepareMode::Once | PrepareMode::PerTransaction => Vec::new(),
        };
        Ok(Self {
            database: Arc::clone(database),
            connection,
            statements: Arc::clone(statements),
            prepared: vec![null_mut(); statements.len()],
            templates,
            prepare,
            text: String::new(),
            in_transaction: false,
        })
    }

    fn api(&self) -> &Api {
        &self.database.api
    }

    /// The connection's handle, for what else is done with one.
    pub(super) fn connection(&self) -> Handle {
        self.connection
    }

    /// What ends what the connection is doing, from another thread.
    pub(super) fn interrupting(&self) -> Interrupt<'_> {
        Interrupt(self)
    }

    /// Runs a text, which may be several statements, and gives the last one's answer.
    pub(super) fn query(&self, sql: &str) -> Result<Answer<'_>, Failure> {
        let text = text_for_c(sql)?;
        // SAFETY: the connection is open.
        Answer::of(self.api(), |result| unsafe {
            (self.api().query)(self.connection, text.as_ptr(), result)
        })
    }

    /// Runs a text that changes something, or nothing.
    pub(super) fn run(&self, sql: &str) -> Result<(), Failure> {
        self.query(sql).map(drop)
    }

    /// Prepares a text, which must be one statement. It is to be destroyed.
    pub(super) fn parse(&self, sql: &str) -> Result<Handle, Failure> {
        let text = text_for_c(sql)?;
        let mut statement = null_mut();
        // SAFETY: the connection is open; a statement that failed holds the reason and is destroyed.
        unsafe {
            if (self.api().prepare)(self.connection, text.as_ptr(), &raw mut statement) == OK {
                return Ok(statement);
            }
            let why = text_of((self.api().prepare_error)(statement));
            (self.api().destroy_prepare)(&raw mut statement);
            Err(Failure::new(
                FailureKind::Other,
                why.unwrap_or_else(|| "it says no reason".into()),
            ))
        }
    }

    /// Prepares a statement of the plan, unless it may leave the database. It is to be destroyed.
    fn prepare_one(&self, sql: &str) -> Result<Handle, Failure> {
        let statement = self.parse(sql).map_err(|failure| self.explain(failure))?;
        if !self.database.target.confined {
            return Ok(statement);
        }
        // SAFETY: the statement is prepared.
        let kind = unsafe { (self.api().prepared_statement_type)(statement) };
        match confinement::problem(kind, sql) {
            None => Ok(statement),
            Some(why) => {
                self.forget(statement);
                Err(Failure::new(FailureKind::Other, format!("{DENIED}: {why}")))
            }
        }
    }

    /// Runs a text, unless it may leave the database.
    pub(super) fn run_confined(&self, sql: &str) -> Result<(), Failure> {
        if confinement::has_several_statements(sql) {
            // DuckDB prepares one statement at a time, and a later one may need what an earlier one makes.
            if let Some(why) = confinement::problem_of_text(sql) {
                return Err(Failure::new(FailureKind::Other, format!("{DENIED}: {why}")));
            }
        } else {
            self.prepare_one(sql).map(|statement| self.forget(statement))?;
        }
        self.run(sql)
    }

    /// A failure, which says so if what confines the statements caused it.
    #[cold]
    fn explain(&self, failure: Failure) -> Failure {
        const CAUSES: [&str; 4] = [
            "Permission Error",
            "configuration has been locked",
            "attached in read-only mode",
            "in-memory database in read-only mode",
        ];
        let is_cause = self.database.target.confined && CAUSES.iter().any(|cause| failure.message.contains(cause));
        if is_cause {
            failure.explained(|message| format!("{DENIED}: {message}"))
        } else {
            failure
        }
    }

    /// Runs one statement, its parameters null.
    pub(super) fn run_with_nulls(&self, sql: &str) -> Result<(), Failure> {
        let statement = self.parse(sql)?;
        // SAFETY: the statement is prepared, and has so many parameters.
        let done = unsafe {
            for index in 1..=(self.api().nparams)(statement) {
                (self.api().bind_null)(statement, index);
            }
            Answer::of(self.api(), |result| (self.api().execute_prepared)(statement, result)).map(drop)
        };
        self.forget(statement);
        done
    }

    /// Destroys a prepared statement.
    pub(super) fn forget(&self, mut statement: Handle) {
        // SAFETY: it was prepared by this connection; none is allowed.
        unsafe { (self.api().destroy_prepare)(&raw mut statement) };
    }

    /// What kind of statement a text is prepared into (`duckdb_statement_type`).
    pub(super) fn kind_of(&self, sql: &str) -> Result<i32, Failure> {
        let statement = self.parse(sql)?;
        // SAFETY: the statement is prepared.
        let kind = unsafe { (self.api().prepared_statement_type)(statement) };
        self.forget(statement);
        Ok(kind)
    }

    fn prepare_statement(&self, index: usize) -> Result<Handle, Failure> {
        let statement = &self.statements[index];
        let prepared = self.prepare_one(&statement.sql)?;
        // SAFETY: the statement is prepared.
        let seen = unsafe { (self.api().nparams)(prepared) } as usize;
        check_parameters(seen, statement).inspect_err(|_| self.forget(prepared))?;
        Ok(prepared)
    }

    fn bind(&self, statement: Handle, params: &Values) -> Result<(), Failure> {
        // SAFETY: the statement is prepared.
        check_count(unsafe { (self.api().nparams)(statement) } as usize, params.len())?;
        for (index, value) in (1..).zip(params.iter()) {
            // SAFETY: the statement is prepared and has such a parameter; the library copies texts and bytes.
            let state = unsafe {
                match value {
                    Value::Null => (self.api().bind_null)(statement, index),
                    Value::Integer(v) => (self.api().bind_int64)(statement, index, v),
                    Value::Real(v) => (self.api().bind_double)(statement, index, v),
                    Value::Text(v) => {
                        (self.api().bind_varchar_length)(statement, index, v.as_ptr().cast(), v.len() as u64)
                    }
                    Value::Bytes(v) => (self.api().bind_blob)(statement, index, v.as_ptr().cast(), v.len() as u64),
                }
            };
            if state != OK {
                let what = format!("the value of parameter {index} is refused");
                return Err(Failure::new(FailureKind::Other, what));
            }
        }
        Ok(())
    }

    /// Runs a prepared statement and fetches all its rows.
    fn step(&self, statement: Handle, mut capture: Capture<'_>, marks: &mut Marks) -> Result<Rows, Failure> {
        // SAFETY: the statement is prepared and bound.
        let mut answer = Answer::of(self.api(), |result| unsafe {
            (self.api().execute_prepared)(statement, result)
        })
        .map_err(|failure| self.explain(failure))?;
        let changed = answer.changed();
        let mut chunk = answer.chunk();
        marks.note_first_row();
        if let Some(changed) = changed {
            capture.clear();
            return Ok(Rows { returned: 0, changed });
        }
        if !capture.is_empty() {
            match &chunk {
                Some(chunk) if chunk.rows() > 0 => {
                    for (index, column) in (0..).zip(answer.types(capture.len() as u64)) {
                        capture.take(index as usize, chunk.value(0, index, column)?.view());
                    }
                }
                _ => capture.clear(),
            }
        }
        let mut returned = 0;
        while let Some(rows) = chunk {
            returned += rows.rows();
            chunk = answer.chunk();
        }
        Ok(Rows { returned, changed: 0 })
    }

    fn run_statement(
        &mut self,
        index: usize,
        params: &Values,
        capture: Capture<'_>,
        marks: &mut Marks,
    ) -> Result<Rows, Failure> {
        let statement = self.prepared[index];
        if !statement.is_null() {
            self.bind(statement, params)?;
            return self.step(statement, capture, marks);
        }
        if self.prepare == PrepareMode::Never {
            let mut text = std::mem::take(&mut self.text);
            let template = &self.templates[index];
            let counted = check_count(template.parameters(), params.len());
            template.render(params, &DIALECT, &mut text);
            let parsed = counted.and_then(|()| self.prepare_one(&text));
            self.text = text;
            let statement = parsed?;
            marks.note_prepared();
            let result = self.step(statement, capture, marks);
            self.forget(statement);
            return result;
        }
        let statement = self.prepare_statement(index)?;
        marks.note_prepared();
        let result = self
            .bind(statement, params)
            .and_then(|()| self.step(statement, capture, marks));
        if self.prepare == PrepareMode::Once {
            self.prepared[index] = statement;
        } else {
            self.forget(statement);
        }
        result
    }

    fn run_control(&mut self, control: Control) -> Result<(), Failure> {
        match control {
            // There is one way to begin: writers do not wait for one another, and the second to change a row fails.
            Control::Begin(_) => {
                self.run("begin transaction")?;
                self.in_transaction = true;
                Ok(())
            }
            Control::Commit => {
                let done = self.run("commit");
                // A commit that fails has rolled back.
                self.in_transaction = false;
                done
            }
            Control::Rollback if !self.in_transaction => Ok(()),
            Control::Rollback => {
                self.in_transaction = false;
                self.run("rollback")
            }
        }
    }
}

impl Session for DuckdbSession {
    async fn prepare_all(&mut self) -> Result<(), Failure> {
        for index in 0..self.statements.len() {
            if self.prepared[index].is_null() {
                self.prepared[index] = self.prepare_statement(index)?;
            }
        }
        Ok(())
    }

    fn execute(
        &mut self,
        statement: usize,
        params: &Values,
        capture: Capture<'_>,
        marks: &mut Marks,
    ) -> Poll<Result<Rows, Failure>> {
        Poll::Ready(self.run_statement(statement, params, capture, marks))
    }

    fn control(&mut self, control: Control) -> Poll<Result<(), Failure>> {
        Poll::Ready(self.run_control(control))
    }

    async fn close(self) -> Result<(), Failure> {
        drop(self);
        Ok(())
    }
}

impl Drop for DuckdbSession {
    fn drop(&mut self) {
        for statement in std::mem::take(&mut self.prepared) {
            self.forget(statement);
        }
        let api = &self.database.api;
        // SAFETY: nothing of the connection is left; a transaction that is open is rolled back.
        unsafe { (api.disconnect)(&raw mut self.connection) };
    }
}
