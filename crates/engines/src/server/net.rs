//! A connection to a server, whatever is said over it: bytes to be sent, bytes that have come.

mod delayed;
mod unix;

use crate::server::Tls;
use bytes::BytesMut;
use dbdyno_engine::Failure;
use dbdyno_plan::document::FailureKind;
use delayed::Delayed;
use std::future::{Future, poll_fn};
use std::io::{self, Write as _};
use std::ops::Range;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite as _, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::client::TlsStream;

enum Stream {
    Unix(unix::Socket),
    Tcp(TcpStream),
    /// One that holds up its thread.
    BlockingUnix(std::os::unix::net::UnixStream),
    BlockingTcp(std::net::TcpStream),
    /// One that is encrypted, which never holds up its thread.
    Tls(Box<TlsStream<TcpStream>>),
    /// On its way from one kind to another, or lost there.
    None,
}

/// A connection. What is written to `out` goes with [`Self::send`] or [`Self::flush`]; what [`Self::read`] has read
/// stays where it is until the next reading.
pub struct Connection {
    stream: Stream,
    input: Vec<u8>,
    /// What of the input has come and has not been taken.
    there: Range<usize>,
    /// What is to be sent.
    pub out: BytesMut,
    sent: usize,
    /// What delays its messages, where the trial whose client this is has them delayed.
    delayed: Option<Box<Delayed>>,
}

const ROOM: usize = 16 * 1024;

