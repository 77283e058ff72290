//! One connection to a DuckDB database.

use super::api::{Api, Handle, OK};
use super::bulk::Appender;
use super::result::Answer;
use super::{DIALECT, Database, confinement, text_for_c, text_of};
use crate::external_access::DENIED;
use crate::sql_text::{Template, check_parameters};
use dbdyno_engine::{Capture, Control, Failure, Marks, Rows, Session, check_count};
use dbdyno_program::value::{Value, Values};
use dbdyno_protocol::plan::document::{Copied, FailureKind, PrepareMode, Statement};
use std::ptr::null_mut;
use std::sync::Arc;
use std::task::Poll;

/// A connection, and its prepared statements.
pub struct DuckdbSession {
    /// Outlives the connection and its statements, which `Drop` closes first.
    database: Arc<Database>,
    connection: Handle,
    statements: Arc<[Statement]>,
    prepared: Vec<Handle>,
    /// The target of each statement that copies rows.
    copied: Vec<Option<Copied>>,
    /// The statements split at their parameters, used if values are inserted into the text.
    templates: Vec<Template>,
    prepare: PrepareMode,
    text: String,
    in_transaction: bool,
}

// SAFETY: one client at a time uses a session; DuckDB's connections may move between threads.
unsafe impl Send for DuckdbSession {}

/// Interrupts a connection's current operation.
pub struct Interrupt<'a>(&'a DuckdbSession);

// SAFETY: it only uses the connection's handle, and other threads may interrupt a connection.
unsafe impl Send for Interrupt<'_> {}

impl Interrupt<'_> {
    /// Interrupts the current operation, which then fails.
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
            let what = format!("connecting to {}: DuckDB gives no reason", database.target.path);
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
            copied: statements.iter().map(Statement::copied).collect(),
            templates,
            prepare,
            text: String::new(),
            in_transaction: false,
        })
    }

    fn api(&self) -> &Api {
        &self.database.api
    }

    /// The connection's handle, for other API functions.
    pub(super) fn connection(&self) -> Handle {
        self.connection
    }

    /// A handle to interrupt the connection from another thread.
    pub(super) fn interrupting(&self) -> Interrupt<'_> {
        Interrupt(self)
    }

    /// Runs one or more statements and returns the result of the last.
    pub(super) fn query(&self, sql: &str) -> Result<Answer<'_>, Failure> {
        let text = text_for_c(sql)?;
        // SAFETY: the connection is open.
        Answer::of(self.api(), |result| unsafe {
            (self.api().query)(self.connection, text.as_ptr(), result)
        })
    }

    /// Runs statements and ignores their result.
    pub(super) fn run(&self, sql: &str) -> Result<(), Failure> {
        self.query(sql).map(drop)
    }

    /// Prepares a text, which must be one statement. The caller must destroy the handle.
    pub(super) fn parse(&self, sql: &str) -> Result<Handle, Failure> {
        let text = text_for_c(sql)?;
        let mut statement = null_mut();
        // SAFETY: the connection is open; a failed statement contains the error and is destroyed.
        unsafe {
            if (self.api().prepare)(self.connection, text.as_ptr(), &raw mut statement) == OK {
                return Ok(statement);
            }
            let why = text_of((self.api().prepare_error)(statement));
            (self.api().destroy_prepare)(&raw mut statement);
            Err(Failure::new(
                FailureKind::Other,
                why.unwrap_or_else(|| "no reason given".into()),
            ))
        }
    }

    /// Prepares a statement of the plan, unless it may access something outside the database. The caller must destroy
    /// the handle.
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

    /// Runs a text, unless it may access something outside the database.
    pub(super) fn run_confined(&self, sql: &str) -> Result<(), Failure> {
        if confinement::has_several_statements(sql) {
            // DuckDB prepares one statement at a time, and a later one may depend on an earlier one.
            if let Some(why) = confinement::problem_of_text(sql) {
                return Err(Failure::new(FailureKind::Other, format!("{DENIED}: {why}")));
            }
        } else {
            self.prepare_one(sql).map(|statement| self.forget(statement))?;
        }
        self.run(sql)
    }

    /// Marks a failure that was caused by the confinement.
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

    /// Runs one statement with null parameters.
    pub(super) fn run_with_nulls(&self, sql: &str) -> Result<(), Failure> {
        let statement = self.parse(sql)?;
        // SAFETY: the statement is prepared and has this number of parameters.
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
        // SAFETY: this connection prepared it; a null handle is allowed.
        unsafe { (self.api().destroy_prepare)(&raw mut statement) };
    }

    /// The type of a prepared statement (`duckdb_statement_type`).
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
            // SAFETY: the statement is prepared and has this parameter; the library copies strings and blobs.
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
                let what = format!("the value of parameter {index} was refused");
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
        let types = if capture.is_empty() {
            Vec::new()
        } else {
            answer.types(capture.len() as u64)
        };
        if chunk.as_ref().is_none_or(|chunk| chunk.rows() == 0) {
            capture.clear();
        }
        let mut returned = 0;
        while let Some(rows) = chunk {
            let taken = if capture.wants_every_row() {
                rows.rows()
            } else {
                rows.rows().min(u64::from(returned == 0))
            };
            for row in 0..taken as usize {
                for (index, column) in (0..).zip(&types) {
                    capture.take(index as usize, rows.value(row, index, *column)?.view());
                }
            }
            returned += rows.rows();
            chunk = answer.chunk();
        }
        Ok(Rows { returned, changed: 0 })
    }

    /// Appends all rows, or none if one is refused: the appender keeps at least 100,000 rows until it is closed.
    fn append(&self, copied: &Copied, params: &Values) -> Result<Rows, Failure> {
        let appender = Appender::open(
            self.api(),
            self.connection,
            &copied.table,
            copied.columns.iter().map(String::as_str),
        )?;
        let width = copied.columns.len();
        let changed = params.len() / width;
        let mut values = params.iter();
        for _ in 0..changed {
            appender.append(values.by_ref().take(width))?;
        }
        appender.close()?;
        Ok(Rows {
            returned: 0,
            changed: changed as u64,
        })
    }

    fn run_statement(
        &mut self,
        index: usize,
        params: &Values,
        capture: Capture<'_>,
        marks: &mut Marks,
    ) -> Result<Rows, Failure> {
        if let Some(copied) = &self.copied[index] {
            return self.append(copied, params);
        }
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
            // There is only one way to begin: writers don't wait for each other, and the second one to change a row
            // fails.
            Control::Begin(_) => {
                self.run("begin transaction")?;
                self.in_transaction = true;
                Ok(())
            }
            Control::Commit => {
                let done = self.run("commit");
                // A failed commit has rolled back.
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
    async fn prepare_first(&mut self, count: usize) -> Result<(), Failure> {
        for index in 0..self.statements.len().min(count) {
            if self.prepared[index].is_null() && self.copied[index].is_none() {
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
        // SAFETY: the connection's statements have been destroyed; an open transaction is rolled back.
        unsafe { (api.disconnect)(&raw mut self.connection) };
    }
}
