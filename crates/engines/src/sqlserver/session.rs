//! One session: sends statements and reads the responses.

use super::DIALECT;
use super::login::{Connection, begin};
use super::target::SqlserverTarget;
use super::values::{read, write};
use super::{Text, failure};
use dbdyno_engine::time_limits::{answer_limit, answered};
use dbdyno_engine::{Capture, Control, Failure, Marks, Rows, Session, awaited, check_count};
use dbdyno_program::value::{Owned, Values};
use dbdyno_protocol::plan::document::{FailureKind, PrepareMode};
use futures_util::TryStreamExt as _;
use std::borrow::Cow;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;
use tiberius::{ColumnData, Query, QueryItem};

/// A response: its rows, and the captured columns of the first.
type Answer = Result<(Rows, Vec<Owned>), Failure>;

/// A running statement, which owns the connection until it ends.
type Pending = Pin<Box<dyn Future<Output = (Connection, Answer)>>>;

enum State {
    Idle(Box<Connection>),
    Running(Pending),
    /// The response arrived while the request was sent.
    Answered(Box<Connection>, Answer),
    /// A statement was abandoned before its response.
    Lost,
}

/// One session on a server.
pub struct SqlserverSession {
    state: State,
    statements: Arc<[Text]>,
    prepare: PrepareMode,
    /// Whether the open transaction has an isolation level of its own.
    isolated: bool,
}

impl SqlserverSession {
    pub(super) async fn open(
        target: &SqlserverTarget,
        statements: Arc<[Text]>,
        prepare: PrepareMode,
    ) -> Result<Self, Failure> {
        Ok(Self {
            state: State::Idle(Box::new(begin(target).await?)),
            statements,
            prepare,
            isolated: false,
        })
    }

    /// Runs one or more statements and returns the rows of all of them.
    pub(super) async fn query(&mut self, sql: &str) -> Result<Vec<Vec<Owned>>, Failure> {
        self.query_within(answer_limit(), sql).await
    }

    /// The same, with a time limit.
    pub(super) async fn query_within(&mut self, limit: Duration, sql: &str) -> Result<Vec<Vec<Owned>>, Failure> {
        let State::Idle(connection) = &mut self.state else {
            return Err(lost());
        };
        let answer = async {
            let results = connection.simple_query(sql).await.map_err(failure)?.into_results();
            results.await.map_err(failure)
        };
        let rows = answered(limit, answer).await?.into_iter().flatten();
        Ok(rows
            .map(|row| row.cells().map(|(_, cell)| read(cell)).collect())
            .collect())
    }

    /// Starts a request and runs it until it would wait.
    fn ask(&mut self, begin: impl FnOnce(Connection) -> Pending) -> Result<(), Failure> {
        let State::Idle(connection) = std::mem::replace(&mut self.state, State::Lost) else {
            return Err(lost());
        };
        let mut pending = begin(*connection);
        // No task waits yet; `answer` does.
        self.state = match pending.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready((connection, answer)) => State::Answered(Box::new(connection), answer),
            Poll::Pending => State::Running(pending),
        };
        Ok(())
    }

    fn statement(&mut self, index: usize, params: &Values, columns: usize) -> Result<(), Failure> {
        let statement = &self.statements[index];
        check_count(statement.template.parameters(), params.len())?;
        let (mut text, mut values) = (String::new(), Vec::new());
        if self.prepare == PrepareMode::Never {
            statement.template.render(params, &DIALECT, &mut text);
        } else {
            text.push_str(&statement.numbered);
            values.extend(params.iter().map(write));
        }
        let reads = statement.reads || columns > 0;
        self.ask(move |mut connection| {
            Box::pin(async move {
                let answer = run(&mut connection, text, values, reads, columns).await;
                (connection, answer)
            })
        })
    }
}

