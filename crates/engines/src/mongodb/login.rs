//! Opens a connection: handshake and authentication.

use super::reply::failure_of;
use super::scram::Scram;
use super::target::MongodbTarget;
use super::values::{find, garbled, integer};
use super::wire::Wire;
use bson::raw::cstr;
use bson::spec::BinarySubtype;
use bson::{Binary, RawDocument, RawDocumentBuf, rawdoc};
use dbdyno_engine::Failure;
use dbdyno_engine::time_limits::{answer_limit, answered, logged_in};
use dbdyno_protocol::plan::document::FailureKind;
use std::ops::Range;

const MECHANISM: &str = "SCRAM-SHA-256";

/// The wire version since which all commands use OP_MSG (MongoDB 3.6).
const NEEDED_VERSION: i64 = 6;

/// Connects, and logs in if there is a user.
pub async fn begin(target: &MongodbTarget, auth_source: &str) -> Result<Wire, Failure> {
    let begun = async {
        let mut wire = Wire::connect(target).await?;
        let user = target.user.as_deref().filter(|user| !user.is_empty());
        let mechanisms = greet(&mut wire, user.map(|user| format!("{auth_source}.{user}"))).await?;
        if let Some(user) = user {
            log_in(&mut wire, target, user, auth_source, mechanisms).await?;
        }
        Ok(wire)
    };
    logged_in(begun)
        .await
        .map_err(|failure: Failure| failure.explained(|message| format!("connecting to {}: {message}", target.place())))
}

/// Sends one of dbdyno's own commands and returns the position of its response. Fails if the response is an error.
pub async fn ask(wire: &mut Wire, database: &str, command: RawDocumentBuf) -> Result<Range<usize>, Failure> {
    answered(answer_limit(), exchange(wire, database, command)).await
}

/// The same for a part of a measured statement, without a time limit.
pub async fn exchange(wire: &mut Wire, database: &str, mut command: RawDocumentBuf) -> Result<Range<usize>, Failure> {
    command.append(cstr!("$db"), database);
    let message = wire.begin();
    wire.connection.out.extend_from_slice(command.as_bytes());
    wire.end(message);
    wire.connection.flush().await?;
    let place = wire.answer().await?;
    match failure_of(wire.document(&place)?)? {
        Some(failure) => Err(failure),
        None => Ok(place),
    }
}

/// Sends hello and returns the user's authentication mechanisms, if the server reports them.
async fn greet(wire: &mut Wire, whose: Option<String>) -> Result<Vec<String>, Failure> {
    let mut command = rawdoc! {"hello": 1_i64};
    if let Some(whose) = whose {
        command.append(cstr!("saslSupportedMechs"), whose);
    }
    let client = rawdoc! {
        "application": {"name": "dbdyno"},
        "driver": {"name": "dbdyno-worker", "version": env!("CARGO_PKG_VERSION")},
        "os": {"type": std::env::consts::OS},
    };
    command.append(cstr!("client"), client);
    let place = exchange(wire, "admin", command).await?;
    let hello = wire.document(&place)?;
    let version = find(hello, &["maxWireVersion"]).and_then(integer);
    if version.is_none_or(|version| version < NEEDED_VERSION) {
        let message = "the server is too old: MongoDB 5.0 or later, or a compatible server, is required";
        return Err(Failure::new(FailureKind::Connection, message));
    }
    let mechanisms = hello.get_array("saslSupportedMechs").into_iter().flatten();
    Ok(mechanisms
        .filter_map(|each| each.ok()?.as_str().map(str::to_owned))
        .collect())
}

async fn log_in(
    wire: &mut Wire,
    target: &MongodbTarget,
    user: &str,
    database: &str,
    mechanisms: Vec<String>,
) -> Result<(), Failure> {
    if !mechanisms.is_empty() && !mechanisms.iter().any(|each| each == MECHANISM) {
        let there = mechanisms.join(", ");
        return Err(impossible(format!(
            "the server lets `{user}` log in by {there} only, and dbdyno knows {MECHANISM}: leave the user out where none \
             is needed"
        )));
    }
    let password = target.password.as_deref().unwrap_or("");
    let mut scram = Scram::new(user, password).map_err(impossible)?;
    let first = binary(scram.first().as_bytes());
    let start = rawdoc! {"saslStart": 1_i64, "mechanism": MECHANISM, "payload": first};
    let place = exchange(wire, database, start).await?;
    let (conversation, payload, _) = step(wire.document(&place)?)?;
    let answer = scram.answer(&payload).map_err(impossible)?;
    let (_, payload, mut done) = go_on(wire, database, conversation, answer.as_bytes()).await?;
    scram.check(&payload).map_err(impossible)?;
    // Servers expect a final message, which is empty.
    while !done {
        (_, _, done) = go_on(wire, database, conversation, b"").await?;
    }
    Ok(())
}

async fn go_on(
    wire: &mut Wire,
    database: &str,
    conversation: i64,
    payload: &[u8],
) -> Result<(i64, Vec<u8>, bool), Failure> {
    let command = rawdoc! {"saslContinue": 1_i64, "conversationId": conversation, "payload": binary(payload)};
    let place = exchange(wire, database, command).await?;
    step(wire.document(&place)?)
}

fn binary(bytes: &[u8]) -> Binary {
    Binary {
        subtype: BinarySubtype::Generic,
        bytes: bytes.to_vec(),
    }
}

/// The conversation ID and payload of the server's step, and whether it is the last one.
fn step(answer: &RawDocument) -> Result<(i64, Vec<u8>, bool), Failure> {
    let conversation = find(answer, &["conversationId"]).and_then(integer);
    let done = find(answer, &["done"]).and_then(integer);
    match (conversation, answer.get_binary("payload")) {
        (Some(conversation), Ok(payload)) => Ok((conversation, payload.bytes.to_vec(), done == Some(1))),
        _ => Err(garbled()),
    }
}

fn impossible(why: String) -> Failure {
    Failure::new(FailureKind::Connection, why)
}
