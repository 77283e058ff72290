//! A connection to a server, independent of the protocol: buffers for sent and received bytes.

mod delayed;
mod unix;

use crate::server::Tls;
use bytes::BytesMut;
use dbdyno_engine::Failure;
use dbdyno_protocol::plan::document::FailureKind;
pub use delayed::Delayed;
use std::future::{Future, poll_fn};
use std::io::{self, Write as _};
use std::ops::Range;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::client::TlsStream;

enum Stream {
    Unix(unix::Socket),
    Tcp(TcpStream),
    /// A socket that blocks its thread.
    BlockingUnix(std::os::unix::net::UnixStream),
    BlockingTcp(std::net::TcpStream),
    /// An encrypted connection, which never blocks its thread.
    Tls(Box<TlsStream<TcpStream>>),
    /// While the connection is converted, or after that failed.
    None,
}

/// A connection. [`Self::send`] or [`Self::flush`] sends the bytes in `out`. Bytes read by [`Self::read`] stay valid
/// until the next read.
pub struct Connection {
    stream: Stream,
    input: Vec<u8>,
    /// Received bytes that have not been taken.
    there: Range<usize>,
    /// Bytes to send.
    pub out: BytesMut,
    sent: usize,
    /// Delays its messages, if the client's trial requests this.
    delayed: Option<Box<Delayed>>,
}

/// A boxed stream.
pub type Io = Box<dyn ReadWrite>;

/// A stream that can be read and written.
pub trait ReadWrite: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> ReadWrite for T {}

const ROOM: usize = 16 * 1024;

/// Maximum growth of the receive buffer at once.
const MOST_GROWTH: usize = 32 << 20;

impl Connection {
    /// Connects to a Unix socket.
    pub async fn unix(path: &str) -> Result<Self, Failure> {
        let socket = unix::Socket::connect(path).await.map_err(refused)?;
        Ok(Self::over(Stream::Unix(socket)))
    }

    /// Connects to a port of a host.
    pub async fn tcp(host: &str, port: u16) -> Result<Self, Failure> {
        let stream = TcpStream::connect((host, port)).await.map_err(refused)?;
        stream.set_nodelay(true).map_err(refused)?;
        Ok(Self::over(Stream::Tcp(stream)))
    }

    /// Wraps a connected socket, with a receive buffer of `room` bytes. The buffer grows for longer messages.
    pub fn of(stream: TcpStream, room: usize) -> Self {
        Self::with_room(Stream::Tcp(stream), room)
    }

    /// A connection to a server that sent some bytes and then closed it. Must be called within a runtime.
    #[cfg(test)]
    pub fn that_sent(bytes: &[u8]) -> Self {
        let (own, mut server) = std::os::unix::net::UnixStream::pair().unwrap();
        server.write_all(bytes).unwrap();
        Self::over(Stream::Unix(unix::Socket::of(own).unwrap()))
    }

    fn over(stream: Stream) -> Self {
        Self::with_room(stream, ROOM)
    }

    fn with_room(stream: Stream, room: usize) -> Self {
        Self {
            stream,
            input: vec![0; room],
            there: 0..0,
            out: BytesMut::with_capacity(512),
            sent: 0,
            delayed: Delayed::here(),
        }
    }

    /// Encrypts the connection from here on. All received plain text must have been taken.
    pub async fn encrypt(&mut self, tls: &Tls, host: &str) -> Result<(), Failure> {
        self.encrypt_for(tls, host, &[]).await
    }

    /// The same, with protocols to negotiate (ALPN, RFC 7301).
    pub async fn encrypt_for(&mut self, tls: &Tls, host: &str, protocols: &[&str]) -> Result<(), Failure> {
        if !self.there.is_empty() {
            // An attacker may have injected it, to be mistaken for encrypted data.
            let problem = "the server sent unencrypted data after it had accepted TLS";
            return Err(Failure::new(FailureKind::Connection, problem));
        }
        match std::mem::replace(&mut self.stream, Stream::None) {
            Stream::Tcp(stream) => {
                self.stream = Stream::Tls(Box::new(crate::server::tls::begin(stream, tls, host, protocols).await?));
                Ok(())
            }
            _ => Err(broken(&io::ErrorKind::NotConnected.into())),
        }
    }

