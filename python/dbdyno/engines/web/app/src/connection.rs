//! A connection to the database, and the four statements.

use sqlx::mysql::{MySqlConnectOptions, MySqlConnection};
use sqlx::postgres::{PgConnectOptions, PgConnection};
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{ConnectOptions as _, Connection as _, Executor as _, Row as _};
use std::str::FromStr as _;
use std::time::Duration;

/// How long SQLite waits for another session's lock.
const BUSY: Duration = Duration::from_secs(5);

/// A database: its location, and how to open a connection to it.
#[derive(Clone, Debug)]
pub struct Database {
    place: Place,
    on_connect: Vec<String>,
    /// Whether connections prepare statements once; not useful if a connection serves only one request.
    prepares: bool,
}

#[derive(Clone, Debug)]
enum Place {
    Sqlite(Box<SqliteConnectOptions>),
    Postgresql(Box<PgConnectOptions>),
    Mysql(Box<MySqlConnectOptions>),
}

/// The URL is not the URL of a database.
#[derive(Debug, thiserror::Error)]
pub enum WrongUrl {
    /// The application doesn't support the engine.
    #[error("`{0}` is no database: write sqlite:FILE, postgresql://USER@HOST/DATABASE or mysql://USER@HOST/DATABASE")]
    Engine(String),
    /// The URL can't be parsed.
    #[error("the URL of the database cannot be read: {0}")]
    Unread(sqlx::Error),
}

/// A connection.
pub struct Connection {
    session: Session,
    prepares: bool,
}

enum Session {
    Sqlite(SqliteConnection),
    Postgresql(PgConnection),
    Mysql(MySqlConnection),
}

/// A row of the user table.
#[derive(Debug)]
pub struct User {
    /// The primary key.
    pub id: i64,
    /// The name.
    pub user_name: String,
    /// The password.
    pub password: String,
    /// The number of updates of the row.
    pub logins: i64,
}

/// The statements in one engine's SQL.
struct Texts {
    authenticate: &'static str,
    log: &'static str,
    update: &'static str,
    search: &'static str,
    search_from: &'static str,
    version: &'static str,
}

const AUTHENTICATE: &str = "SELECT id, user_name, password, logins FROM users WHERE user_name = ? AND password = ?";
const LOG: &str = "INSERT INTO login_log (user_name, ip_address, logged_at) VALUES (?, ?, ?)";
const UPDATE: &str = "UPDATE users SET logins = logins + 1, last_login = ? WHERE id = ?";
const SEARCH: &str = "SELECT code, place FROM postal_codes WHERE code >= ? AND code < ? ORDER BY code";
const SEARCH_FROM: &str = "SELECT code, place FROM postal_codes WHERE code >= ? ORDER BY code";

const SQLITE: Texts = Texts {
    authenticate: AUTHENTICATE,
    log: LOG,
    update: UPDATE,
    search: SEARCH,
    search_from: SEARCH_FROM,
    version: "SELECT sqlite_version()",
};

const POSTGRESQL: Texts = Texts {
    authenticate: "SELECT id, user_name, password, logins FROM users WHERE user_name = $1 AND password = $2",
    log: "INSERT INTO login_log (user_name, ip_address, logged_at) VALUES ($1, $2, $3)",
    update: "UPDATE users SET logins = logins + 1, last_login = $1 WHERE id = $2",
    search: "SELECT code, place FROM postal_codes WHERE code >= $1 AND code < $2 ORDER BY code",
    search_from: "SELECT code, place FROM postal_codes WHERE code >= $1 ORDER BY code",
    version: "SELECT current_setting('server_version')",
};

const MYSQL: Texts = Texts {
    version: "SELECT CAST(VERSION() AS CHAR)",
    ..SQLITE
};

/// Executes the same code with a session of any engine, each with its own types.
macro_rules! on {
    ($session:expr, $connection:ident, $texts:ident => $body:expr) => {
        match $session {
            Session::Sqlite($connection) => {
                let $texts = &SQLITE;
                $body
            }
            Session::Postgresql($connection) => {
                let $texts = &POSTGRESQL;
                $body
            }
            Session::Mysql($connection) => {
                let $texts = &MYSQL;
                $body
            }
        }
    };
}

