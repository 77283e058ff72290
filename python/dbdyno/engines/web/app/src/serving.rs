//! Accepting connections, also when no descriptor is left for them, and ending without breaking a request off.

use crate::login::{Application, Peer};
use crate::refusal::{Reason, Refusal, reason_of_io};
use axum::Router;
use axum::body::Body;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use hyper_util::server::graceful::GracefulShutdown;
use std::fs::File;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::time::timeout;
use tower::ServiceExt as _;

/// What requests that are being served are given to end.
const GRACE: Duration = Duration::from_secs(5);

/// What a client is given to say its request that is going to be refused, and to hear so.
const REFUSING: Duration = Duration::from_millis(200);

/// Open the port; `backlog`: connections that may wait to be accepted.
pub fn listen(address: SocketAddr, backlog: u32) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() {
        TcpSocket::new_v4()?
    } else {
        TcpSocket::new_v6()?
    };
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(backlog)
}

/// Serve until `ended`, and then until the requests at work are done.
pub async fn serve(listener: TcpListener, routes: Router, application: &Application, ended: impl Future<Output = ()>) {
    let graceful = GracefulShutdown::new();
    let mut server = auto::Builder::new(TokioExecutor::new());
    server.http1().timer(TokioTimer::new());
    let server = Arc::new(server);
    let mut spare = File::open("/dev/null").ok();
    let mut ended = std::pin::pin!(ended);
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = &mut ended => break,
        };
        match accepted {
            Ok((stream, peer)) => {
                let (server, routes, watcher) = (server.clone(), routes.clone(), graceful.watcher());
                tokio::spawn(serve_connection(server, routes, watcher, stream, peer));
            }
            Err(error) if reason_of_io(&error) == Reason::TooManyOpenFiles => {
                // The client hears so by means of the descriptor that was kept for this, and does not wait in the queue.
                drop(spare.take());
                if let Ok(Ok((stream, _))) = timeout(REFUSING, listener.accept()).await {
                    let refusal = Refusal::new(Reason::TooManyOpenFiles, error.to_string());
                    application.count(refusal.reason);
                    refuse(stream, &refusal).await;
                }
                spare = File::open("/dev/null").ok();
            }
            // The client has gone again.
            Err(_) => tokio::task::yield_now().await,
        }
    }
    drop(listener);
    // Those that take longer are broken off.
    let _ = timeout(GRACE, graceful.shutdown()).await;
}

async fn serve_connection(
    server: Arc<auto::Builder<TokioExecutor>>,
    routes: Router,
    watcher: hyper_util::server::graceful::Watcher,
    stream: TcpStream,
    peer: SocketAddr,
) {
    // A reply is one write, and waits for nothing.
    let _ = stream.set_nodelay(true);
    let service = service_fn(move |mut request: hyper::Request<Incoming>| {
        request.extensions_mut().insert(Peer(peer.ip()));
        routes.clone().oneshot(request.map(Body::new))
    });
    // A connection that breaks is the client's affair.
    let _ = watcher
        .watch(server.serve_connection(TokioIo::new(stream), service).into_owned())
        .await;
}

/// Tell a client that it is not served, and close.
async fn refuse(mut stream: TcpStream, refusal: &Refusal) {
    let body = refusal.body().to_string();
    let head = "HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/json\r\nconnection: close";
    let reply = format!("{head}\r\ncontent-length: {}\r\n\r\n{body}", body.len());
    // To close with something unread would take the reply away from the client.
    let mut request = [0; 8192];
    let _ = timeout(REFUSING, stream.read(&mut request)).await;
    let told = timeout(REFUSING, async {
        stream.write_all(reply.as_bytes()).await?;
        stream.shutdown().await
    });
    // Who does not listen is not told.
    let _ = told.await;
}
