//! A service for the checks, on the loopback interface and in this process. The path of a request selects its behavior.

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

/// A scripted service. It runs until it is dropped.
pub struct Scripted {
    /// Its port.
    pub port: u16,
    shared: Arc<Counts>,
}

#[derive(Default)]
struct Counts {
    opened: AtomicUsize,
    ended: AtomicUsize,
    requests: AtomicUsize,
    over: AtomicBool,
}

impl Scripted {
    /// Starts one.
    pub fn start() -> io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0))?;
        let port = listener.local_addr()?.port();
        let shared = Arc::new(Counts::default());
        let counts = shared.clone();
        std::thread::spawn(move || {
            while let Ok((stream, _)) = listener.accept() {
                if counts.over.load(Ordering::Acquire) {
                    return;
                }
                counts.opened.fetch_add(1, Ordering::AcqRel);
                let counts = counts.clone();
                std::thread::spawn(move || {
                    // A client may end its connection in any way.
                    let _ = serve(stream, &counts);
                    counts.ended.fetch_add(1, Ordering::AcqRel);
                });
            }
        });
        Ok(Self { port, shared })
    }

    /// Connections that were opened.
    pub fn opened(&self) -> usize {
        self.shared.opened.load(Ordering::Acquire)
    }

    /// Requests that have come.
    pub fn requests(&self) -> usize {
        self.shared.requests.load(Ordering::Acquire)
    }

    /// Waits for all connections to end. Returns whether they did.
    pub fn all_end(&self) -> bool {
        let ended = || self.shared.ended.load(Ordering::Acquire) == self.opened();
        (0..1000).any(|_| {
            std::thread::sleep(Duration::from_millis(5));
            ended()
        })
    }
}

impl Drop for Scripted {
    fn drop(&mut self) {
        self.shared.over.store(true, Ordering::Release);
        // The thread waits in `accept`.
        let _ = TcpStream::connect(("127.0.0.1", self.port));
    }
}

fn serve(stream: TcpStream, counts: &Counts) -> io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut stream = stream;
    stream.set_nodelay(true)?;
    loop {
        let (mut line, mut length, mut authorization, mut closes) = (String::new(), 0, String::new(), false);
        if reader.read_line(&mut line)? == 0 {
            return Ok(());
        }
        let target = line.split(' ').nth(1).unwrap_or_default().to_owned();
        loop {
            let mut field = String::new();
            reader.read_line(&mut field)?;
            let Some((name, value)) = field.trim().split_once(": ") else {
                break;
            };
            match name {
                "content-length" => length = value.trim().parse().map_err(io::Error::other)?,
                "authorization" => authorization = value.to_owned(),
                "connection" => closes = value == "close",
                _ => {}
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body)?;
        counts.requests.fetch_add(1, Ordering::AcqRel);
        let fields = format!("content-length: {length}\r\nx-target: {target}\r\nx-authorization: {authorization}\r\n");
        let reply = [format!("HTTP/1.1 200 OK\r\n{fields}\r\n").as_bytes(), &body].concat();
        match target.split(['?', '/']).nth(1).unwrap_or_default() {
            "status" => {
                let status = target.rsplit('/').next().unwrap_or_default();
                write!(stream, "HTTP/1.1 {status} X\r\ncontent-length: 9\r\n\r\ntry again")?;
            }
            "pieces" => {
                for byte in reply {
                    stream.write_all(&[byte])?;
                }
            }
            "chunks" => {
                write!(
                    stream,
                    "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"
                )?;
                for chunk in body.chunks(1000) {
                    write!(stream, "{:x}\r\n", chunk.len())?;
                    stream.write_all(chunk)?;
                    stream.write_all(b"\r\n")?;
                }
                stream.write_all(b"0\r\n\r\n")?;
            }
            // Until the client has gone.
            "endless" => {
                stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n")?;
                loop {
                    stream.write_all(&[b'a'; 64 * 1024])?;
                }
            }
            "drop" => return Ok(()),
            "half" => return stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nab"),
            "garbage" => return stream.write_all(b"SSH-2.0-OpenSSH_9.2\r\n\r\n"),
            // Until the client has gone.
            "never" => {
                let _ = reader.read(&mut [0]);
                return Ok(());
            }
            // A reply, then the end of the connection without an announcement.
            "once" => return stream.write_all(&reply),
            _ => stream.write_all(&reply)?,
        }
        if closes {
            return Ok(());
        }
    }
}