async fn run(
    connection: &mut Connection,
    text: String,
    values: Vec<ColumnData<'static>>,
    reads: bool,
    columns: usize,
) -> Answer {
    let mut query = Query::new(text);
    values.into_iter().for_each(|value| query.bind(Bound(value)));
    let (mut rows, mut first) = (Rows::default(), vec![Owned::Null; columns]);
    if !reads {
        rows.changed = query.execute(connection).await.map_err(failure)?.total();
        return Ok((rows, first));
    }
    let mut stream = query.query(connection).await.map_err(failure)?;
    while let Some(item) = stream.try_next().await.map_err(failure)? {
        if let QueryItem::Row(row) = item {
            if rows.returned == 0 {
                for (slot, (_, cell)) in first.iter_mut().zip(row.cells()) {
                    *slot = read(cell);
                }
            }
            rows.returned += 1;
        }
    }
    Ok((rows, first))
}

/// A value already in the driver's representation.
struct Bound(ColumnData<'static>);

impl tiberius::IntoSql<'static> for Bound {
    fn into_sql(self) -> ColumnData<'static> {
        self.0
    }
}

impl Session for SqlserverSession {
    /// Does nothing: the server caches a statement's plan at its first use, for all sessions.
    async fn prepare_first(&mut self, _count: usize) -> Result<(), Failure> {
        Ok(())
    }

    fn execute(
        &mut self,
        statement: usize,
        params: &Values,
        capture: Capture<'_>,
        _marks: &mut Marks,
    ) -> Poll<Result<Rows, Failure>> {
        awaited(self.statement(statement, params, capture.len()))
    }

    fn control(&mut self, control: Control) -> Poll<Result<(), Failure>> {
        let sql = match control {
            // Transactions take locks as they go; the modes that take a lock apply to SQLite only.
            Control::Begin(mode) => match mode.isolation_level() {
                None => "begin transaction".into(),
                Some(level) => {
                    self.isolated = true;
                    Cow::Owned(format!("set transaction isolation level {level}; begin transaction"))
                }
            },
            Control::Commit => "commit transaction".into(),
            Control::Rollback => "if @@trancount > 0 rollback transaction".into(),
        };
        // A level holds for the session until another one is set. The end of a transaction restores the default.
        let is_end = !matches!(control, Control::Begin(_));
        let sql = if is_end && std::mem::take(&mut self.isolated) {
            Cow::Owned(format!("{sql}; set transaction isolation level read committed"))
        } else {
            sql
        };
        let sent = self.ask(move |mut connection| {
            Box::pin(async move {
                // As a batch, because a procedure must not change the number of open transactions.
                let ended = async { connection.simple_query(sql).await?.into_results().await };
                let answer = ended.await.map(|_| (Rows::default(), Vec::new())).map_err(failure);
                (connection, answer)
            })
        });
        awaited(sent)
    }

    async fn answer(&mut self, mut capture: Capture<'_>, marks: &mut Marks) -> Result<Rows, Failure> {
        let (connection, answer) = match std::mem::replace(&mut self.state, State::Lost) {
            State::Running(pending) => pending.await,
            State::Answered(connection, answer) => (*connection, answer),
            idle => {
                self.state = idle;
                return Err(lost());
            }
        };
        self.state = State::Idle(Box::new(connection));
        let (rows, columns) = answer?;
        // The driver returns complete rows, so the first is recorded together with the last.
        marks.note_first_row();
        capture.clear();
        for (column, value) in columns.iter().enumerate() {
            capture.take(column, value.view());
        }
        Ok(rows)
    }

    async fn close(self) -> Result<(), Failure> {
        match self.state {
            State::Idle(connection) | State::Answered(connection, _) => connection.close().await.map_err(failure),
            State::Running(_) | State::Lost => Ok(()),
        }
    }
}

#[cold]
fn lost() -> Failure {
    Failure::new(
        FailureKind::Connection,
        "the session was lost with a statement that was not awaited",
    )
}
