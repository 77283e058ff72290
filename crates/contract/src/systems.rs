//! The systems that checks are made on.

use crate::client::{Client, wait};
use crate::{Check, Problem, checks};
use dbdyno_engine::rows::Loaded;
use dbdyno_engine::{Engine, Failure};
use dbdyno_plan::document::{Load, PrepareMode, Statement};
use serde_json::Value;
use std::path::PathBuf;

/// The statement of the suite that makes the table.
pub const CREATE: usize = 0;
/// The statement of the suite that inserts a row.
pub const INSERT: usize = 1;
/// The statement of the suite that reads a row by its key.
pub const SELECT: usize = 2;
/// The statement of the suite that changes rows up to a key.
pub const UPDATE: usize = 3;
/// The statement of the suite that counts the rows.
pub const COUNT: usize = 4;
/// The statement of the suite that is wrong.
pub const WRONG: usize = 5;
/// The statement of the suite that reads all rows.
pub const ALL: usize = 6;
/// The statement of the suite that inserts as many rows as there are.
pub const MANY: usize = 7;
/// The statement of the suite that changes a row by its key.
pub const UPDATE_ONE: usize = 8;
/// The statement of the suite that removes the table.
pub const DROP: usize = 9;

/// The client of a system's sessions.
pub type ClientOf<S> = Client<<<S as System>::Engine as Engine>::Session>;

/// A system whose table does not exist yet and belongs to this test alone, and engines for it.
pub trait System: Sized {
    /// Its engine.
    type Engine: Engine;

    /// The types of the table's columns for long text and for bytes.
    const TEXT: &str;
    /// The same for bytes.
    const BYTES: &str;
    /// The name of the table's key.
    const ID: &str = "id";
    /// Every how many loaded rows one is compared, beside those where batches may begin and end. A server without an index
    /// reads all rows to find one by its key.
    const COMPARED: u64 = 1;
    /// How the plan of a lookup names the table's key.
    const KEY: &str;
    /// The names the engine may have.
    const NAMES: &[&str];
    /// A setting that is shown.
    const SHOWN: &str;
    /// The message on the first statement that cannot be prepared although its table exists.
    const UNPREPARED: &str;

    /// The checks that are made on such a system.
    fn checks() -> Vec<Check<Self>>;

    /// The table's name.
    fn table(&self) -> &str;

    /// An engine for some texts.
    fn engine_for(&self, texts: &[String], prepare: PrepareMode) -> Result<Self::Engine, Failure>;

    /// Fills the table by a load plan that has no target yet.
    fn load(&self, load: Value, seed: u64) -> Result<Vec<Loaded>, Failure>;

    /// Removes the table.
    fn clean(&self) -> Result<(), Failure>;

    /// An engine for the statements of the suite.
    fn engine(&self, prepare: PrepareMode) -> Result<Self::Engine, Failure> {
        self.engine_for(&self.texts(), prepare)
    }

    /// A session.
    fn client(&self, prepare: PrepareMode) -> Result<ClientOf<Self>, Failure> {
        Ok(Client(wait(self.engine(prepare)?.connect(0))?))
    }

    /// A session, and the table empty.
    fn fresh(&self, prepare: PrepareMode) -> Result<ClientOf<Self>, Failure> {
        let mut client = self.client(prepare)?;
        client.run(DROP, &[])?;
        client.run(CREATE, &[])?;
        Ok(client)
    }

    /// A session for other texts, in which `{t}` is the table.
    fn client_for(&self, texts: &[&str], prepare: PrepareMode) -> Result<ClientOf<Self>, Failure> {
        let texts: Vec<String> = texts.iter().map(|text| text.replace("{t}", self.table())).collect();
        Ok(Client(wait(self.engine_for(&texts, prepare)?.connect(0))?))
    }

    /// The definition of the table.
    fn create(&self) -> String {
        let (table, text, bytes) = (self.table(), Self::TEXT, Self::BYTES);
        format!("create table {table} (id integer primary key, i bigint, r double precision, s {text}, b {bytes})")
    }

