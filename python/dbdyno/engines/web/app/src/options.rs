//! What the application is told on its command line.

use clap::{Parser, ValueEnum};
use std::net::SocketAddr;
use std::time::Duration;

/// On or off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Switch {
    /// Yes.
    On,
    /// No.
    Off,
}

/// The command line.
#[derive(Clone, Debug, Parser)]
#[command(
    name = "dbdyno-webapp",
    version,
    about = "Logs users in, over HTTP, with a database behind it"
)]
pub struct Options {
    /// The database: sqlite:FILE, postgresql://USER@HOST/DATABASE or mysql://USER@HOST/DATABASE. One with a password belongs into the environment, where no other user can read it
    #[arg(long, env = "DATABASE_URL", hide_env_values = true)]
    pub database: String,

    /// Where to listen; port 0 takes a free one, and the first line of the output says which
    #[arg(long, default_value = "127.0.0.1:8080")]
    pub listen: SocketAddr,

    /// Whether database connections are kept; without, each request opens one and closes it
    #[arg(long, value_enum, default_value = "on")]
    pub persistent: Switch,

    /// How many database connections are kept at most
    #[arg(long, default_value_t = 16, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub pool: u32,

    /// Milliseconds that a request waits for a kept connection at most
    #[arg(long, default_value_t = 2000)]
    pub wait_ms: u64,

    /// Milliseconds that a request takes at most
    #[arg(long, default_value_t = 30_000)]
    pub request_ms: u64,

    /// Rounds of SHA-256 that a login computes, as applications do that keep passwords hashed; the table has them as they are
    #[arg(long, default_value_t = 0)]
    pub hash_rounds: u32,

    /// Threads that serve requests; by default one for each processor it may use
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub threads: Option<u32>,

    /// Connections that may wait to be accepted; the kernel allows at most net.core.somaxconn
    #[arg(long, default_value_t = 1024, value_parser = clap::value_parser!(u32).range(1..=65_535))]
    pub backlog: u32,

    /// Descriptors that it may have open; by default as many as its parent allows
    #[arg(long, value_parser = clap::value_parser!(u64).range(16..))]
    pub open_files: Option<u64>,

    /// A statement that each new database connection begins with, such as "PRAGMA synchronous = normal"; may be repeated
    #[arg(long = "on-connect", value_name = "SQL")]
    pub on_connect: Vec<String>,

    /// End when the parent process ends, or closes the standard input
    #[arg(long)]
    pub with_parent: bool,
}

impl Options {
    /// How long a request waits for a kept connection.
    pub fn wait(&self) -> Duration {
        Duration::from_millis(self.wait_ms)
    }

    /// How long a request may take.
    pub fn longest(&self) -> Duration {
        Duration::from_millis(self.request_ms)
    }

    /// Whether database connections are kept.
    pub fn keeps(&self) -> bool {
        self.persistent == Switch::On
    }

    /// How many threads serve requests.
    pub fn workers(&self) -> usize {
        match self.threads {
            Some(threads) => threads as usize,
            None => std::thread::available_parallelism().map_or(1, usize::from),
        }
    }
}
