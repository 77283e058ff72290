//! PostgreSQL, and servers that speak its protocol.
//!
//! The session writes a statement's messages as soon as it is asked and leaves the answer to be awaited, so that one thread
//! serves many clients. A prepared statement is one message there (bind, execute, sync) and one back.

mod bulk;
mod inspect;
mod session;
mod values;
mod wire;

pub use bulk::load;
pub use session::PostgresqlSession;

use crate::sql_text::{Template, with_example};
use crate::{Engine, Facts, Failure};
use dbdyno_plan::document::{FailureKind, PrepareMode, Statement};
use dbdyno_plan::target::PostgresqlTarget;
use std::future::Future;
use std::sync::Arc;

/// A server, and the statements its sessions run.
pub struct PostgresqlEngine {
    target: PostgresqlTarget,
    statements: Arc<[Text]>,
    prepare: PrepareMode,
}

/// A statement of the plan as the protocol takes it.
#[derive(Debug)]
struct Text {
    /// For messages.
    name: String,
    /// With `$1` and so on for the parameters.
    numbered: String,
    /// Cut at its parameters, for values that stand in the text.
    template: Template,
    /// With the values of its example in it, where it has one.
    example: Option<String>,
}

impl PostgresqlEngine {
    /// An engine for a server; nothing is connected yet.
    pub fn new(target: &PostgresqlTarget, statements: &[Statement], prepare: PrepareMode) -> Self {
        let text = |statement: &Statement| {
            let template = Template::new(&statement.sql);
            Text {
                name: statement.name.clone(),
                numbered: template.numbered(),
                template,
                example: with_example(statement),
            }
        };
        Self {
            target: target.clone(),
            statements: statements.iter().map(text).collect(),
            prepare,
        }
    }
}

impl Engine for PostgresqlEngine {
    type Session = PostgresqlSession;

    const REMOTE: bool = true;

    async fn connect(&self, _client: u32) -> Result<PostgresqlSession, Failure> {
        PostgresqlSession::open(&self.target, self.statements.clone(), self.prepare).await
    }

    fn facts(&self) -> Result<Facts, Failure> {
        block_on(inspect::facts(self))?
    }
}

/// Runs a future that talks to a server to its end, in this thread.
fn block_on<F: Future>(future: F) -> Result<F::Output, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    match runtime {
        Ok(runtime) => Ok(runtime.block_on(future)),
        Err(error) => Err(Failure::new(
            FailureKind::Other,
            format!("starting to wait for events: {error}"),
        )),
    }
}

/// The kind under which an SQLSTATE is counted (PostgreSQL's documentation, appendix A).
fn kind(code: &str) -> FailureKind {
    match code {
        "40P01" => FailureKind::Deadlock,
        "40001" => FailureKind::Serialization,
        "55P03" => FailureKind::Locked,
        // A statement's time is over, or somebody cancelled it.
        "57014" | "25P03" => FailureKind::Timeout,
        "57P01" | "57P02" | "57P03" | "53300" => FailureKind::Connection,
        _ if code.starts_with("08") || code.starts_with("28") => FailureKind::Connection,
        _ if code.starts_with("23") => FailureKind::Constraint,
        _ => FailureKind::Other,
    }
}
