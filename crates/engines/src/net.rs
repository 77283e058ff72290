//! A connection to a server, whatever is said over it: bytes to be sent, bytes that have come.

use crate::Failure;
use bytes::BytesMut;
use dbdyno_plan::document::FailureKind;
use std::future::{Future, poll_fn};
use std::io::{self, Write as _};
use std::ops::Range;
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, ReadBuf};
use tokio::net::{TcpStream, UnixStream};

enum Stream {
    Unix(UnixStream),
    Tcp(TcpStream),
    /// One that holds up its thread.
    BlockingUnix(std::os::unix::net::UnixStream),
    BlockingTcp(std::net::TcpStream),
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
}

const ROOM: usize = 16 * 1024;

impl Connection {
    /// Connects to a Unix socket.
    pub async fn unix(path: &str) -> Result<Self, Failure> {
        let stream = UnixStream::connect(path).await.map_err(refused)?;
        Ok(Self::over(Stream::Unix(stream)))
    }

    /// Connects to a port of a host.
    pub async fn tcp(host: &str, port: u16) -> Result<Self, Failure> {
        let stream = TcpStream::connect((host, port)).await.map_err(refused)?;
        stream.set_nodelay(true).map_err(refused)?;
        Ok(Self::over(Stream::Tcp(stream)))
    }

    fn over(stream: Stream) -> Self {
        Self {
            stream,
            input: vec![0; ROOM],
            there: 0..0,
            out: BytesMut::with_capacity(1024),
            sent: 0,
        }
    }

    /// Whether it never leaves the machine's kernel.
    pub fn is_unix(&self) -> bool {
        matches!(self.stream, Stream::Unix(_) | Stream::BlockingUnix(_))
    }

    /// From now on reading and sending hold up the thread: nobody else in it has anything to do meanwhile. That saves
    /// asking the kernel whether something has come before taking it.
    pub fn hold_up_thread(&mut self) -> Result<(), Failure> {
        self.stream = match std::mem::replace(&mut self.stream, Stream::None) {
            Stream::Unix(stream) => {
                let stream = stream.into_std().map_err(|error| broken(&error))?;
                stream.set_nonblocking(false).map_err(|error| broken(&error))?;
                Stream::BlockingUnix(stream)
            }
            Stream::Tcp(stream) => {
                let stream = stream.into_std().map_err(|error| broken(&error))?;
                stream.set_nonblocking(false).map_err(|error| broken(&error))?;
                Stream::BlockingTcp(stream)
            }
            other => other,
        };
        Ok(())
    }

    /// Sends what can be sent at once. What is left goes with [`Self::flush`].
    #[inline]
    pub fn send(&mut self) -> Result<(), Failure> {
        while self.sent < self.out.len() {
            let rest = &self.out[self.sent..];
            let written = match &self.stream {
                Stream::Unix(stream) => stream.try_write(rest),
                Stream::Tcp(stream) => stream.try_write(rest),
                Stream::BlockingUnix(stream) => (&*stream).write(rest),
                Stream::BlockingTcp(stream) => (&*stream).write(rest),
                Stream::None => Err(io::ErrorKind::NotConnected.into()),
            };
            match written {
                Ok(written) => self.sent += written,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(broken(&error)),
            }
        }
        self.out.clear();
        self.sent = 0;
        Ok(())
    }

    /// Sends all there is to send.
    pub async fn flush(&mut self) -> Result<(), Failure> {
        loop {
            self.send()?;
            if self.out.is_empty() {
                return Ok(());
            }
            let ready = match &self.stream {
                Stream::Unix(stream) => stream.writable().await,
                Stream::Tcp(stream) => stream.writable().await,
                _ => Ok(()),
            };
            ready.map_err(|error| broken(&error))?;
        }
    }

    /// What has come and has not been taken.
    #[inline(always)]
    pub fn there(&self) -> &[u8] {
        &self.input[self.there.clone()]
    }

    /// The same, to be changed in place.
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
        if self.there.is_empty() {
            self.there = 0..0;
        } else if self.there.start > 0 && self.there.end == self.input.len() {
            self.input.copy_within(self.there.clone(), 0);
            self.there = 0..self.there.len();
        }
        if self.there.end == self.input.len() {
            // A message longer than all the room there is.
            self.input.resize(self.input.len() * 2, 0);
        }
        let mut room = ReadBuf::new(&mut self.input[self.there.end..]);
        let stream = &mut self.stream;
        poll_fn(|context| poll_read(stream, context, &mut room))
            .await
            .map_err(|error| broken(&error))?;
        let read = room.filled().len();
        if read == 0 {
            return Err(Failure::new(
                FailureKind::Connection,
                "the server closed the connection",
            ));
        }
        self.there.end += read;
        Ok(())
    }
}

fn poll_read(stream: &mut Stream, context: &mut Context<'_>, room: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
    match stream {
        Stream::Unix(stream) => Pin::new(stream).poll_read(context, room),
        Stream::Tcp(stream) => Pin::new(stream).poll_read(context, room),
        Stream::BlockingUnix(stream) => Poll::Ready(read_into(stream, room)),
        Stream::BlockingTcp(stream) => Poll::Ready(read_into(stream, room)),
        Stream::None => Poll::Ready(Err(io::ErrorKind::NotConnected.into())),
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
    Failure::new(FailureKind::Connection, reason(&error))
}

#[cold]
fn broken(error: &io::Error) -> Failure {
    Failure::new(
        FailureKind::Connection,
        format!("the connection broke: {}", reason(error)),
    )
}

fn reason(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "there is no such socket".into(),
        io::ErrorKind::ConnectionRefused => "nothing listens there".into(),
        _ => error.to_string().to_lowercase(),
    }
}

/// Runs a future that talks to a server to its end, in this thread.
pub fn block_on<F: Future>(future: F) -> Result<F::Output, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    match runtime {
        Ok(runtime) => Ok(runtime.block_on(future)),
        Err(error) => Err(Failure::new(
            FailureKind::Other,
            format!("starting to wait for events: {error}"),
        )),
    }
}
