//! Connects to the server, and encrypts connections of clients.

use crate::stream::Stream;
use dbdyno_engine::Failure;
use dbdyno_engines::server::{Tls, tls};
use rustls::ServerConfig;
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use serde::Deserialize;
use std::io;
use std::sync::Arc;
use tokio::net::{TcpStream, UnixStream};
use tokio_rustls::TlsAcceptor;

/// Both sides of a connection.
pub type Sides = (Stream, Stream);

/// Why a connection could not begin.
#[derive(Debug)]
pub enum LoginError {
    /// The client's connection failed.
    Client,
    /// The server refused or failed.
    Server(String),
}

impl From<io::Error> for LoginError {
    fn from(_: io::Error) -> Self {
        Self::Client
    }
}

/// The server's address.
#[derive(Debug, Clone, Deserialize)]
pub struct Server {
    /// Its host, or the path of its Unix socket.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// How connections to it are encrypted.
    pub tls: Option<Tls>,
}

impl Server {
    /// Connects, without encryption.
    pub async fn connect(&self) -> io::Result<Stream> {
        if self.host.starts_with('/') {
            return UnixStream::connect(&self.host).await.map(Stream::Unix);
        }
        let stream = TcpStream::connect((self.host.as_str(), self.port)).await?;
        stream.set_nodelay(true)?;
        Ok(Stream::Tcp(stream))
    }

    /// Whether to ask for encryption.
    pub fn wants_tls(&self, stream: &Stream) -> bool {
        matches!(stream, Stream::Tcp(_)) && tls::is_wanted(self.tls.as_ref())
    }

    /// Encrypts a connection.
    pub async fn encrypt(&self, stream: Stream) -> Result<Stream, Failure> {
        match (stream, &self.tls) {
            (Stream::Tcp(stream), Some(tls)) => {
                let stream = tls::begin(stream, tls, &self.host, &[]).await?;
                Ok(Stream::ToServer(Box::new(stream)))
            }
            (other, _) => Ok(other),
        }
    }

    /// Checks that the connection may stay unencrypted.
    pub fn without_tls(&self) -> Result<(), Failure> {
        tls::without(self.tls.as_ref())
    }

    /// Its address, for messages.
    pub fn place(&self) -> String {
        if self.host.starts_with('/') {
            self.host.clone()
        } else {
            format!("{}:{}", self.host, self.port)
        }
    }
}

/// What encrypts connections of clients.
pub fn acceptor(certificate: &str, key: &str) -> Result<TlsAcceptor, String> {
    let wrong = |file: &str, error: &dyn std::fmt::Display| format!("{file}: {error}");
    let chain: Vec<_> = CertificateDer::pem_file_iter(certificate)
        .and_then(Iterator::collect)
        .map_err(|error| wrong(certificate, &error))?;
    if chain.is_empty() {
        return Err(wrong(certificate, &"it contains no certificate"));
    }
    let key_read = PrivateKeyDer::from_pem_file(key).map_err(|error| wrong(key, &error))?;
    let config = ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?
        .with_no_client_auth()
        .with_single_cert(chain, key_read)
        .map_err(|error| wrong(key, &error))?;
    Ok(TlsAcceptor::from(Arc::new(config)))
}

/// Encrypts a client's connection.
pub async fn accept(acceptor: &TlsAcceptor, stream: Stream) -> io::Result<Stream> {
    match stream {
        Stream::Tcp(stream) => Ok(Stream::FromClient(Box::new(acceptor.accept(stream).await?))),
        _ => Err(io::ErrorKind::InvalidData.into()),
    }
}
