//! Passes bytes between a client and a server. Each part is sent on before it is looked at.

use crate::stream::Stream;
use std::cell::RefCell;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// What looks at the bytes of a connection.
pub trait Protocol {
    /// Looks at bytes that a client sent.
    fn client_sent(&mut self, bytes: &[u8], now: u64);

    /// Looks at bytes that a server sent.
    fn server_sent(&mut self, bytes: &[u8], now: u64);

    /// The connection has ended.
    fn end(&mut self);
}

const BUFFER: usize = 1 << 16;

thread_local! {
    /// All connections share a buffer, because most connections are idle.
    static SHARED: RefCell<Box<[u8]>> = RefCell::new(vec![0; BUFFER].into());
}

/// One direction of a connection.
#[derive(Debug, Default)]
struct Direction {
    /// Bytes that the receiver can't take yet. The sender waits until they are sent.
    waiting: Vec<u8>,
    sent: usize,
    /// Whether the receiver's stream has bytes that it must send.
    must_flush: bool,
    /// Whether the sender has ended.
    has_ended: bool,
    /// Whether the receiver knows that.
    is_closed: bool,
}

impl Direction {
    /// Passes received bytes on. Returns whether the connection changed.
    fn pass(
        &mut self,
        from: &mut Stream,
        to: &mut Stream,
        context: &mut Context<'_>,
        look: impl FnOnce(&[u8]),
    ) -> bool {
        if self.is_closed {
            return false;
        }
        let had = self.waiting.len();
        if self.send_waiting(to, context).is_pending() {
            return false;
        }
        if self.must_flush
            && let Poll::Ready(flushed) = Pin::new(&mut *to).poll_flush(context)
        {
            self.must_flush = false;
            if flushed.is_err() {
                return self.give_up();
            }
        }
        if self.has_ended {
            let closed = Pin::new(to).poll_shutdown(context).is_ready();
            self.is_closed = closed;
            return closed;
        }
        SHARED.with_borrow_mut(|buffer| {
            let mut room = ReadBuf::new(buffer);
            match Pin::new(from).poll_read(context, &mut room) {
                Poll::Pending => return had > 0,
                Poll::Ready(Err(_)) => self.has_ended = true,
                Poll::Ready(Ok(())) if room.filled().is_empty() => self.has_ended = true,
                Poll::Ready(Ok(())) => {
                    self.send(room.filled(), to, context);
                    look(room.filled());
                }
            }
            true
        })
    }

    /// Sends bytes, as much as the receiver takes. Further bytes wait.
    fn send(&mut self, mut bytes: &[u8], to: &mut Stream, context: &mut Context<'_>) {
        while !bytes.is_empty() {
            match Pin::new(&mut *to).poll_write(context, bytes) {
                Poll::Ready(Ok(0) | Err(_)) => {
                    self.give_up();
                    return;
                }
                Poll::Ready(Ok(sent)) => bytes = &bytes[sent..],
                Poll::Pending => {
                    self.waiting.extend_from_slice(bytes);
                    break;
                }
            }
        }
        if to.is_buffered() {
            // On failure, the next write fails, too.
            self.must_flush = Pin::new(to).poll_flush(context).is_pending();
        }
    }

    fn send_waiting(&mut self, to: &mut Stream, context: &mut Context<'_>) -> Poll<()> {
        while self.sent < self.waiting.len() {
            match ready!(Pin::new(&mut *to).poll_write(context, &self.waiting[self.sent..])) {
                Ok(0) | Err(_) => {
                    self.give_up();
                    return Poll::Ready(());
                }
                Ok(sent) => self.sent += sent,
            }
        }
        if self.sent > 0 {
            (self.waiting, self.sent) = (Vec::new(), 0);
            self.must_flush = to.is_buffered();
        }
        Poll::Ready(())
    }

    /// The receiver is gone. The other direction may still have something, such as the reason.
    fn give_up(&mut self) -> bool {
        *self = Self {
            has_ended: true,
            is_closed: true,
            ..Self::default()
        };
        true
    }
}

/// A connection from its login to its end.
pub struct Session<P> {
    client: Stream,
    server: Stream,
    to_server: Direction,
    to_client: Direction,
    protocol: P,
    now: Box<dyn Fn() -> u64>,
}

impl<P: Protocol> Session<P> {
    /// Connects a client and a server.
    pub fn new(client: Stream, server: Stream, protocol: P, now: Box<dyn Fn() -> u64>) -> Self {
        Self {
            client,
            server,
            to_server: Direction::default(),
            to_client: Direction::default(),
            protocol,
            now,
        }
    }
}

impl<P: Protocol + Unpin> Future for Session<P> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let this = self.get_mut();
        loop {
            let (protocol, now) = (&mut this.protocol, &this.now);
            let sent = this
                .to_server
                .pass(&mut this.client, &mut this.server, context, |bytes| {
                    protocol.client_sent(bytes, now());
                });
            let received = this
                .to_client
                .pass(&mut this.server, &mut this.client, context, |bytes| {
                    protocol.server_sent(bytes, now());
                });
            if this.to_server.is_closed && this.to_client.is_closed {
                this.protocol.end();
                return Poll::Ready(());
            }
            if !sent && !received {
                return Poll::Pending;
            }
        }
    }
}
