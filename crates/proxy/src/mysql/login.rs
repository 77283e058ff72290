//! The beginning of a connection, until the server has accepted the user.
//!
//! The greeting offers compression no longer, because a compressed connection can't be recorded, and TLS only if the
//! proxy has a certificate. If only one side is encrypted, the packets' numbers differ by one.

use super::Agreed;
use crate::connect::{LoginError, Server, Sides, accept};
use crate::stream::Stream;
use std::io;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio_rustls::TlsAcceptor;

const LONG_PASSWORD: u32 = 1;
const COMPRESS: u32 = 1 << 5;
const SSL: u32 = 1 << 11;
const DEPRECATE_EOF: u32 = 1 << 24;
const OPTIONAL_METADATA: u32 = 1 << 25;
const ZSTD: u32 = 1 << 26;
const QUERY_ATTRIBUTES: u32 = 1 << 27;
/// Of MariaDB's own flags.
const CACHE_METADATA: u32 = 1 << 4;

/// Length of a request for TLS. A login begins with the same bytes.
const FLAGS: usize = 32;

/// Longer packets don't belong to a login.
const LONGEST: usize = 1 << 20;

struct Packet {
    number: u8,
    body: Vec<u8>,
}

/// Connects a client to the server. Returns `None` if the server refused the client.
pub async fn begin(
    mut client: Stream,
    server: &Server,
    acceptor: Option<&TlsAcceptor>,
) -> Result<Option<(Sides, Agreed)>, LoginError> {
    let (mut there, mut greeting) = match greeted(server).await {
        Ok(begun) => begun,
        Err(problem) => return refuse(client, server, problem).await,
    };
    let Some(place) = Place::find(&greeting.body) else {
        // An error, such as too many connections.
        write(&mut client, &greeting).await?;
        client.shutdown().await?;
        return Ok(None);
    };
    let offered = place.flags(&greeting.body);
    let own = place.own_flags(&greeting.body, offered);
    let shown = offered & !(COMPRESS | ZSTD | SSL) | if acceptor.is_some() { SSL } else { 0 };
    place.set(&mut greeting.body, shown);
    write(&mut client, &greeting).await?;

    let mut login = read(&mut client).await?;
    if login.body.len() == FLAGS && flags(&login.body) & SSL != 0 {
        let Some(acceptor) = acceptor else {
            return Err(LoginError::Client);
        };
        client = accept(acceptor, client).await?;
        login = read(&mut client).await?;
    }
    if login.body.len() < FLAGS {
        return Err(LoginError::Client);
    }
    let wanted = flags(&login.body);
    let wants_own = if wanted & LONG_PASSWORD == 0 {
        flags(&login.body[28..])
    } else {
        0
    };
    let of_client = login.number;
    let encrypted = encrypt(there, server, offered, &login.body).await;
    (there, login.number) = match encrypted {
        Ok(encrypted) => encrypted,
        Err(problem) => return refuse(client, server, problem).await,
    };
    let is_encrypted = matches!(there, Stream::ToServer(_));
    let sent = wanted & !SSL | if is_encrypted { SSL } else { 0 };
    login.body[..4].copy_from_slice(&sent.to_le_bytes());
    let shift = login.number.wrapping_sub(of_client);
    write(&mut there, &login).await?;

    let both = wanted & offered;
    let agreed = Agreed {
        deprecates_eof: both & DEPRECATE_EOF != 0,
        query_attributes: both & QUERY_ATTRIBUTES != 0,
        optional_metadata: both & OPTIONAL_METADATA != 0,
        cached_metadata: wants_own & own & CACHE_METADATA != 0,
    };
    loop {
        let mut packet = read(&mut there).await?;
        packet.number = packet.number.wrapping_sub(shift);
        write(&mut client, &packet).await?;
        match packet.body[..] {
            [0x00, ..] => return Ok(Some(((client, there), agreed))),
            [0xff, ..] => {
                client.shutdown().await?;
                return Ok(None);
            }
            // The server knows the password's hash; its OK packet follows.
            [0x01, 0x03] => continue,
            _ => {}
        }
        let mut packet = read(&mut client).await?;
        packet.number = packet.number.wrapping_add(shift);
        write(&mut there, &packet).await?;
    }
}

