//! HTTP/2 against a server of the crate `h2`. `tests/servers/test_http_nginx.py` tests another implementation.

use super::HttpEngine;
use bytes::Bytes;
use dbdyno_engine::{Capture, Engine as _, Failure, Marks, Session as _, Wanted};
use dbdyno_program::value::{Owned, Values};
use dbdyno_protocol::plan::document::{FailureKind, Statement};
use h2::server::{Builder, SendResponse};
use h2::{Reason, RecvStream};
use http::{Request, Response};
use serde_json::json;
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::task::{LocalSet, spawn_local};

const LONG: usize = 3_000_000;

/// A server whose answers depend on the path. It runs until the process ends and counts its connections.
struct Peer {
    port: u16,
    connections: Arc<AtomicUsize>,
}

impl Peer {
    fn start(builder: Builder) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        listener.set_nonblocking(true).unwrap();
        let port = listener.local_addr().unwrap().port();
        let connections = Arc::new(AtomicUsize::new(0));
        let counted = connections.clone();
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .unwrap();
            LocalSet::new().block_on(&runtime, async move {
                let listener = tokio::net::TcpListener::from_std(listener).unwrap();
                while let Ok((stream, _)) = listener.accept().await {
                    counted.fetch_add(1, Ordering::AcqRel);
                    spawn_local(serve(stream, builder.clone()));
                }
            });
        });
        Self { port, connections }
    }

    fn client(&self, requests: &[serde_json::Value]) -> Asking {
        let statements: Vec<_> = requests.iter().map(|request| statement(request.clone())).collect();
        let target = json!({"host": "127.0.0.1", "port": self.port, "version": "2", "timeout_ms": 20_000});
        let engine = HttpEngine::new(&serde_json::from_value(target).unwrap(), &statements).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        let session = runtime.block_on(engine.connect(0)).unwrap();
        Asking { runtime, session }
    }
}

async fn serve(stream: tokio::net::TcpStream, builder: Builder) {
    let mut connection = builder.handshake::<_, Bytes>(stream).await.unwrap();
    while let Some(Ok((request, respond))) = connection.accept().await {
        match request.uri().path() {
            // The connection ends after the reply.
            "/last" => connection.graceful_shutdown(),
            // It ends between two requests.
            "/drops" => {
                answer(request, respond).await;
                connection.graceful_shutdown();
                continue;
            }
            _ => {}
        }
        spawn_local(answer(request, respond));
    }
}