    /// Returns the stream, for a library that reads and writes it, and the delays of its messages.
    pub fn into_io(self) -> Result<(Io, Option<Box<Delayed>>), Failure> {
        let io: Io = match self.stream {
            Stream::Unix(socket) => Box::new(socket.into_tokio().map_err(|error| broken(&error))?),
            Stream::Tcp(stream) => Box::new(stream),
            Stream::Tls(stream) => stream,
            _ => return Err(broken(&io::ErrorKind::NotConnected.into())),
        };
        Ok((io, self.delayed))
    }

    /// Whether it is a Unix socket, which never leaves the machine's kernel.
    pub fn is_unix(&self) -> bool {
        matches!(self.stream, Stream::Unix(_) | Stream::BlockingUnix(_))
    }

    /// Whether the connection is protected from eavesdropping.
    pub fn is_private(&self) -> bool {
        self.is_unix() || matches!(self.stream, Stream::Tls(_))
    }

    /// The TLS version; `None` if it isn't encrypted.
    pub fn encryption(&self) -> Option<String> {
        match &self.stream {
            Stream::Tls(stream) => stream
                .get_ref()
                .1
                .protocol_version()
                .map(|version| format!("{version:?}")),
            _ => None,
        }
    }

    /// The protocol negotiated by ALPN.
    pub fn protocol(&self) -> Option<&[u8]> {
        match &self.stream {
            Stream::Tls(stream) => stream.get_ref().1.alpn_protocol(),
            _ => None,
        }
    }

    /// Makes reads and writes block the thread from now on, which saves the event loop. No other client may use the
    /// thread.
    pub fn hold_up_thread(&mut self) -> Result<(), Failure> {
        self.hold_up_thread_for(None)
    }

    /// The same; a read fails with a timeout if nothing arrives for that long.
    pub fn hold_up_thread_for(&mut self, longest: Option<Duration>) -> Result<(), Failure> {
        if let Some(delayed) = &mut self.delayed
            && !matches!(self.stream, Stream::Tls(_))
        {
            delayed.hold_up_thread();
        }
        self.stream = match std::mem::replace(&mut self.stream, Stream::None) {
            Stream::Unix(socket) => Stream::BlockingUnix(socket.into_blocking().map_err(|error| broken(&error))?),
            Stream::Tcp(stream) => {
                let stream = stream.into_std().map_err(|error| broken(&error))?;
                stream.set_nonblocking(false).map_err(|error| broken(&error))?;
                stream.set_read_timeout(longest).map_err(|error| broken(&error))?;
                Stream::BlockingTcp(stream)
            }
            other => other,
        };
        Ok(())
    }

    /// Sends as much as possible without waiting; nothing if messages are delayed. [`Self::flush`] sends the remaining
    /// bytes.
    #[inline]
    pub fn send(&mut self) -> Result<(), Failure> {
        if self.delayed.is_some() {
            return Ok(());
        }
        self.send_now()
    }

    #[inline]
    fn send_now(&mut self) -> Result<(), Failure> {
        while self.sent < self.out.len() {
            let rest = &self.out[self.sent..];
            let written = match &mut self.stream {
                Stream::Unix(socket) => socket.try_write(rest),
                Stream::Tcp(stream) => stream.try_write(rest),
                Stream::BlockingUnix(stream) => stream.write(rest),
                Stream::BlockingTcp(stream) => stream.write(rest),
                Stream::Tls(stream) => write_encrypted(stream, rest),
                Stream::None => Err(io::ErrorKind::NotConnected.into()),
            };
            match written {
                Ok(written) => self.sent += written,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // The peer is gone, but its last data can still be read.
                Err(error) if is_gone(&error) && !matches!(self.stream, Stream::Tls(_)) => break,
                Err(error) => return Err(broken(&error)),
            }
        }
        self.out.clear();
        self.sent = 0;
        Ok(())
    }

