//! The web application of the experiment `web-login`. Each request logs a user in and records the login. Optionally, it
//! updates the user's row and looks up postal codes.
//!
//! The first line of its output is JSON with the address on which it listens. Exit codes: 0 after a signal to stop, 1
//! if it could not start (the last line of standard error contains the reason), 2 for a wrong command line.

mod connection;
mod lifetime;
mod login;
mod options;
mod refusal;
mod serving;
mod source;

use clap::Parser as _;
use connection::{Database, WrongUrl};
use login::{Application, routes};
use options::Options;
use refusal::Refusal;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde_json::json;
use source::{BuildError, Source};
use std::io::{self, Write as _};
use std::net::SocketAddr;
use std::process::ExitCode;
use std::sync::Arc;

/// Why the application can't start.
#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error("{0}")]
    Url(#[from] WrongUrl),
    #[error("the pool cannot be made: {0}")]
    Pool(#[from] BuildError),
    #[error("the database cannot be used: {0}")]
    Database(#[from] Refusal),
    #[error("{0} cannot be listened on: {1}")]
    Listen(SocketAddr, io::Error),
    #[error("--open-files {0}: {1}")]
    OpenFiles(u64, io::Error),
    #[error("{0}")]
    Io(#[from] io::Error),
}

fn main() -> ExitCode {
    let options = Options::parse();
    let Err(error) = run(&options) else {
        return ExitCode::SUCCESS;
    };
    // If standard error is closed, the error can't be reported.
    let _ = writeln!(io::stderr(), "dbdyno-webapp: {error}");
    match error {
        Failure::Url(_) => ExitCode::from(2),
        _ => ExitCode::FAILURE,
    }
}

fn run(options: &Options) -> Result<(), Failure> {
    if options.with_parent {
        lifetime::bind_to_parent()?;
    }
    if let Some(most) = options.open_files {
        limit_open_files(most).map_err(|error| Failure::OpenFiles(most, error))?;
    }
    let database = Database::new(&options.database, options.on_connect.clone(), options.keeps())?;
    let engine = database.engine();
    let source = Source::new(database, options)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(options.workers())
        .enable_all()
        .build()?;
    let done = runtime.block_on(async {
        let application = Arc::new(Application::new(source, options.longest(), options.hash_rounds));
        let version = application.version().await?;
        let listener =
            serving::listen(options.listen, options.backlog).map_err(|error| Failure::Listen(options.listen, error))?;
        let ended = lifetime::end(options.with_parent)?;
        announce(options, listener.local_addr()?, engine, &version)?;
        serving::serve(listener, routes(application.clone()), &application, ended).await;
        Ok(())
    });
    // Don't wait for a thread that still reads standard input.
    runtime.shutdown_background();
    done
}

/// Print the address on which it listens, and its settings.
fn announce(options: &Options, address: SocketAddr, engine: &str, version: &str) -> io::Result<()> {
    let line = json!({
        "listening": address.to_string(),
        "pid": std::process::id(),
        "database": {"engine": engine, "version": version},
        "persistent": options.keeps(),
        "pool": options.keeps().then_some(options.pool),
        "threads": options.workers(),
        "backlog": options.backlog.min(somaxconn().unwrap_or(options.backlog)),
        "open_files": getrlimit(Resource::Nofile).current,
    });
    let mut output = io::stdout().lock();
    writeln!(output, "{line}")?;
    output.flush()
}

/// The longest queue that the kernel allows.
fn somaxconn() -> Option<u32> {
    std::fs::read_to_string("/proc/sys/net/core/somaxconn")
        .ok()?
        .trim()
        .parse()
        .ok()
}

fn limit_open_files(most: u64) -> io::Result<()> {
    let maximum = getrlimit(Resource::Nofile).maximum;
    Ok(setrlimit(
        Resource::Nofile,
        Rlimit {
            current: Some(most),
            maximum,
        },
    )?)
}
