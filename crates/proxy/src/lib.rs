//! Passes the connections of an application on to its database server, and reports the statements.
//!
//! A few threads serve all connections, each with its own event loop. Bytes are passed on before they are looked at.
//! Executions go into a queue of bounded size ([`queue`]), which another thread writes to standard output for the
//! recorder. If the recorder is slow, executions are dropped and counted.

mod connect;
mod frames;
mod mysql;
mod postgresql;
mod queue;
mod reporter;
mod session;
mod stream;

use connect::{LoginError, Server};
use dbdyno_reports::Texts;
use mysql::Mysql;
use postgresql::Postgresql;
use queue::Queue;
use reporter::Reporter;
use serde::Deserialize;
use session::Session;
use std::cell::RefCell;
use std::io::{self, Write as _};
use std::net::TcpListener;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;
use stream::Stream;
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio::task::LocalSet;
use tokio_rustls::TlsAcceptor;

/// The proxy's task, which standard input contains as one line of JSON.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Task {
    /// The address to listen at.
    pub listen: String,
    /// Which protocol the connections speak.
    pub protocol: Language,
    /// The server.
    pub server: Server,
    /// A PEM file with the certificate that clients get.
    pub certificate: Option<String>,
    /// A PEM file with the certificate's key.
    pub key: Option<String>,
    /// Memory for executions that wait for the recorder, in bytes.
    pub queue_bytes: usize,
}

/// A protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Language {
    /// PostgreSQL's.
    Postgresql,
    /// MySQL's and MariaDB's.
    Mysql,
}

/// Why the proxy could not begin, or ended.
#[derive(Debug, thiserror::Error)]
pub enum ProxyError {
    /// The address can't be used.
    #[error("{0}: {1}")]
    Listen(String, String),
    /// The certificate or its key can't be used.
    #[error("{0}")]
    Certificate(String),
    /// An event loop can't be started, or the recorder is gone.
    #[error("{0}")]
    Io(#[from] io::Error),
}

/// More threads don't help, because the server needs the other CPUs.
const MOST_THREADS: usize = 4;

const BACKLOG: i32 = 4096;

/// Runs the proxy until `stop` is set.
pub fn run(task: &Task, stop: &'static AtomicBool) -> Result<(), ProxyError> {
    let acceptor = match (&task.certificate, &task.key) {
        (Some(certificate), Some(key)) => Some(connect::acceptor(certificate, key).map_err(ProxyError::Certificate)?),
        _ => None,
    };
    let mut task = task.clone();
    if task.protocol == Language::Postgresql && task.server.host.starts_with('/') {
        let directory = task.server.host.trim_end_matches('/');
        task.server.host = format!("{directory}/.s.PGSQL.{}", task.server.port);
    }
    let listener = listen(&task.listen)
        .map_err(|error| ProxyError::Listen(task.listen.clone(), error.to_string().to_lowercase()))?;
    raise_file_limit();
    let bytes = task.queue_bytes;
    let threads = std::thread::available_parallelism()
        .map_or(1, usize::from)
        .min(MOST_THREADS);
    let queue = Arc::new(Queue::new(threads, bytes));
    let mut out = io::stdout().lock();
    writeln!(
        out,
        "{}",
        serde_json::json!(["listening", listener.local_addr()?.to_string()])
    )?;
    out.flush()?;
    let shared = Arc::new(Gate {
        task,
        acceptor,
        queue: Arc::clone(&queue),
        sessions: AtomicU64::new(0),
    });
    let mut lanes = Vec::new();
    for lane in 0..threads {
        let (sender, receiver) = mpsc::unbounded_channel();
        lanes.push(sender);
        let shared = Arc::clone(&shared);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        std::thread::Builder::new()
            .name(format!("proxy-{lane}"))
            .spawn(move || LocalSet::new().block_on(&runtime, serve(shared, lane, receiver)))?;
    }
    std::thread::Builder::new()
        .name("accept".into())
        .spawn(move || hand_out(&listener, &lanes))?;
    let ended = Arc::clone(&queue);
    std::thread::Builder::new().name("stop".into()).spawn(move || {
        while !stop.load(Ordering::Relaxed) {
            std::thread::sleep(STOPS);
        }
        ended.end();
    })?;
    Ok(queue.write(&mut out)?)
}

/// Between two looks at whether to stop.
const STOPS: Duration = Duration::from_millis(50);

/// When no file descriptor is left, connections wait this long.
const PAUSE: Duration = Duration::from_millis(20);

fn listen(address: &str) -> io::Result<TcpListener> {
    let listener = TcpListener::bind(address)?;
    // The standard library's queue of 128 connections is too short for pools that connect at the same time.
    // SAFETY: the descriptor is a bound socket that `listener` owns.
    if unsafe { libc::listen(std::os::fd::AsRawFd::as_raw_fd(&listener), BACKLOG) } != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(listener)
}

/// Allows as many connections as the system lets this process have.
fn raise_file_limit() {
    let mut limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: both calls only read and write the structure.
    unsafe {
        if libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) == 0 {
            limit.rlim_cur = limit.rlim_max;
            libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit);
        }
    }
}

/// Accepts connections, and distributes them evenly over the threads.
fn hand_out(listener: &TcpListener, lanes: &[mpsc::UnboundedSender<std::net::TcpStream>]) {
    for lane in lanes.iter().cycle() {
        match listener.accept() {
            // The thread runs as long as this one.
            Ok((stream, _)) => drop(lane.send(stream)),
            Err(_) => std::thread::sleep(PAUSE),
        }
    }
}

/// What all connections share.
struct Gate {
    task: Task,
    acceptor: Option<TlsAcceptor>,
    queue: Arc<Queue>,
    sessions: AtomicU64,
}

/// Serves the connections of a thread.
async fn serve(gate: Arc<Gate>, lane: usize, mut accepted: mpsc::UnboundedReceiver<std::net::TcpStream>) {
    let texts = Rc::new(RefCell::new(Texts::default()));
    while let Some(stream) = accepted.recv().await {
        let prepared = stream
            .set_nonblocking(true)
            .and_then(|()| stream.set_nodelay(true))
            .and_then(|()| TcpStream::from_std(stream));
        if let Ok(stream) = prepared {
            tokio::task::spawn_local(connection(Arc::clone(&gate), lane, Rc::clone(&texts), stream));
        }
    }
}

async fn connection(gate: Arc<Gate>, lane: usize, texts: Rc<RefCell<Texts>>, stream: TcpStream) {
    let session = gate.sessions.fetch_add(1, Ordering::Relaxed) + 1;
    let reporter = Reporter::new(Arc::clone(&gate.queue), lane, texts, session);
    let (client, server, acceptor) = (Stream::Tcp(stream), &gate.task.server, gate.acceptor.as_ref());
    let clock = reporter.clone();
    let now = Box::new(move || clock.now());
    let failed = match gate.task.protocol {
        // The futures of a login are large, and most connections are past it.
        Language::Postgresql => match Box::pin(postgresql::login::begin(client, server, acceptor)).await {
            Ok(Some((client, server))) => {
                return Session::new(client, server, Postgresql::new(reporter), now).await;
            }
            Ok(None) => return,
            Err(failed) => failed,
        },
        Language::Mysql => match Box::pin(mysql::login::begin(client, server, acceptor)).await {
            Ok(Some(((client, server), agreed))) => {
                return Session::new(client, server, Mysql::new(reporter, agreed), now).await;
            }
            Ok(None) => return,
            Err(failed) => failed,
        },
    };
    if let LoginError::Server(problem) = failed {
        reporter.problem(format!("{}: {problem}", server.place()));
    }
}
