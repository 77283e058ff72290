//! The systems under check.

use crate::client::{Client, wait};
use crate::{Check, Problem, checks};
use dbdyno_engine::rows::Loaded;
use dbdyno_engine::{Engine, Failure};
use dbdyno_protocol::plan::document::{Load, PrepareMode, Statement};
use serde_json::Value;
use std::path::PathBuf;

/// Index of the statement that creates the table.
pub const CREATE: usize = 0;
/// Index of the statement that inserts a row.
pub const INSERT: usize = 1;
/// Index of the statement that reads a row by its key.
pub const SELECT: usize = 2;
/// Index of the statement that updates rows up to a key.
pub const UPDATE: usize = 3;
/// Index of the statement that counts the rows.
pub const COUNT: usize = 4;
/// Index of the invalid statement.
pub const WRONG: usize = 5;
/// Index of the statement that reads all rows.
pub const ALL: usize = 6;
/// Index of the statement that doubles the rows.
pub const MANY: usize = 7;
/// Index of the statement that updates a row by its key.
pub const UPDATE_ONE: usize = 8;
/// Index of the statement that drops the table.
pub const DROP: usize = 9;

/// The blocking client of a system.
pub type SystemClient<S> = Client<<<S as System>::Engine as Engine>::Session>;

/// A system with a table that doesn't exist yet and belongs to one check.
pub trait System: Sized {
    /// Its engine.
    type Engine: Engine;

    /// Column type for long text.
    const TEXT: &str;
    /// Column type for bytes.
    const BYTES: &str;
    /// Name of the table's key column.
    const ID: &str = "id";
    /// Every `COMPARED`th loaded row is compared, plus the rows at possible batch edges. A server without an index reads
    /// all rows to find one by its key.
    const COMPARED: u64 = 1;
    /// How the query plan of a lookup names the table's key.
    const KEY: &str;
    /// Names that the engine may report.
    const NAMES: &[&str];
    /// A setting that the engine reports.
    const SHOWN: &str;
    /// Error for the first statement that cannot be prepared although its table exists.
    const UNPREPARED: &str;

    /// The checks that apply to this system.
    fn checks() -> Vec<Check<Self>>;

    /// The table's name.
    fn table(&self) -> &str;

    /// An engine for these statements.
    fn engine_for(&self, texts: &[String], prepare: PrepareMode) -> Result<Self::Engine, Failure>;

    /// Fills the table according to a load plan without a target.
    fn load(&self, load: Value, seed: u64) -> Result<Vec<Loaded>, Failure>;

    /// Drops the table.
    fn clean(&self) -> Result<(), Failure>;

    /// An engine for the suite's statements.
    fn engine(&self, prepare: PrepareMode) -> Result<Self::Engine, Failure> {
        self.engine_for(&self.texts(), prepare)
    }

    /// A session.
    fn client(&self, prepare: PrepareMode) -> Result<SystemClient<Self>, Failure> {
        Ok(Client(wait(self.engine(prepare)?.connect(0))?))
    }

    /// A session with an empty table.
    fn fresh(&self, prepare: PrepareMode) -> Result<SystemClient<Self>, Failure> {
        let mut client = self.client(prepare)?;
        client.run(DROP, &[])?;
        client.run(CREATE, &[])?;
        Ok(client)
    }

    /// A session for other statements; `{t}` stands for the table.
    fn client_for(&self, texts: &[&str], prepare: PrepareMode) -> Result<SystemClient<Self>, Failure> {
        let texts: Vec<String> = texts.iter().map(|text| text.replace("{t}", self.table())).collect();
        Ok(Client(wait(self.engine_for(&texts, prepare)?.connect(0))?))
    }

    /// The `create table` statement.
    fn create(&self) -> String {
        let (table, text, bytes) = (self.table(), Self::TEXT, Self::BYTES);
        format!("create table {table} (id integer primary key, i bigint, r double precision, s {text}, b {bytes})")
    }

    /// The `create index` statement for the column `i`.
    fn create_index(&self) -> String {
        format!("create index {t}_i on {t} (i)", t = self.table())
    }