/// Connects to the server, and reads its greeting.
async fn greeted(server: &Server) -> Result<(Stream, Packet), String> {
    let failed = |error: io::Error| error.to_string().to_lowercase();
    let mut there = server.connect().await.map_err(failed)?;
    let greeting = read(&mut there).await.map_err(failed)?;
    Ok((there, greeting))
}

/// Encrypts the connection to the server if that is wanted. Returns it with the number of the login packet.
async fn encrypt(mut there: Stream, server: &Server, offered: u32, login: &[u8]) -> Result<(Stream, u8), String> {
    if !server.wants_tls(&there) {
        return Ok((there, 1));
    }
    if offered & SSL == 0 {
        return match server.without_tls() {
            Ok(()) => Ok((there, 1)),
            Err(failure) => Err(failure.message.clone()),
        };
    }
    let mut body = login[..FLAGS].to_vec();
    let asked = flags(&body) | SSL;
    body[..4].copy_from_slice(&asked.to_le_bytes());
    let request = Packet { number: 1, body };
    write(&mut there, &request)
        .await
        .map_err(|error| error.to_string().to_lowercase())?;
    let there = server.encrypt(there).await.map_err(|failure| failure.message.clone())?;
    Ok((there, 2))
}

/// Sends a client the reason of a refusal.
async fn refuse<T>(mut client: Stream, server: &Server, problem: String) -> Result<T, LoginError> {
    let shown = format!("#08S01dbdyno capture: {}: {problem}", server.place());
    let mut body = vec![0xff];
    body.extend_from_slice(&2003_u16.to_le_bytes());
    body.extend_from_slice(shown.as_bytes());
    // If the client is gone, it doesn't need the reason.
    if write(&mut client, &Packet { number: 0, body }).await.is_ok() {
        let _ = client.shutdown().await;
    }
    Err(LoginError::Server(problem))
}

fn flags(body: &[u8]) -> u32 {
    body.first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes))
}

/// The position of a greeting's flags: behind the version, the connection's number, and a part of the nonce.
struct Place(usize);

impl Place {
    /// `None` if the packet is not a greeting of protocol 10.
    fn find(body: &[u8]) -> Option<Self> {
        let [10, rest @ ..] = body else { return None };
        let version = rest.iter().position(|byte| *byte == 0)?;
        let place = 1 + version + 1 + 4 + 8 + 1;
        // Lower flags, character set, status, upper flags, length of the nonce, ten reserved bytes.
        (body.len() >= place + 2 + 1 + 2 + 2 + 1 + 10).then_some(Self(place))
    }

    fn flags(&self, body: &[u8]) -> u32 {
        let at = self.0;
        u32::from_le_bytes([body[at], body[at + 1], body[at + 5], body[at + 6]])
    }

    /// MariaDB's own flags.
    fn own_flags(&self, body: &[u8], flags: u32) -> u32 {
        if flags & LONG_PASSWORD == 0 {
            self::flags(&body[self.0 + 14..])
        } else {
            0
        }
    }

    fn set(&self, body: &mut [u8], flags: u32) {
        let [a, b, c, d] = flags.to_le_bytes();
        let at = self.0;
        (body[at], body[at + 1], body[at + 5], body[at + 6]) = (a, b, c, d);
    }
}

async fn read(stream: &mut Stream) -> io::Result<Packet> {
    let mut head = [0; 4];
    stream.read_exact(&mut head).await?;
    let [a, b, c, number] = head;
    let length = u32::from_le_bytes([a, b, c, 0]) as usize;
    if length > LONGEST {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await?;
    Ok(Packet { number, body })
}

async fn write(stream: &mut Stream, packet: &Packet) -> io::Result<()> {
    let mut bytes = (packet.body.len() as u32).to_le_bytes();
    bytes[3] = packet.number;
    let mut whole = bytes.to_vec();
    whole.extend_from_slice(&packet.body);
    stream.write_all(&whole).await?;
    stream.flush().await
}
