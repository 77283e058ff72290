//! Connecting to a service.

use super::target::HttpTarget;
use crate::server::net::{self, Connection};
use dbdyno_engine::Failure;
use dbdyno_protocol::plan::document::FailureKind;
use std::io;
use std::net::{SocketAddr, ToSocketAddrs as _};
use tokio::net::TcpStream;

/// Bytes of the read buffer: most heads fit, and ten thousand connections need little memory.
const ROOM: usize = 4096;

/// The address of a service. Its name is resolved once, so that no connection waits for that.
#[derive(Debug)]
pub struct Way {
    pub target: HttpTarget,
    addresses: Vec<SocketAddr>,
}

impl Way {
    /// Resolves the host's name.
    pub fn new(target: &HttpTarget) -> Result<Self, Failure> {
        let addresses = if target.host.starts_with('/') {
            Vec::new()
        } else {
            let found = (target.host.as_str(), target.port).to_socket_addrs();
            found.map_err(|error| target.unreachable(&error))?.collect()
        };
        Ok(Self {
            target: target.clone(),
            addresses,
        })
    }

    /// Whether connections are neither encrypted nor to a Unix socket.
    pub fn is_plain(&self) -> bool {
        self.target.tls.is_none() && !self.target.host.starts_with('/')
    }

    async fn tcp(&self) -> Result<TcpStream, Failure> {
        let mut last = io::Error::from(io::ErrorKind::NotFound);
        for address in &self.addresses {
            match TcpStream::connect(address)
                .await
                .and_then(|stream| stream.set_nodelay(true).map(|()| stream))
            {
                Ok(stream) => return Ok(stream),
                Err(error) => last = error,
            }
        }
        Err(self.target.unreachable(&last))
    }

    /// Connects for HTTP/1.1.
    pub async fn connect(&self) -> Result<Connection, Failure> {
        self.connect_for("http/1.1").await
    }

    /// Connects for HTTP/2.
    pub async fn connect_for_two(&self) -> Result<Connection, Failure> {
        let connection = self.connect_for("h2").await?;
        if self.target.tls.is_some() && connection.protocol() != Some(b"h2") {
            let problem = "the server does not agree to HTTP/2; use `version=1.1`";
            return Err(self.target.at(Failure::new(FailureKind::Connection, problem)));
        }
        Ok(connection)
    }

    async fn connect_for(&self, protocol: &str) -> Result<Connection, Failure> {
        let target = &self.target;
        if target.host.starts_with('/') {
            return Connection::unix(&target.host)
                .await
                .map_err(|failure| target.at(failure));
        }
        let mut connection = Connection::of(self.tcp().await?, ROOM);
        if let Some(tls) = &target.tls {
            let encrypted = connection.encrypt_for(tls, &target.host, &[protocol]).await;
            encrypted.map_err(|failure| target.at(failure))?;
        }
        Ok(connection)
    }
}

impl HttpTarget {
    fn unreachable(&self, error: &io::Error) -> Failure {
        let failure = Failure::new(FailureKind::Connection, net::reason(error));
        self.at(net::with_code(failure, error))
    }

    fn at(&self, failure: Failure) -> Failure {
        failure.explained(|why| format!("connecting to {}: {why}", self.place()))
    }
}