/// By how many bytes the buffer for what comes grows at most at once.
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

    /// Goes on with a connection to a port, with so many bytes of room for what comes; there will be more where a message
    /// is longer.
    pub fn of(stream: TcpStream, room: usize) -> Self {
        Self::with_room(Stream::Tcp(stream), room)
    }

    /// A connection to a server that has sent some bytes and then closed it. Call it within a runtime.
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

    /// Encrypts what goes over it from here on. What has come in the clear must have been taken.
    pub async fn encrypt(&mut self, tls: &Tls, host: &str) -> Result<(), Failure> {
        self.encrypt_for(tls, host, &[]).await
    }

    /// The same, for the first of some protocols that the server knows too (ALPN, RFC 7301).
    pub async fn encrypt_for(&mut self, tls: &Tls, host: &str, protocols: &[&str]) -> Result<(), Failure> {
        if !self.there.is_empty() {
            // Somebody between may have put it there, to be taken for what was encrypted.
            let problem = "the server went on in the clear after it had agreed to TLS";
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

    /// Whether it is a Unix socket, which never leaves the machine's kernel.
    pub fn is_unix(&self) -> bool {
        matches!(self.stream, Stream::Unix(_) | Stream::BlockingUnix(_))
    }

    /// Whether nobody else can read what goes over it.
    pub fn is_private(&self) -> bool {
        self.is_unix() || matches!(self.stream, Stream::Tls(_))
    }

    /// The version of TLS that encrypts it; none: nothing does.
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

    /// The protocol that both sides agreed on when it was encrypted (ALPN).
    pub fn protocol(&self) -> Option<&[u8]> {
        match &self.stream {
            Stream::Tls(stream) => stream.get_ref().1.alpn_protocol(),
            _ => None,
        }
    }

    /// From now on reading and sending hold up the thread: nobody else in it has anything to do meanwhile. That saves the
    /// event loop.
    pub fn hold_up_thread(&mut self) -> Result<(), Failure> {
        self.hold_up_thread_for(None)
    }

    /// The same, where a reading ends with a failure that is a timeout when nothing has come for so long.
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

    /// Sends what can be sent at once: nothing, where messages are delayed. What is left goes with [`Self::flush`].
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
                // The other end is gone; what it said before is still there to be read, and then the end.
                Err(error) if is_gone(&error) && !matches!(self.stream, Stream::Tls(_)) => break,
                Err(error) => return Err(broken(&error)),
            }
        }
        self.out.clear();
        self.sent = 0;
        Ok(())
    }

    /// Sends all there is to send.
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
                // What was encrypted may not be sent yet.
                Stream::Tls(stream) => poll_fn(|context| Pin::new(&mut *stream).poll_flush(context)).await,
                _ => Ok(()),
            };
            ready.map_err(|error| broken(&error))?;
            if self.out.is_empty() {
                return Ok(());
            }
        }
    }

    /// Sends all there is to send, which nobody will answer.
    pub async fn send_last(&mut self) -> Result<(), Failure> {
        self.delayed = None;
        self.flush().await
    }

    /// What has come and has not been taken.
    #[inline(always)]
    pub fn there(&self) -> &[u8] {
        &self.input[self.there.clone()]
    }

    /// Sees to it that so many bytes can be read at once, if nothing is there that would have to be moved.
    #[inline]
    pub fn make_room(&mut self, bytes: usize) {
        if self.there.is_empty() && self.input.len() < bytes {
            self.there = 0..0;
            self.input.resize(bytes, 0);
        }
    }

    /// What has come and has not been taken, to be changed in place.
    pub fn there_mut(&mut self) -> &mut [u8] {
        &mut self.input[self.there.clone()]
    }

    /// Takes so many bytes of what has come, and gives their place for [`Self::taken`].
    #[inline(always)]
    pub fn take(&mut self, length: usize) -> Range<usize> {
        let start = self.there.start;
        self.there.start += length;
        start..self.there.start
    }

    /// Bytes that were taken since the last reading.
    #[inline(always)]
    pub fn taken(&self, place: Range<usize>) -> &[u8] {
        &self.input[place]
    }

    /// Reads what has come, at least a byte.
    pub async fn read(&mut self) -> Result<(), Failure> {
        match self.read_or_end().await? {
            0 => Err(Failure::new(
                FailureKind::Connection,
                "the server closed the connection",
            )),
            _ => Ok(()),
        }
    }

    /// Reads what has come; gives how many bytes, none where the other side has closed the connection.
    pub async fn read_or_end(&mut self) -> Result<usize, Failure> {
        if self.there.is_empty() {
            self.there = 0..0;
        } else if self.there.start > 0 && self.there.end == self.input.len() {
            self.input.copy_within(self.there.clone(), 0);
            self.there = 0..self.there.len();
        }
        if self.there.end == self.input.len() {
            // A message longer than the buffer. It grows with what has come, not with what was announced.
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

/// Encrypts what there is room for, and sends of it what can be sent at once. Nobody waits yet: [`Connection::flush`]
/// does.
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
            // A signal that asks the trial to end: what was asked for is still answered.
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

#[cold]
fn broken(error: &io::Error) -> Failure {
    if error.kind() == io::ErrorKind::WouldBlock {
        // Only a reading that holds up its thread is told so, and only when it has waited for as long as it may.
        return Failure::new(FailureKind::Timeout, "no answer came in time");
    }
    let broke = format!("the connection broke: {}", reason(error));
    with_code(Failure::new(FailureKind::Connection, broke), error)
}

/// The failure with the name of the kernel's error, where it has one that may say what limits the load.
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

/// Why a connection was not made, or broke, in words.
pub fn reason(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "there is no such socket".into(),
        io::ErrorKind::ConnectionRefused => "nothing listens there".into(),
        io::ErrorKind::AddrNotAvailable => {
            "no port of this machine is left for a connection to there (`net.ipv4.ip_local_port_range`)".into()
        }
        _ if error.raw_os_error() == Some(libc::EMFILE) => {
            "this process may have no more files and connections open (`ulimit -n`)".into()
        }
        _ => error.to_string().to_lowercase(),
    }
}

/// What helps against a server that lets nobody else in.
pub const FULL: &str = ": it must let in more (`max_connections`), or the load have fewer clients";

/// The longest message that a server may announce before it has let a session in. Its greeting takes some hundred bytes.
pub const LONGEST_AT_LOGIN: usize = 1 << 20;

/// The longest message that a server may announce later: what PostgreSQL and MySQL send at most.
pub const LONGEST: usize = 1 << 30;

/// The longest answer to a question of dbdyno's own, of which all rows are kept.
pub const LONGEST_ANSWER: usize = 1 << 28;

/// The failure of a server that announces a message longer than the limit.
#[cold]
pub fn too_long(announced: usize, limit: usize) -> Failure {
    let message = format!(
        "the server announced a message of {announced} bytes; the limit is {}",
        size(limit)
    );
    Failure::new(FailureKind::Connection, message)
}

/// The failure of a server whose answer to a question of dbdyno's own does not end.
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

/// Runs a future that talks to a server to its end, in this thread.
pub fn block_on<T>(future: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    match runtime {
        Ok(runtime) => runtime.block_on(future),
        Err(error) => Err(Failure::new(
            FailureKind::Other,
            format!("starting to wait for events: {}", reason(&error)),
        )),
    }
}
