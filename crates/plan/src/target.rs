//! What a worker connects to.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A system as the worker sees it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "engine", rename_all = "snake_case")]
pub enum Target {
    /// No database: every statement succeeds at once. It measures the ceiling of the harness.
    Null,
    /// A SQLite library and a database file.
    Sqlite(SqliteTarget),
    /// A PostgreSQL server.
    Postgresql(ServerTarget),
    /// A MariaDB or MySQL server.
    Mysql(ServerTarget),
    /// A MongoDB server, or one that speaks its protocol.
    Mongodb(MongodbTarget),
    /// A Microsoft SQL Server.
    Sqlserver(SqlserverTarget),
}

/// A server of PostgreSQL's kind, or of MariaDB's and MySQL's, and how each client connects to it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ServerTarget {
    /// Its host; one that begins with `/` is its Unix socket (of PostgreSQL, the directory of it).
    pub host: String,
    /// Its port; of PostgreSQL's Unix socket, the number in its name.
    pub port: u16,
    /// The user.
    pub user: String,
    /// The user's password, where one is needed.
    #[serde(default)]
    pub password: Option<String>,
    /// The database.
    pub database: String,
    /// Settings (of MariaDB and MySQL: variables) that each session is begun with: name and value.
    #[serde(default)]
    pub session: Vec<(String, String)>,
    /// Whether the server is to refuse each session's writes: its transactions then only read.
    #[serde(default)]
    pub read_only: bool,
    /// How connections are encrypted; left out: they are not. Those over a Unix socket never are.
    #[serde(default)]
    pub tls: Option<Tls>,
    /// The server, where it runs on this machine and is the laboratory's.
    #[serde(default)]
    pub process: Option<ServerProcess>,
}

/// A MongoDB server (or one that speaks its protocol, such as FerretDB), and how each client connects to it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MongodbTarget {
    /// Its host; one that begins with `/` is the path of its Unix socket.
    pub host: String,
    /// Its port; of a Unix socket, any.
    pub port: u16,
    /// The user; left out: nobody logs in.
    #[serde(default)]
    pub user: Option<String>,
    /// The user's password, where one is needed.
    #[serde(default)]
    pub password: Option<String>,
    /// The database.
    pub database: String,
    /// Options of MongoDB's connection strings that each session has: name and value.
    #[serde(default)]
    pub session: Vec<(String, String)>,
    /// The server, where it runs on this machine and is the laboratory's.
    #[serde(default)]
    pub process: Option<ServerProcess>,
}

/// A Microsoft SQL Server, and how each client connects to it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SqlserverTarget {
    /// Its host.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// The user, as the server knows it.
    pub user: String,
    /// The user's password.
    #[serde(default)]
    pub password: Option<String>,
    /// The database.
    pub database: String,
    /// Settings that each session is begun with, as `set` has them: name and value.
    #[serde(default)]
    pub session: Vec<(String, String)>,
    /// How connections are encrypted; left out: they are not. `prefer` is as `require`; there is no `verify-ca`.
    #[serde(default)]
    pub tls: Option<Tls>,
}

/// How connections to a server are encrypted, and which certificates are believed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Tls {
    /// Whether it must be.
    pub mode: TlsMode,
    /// A file with the certificates (PEM) that are believed, and those they have signed; left out: the system's.
    #[serde(default)]
    pub roots: Option<String>,
}

/// Whether a connection is encrypted, and what is asked of the server's certificate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TlsMode {
    /// Never.
    Disable,
    /// Where the server can; its certificate is not looked at.
    Prefer,
    /// Always; its certificate is not looked at.
    Require,
    /// Always; its certificate must be signed by one that is believed.
    VerifyCa,
    /// The same, and it must be for the host's name.
    VerifyFull,
}

/// A server on this machine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ServerProcess {
    /// Its main process, whose descendants are its others.
    pub pid: u32,
    /// Where its data lie.
    pub data: String,
}

impl ServerTarget {
    /// Where it is, for messages.
    pub fn place(&self) -> String {
        place(&self.host, self.port)
    }
}

impl SqlserverTarget {
    /// Where it is, for messages.
    pub fn place(&self) -> String {
        place(&self.host, self.port)
    }
}

impl MongodbTarget {
    /// Where it is, for messages.
    pub fn place(&self) -> String {
        place(&self.host, self.port)
    }
}

fn place(host: &str, port: u16) -> String {
    if host.starts_with('/') {
        format!("the socket at {host}")
    } else {
        format!("{host}:{port}")
    }
}

/// A SQLite library, a file, and how each client opens it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SqliteTarget {
    /// The database file.
    pub path: String,
    /// A shared library to load in place of the bundled one.
    #[serde(default)]
    pub library: Option<String>,
    /// The open flag for the page cache; left out: none is given.
    #[serde(default)]
    pub cache: Option<SqliteCache>,
    /// The open flag for the connection's mutex; left out: none is given.
    #[serde(default)]
    pub open_mutex: Option<SqliteMutex>,
    /// The threading mode set by `sqlite3_config` before the library starts; left out: none is set.
    #[serde(default)]
    pub config_threading: Option<SqliteThreading>,
    /// Milliseconds a connection waits for a lock.
    #[serde(default)]
    pub busy_timeout_ms: u32,
    /// PRAGMAs in the order they are given to each new connection: name and value.
    #[serde(default)]
    pub pragmas: Vec<(String, String)>,
    /// PRAGMAs that the file keeps: `set_file` gives them to it, and no connection is given them again.
    #[serde(default)]
    pub file_pragmas: Vec<(String, String)>,
    /// The state the operating system's cache of the file is brought into before the trial.
    #[serde(default)]
    pub os_cache: OsCache,
}

/// `SQLITE_OPEN_PRIVATECACHE` or `SQLITE_OPEN_SHAREDCACHE`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SqliteCache {
    /// Each connection has a page cache of its own.
    Private,
    /// The connections of the process share one.
    Shared,
}

/// `SQLITE_OPEN_NOMUTEX` or `SQLITE_OPEN_FULLMUTEX`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SqliteMutex {
    /// The connection has no mutex of its own ("multi-thread").
    Nomutex,
    /// The connection has one ("serialized").
    Fullmutex,
}

/// `SQLITE_CONFIG_SINGLETHREAD`, `SQLITE_CONFIG_MULTITHREAD` or `SQLITE_CONFIG_SERIALIZED`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SqliteThreading {
    /// No mutex at all.
    Single,
    /// The library is safe, a connection is not.
    Multi,
    /// Both are safe.
    Serialized,
}

/// The state of the operating system's cache of a file when a trial begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OsCache {
    /// Every page of the file has been read once.
    #[default]
    Warm,
    /// No page of the file is in memory.
    Cold,
}