impl Database {
    /// Parse a URL. `prepares`: connections prepare statements once.
    pub fn new(url: &str, on_connect: Vec<String>, prepares: bool) -> Result<Self, WrongUrl> {
        let engine = url.split_once(':').map_or(url, |(engine, _)| engine);
        let place = match engine {
            "sqlite" => {
                let options = SqliteConnectOptions::from_str(url).map_err(WrongUrl::Unread)?;
                Place::Sqlite(Box::new(
                    options
                        .busy_timeout(BUSY)
                        .foreign_keys(false)
                        .disable_statement_logging(),
                ))
            }
            "postgresql" | "postgres" => {
                let options = PgConnectOptions::from_str(url).map_err(WrongUrl::Unread)?;
                Place::Postgresql(Box::new(options.disable_statement_logging()))
            }
            "mysql" | "mariadb" => {
                let options = MySqlConnectOptions::from_str(url).map_err(WrongUrl::Unread)?;
                // Skip the settings that the library would apply in extra round trips; the statements don't need them.
                let options = options
                    .pipes_as_concat(false)
                    .no_engine_substitution(false)
                    .timezone(None::<String>);
                Place::Mysql(Box::new(options.set_names(false).disable_statement_logging()))
            }
            _ => return Err(WrongUrl::Engine(engine.to_owned())),
        };
        Ok(Self {
            place,
            on_connect,
            prepares,
        })
    }

    /// The engine's name.
    pub fn engine(&self) -> &'static str {
        match self.place {
            Place::Sqlite(_) => "sqlite",
            Place::Postgresql(_) => "postgresql",
            Place::Mysql(_) => "mysql",
        }
    }

    /// Open a connection.
    pub async fn connect(&self) -> Result<Connection, sqlx::Error> {
        let session = match &self.place {
            Place::Sqlite(options) => Session::Sqlite(options.connect().await?),
            Place::Postgresql(options) => Session::Postgresql(options.connect().await?),
            Place::Mysql(options) => Session::Mysql(options.connect().await?),
        };
        let mut connection = Connection {
            session,
            prepares: self.prepares,
        };
        for statement in &self.on_connect {
            on!(&mut connection.session, session, _texts => session.execute(statement.as_str()).await.map(|_| ()))?;
        }
        Ok(connection)
    }
}

impl Connection {
    /// Close it, and notify the database.
    pub async fn close(self) -> Result<(), sqlx::Error> {
        on!(self.session, session, _texts => session.close().await)
    }

    /// Return the database's version.
    pub async fn version(&mut self) -> Result<String, sqlx::Error> {
        on!(&mut self.session, session, texts => sqlx::query(texts.version).fetch_one(session).await?.try_get(0))
    }

    /// Find the user with a name and a password.
    pub async fn authenticate(&mut self, user_name: &str, password: &str) -> Result<Option<User>, sqlx::Error> {
        on!(&mut self.session, session, texts => {
            let query = sqlx::query(texts.authenticate).bind(user_name).bind(password).persistent(self.prepares);
            query.fetch_optional(session).await?.map(|row| {
                Ok(User {
                    // A column may have four or eight bytes.
                    id: row.try_get_unchecked(0)?,
                    user_name: row.try_get(1)?,
                    password: row.try_get(2)?,
                    logins: row.try_get_unchecked(3)?,
                })
            }).transpose()
        })
    }

    /// Record a user's login; `at`: milliseconds since 1970.
    pub async fn log(&mut self, user_name: &str, ip_address: &str, at: i64) -> Result<(), sqlx::Error> {
        on!(&mut self.session, session, texts => {
            let query = sqlx::query(texts.log).bind(user_name).bind(ip_address).bind(at).persistent(self.prepares);
            query.execute(session).await.map(|_| ())
        })
    }

    /// Update the row of a user, and return the number of updated rows.
    pub async fn update(&mut self, id: i64, at: i64) -> Result<u64, sqlx::Error> {
        on!(&mut self.session, session, texts => {
            let query = sqlx::query(texts.update).bind(at).bind(id).persistent(self.prepares);
            query.execute(session).await.map(|done| done.rows_affected())
        })
    }

    /// Find the postal codes from `low` up to but excluding `high`, or to the last one; each with its place.
    pub async fn search(&mut self, low: &str, high: Option<&str>) -> Result<Vec<(String, String)>, sqlx::Error> {
        on!(&mut self.session, session, texts => {
            let query = match high {
                Some(high) => sqlx::query(texts.search).bind(low).bind(high),
                None => sqlx::query(texts.search_from).bind(low),
            };
            let rows = query.persistent(self.prepares).fetch_all(session).await?;
            rows.iter().map(|row| Ok((row.try_get(0)?, row.try_get(1)?))).collect()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_names_the_engine() {
        for (url, engine) in [
            ("sqlite:/tmp/a.db", "sqlite"),
            ("postgresql:///dbdyno?host=/run/postgresql", "postgresql"),
            ("mariadb://root@localhost/dbdyno?socket=/run/mysqld.sock", "mysql"),
        ] {
            assert_eq!(
                Database::new(url, Vec::new(), true).map(|each| each.engine()).unwrap(),
                engine
            );
        }
    }

    #[test]
    fn the_url_of_no_database_is_refused() {
        let error = Database::new("mongodb://localhost/", Vec::new(), true)
            .unwrap_err()
            .to_string();
        assert!(error.starts_with("`mongodb` is no database"), "{error}");
    }
}
