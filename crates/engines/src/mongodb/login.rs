//! How a connection begins: what the server is, and who we are.

use super::bson::{self, Document, garbled, kind};
use super::reply::failure_of;
use super::scram::Scram;
use super::target::MongodbTarget;
use super::wire::Wire;
use crate::server::net::in_time;
use bytes::BytesMut;
use dbdyno_engine::Failure;
use dbdyno_plan::document::FailureKind;
use std::ops::Range;

const MECHANISM: &str = "SCRAM-SHA-256";

/// The version of the protocol from which on all commands go as OP_MSG (MongoDB 3.6).
const NEEDED_VERSION: i64 = 6;

/// Connects, and logs in where there is a user.
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
    in_time(begun)
        .await
        .map_err(|failure: Failure| failure.explained(|message| format!("connecting to {}: {message}", target.place())))
}

/// Sends a command, and gives the place of its answer, which says that all is well.
pub async fn ask(wire: &mut Wire, database: &str, put: impl FnOnce(&mut BytesMut)) -> Result<Range<usize>, Failure> {
    let message = wire.begin();
    let document = bson::begin(&mut wire.connection.out);
    put(&mut wire.connection.out);
    bson::put_text(b"$db", database, &mut wire.connection.out);
    bson::end(document, &mut wire.connection.out);
    wire.end(message);
    wire.connection.flush().await?;
    let place = wire.answer().await?;
    match failure_of(wire.document(&place)?)? {
        Some(failure) => Err(failure),
        None => Ok(place),
    }
}

/// Says hello, and gives the ways in which the user can log in, where the server tells.
async fn greet(wire: &mut Wire, whose: Option<String>) -> Result<Vec<String>, Failure> {
    let place = ask(wire, "admin", |out| {
        bson::put_integer(b"hello", 1, out);
        if let Some(whose) = &whose {
            bson::put_text(b"saslSupportedMechs", whose, out);
        }
        bson::put_name(kind::DOCUMENT, b"client", out);
        let client = bson::begin(out);
        for (part, fields) in [
            ("application", &[("name", "dbdyno")][..]),
            (
                "driver",
                &[("name", "dbdyno-worker"), ("version", env!("CARGO_PKG_VERSION"))],
            ),
            ("os", &[("type", std::env::consts::OS)]),
        ] {
            bson::put_name(kind::DOCUMENT, part.as_bytes(), out);
            let start = bson::begin(out);
            fields
                .iter()
                .for_each(|(name, value)| bson::put_text(name.as_bytes(), value, out));
            bson::end(start, out);
        }
        bson::end(client, out);
    })
    .await?;
    let hello = wire.document(&place)?;
    let version = hello.find(&["maxWireVersion"]).and_then(|field| field.integer());
    if version.is_none_or(|version| version < NEEDED_VERSION) {
        let message = "the server is too old: it must be MongoDB 5.0 or later, or speak its protocol";
        return Err(Failure::new(FailureKind::Connection, message));
    }
    let mechanisms = hello
        .find(&["saslSupportedMechs"])
        .and_then(|field| field.document())
        .into_iter()
        .flatten()
        .filter_map(|field| field.ok()?.text().map(str::to_owned));
    Ok(mechanisms.collect())
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
    let place = ask(wire, database, |out| {
        bson::put_integer(b"saslStart", 1, out);
        bson::put_text(b"mechanism", MECHANISM, out);
        bson::put_bytes(b"payload", scram.first().as_bytes(), out);
    })
    .await?;
    let (conversation, payload, _) = step(wire.document(&place)?)?;
    let answer = scram.answer(&payload).map_err(impossible)?;
    let (_, payload, mut done) = go_on(wire, database, conversation, answer.as_bytes()).await?;
    scram.check(&payload).map_err(impossible)?;
    // Servers want to have the last word themselves, which is empty.
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
    let place = ask(wire, database, |out| {
        bson::put_integer(b"saslContinue", 1, out);
        bson::put_integer(b"conversationId", conversation, out);
        bson::put_bytes(b"payload", payload, out);
    })
    .await?;
    step(wire.document(&place)?)
}

/// Number and payload of the server's step, and whether it is the last.
fn step(answer: Document<'_>) -> Result<(i64, Vec<u8>, bool), Failure> {
    let conversation = answer.find(&["conversationId"]).and_then(|field| field.integer());
    let done = answer.find(&["done"]).and_then(|field| field.integer());
    let payload = answer
        .find(&["payload"])
        .and_then(|field| field.bytes().map(<[u8]>::to_vec));
    match (conversation, payload) {
        (Some(conversation), Some(payload)) => Ok((conversation, payload, done == Some(1))),
        _ => Err(garbled()),
    }
}

fn impossible(why: String) -> Failure {
    Failure::new(FailureKind::Connection, why)
}
