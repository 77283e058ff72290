//! The facts about a service that HTTP shows.

use super::{HttpEngine, HttpTarget};
use crate::server::located;
use crate::server::net::block_on;
use dbdyno_engine::{Capture, Durability, Facts, Failure, Marks, Session as _, Wanted, printable};
use dbdyno_program::value::{Owned, Values};
use dbdyno_protocol::plan::document::Statement;
use dbdyno_protocol::plan::request::{Piece, Request, Take};
use std::collections::BTreeMap;
use std::task::Poll;

/// Characters of the field `server` that are kept.
const LONGEST: usize = 100;

/// Sends a HEAD request for the base path. Any status will do.
pub fn facts(target: &HttpTarget) -> Result<Facts, Failure> {
    block_on(ask(target)).map_err(|failure| located(failure, &target.place()))
}

async fn ask(target: &HttpTarget) -> Result<Facts, Failure> {
    let engine = HttpEngine::new(target, &[looking()])?;
    let mut session = engine.open(0).await?;
    let encryption = session.encryption();
    let mut variables = [Owned::Null];
    let mut marks = Marks::new(None);
    let mut wanted = Wanted {
        slots: &[0],
        variables: &mut variables,
        every: None,
    };
    if let Poll::Ready(asked) = session.execute(0, &Values::default(), Capture::nothing(), &mut marks) {
        asked?;
    }
    session.answer(Capture::new(&mut wanted), &mut marks).await?;
    session.close().await?;
    let [server] = variables;
    let on = |yes: bool| if yes { "on" } else { "off" }.to_owned();
    let mut settings = BTreeMap::from([
        ("version".to_owned(), target.version.name().to_owned()),
        ("keepalive".to_owned(), on(target.keepalive)),
        ("timeout".to_owned(), target.timeout().as_secs_f64().to_string()),
    ]);
    if let Some(encryption) = encryption {
        settings.insert("tls".to_owned(), encryption);
    }
    Ok(Facts {
        engine: "http".into(),
        version: match server {
            Owned::Text(server) => printable(server.chars().take(LONGEST).collect()),
            _ => String::new(),
        },
        settings,
        durability: Durability {
            because: "what a service keeps cannot be seen over HTTP".into(),
            ..Durability::default()
        },
        ..Facts::default()
    })
}

fn looking() -> Statement {
    Statement {
        name: "looking at the service".into(),
        sql: "HEAD /".into(),
        places: Vec::new(),
        request: Some(Box::new(Request {
            method: "HEAD".into(),
            path: vec![Piece::Text("/".into())],
            query: Vec::new(),
            headers: Vec::new(),
            body: None,
            expect: (200..600).collect(),
            take: vec![Take::Header { name: "server".into() }],
        })),
        example: Vec::new(),
        analyze: None,
    }
}