    /// Sends all buffered bytes.
    pub async fn flush(&mut self) -> Result<(), Failure> {
        if let Some(delayed) = &mut self.delayed
            && !self.out.is_empty()
        {
            delayed.goes_out().await;
        }
        loop {
            self.send_now()?;
            if self.out.is_empty() && !matches!(self.stream, Stream::Tls(_)) {
                return Ok(());
            }
            let ready = match &mut self.stream {
                Stream::Unix(socket) => socket.room().await,
                Stream::Tcp(stream) => stream.writable().await,
                // Encrypted bytes may not have been sent yet.
                Stream::Tls(stream) => poll_fn(|context| Pin::new(&mut *stream).poll_flush(context)).await,
                _ => Ok(()),
            };
            ready.map_err(|error| broken(&error))?;
            if self.out.is_empty() {
                return Ok(());
            }
        }
    }

    /// Sends all buffered bytes, to which there will be no response.
    pub async fn send_last(&mut self) -> Result<(), Failure> {
        self.delayed = None;
        self.flush().await
    }

    /// Received bytes that have not been taken.
    #[inline(always)]
    pub fn there(&self) -> &[u8] {
        &self.input[self.there.clone()]
    }

    /// Grows the receive buffer to this size, if it is empty.
    #[inline]
    pub fn make_room(&mut self, bytes: usize) {
        if self.there.is_empty() && self.input.len() < bytes {
            self.there = 0..0;
            self.input.resize(bytes, 0);
        }
    }

    /// Received bytes that have not been taken, mutable.
    pub fn there_mut(&mut self) -> &mut [u8] {
        &mut self.input[self.there.clone()]
    }

    /// Takes received bytes and returns their position for [`Self::taken`].
    #[inline(always)]
    pub fn take(&mut self, length: usize) -> Range<usize> {
        let start = self.there.start;
        self.there.start += length;
        start..self.there.start
    }

    /// Bytes taken since the last read.
    #[inline(always)]
    pub fn taken(&self, place: Range<usize>) -> &[u8] {
        &self.input[place]
    }

    /// Reads available data, at least one byte.
    pub async fn read(&mut self) -> Result<(), Failure> {
        match self.read_or_end().await? {
            0 => Err(Failure::new(
                FailureKind::Connection,
                "the server closed the connection",
            )),
            _ => Ok(()),
        }
    }

    /// Reads available data and returns the number of bytes; 0 if the peer closed the connection.
    pub async fn read_or_end(&mut self) -> Result<usize, Failure> {
        if self.there.is_empty() {
            self.there = 0..0;
        } else if self.there.start > 0 && self.there.end == self.input.len() {
            self.input.copy_within(self.there.clone(), 0);
            self.there = 0..self.there.len();
        }
        if self.there.end == self.input.len() {
            // A message longer than the buffer. The buffer grows with the received data, not with the announced length.
            self.input
                .resize(self.input.len() + self.input.len().min(MOST_GROWTH), 0);
        }
        let mut room = ReadBuf::new(&mut self.input[self.there.end..]);
        let stream = &mut self.stream;
        poll_fn(|context| poll_read(stream, context, &mut room))
            .await
            .map_err(|error| broken(&error))?;
        let read = room.filled().len();
        self.there.end += read;
        if let Some(delayed) = &mut self.delayed {
            delayed.has_come().await;
        }
        Ok(read)
    }
}

fn poll_read(stream: &mut Stream, context: &mut Context<'_>, room: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
    match stream {
        Stream::Unix(socket) => socket.poll_read(context, room),
        Stream::Tcp(stream) => Pin::new(stream).poll_read(context, room),
        Stream::BlockingUnix(stream) => {
            Poll::Ready(unix::wait_for_answer(stream).and_then(|()| read_into(stream, room)))
        }
        Stream::BlockingTcp(stream) => Poll::Ready(read_into(stream, room)),
        Stream::Tls(stream) => Pin::new(stream).poll_read(context, room),
        Stream::None => Poll::Ready(Err(io::ErrorKind::NotConnected.into())),
    }
}

/// Encrypts as much as the buffer allows, and sends as much as possible. It doesn't wait; [`Connection::flush`] does.
fn write_encrypted(stream: &mut TlsStream<TcpStream>, rest: &[u8]) -> io::Result<usize> {
    match Pin::new(stream).poll_write(&mut Context::from_waker(Waker::noop()), rest) {
        Poll::Ready(written) => written,
        Poll::Pending => Err(io::ErrorKind::WouldBlock.into()),
    }
}