async fn answer(request: Request<RecvStream>, mut respond: SendResponse<Bytes>) {
    let path = request.uri().path().to_owned();
    let (head, mut body) = request.into_parts();
    let fields = |status: u16| {
        let mut built = Response::builder()
            .status(status)
            .header("x-method", head.method.as_str());
        if let Some(value) = head.headers.get("x-own") {
            built = built.header("x-length", value.len());
        }
        built
    };
    match path.as_str() {
        "/echo" => {
            let mut all = Vec::new();
            while let Some(data) = body.data().await {
                let data = data.unwrap();
                body.flow_control().release_capacity(data.len()).unwrap();
                all.extend_from_slice(&data);
            }
            let mut stream = respond.send_response(fields(200).body(()).unwrap(), false).unwrap();
            stream.send_data(all.into(), true).unwrap();
        }
        "/long" => {
            let mut stream = respond.send_response(fields(200).body(()).unwrap(), false).unwrap();
            stream.send_data(vec![b'x'; LONG].into(), false).unwrap();
            let mut trailers = http::HeaderMap::new();
            trailers.insert("x-method", "trailer".parse().unwrap());
            stream.send_trailers(trailers).unwrap();
        }
        "/heads" => {
            let long = "y".repeat(60_000);
            let head = fields(200).header("x-long", long).header("x-after", "here");
            respond.send_response(head.body(()).unwrap(), true).unwrap();
        }
        "/informs" => {
            respond
                .send_informational(Response::builder().status(103).body(()).unwrap())
                .unwrap();
            respond.send_response(fields(200).body(()).unwrap(), true).unwrap();
        }
        "/early" => {
            let mut stream = respond.send_response(fields(200).body(()).unwrap(), false).unwrap();
            stream.send_data("no more".into(), true).unwrap();
            // The rest of the request is ignored.
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        "/reset" => respond.send_reset(Reason::REFUSED_STREAM),
        "/never" => std::future::pending().await,
        path => {
            let status = path
                .trim_start_matches(|one: char| !one.is_ascii_digit())
                .parse()
                .unwrap_or(200);
            let mut stream = respond.send_response(fields(status).body(()).unwrap(), false).unwrap();
            stream.send_data(path.to_owned().into(), true).unwrap();
        }
    }
}

fn statement(request: serde_json::Value) -> Statement {
    Statement {
        name: "r".into(),
        sql: String::new(),
        places: Vec::new(),
        request: Some(serde_json::from_value(request).unwrap()),
        example: Vec::new(),
        analyze: None,
    }
}

/// A session and its runtime.
struct Asking {
    runtime: tokio::runtime::Runtime,
    session: super::HttpSession,
}

impl Asking {
    /// Sends a request. Returns the values that it takes as strings.
    fn ask(&mut self, request: usize, taken: usize) -> Result<Vec<String>, Failure> {
        let mut variables = vec![Owned::Null; taken];
        let slots: Vec<usize> = (0..taken).collect();
        let (values, mut marks) = (Values::default(), Marks::new(None));
        self.runtime.block_on(async {
            let sent = self.session.execute(request, &values, Capture::nothing(), &mut marks);
            if let std::task::Poll::Ready(done) = sent {
                return done.map(|_| ());
            }
            let mut wanted = Wanted {
                slots: &slots,
                variables: &mut variables,
                every: None,
            };
            let capture = if taken == 0 {
                Capture::nothing()
            } else {
                Capture::new(&mut wanted)
            };
            self.session.answer(capture, &mut marks).await.map(|_| ())
        })?;
        Ok(variables.iter().map(told).collect())
    }
}

fn told(value: &Owned) -> String {
    match value {
        Owned::Null => "null".into(),
        Owned::Integer(number) => number.to_string(),
        Owned::Text(text) => String::from_utf8_lossy(text.as_ref()).into_owned(),
        other => format!("{other:?}"),
    }
}

fn get(path: &str) -> serde_json::Value {
    json!({"method": "GET", "path": [path], "take": [{"from": "status"}, {"from": "header", "name": "x-method"}, {"from": "body"}]})
}

#[test]
fn requests_of_all_kinds_are_answered_over_one_connection() {
    let peer = Peer::start(Builder::new());
    let header = json!([{"name": "X-Own", "value": ["z".repeat(40_000)]}]);
    let takes = json!([{"from": "header", "name": "x-length"}, {"from": "header", "name": "x-after"}, {"from": "header", "name": "x-long"}]);
    let mut asking = peer.client(&[
        get("/a"),
        json!({"method": "DELETE", "path": ["/b?c=", "d"], "take": [{"from": "header", "name": "x-method"}]}),
        json!({"method": "HEAD", "path": ["/heads"], "headers": header, "take": takes}),
        get("/informs"),
        get("/status/503"),
    ]);
    for _ in 0..3 {
        assert_eq!(asking.ask(0, 3).unwrap(), ["200", "GET", "/a"]);
        assert_eq!(asking.ask(1, 1).unwrap(), ["DELETE"]);
        // Both heads are longer than a frame.
        let [length, after, long] = &asking.ask(2, 3).unwrap()[..] else {
            panic!()
        };
        assert_eq!((length.as_str(), after.as_str(), long.len()), ("40000", "here", 60_000));
        assert_eq!(asking.ask(3, 3).unwrap(), ["200", "GET", ""]);
        let failure = asking.ask(4, 0).unwrap_err();
        assert_eq!(
            (failure.kind, failure.code.as_deref()),
            (FailureKind::Status, Some("503"))
        );
    }
    assert_eq!(peer.connections.load(Ordering::Acquire), 1);
}

#[test]
fn long_bodies_go_both_ways_however_small_the_windows_are() {
    for (window, frame) in [(65_535, 16_384), (100, 16_384), (1 << 20, 100_000)] {
        let mut builder = Builder::new();
        builder.initial_window_size(window).max_frame_size(frame);
        let peer = Peer::start(builder);
        let body = |length: usize| json!({"kind": "text", "text": ["w".repeat(length)]});
        let echo =
            |length| json!({"method": "POST", "path": ["/echo"], "body": body(length), "take": [{"from": "body"}]});
        let mut asking = peer.client(&[
            get("/long"),
            echo(200_000),
            echo(0),
            json!({"method": "POST", "path": ["/early"], "body": body(200_000), "take": [{"from": "body"}]}),
        ]);
        for _ in 0..2 {
            let [status, method, long] = &asking.ask(0, 3).unwrap()[..] else {
                panic!()
            };
            // Trailers are not header fields of the reply.
            assert_eq!(
                (status.as_str(), method.as_str(), long.len()),
                ("200", "GET", LONG),
                "{window}"
            );
            assert_eq!(asking.ask(1, 1).unwrap()[0].len(), 200_000);
            assert_eq!(asking.ask(2, 1).unwrap(), [""]);
            assert_eq!(asking.ask(3, 1).unwrap(), ["no more"]);
        }
        assert_eq!(peer.connections.load(Ordering::Acquire), 1);
    }
}

#[test]
fn a_connection_that_the_server_ends_is_opened_again() {
    let peer = Peer::start(Builder::new());
    let mut asking = peer.client(&[get("/last"), get("/drops"), get("/a")]);
    for (request, connections) in [(2, 1), (0, 1), (2, 2), (1, 2), (2, 3), (2, 3)] {
        asking.ask(request, 3).unwrap();
        assert_eq!(peer.connections.load(Ordering::Acquire), connections, "{request}");
    }
}

#[test]
fn a_stream_that_is_reset_is_a_failure_with_its_code() {
    let peer = Peer::start(Builder::new());
    let mut asking = peer.client(&[json!({"method": "POST", "path": ["/reset"]}), get("/a")]);
    let failure = asking.ask(0, 0).unwrap_err();
    assert_eq!(
        (failure.kind, failure.code.as_deref()),
        (FailureKind::Connection, Some("REFUSED_STREAM"))
    );
    assert_eq!(asking.ask(1, 3).unwrap(), ["200", "GET", "/a"]);
}
