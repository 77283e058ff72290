//! Unix sockets, waited at for answers only.
//!
//! The kernel wakes who waits at a Unix socket also when the other side takes what was sent, for there is room again. A
//! client that asks and waits would be woken twice for each answer, and put two threads to work for nothing. So the
//! socket is waited at for what can be read, and for room only after there was none.

use super::read_into;
use rustix::event::{PollFd, PollFlags, poll};
use std::io::{self, Write as _};
use std::os::unix::net::UnixStream;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::unix::AsyncFd;
use tokio::io::{Interest, ReadBuf};

/// How long to wait before the next attempt to get into a full queue of those who connect.
const QUEUE_FULL: Duration = Duration::from_millis(1);

/// One that does not hold up its thread.
#[derive(Debug)]
pub struct Socket(AsyncFd<UnixStream>);

impl Socket {
    /// Connects. Where too many others wait to be let in, this one waits until it may wait: for as long as it is asked to.
    pub async fn connect(path: &str) -> io::Result<Self> {
        let stream = loop {
            match tokio::net::UnixStream::connect(path).await {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => tokio::time::sleep(QUEUE_FULL).await,
                connected => break connected?.into_std()?,
            }
        };
        // SAFETY: the stream is owned by what registers it, and is not taken out before that has given it up.
        Ok(Self(unsafe {
            AsyncFd::register_with_interest(stream, Interest::READABLE)?
        }))
    }

    /// A socket that is connected already.
    #[cfg(test)]
    pub fn of(stream: UnixStream) -> io::Result<Self> {
        stream.set_nonblocking(true)?;
        // SAFETY: as in `connect`.
        Ok(Self(unsafe {
            AsyncFd::register_with_interest(stream, Interest::READABLE)?
        }))
    }

    /// The same socket, to hold up the thread that uses it.
    pub fn into_blocking(self) -> io::Result<UnixStream> {
        let stream = self.0.into_inner();
        stream.set_nonblocking(false)?;
        Ok(stream)
    }

    /// Writes what there is room for; `WouldBlock` where there is none.
    pub fn try_write(&self, bytes: &[u8]) -> io::Result<usize> {
        self.0.get_ref().write(bytes)
    }

    /// Waits until there is room. The waiting is arranged anew each time: it is rare, and does not outlast itself.
    pub async fn room(&self) -> io::Result<()> {
        let again = self.0.get_ref().try_clone()?;
        // SAFETY: as above; it is closed with what registers it.
        let room = unsafe { AsyncFd::register_with_interest(again, Interest::WRITABLE)? };
        room.writable().await.map(|_| ())
    }

    /// Reads what has come.
    pub fn poll_read(&self, context: &mut Context<'_>, room: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        loop {
            let mut ready = ready!(self.0.poll_read_ready(context))?;
            let read = read_into(&mut self.0.get_ref(), room);
            if room.remaining() > 0 {
                // There is no more: trying would only show that. (An end stays in sight of who waits.)
                ready.clear_ready();
            }
            match read {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                read => return Poll::Ready(read),
            }
        }
    }
}

/// Holds up the thread until something can be read.
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

    /// A server that takes each question, and answers it, when the client has long gone to sleep.
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

    /// Runs a test to its end.
    fn wait(test: impl Future<Output = ()>) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.unwrap().block_on(test);
    }

    /// How often this thread has gone to sleep so far.
    fn sleeps() -> u64 {
        thread_switches().voluntary
    }

    #[test]
    fn who_waits_beside_others_is_woken_by_the_answer_only() {
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
    fn who_holds_up_a_thread_is_woken_by_the_answer_only() {
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
            assert!(wait_for_answer(&stream).is_ok(), "an end is an answer as well");
        });
    }

    #[test]
    fn what_does_not_fit_at_once_is_read_with_the_next_reading() {
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
    fn room_is_waited_for_where_there_is_none() {
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
    fn a_full_queue_of_those_who_connect_is_waited_at() {
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