fn read_into(stream: &mut impl io::Read, room: &mut ReadBuf<'_>) -> io::Result<()> {
    loop {
        match stream.read(room.initialize_unfilled()) {
            Ok(read) => {
                room.advance(read);
                return Ok(());
            }
            // A signal that asks the trial to end; the current request still gets its response.
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

fn refused(error: io::Error) -> Failure {
    with_code(Failure::new(FailureKind::Connection, reason(&error)), &error)
}

fn is_gone(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset)
}

/// The failure of a connection that broke.
#[cold]
pub fn broken(error: &io::Error) -> Failure {
    if error.kind() == io::ErrorKind::WouldBlock {
        // Only blocking reads return this error, after their timeout.
        return Failure::new(FailureKind::Timeout, "the answer timed out");
    }
    let broke = format!("the connection was lost: {}", reason(error));
    with_code(Failure::new(FailureKind::Connection, broke), error)
}

/// Adds the name of the OS error, if it may indicate what limits the load.
pub fn with_code(failure: Failure, error: &io::Error) -> Failure {
    let name = match error.kind() {
        io::ErrorKind::NotFound => "ENOENT",
        io::ErrorKind::ConnectionRefused => "ECONNREFUSED",
        io::ErrorKind::ConnectionReset => "ECONNRESET",
        io::ErrorKind::BrokenPipe => "EPIPE",
        io::ErrorKind::TimedOut => "ETIMEDOUT",
        io::ErrorKind::AddrNotAvailable => "EADDRNOTAVAIL",
        io::ErrorKind::WouldBlock => "EAGAIN",
        _ => match error.raw_os_error() {
            Some(libc::EMFILE) => "EMFILE",
            Some(libc::ENFILE) => "ENFILE",
            _ => return failure,
        },
    };
    failure.coded(name)
}

/// Why a connection failed, as text.
pub fn reason(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "no such socket".into(),
        io::ErrorKind::ConnectionRefused => "connection refused; no server listens there".into(),
        io::ErrorKind::AddrNotAvailable => {
            "this machine has no free local port (`net.ipv4.ip_local_port_range`)".into()
        }
        _ if error.raw_os_error() == Some(libc::EMFILE) => {
            "too many open files and connections in this process (`ulimit -n`)".into()
        }
        _ => error.to_string().to_lowercase(),
    }
}

/// Advice if a server has too many connections.
pub const FULL: &str = ": raise `max_connections`, or use fewer clients";

/// Maximum message size that a server may announce before the login. Its greeting takes a few hundred bytes.
pub const LONGEST_AT_LOGIN: usize = 1 << 20;

/// Maximum message size that a server may announce later: the limit of PostgreSQL and MySQL.
pub const LONGEST: usize = 1 << 30;

/// Maximum response size for one of dbdyno's own queries, whose rows are all stored.
pub const LONGEST_ANSWER: usize = 1 << 28;

/// The failure if a server announces a message longer than the limit.
#[cold]
pub fn too_long(announced: usize, limit: usize) -> Failure {
    let message = format!(
        "the server announced a message of {announced} bytes; the limit is {}",
        size(limit)
    );
    Failure::new(FailureKind::Connection, message)
}

/// The failure if the response to one of dbdyno's own queries is too long.
#[cold]
pub fn answer_too_long() -> Failure {
    let message = format!("the server's answer is longer than {}", size(LONGEST_ANSWER));
    Failure::new(FailureKind::Connection, message)
}

fn size(bytes: usize) -> String {
    match bytes >> 20 {
        mebibytes if mebibytes >= 1 << 10 => format!("{} GiB", mebibytes >> 10),
        mebibytes => format!("{mebibytes} MiB"),
    }
}

/// Runs a future that uses a server to completion in this thread.
pub fn block_on<T>(future: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    match runtime {
        Ok(runtime) => runtime.block_on(future),
        Err(error) => Err(Failure::new(
            FailureKind::Other,
            format!("cannot start the event loop: {}", reason(&error)),
        )),
    }
}
