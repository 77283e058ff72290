//! Unix sockets, with wake-ups for received data only.
//!
//! The kernel also wakes a thread waiting on a Unix socket when the peer reads the sent data, because the socket
//! becomes writable. A client that sends a request and waits would be woken twice per response, for nothing. So the
//! socket is registered for reading, and for writing only after a write didn't complete.

use super::read_into;
use rustix::event::{PollFd, PollFlags, poll};
use std::io::{self, Write as _};
use std::os::unix::net::UnixStream;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::unix::AsyncFd;
use tokio::io::{Interest, ReadBuf};

/// Delay before the next attempt to enter a full accept queue.
const QUEUE_FULL: Duration = Duration::from_millis(1);

/// A nonblocking socket.
#[derive(Debug)]
pub struct Socket(AsyncFd<UnixStream>);

impl Socket {
    /// Connects. If the accept queue is full, it keeps trying until the caller cancels it.
    pub async fn connect(path: &str) -> io::Result<Self> {
        let stream = loop {
            match tokio::net::UnixStream::connect(path).await {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => tokio::time::sleep(QUEUE_FULL).await,
                connected => break connected?.into_std()?,
            }
        };
        // SAFETY: the `AsyncFd` owns the stream, and it isn't taken out before it is deregistered.
        Ok(Self(unsafe {
            AsyncFd::register_with_interest(stream, Interest::READABLE)?
        }))
    }

    /// Wraps a connected socket.
    #[cfg(test)]
    pub fn of(stream: UnixStream) -> io::Result<Self> {
        stream.set_nonblocking(true)?;
        // SAFETY: as in `connect`.
        Ok(Self(unsafe {
            AsyncFd::register_with_interest(stream, Interest::READABLE)?
        }))
    }

    /// The same socket in blocking mode.
    pub fn into_blocking(self) -> io::Result<UnixStream> {
        let stream = self.0.into_inner();
        stream.set_nonblocking(false)?;
        Ok(stream)
    }

    /// Converts the socket into a tokio stream.
    pub fn into_tokio(self) -> io::Result<tokio::net::UnixStream> {
        tokio::net::UnixStream::from_std(self.0.into_inner())
    }

    /// Writes as much as possible; `WouldBlock` if the socket's buffer is full.
    pub fn try_write(&self, bytes: &[u8]) -> io::Result<usize> {
        self.0.get_ref().write(bytes)
    }

    /// Waits until the socket is writable. It is registered for each wait, because waits are rare.
    pub async fn room(&self) -> io::Result<()> {
        let again = self.0.get_ref().try_clone()?;
        // SAFETY: as above; the `AsyncFd` closes it.
        let room = unsafe { AsyncFd::register_with_interest(again, Interest::WRITABLE)? };
        room.writable().await.map(|_| ())
    }

    /// Reads available data.
    pub fn poll_read(&self, context: &mut Context<'_>, room: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        loop {
            let mut ready = ready!(self.0.poll_read_ready(context))?;
            let read = read_into(&mut self.0.get_ref(), room);
            if room.remaining() > 0 {
                // All data has been read, so skip another attempt. (The waiting task still sees an end of file.)
                ready.clear_ready();
            }
            match read {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                read => return Poll::Ready(read),
            }
        }
    }
}