    /// The suite's statements.
    fn texts(&self) -> Vec<String> {
        let texts = [
            "insert into {t} values (?, ?, ?, ?, ?)",
            "select i, r, s, b from {t} where id = ?",
            "update {t} set i = i + 1 where id <= ?",
            "select count(*) from {t}",
            "select missing from nowhere",
            "select id, s from {t} order by id",
            "insert into {t} (id) select id + 1000 from {t}",
            "update {t} set i = i + 1 where id = ?",
            "drop table if exists {t}",
        ];
        let texts = texts.iter().map(|text| text.replace("{t}", self.table()));
        std::iter::once(self.create()).chain(texts).collect()
    }
}

/// A system that is a server.
pub trait Server: System {
    /// A statement that takes several seconds.
    const SLOW: &str;
    /// A query that returns the session's ID.
    const NUMBER: &str;
    /// A statement that terminates a session by its ID.
    const END: &str;
    /// A statement that cancels a session's statement by its ID.
    const CANCEL: &str;
    /// A session setting: its name, a query that shows it, and the value to set.
    const SETTING: (&str, &str, &str);
    /// A query with columns of many types.
    const TYPES: &str;

    /// Statements that create the user `{u}` with the password `it's right`, once for each way to store it.
    const CREATE_USER: &[&[&str]];
    /// A statement that drops the user.
    const DROP_USER: &str;

    /// Session settings that time out a statement after 0.1 s.
    fn impatient(&self) -> Result<Value, Problem>;

    /// The longest value that the server accepts, in bytes; `None` if no check exceeds it.
    fn longest(&self) -> Result<Option<usize>, Problem>;

    /// Makes the server require a password for a user. Returns false if it can't: a server that dbdyno didn't start is
    /// not changed.
    fn demand_password(&self, user: &str) -> bool;

    /// The server's Unix socket, if it uses one.
    fn socket(&self) -> Option<PathBuf>;

    /// An engine with some target fields replaced.
    fn engine_with(&self, changes: Value, texts: &[&str]) -> Result<Self::Engine, Failure>;
}

/// The checks that apply to every system.
pub fn system_checks<S: System>() -> Vec<Check<S>> {
    let mut all = checks!(statements:
        values_come_back_as_they_were_sent,
        nulls_and_missing_rows_are_null,
        all_rows_are_fetched_and_all_changes_counted,
        one_statement_accepts_values_of_changing_types,
        a_transaction_commits_or_rolls_back,
        failures_have_their_kind_and_leave_the_session_usable,
        a_failure_in_a_transaction_is_rolled_back,
        the_number_of_values_must_match_the_parameters,
        statements_are_prepared_ahead_or_named_in_the_error,
        an_engine_reports_its_version_and_query_plans,
        closing_rolls_back_an_open_transaction,
    );
    all.extend(checks!(bulk: a_loaded_table_contains_the_generated_values, loading_errors_name_their_cause));
    all
}

/// The checks that apply to every server.
pub fn server_checks<S: Server>() -> Vec<Check<S>> {
    let mut all = system_checks();
    all.extend(checks!(servers:
        columns_have_the_types_of_the_server,
        the_first_of_many_rows_is_captured,
        a_transaction_begins_with_an_isolation_level,
        a_deadlock_is_recognized,
        a_statement_that_takes_too_long_is_a_timeout,
        a_statement_that_is_cancelled_is_a_timeout,
        a_terminated_session_reports_a_lost_connection,
        a_session_terminated_during_a_statement_reports_a_lost_connection,
        connection_errors_are_explained,
        session_settings_take_effect,
        very_long_values_are_sent_and_received,
        fragmented_answers_are_reassembled,
        many_sessions_work_at_once,
        a_password_is_checked,
    ));
    all
}

/// Statements of a plan with these SQL texts.
pub fn statements(texts: &[String]) -> Vec<Statement> {
    let texts = texts.iter().enumerate();
    texts
        .map(|(index, sql)| Statement::new(format!("s{index}"), sql))
        .collect()
}

/// A load plan with its target added.
pub fn as_load(mut load: Value, target: &Value) -> Result<Load, Failure> {
    load["target"] = target.clone();
    serde_json::from_value(load).map_err(unreadable)
}

/// The failure for a check's plan that is invalid.
pub fn unreadable(error: serde_json::Error) -> Failure {
    let problem = format!("the check's plan is invalid: {error}");
    Failure::new(dbdyno_protocol::plan::document::FailureKind::Other, problem)
}