    /// The definition of an index of the column `i`.
    fn create_index(&self) -> String {
        format!("create index {t}_i on {t} (i)", t = self.table())
    }

    /// The statements of the suite.
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
    /// A statement that takes some seconds.
    const SLOW: &str;
    /// What gives a session's number.
    const NUMBER: &str;
    /// What ends a session by its number.
    const END: &str;
    /// What ends a session's statement by its number.
    const CANCEL: &str;
    /// A setting of sessions: its name, what shows it, and what it is set to.
    const SETTING: (&str, &str, &str);
    /// Columns of many types.
    const TYPES: &str;

    /// What makes the user `{u}` with the password `it's right`, in each way that it can be kept.
    const CREATE_USER: &[&[&str]];
    /// What removes it.
    const DROP_USER: &str;

    /// Settings of sessions that end a statement after a tenth of a second.
    fn impatient(&self) -> Result<Value, Problem>;

    /// The longest value that the server takes, in bytes; none: longer than any here.
    fn longest(&self) -> Result<Option<usize>, Problem>;

    /// Has the server ask a user for a password; tells whether it does. A server of the user's is not changed.
    fn demand_password(&self, user: &str) -> bool;

    /// The server's Unix socket, if that is where it is.
    fn socket(&self) -> Option<PathBuf>;

    /// An engine whose target has other fields.
    fn engine_with(&self, changes: Value, texts: &[&str]) -> Result<Self::Engine, Failure>;
}

/// The checks of every system.
pub fn of_all<S: System>() -> Vec<Check<S>> {
    let mut all = checks!(statements:
        values_come_back_as_they_were_sent,
        nulls_and_missing_rows_are_null,
        all_rows_are_fetched_and_all_changes_counted,
        values_of_changing_kinds_go_into_one_statement,
        a_transaction_ends_as_it_is_told,
        failures_have_their_kind_and_leave_the_session_usable,
        a_failure_in_a_transaction_is_rolled_back,
        the_number_of_values_must_be_that_of_the_parameters,
        statements_are_prepared_ahead_or_it_is_told_which_cannot_be,
        an_engine_says_what_it_is_and_how_it_will_do_each_statement,
        closing_ends_what_is_open,
    );
    all.extend(checks!(bulk: a_loaded_table_holds_the_values_that_were_made, loading_tells_what_is_wrong));
    all
}

/// The checks of every server.
pub fn of_servers<S: Server>() -> Vec<Check<S>> {
    let mut all = of_all();
    all.extend(checks!(servers:
        columns_have_the_types_of_the_server,
        the_first_row_is_taken_of_many,
        a_deadlock_is_told_apart,
        a_statement_that_takes_too_long_is_a_timeout,
        a_statement_that_is_cancelled_is_a_timeout,
        a_session_that_is_ended_has_lost_its_connection,
        a_session_that_is_ended_within_a_statement_has_lost_its_connection,
        what_cannot_be_connected_to_is_told,
        settings_of_the_session_are_in_force,
        very_long_values_go_both_ways,
        answers_that_come_in_pieces_are_put_together,
        many_sessions_work_at_once,
        a_password_is_checked,
    ));
    all
}

/// Texts as statements of a plan.
pub fn statements(texts: &[String]) -> Vec<Statement> {
    let texts = texts.iter().enumerate();
    texts
        .map(|(index, sql)| Statement::new(format!("s{index}"), sql))
        .collect()
}

/// A load that has no target yet, with one.
pub fn as_load(mut load: Value, target: &Value) -> Result<Load, Failure> {
    load["target"] = target.clone();
    serde_json::from_value(load).map_err(unreadable)
}

/// A plan of a check's own that cannot be read.
pub fn unreadable(error: serde_json::Error) -> Failure {
    let problem = format!("a plan of the check's own is wrong: {error}");
    Failure::new(dbdyno_plan::document::FailureKind::Other, problem)
}
