//! Accept connections, even if no file descriptor is left, and end without interrupting requests.

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

/// Time limit for running requests to finish at the end.
const GRACE: Duration = Duration::from_secs(5);

/// Time limit for a client to send a request that will be refused, and to receive the reply.
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

/// Serve until `ended`, then until the running requests have finished.
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
                // Use the reserved descriptor to reject the client, so that it doesn't wait in the queue.
                drop(spare.take());
                if let Ok(Ok((stream, _))) = timeout(REFUSING, listener.accept()).await {
                    let refusal = Refusal::new(Reason::TooManyOpenFiles, error.to_string());
                    application.count(refusal.reason);
                    refuse(stream, &refusal).await;
                }
                spare = File::open("/dev/null").ok();
            }
            // The client has closed the connection.
            Err(_) => tokio::task::yield_now().await,
        }
    }
    drop(listener);
    // Requests that take longer are interrupted.
    let _ = timeout(GRACE, graceful.shutdown()).await;
}

async fn serve_connection(
    server: Arc<auto::Builder<TokioExecutor>>,
    routes: Router,
    watcher: hyper_util::server::graceful::Watcher,
    stream: TcpStream,
    peer: SocketAddr,
) {
    // A reply is a single write, so there is no reason to delay it.
    let _ = stream.set_nodelay(true);
    let service = service_fn(move |mut request: hyper::Request<Incoming>| {
        request.extensions_mut().insert(Peer(peer.ip()));
        routes.clone().oneshot(request.map(Body::new))
    });
    // The client handles broken connections.
    let _ = watcher
        .watch(server.serve_connection(TokioIo::new(stream), service).into_owned())
        .await;
}

/// Send a refusal to a client, and close the connection.
async fn refuse(mut stream: TcpStream, refusal: &Refusal) {
    let body = refusal.body().to_string();
    let head = "HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/json\r\nconnection: close";
    let reply = format!("{head}\r\ncontent-length: {}\r\n\r\n{body}", body.len());
    // Closing with unread data would reset the connection, and the client might lose the reply.
    let mut request = [0; 8192];
    let _ = timeout(REFUSING, stream.read(&mut request)).await;
    let told = timeout(REFUSING, async {
        stream.write_all(reply.as_bytes()).await?;
        stream.shutdown().await
    });
    // Ignore clients that don't read the reply.
    let _ = told.await;
}
