//! The command line of the application.

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
    /// The database: sqlite:FILE, postgresql://USER@HOST/DATABASE or mysql://USER@HOST/DATABASE. Pass a URL with a password in the environment, which other users can't read
    #[arg(long, env = "DATABASE_URL", hide_env_values = true)]
    pub database: String,

    /// Address to listen on; port 0 chooses a free one, which the first line of the output contains
    #[arg(long, default_value = "127.0.0.1:8080")]
    pub listen: SocketAddr,

    /// Whether to keep database connections open; otherwise each request opens and closes one
    #[arg(long, value_enum, default_value = "on")]
    pub persistent: Switch,

    /// Maximum number of pooled database connections
    #[arg(long, default_value_t = 16, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub pool: u32,

    /// Maximum time in milliseconds that a request waits for a pooled connection
    #[arg(long, default_value_t = 2000)]
    pub wait_ms: u64,

    /// Time limit of a request in milliseconds
    #[arg(long, default_value_t = 30_000)]
    pub request_ms: u64,

    /// Rounds of SHA-256 per login, like applications that hash passwords; the table contains plain-text passwords
    #[arg(long, default_value_t = 0)]
    pub hash_rounds: u32,

    /// Threads that serve requests; by default one per CPU that it may use
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub threads: Option<u32>,

    /// Connections that may wait to be accepted; the kernel allows at most net.core.somaxconn
    #[arg(long, default_value_t = 1024, value_parser = clap::value_parser!(u32).range(1..=65_535))]
    pub backlog: u32,

    /// Maximum number of open file descriptors; by default the limit of its parent
    #[arg(long, value_parser = clap::value_parser!(u64).range(16..))]
    pub open_files: Option<u64>,

    /// Statement to execute on each new database connection, such as "PRAGMA synchronous = normal"; repeatable
    #[arg(long = "on-connect", value_name = "SQL")]
    pub on_connect: Vec<String>,

    /// End when the parent process ends or closes standard input
    #[arg(long)]
    pub with_parent: bool,
}

impl Options {
    /// Maximum time that a request waits for a pooled connection.
    pub fn wait(&self) -> Duration {
        Duration::from_millis(self.wait_ms)
    }

    /// Time limit of a request.
    pub fn longest(&self) -> Duration {
        Duration::from_millis(self.request_ms)
    }

    /// Whether database connections are kept open.
    pub fn keeps(&self) -> bool {
        self.persistent == Switch::On
    }

    /// Number of threads that serve requests.
    pub fn workers(&self) -> usize {
        match self.threads {
            Some(threads) => threads as usize,
            None => std::thread::available_parallelism().map_or(1, usize::from),
        }
    }
}
