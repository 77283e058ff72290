//! Fills collections with insert commands that contain many documents.

use super::command::Command;
use super::options::Options;
use super::reply::failure_of;
use super::session::MongodbSession;
use super::target::MongodbTarget;
use super::values::garbled;
use super::{MongodbEngine, encode, other, values};
use crate::server::net::block_on;
use bson::rawdoc;
use dbdyno_engine::Failure;
use dbdyno_engine::rows::{self, Loaded, Loader};
use dbdyno_probes::Clock;
use dbdyno_program::value::{Value, Values};
use dbdyno_protocol::plan::document::{FailureKind, Load, LoadTable};

/// Approximate size in bytes, and maximum number of documents, of one insert. No server accepts more than 100,000
/// documents.
const MESSAGE: usize = 1 << 20;
const DOCUMENTS: u32 = 10_000;

/// The primary key field.
const KEY: &str = "_id";

/// Runs the commands before the rows, inserts the rows, and runs the commands after them.
pub fn load(target: &MongodbTarget, load: &Load, seed: u64) -> Result<Vec<Loaded>, Failure> {
    let engine = MongodbEngine::new(target, &[])?;
    block_on(fill(&engine, load, seed))
}

async fn fill(engine: &MongodbEngine, load: &Load, seed: u64) -> Result<Vec<Loaded>, Failure> {
    let clock = Clock::get();
    let mut session = engine.open().await?;
    rows::fill(&mut session, load, seed, clock).await
}

impl Loader for MongodbSession {
    async fn run(&mut self, text: &str) -> Result<(), Failure> {
        let command = Command::new(text, self.database(), &Options::default()).map_err(other)?;
        let wire = self.wire();
        let message = wire.begin();
        if let Err(failure) = command.write(&Values::default(), &mut Vec::new(), &mut wire.connection.out) {
            wire.forget(message);
            return Err(failure);
        }
        wire.end(message);
        answered(self).await.map(drop)
    }

    async fn copy(&mut self, table: &LoadTable, seed: u64) -> Result<u64, Failure> {
        insert(self, table, seed).await
    }
}

/// Sends the buffered message and returns `n` from the response.
async fn answered(session: &mut MongodbSession) -> Result<Option<i64>, Failure> {
    let wire = session.wire();
    wire.connection.flush().await?;
    let place = wire.answer().await?;
    let answer = wire.document(&place)?;
    match failure_of(answer)? {
        Some(failure) => Err(failure),
        None => Ok(values::find(answer, &["n"]).and_then(values::integer)),
    }
}

/// Inserts the rows of a table and returns their number.
async fn insert(session: &mut MongodbSession, table: &LoadTable, seed: u64) -> Result<u64, Failure> {
    let database = session.database().to_owned();
    let mut source = rows::RowSource::of(table, seed)?;
    let (mut values, mut rows) = (Values::default(), 0);
    let mut there = source.next(&mut values)?;
    while there {
        let wire = session.wire();
        let message = wire.begin();
        let command = rawdoc! {"insert": table.name.as_str(), "$db": database.as_str()};
        wire.connection.out.extend_from_slice(command.as_bytes());
        let sequence = wire.begin_sequence("documents");
        let mut documents = 0;
        while there && documents < DOCUMENTS && wire.connection.out.len() - message < MESSAGE {
            put_row(table, &values, &mut wire.connection.out);
            documents += 1;
            // An unreadable row aborts the load, so the buffered message is never sent.
            there = source.next(&mut values)?;
        }
        wire.end_sequence(sequence);
        wire.end(message);
        let inserted = answered(session).await?.ok_or_else(garbled)?;
        if inserted != i64::from(documents) {
            let message = format!("only {inserted} of {documents} documents were inserted");
            return Err(Failure::new(FailureKind::Other, message));
        }
        rows += u64::from(documents);
    }
    Ok(rows)
}

/// Writes a row as a document. An integer key becomes an ObjectId.
fn put_row(table: &LoadTable, values: &Values, out: &mut bytes::BytesMut) {
    let document = encode::begin(out);
    for (column, value) in table.columns.iter().zip(values.iter()) {
        match value {
            Value::Integer(value) if column.name == KEY => {
                encode::object_id(column.name.as_bytes(), values::object_id(value), out);
            }
            value => encode::value(column.name.as_bytes(), value, out),
        }
    }
    encode::end(document, out);
}
