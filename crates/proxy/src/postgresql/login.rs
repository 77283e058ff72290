//! The beginning of a connection, until the startup message has been sent.

use crate::connect::{LoginError, Server, Sides, accept};
use crate::stream::Stream;
use std::io;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio_rustls::TlsAcceptor;

const CANCEL: u32 = 80_877_102;
const SSL: u32 = 80_877_103;
const GSS: u32 = 80_877_104;

/// The server's own limit of a startup message.
const LONGEST: usize = 10_000;

/// Connects a client to the server. Returns `None` for a request to cancel a statement, which has been passed on.
pub async fn begin(
    mut client: Stream,
    server: &Server,
    acceptor: Option<&TlsAcceptor>,
) -> Result<Option<Sides>, LoginError> {
    loop {
        let mut head = [0; 8];
        client.read_exact(&mut head).await?;
        let [a, b, c, d, code @ ..] = head;
        let length = u32::from_be_bytes([a, b, c, d]) as usize;
        let code = u32::from_be_bytes(code);
        if !(8..=LONGEST).contains(&length) {
            return Err(LoginError::Client);
        }
        match (code, acceptor) {
            (SSL, Some(acceptor)) if matches!(client, Stream::Tcp(_)) => {
                client.write_all(b"S").await?;
                client = accept(acceptor, client).await?;
                continue;
            }
            (SSL | GSS, _) => {
                client.write_all(b"N").await?;
                continue;
            }
            _ => {}
        }
        let mut message = head.to_vec();
        message.resize(length, 0);
        client.read_exact(&mut message[8..]).await?;
        let mut there = match connect(server).await {
            Ok(there) => there,
            Err(problem) => {
                let shown = format!("dbdyno capture: {}: {problem}", server.place());
                // If the client is gone, it doesn't need the reason.
                let _ = refuse(&mut client, &shown).await;
                return Err(LoginError::Server(problem));
            }
        };
        there.write_all(&message).await?;
        there.flush().await?;
        if code == CANCEL {
            let _ = tokio::io::copy(&mut there, &mut client).await;
            return Ok(None);
        }
        if matches!(there, Stream::ToServer(_)) && !matches!(client, Stream::FromClient(_)) {
            pass_authentication(&mut client, &mut there).await?;
        }
        return Ok(Some((client, there)));
    }
}

async fn connect(server: &Server) -> Result<Stream, String> {
    let failed = |error: io::Error| error.to_string().to_lowercase();
    let mut stream = server.connect().await.map_err(failed)?;
    if !server.wants_tls(&stream) {
        return Ok(stream);
    }
    let mut request = [0; 8];
    request[3] = 8;
    request[4..].copy_from_slice(&SSL.to_be_bytes());
    stream.write_all(&request).await.map_err(failed)?;
    let mut answer = [0];
    stream.read_exact(&mut answer).await.map_err(failed)?;
    let encrypted = match &answer {
        b"S" => server.encrypt(stream).await,
        _ => server.without_tls().map(|()| stream),
    };
    encrypted.map_err(|failure| failure.message.clone())
}

/// Passes on the server's request to authenticate, without the method that binds to TLS: clients without TLS reject it.
async fn pass_authentication(client: &mut Stream, there: &mut Stream) -> io::Result<()> {
    loop {
        let mut head = [0; 5];
        there.read_exact(&mut head).await?;
        let [mark, length @ ..] = head;
        let length = u32::from_be_bytes(length) as usize;
        if !(4..=LONGEST).contains(&length) {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let mut body = vec![0; length - 4];
        there.read_exact(&mut body).await?;
        if mark == b'R' && body.starts_with(&[0, 0, 0, 10]) {
            let names = body[4..].split_inclusive(|byte| *byte == 0);
            let kept = names.filter(|name| *name != b"SCRAM-SHA-256-PLUS\0").flatten();
            body = body[..4].iter().chain(kept).copied().collect();
        }
        let mut message = vec![mark];
        message.extend_from_slice(&(body.len() as u32 + 4).to_be_bytes());
        message.extend_from_slice(&body);
        client.write_all(&message).await?;
        // The server may send its protocol version first.
        if mark != b'v' {
            return client.flush().await;
        }
    }
}

/// Sends a client the reason of a refusal.
async fn refuse(client: &mut Stream, problem: &str) -> io::Result<()> {
    let mut body = Vec::new();
    for (field, value) in [(b'S', "FATAL"), (b'V', "FATAL"), (b'C', "08006"), (b'M', problem)] {
        body.push(field);
        body.extend_from_slice(value.as_bytes());
        body.push(0);
    }
    body.push(0);
    let mut message = vec![b'E'];
    message.extend_from_slice(&(body.len() as u32 + 4).to_be_bytes());
    message.extend_from_slice(&body);
    client.write_all(&message).await?;
    client.shutdown().await
}