/// Blocks the thread until data can be read.
pub fn wait_for_answer(stream: &UnixStream) -> io::Result<()> {
    let mut waited = [PollFd::new(stream, PollFlags::IN)];
    rustix::io::retry_on_intr(|| poll(&mut waited, None))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use dbdyno_probes::process::thread_switches;
    use std::future::poll_fn;
    use std::io::Read as _;
    use std::os::unix::net::UnixListener;
    use std::thread::JoinHandle;

    const SOON: Duration = Duration::from_millis(5);

    async fn pair() -> (Socket, UnixStream) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("socket");
        let listener = UnixListener::bind(&path).unwrap();
        let socket = Socket::connect(path.to_str().unwrap()).await.unwrap();
        (socket, listener.accept().unwrap().0)
    }

    async fn read(socket: &Socket, most: usize) -> Vec<u8> {
        let mut bytes = vec![0; most];
        let mut room = ReadBuf::new(&mut bytes);
        poll_fn(|context| socket.poll_read(context, &mut room)).await.unwrap();
        room.filled().to_vec()
    }

    const ANSWERS: u64 = 40;

    /// A server that reads each request, and then responds, long after the client fell asleep.
    fn slow(mut server: UnixStream) -> JoinHandle<()> {
        std::thread::spawn(move || {
            for _ in 0..ANSWERS {
                std::thread::sleep(SOON);
                server.read_exact(&mut [0; 8]).unwrap();
                std::thread::sleep(SOON);
                server.write_all(b"answer").unwrap();
            }
        })
    }

    /// Runs a test to completion.
    fn wait(test: impl Future<Output = ()>) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.unwrap().block_on(test);
    }

    /// How often this thread has slept.
    fn sleeps() -> u64 {
        thread_switches().voluntary
    }

    #[test]
    fn a_shared_thread_is_woken_only_by_the_response() {
        wait(async {
            let (socket, server) = pair().await;
            let server = slow(server);
            let before = sleeps();
            for _ in 0..ANSWERS {
                socket.try_write(b"question").unwrap();
                assert_eq!(read(&socket, 100).await, b"answer");
            }
            let slept = sleeps() - before;
            server.join().unwrap();
            assert!(slept < ANSWERS * 3 / 2, "{slept} times for {ANSWERS} answers");
        });
    }

    #[test]
    fn a_blocking_thread_is_woken_only_by_the_response() {
        wait(async {
            let (socket, server) = pair().await;
            let (mut stream, server) = (socket.into_blocking().unwrap(), slow(server));
            let before = sleeps();
            for _ in 0..ANSWERS {
                stream.write_all(b"question").unwrap();
                wait_for_answer(&stream).unwrap();
                stream.read_exact(&mut [0; 6]).unwrap();
            }
            let slept = sleeps() - before;
            server.join().unwrap();
            assert!(slept < ANSWERS * 3 / 2, "{slept} times for {ANSWERS} answers");
            assert!(wait_for_answer(&stream).is_ok(), "an end of file ends the wait too");
        });
    }

    #[test]
    fn data_beyond_the_buffer_is_read_by_the_next_read() {
        wait(async {
            let (socket, mut server) = pair().await;
            server.write_all(b"more than five").unwrap();
            assert_eq!(read(&socket, 5).await, b"more ");
            assert_eq!(read(&socket, 100).await, b"than five");
            drop(server);
            assert_eq!(read(&socket, 100).await, b"", "the end");
            assert_eq!(read(&socket, 100).await, b"", "still the end");
        });
    }

    #[test]
    fn a_full_buffer_is_waited_for() {
        wait(async {
            let (socket, mut server) = pair().await;
            let mut written = 0;
            let full = loop {
                match socket.try_write(&[7; 10_000]) {
                    Ok(more) => written += more,
                    Err(error) => break error,
                }
            };
            assert_eq!(full.kind(), io::ErrorKind::WouldBlock);
            let reader = std::thread::spawn(move || {
                server.read_exact(&mut vec![0; written]).unwrap();
                server
            });
            socket.room().await.unwrap();
            assert!(socket.try_write(&[7; 10]).unwrap() > 0);
            drop(reader.join().unwrap());
        });
    }

    #[test]
    fn a_full_accept_queue_is_retried() {
        wait(async {
            let directory = tempfile::tempdir().unwrap();
            let path = directory.path().join("socket");
            let binding = tokio::net::UnixSocket::new_stream().unwrap();
            binding.bind(&path).unwrap();
            let listener = binding.listen(0).unwrap();
            let path = path.to_str().unwrap();
            let first = Socket::connect(path).await.unwrap();
            let second = Socket::connect(path);
            let mut second = std::pin::pin!(second);
            assert!(
                tokio::time::timeout(SOON, &mut second).await.is_err(),
                "the queue is full"
            );
            listener.accept().await.unwrap();
            second.await.unwrap();
            drop(first);
        });
    }
}
