//! Why a request was not served: an identifier, a message, and the setting that raises the limit.

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde_json::json;
use sqlx::mysql::MySqlDatabaseError;
use std::io;

/// The kinds of refusals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// All pooled connections were in use during the whole time that a request waits for one.
    PoolExhausted,
    /// The database accepts no more connections.
    TooManyConnections,
    /// This process or the machine can't open more file descriptors.
    TooManyOpenFiles,
    /// No local port is left for another connection to the database.
    OutOfPorts,
    /// The queue of the database's listening socket is full.
    BacklogFull,
    /// The database can't be reached or has closed the connection.
    DatabaseUnreachable,
    /// Another session held a lock on the rows to write for too long, or there was a deadlock.
    Locked,
    /// The request took too long.
    Timeout,
    /// The user doesn't exist, or the password is wrong.
    WrongPassword,
    /// The application doesn't support the request.
    BadRequest,
    /// Any other error of the database.
    DatabaseError,
}

/// All kinds, in the order of the statistics.
pub const REASONS: [Reason; 11] = [
    Reason::PoolExhausted,
    Reason::TooManyConnections,
    Reason::TooManyOpenFiles,
    Reason::OutOfPorts,
    Reason::BacklogFull,
    Reason::DatabaseUnreachable,
    Reason::Locked,
    Reason::Timeout,
    Reason::WrongPassword,
    Reason::BadRequest,
    Reason::DatabaseError,
];

impl Reason {
    /// Its name in replies.
    pub fn name(self) -> &'static str {
        match self {
            Self::PoolExhausted => "pool-exhausted",
            Self::TooManyConnections => "too-many-connections",
            Self::TooManyOpenFiles => "too-many-open-files",
            Self::OutOfPorts => "out-of-ports",
            Self::BacklogFull => "backlog-full",
            Self::DatabaseUnreachable => "database-unreachable",
            Self::Locked => "locked",
            Self::Timeout => "timeout",
            Self::WrongPassword => "wrong-password",
            Self::BadRequest => "bad-request",
            Self::DatabaseError => "database-error",
        }
    }

    /// The setting that raises the limit, if there is one.
    pub fn lifted_by(self) -> Option<&'static str> {
        match self {
            Self::PoolExhausted => Some("--pool of the web application"),
            Self::TooManyConnections => Some("max_connections of the database, or a smaller --pool"),
            Self::TooManyOpenFiles => Some("ulimit -n of the web application, or --open-files"),
            Self::OutOfPorts => Some("net.ipv4.ip_local_port_range, or --persistent on"),
            Self::BacklogFull => Some("net.core.somaxconn and the database's own limit, or --persistent on"),
            _ => None,
        }
    }

    /// The status of a reply.
    pub fn status(self) -> StatusCode {
        match self {
            Self::WrongPassword => StatusCode::UNAUTHORIZED,
            Self::BadRequest => StatusCode::BAD_REQUEST,
            Self::DatabaseError => StatusCode::INTERNAL_SERVER_ERROR,
            _ => StatusCode::SERVICE_UNAVAILABLE,
        }
    }
}

/// A request that was not served.
#[derive(Debug, thiserror::Error)]
#[error("{}: {message}", reason.name())]
pub struct Refusal {
    /// The kind of the refusal.
    pub reason: Reason,
    /// The message.
    pub message: String,
}

impl Refusal {
    /// Refuse a request.
    pub fn new(reason: Reason, message: impl Into<String>) -> Self {
        Self {
            reason,
            message: message.into(),
        }
    }

    /// The body of a reply.
    pub fn body(&self) -> serde_json::Value {
        json!({"error": self.reason.name(), "message": self.message, "lifted_by": self.reason.lifted_by()})
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let body = Json(self.body());
        let mut response = (self.reason.status(), body).into_response();
        response.extensions_mut().insert(self.reason);
        response
    }
}

impl From<sqlx::Error> for Refusal {
    fn from(error: sqlx::Error) -> Self {
        Self::new(reason_of(&error), error.to_string())
    }
}

/// Determine the kind of an error from the numbers of databases and kernel, never from its message.
fn reason_of(error: &sqlx::Error) -> Reason {
    match error {
        sqlx::Error::Io(error) => reason_of_io(error),
        sqlx::Error::Database(error) => {
            let number = error
                .try_downcast_ref::<MySqlDatabaseError>()
                .map(MySqlDatabaseError::number);
            reason_of_code(number, error.code().as_deref().unwrap_or_default())
        }
        // The error if a server closes a connection during the handshake.
        sqlx::Error::Protocol(_) | sqlx::Error::WorkerCrashed => Reason::DatabaseUnreachable,
        _ => Reason::DatabaseError,
    }
}

/// Determine the kind of a kernel error.
pub fn reason_of_io(error: &io::Error) -> Reason {
    use rustix::io::Errno;
    match error.raw_os_error().map(Errno::from_raw_os_error) {
        Some(Errno::MFILE | Errno::NFILE) => Reason::TooManyOpenFiles,
        Some(Errno::ADDRNOTAVAIL) => Reason::OutOfPorts,
        // connect(2) returns this for Unix sockets whose queue is full.
        Some(Errno::AGAIN) => Reason::BacklogFull,
        _ => Reason::DatabaseUnreachable,
    }
}

/// `number`: MySQL's own; `code`: SQLSTATE, or SQLite's extended result code.
fn reason_of_code(number: Option<u16>, code: &str) -> Reason {
    if let Some(number) = number {
        return match number {
            // ER_CON_COUNT_ERROR, ER_TOO_MANY_USER_CONNECTIONS, ER_USER_LIMIT_REACHED
            1040 | 1203 | 1226 => Reason::TooManyConnections,
            // ER_LOCK_WAIT_TIMEOUT, ER_LOCK_DEADLOCK
            1205 | 1213 => Reason::Locked,
            // ER_SERVER_SHUTDOWN, ER_CONNECTION_KILLED
            1053 | 1927 => Reason::DatabaseUnreachable,
            _ => Reason::DatabaseError,
        };
    }
    match code {
        // too_many_connections, and insufficient resources of the server's own
        "53300" => Reason::TooManyConnections,
        // lock_not_available, deadlock_detected, serialization_failure
        "55P03" | "40P01" | "40001" => Reason::Locked,
        // admin_shutdown, crash_shutdown, cannot_connect_now
        "57P01" | "57P02" | "57P03" => Reason::DatabaseUnreachable,
        _ => match code.parse::<u32>().map(|code| code & 0xff) {
            // SQLITE_BUSY, SQLITE_LOCKED
            Ok(5 | 6) => Reason::Locked,
            // SQLITE_CANTOPEN, SQLITE_IOERR: SQLite doesn't report if the reason is a missing descriptor.
            Ok(14 | 10) if no_descriptor_is_left() => Reason::TooManyOpenFiles,
            Ok(14) => Reason::DatabaseUnreachable,
            _ => Reason::DatabaseError,
        },
    }
}

/// Whether this process can't open another file descriptor now.
fn no_descriptor_is_left() -> bool {
    std::fs::File::open("/dev/null").is_err_and(|error| reason_of_io(&error) == Reason::TooManyOpenFiles)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_told_by_their_numbers() {
        for (number, code, reason) in [
            (None, "53300", Reason::TooManyConnections),
            (Some(1040), "08004", Reason::TooManyConnections),
            (Some(1205), "HY000", Reason::Locked),
            (None, "40P01", Reason::Locked),
            // SQLITE_BUSY_SNAPSHOT
            (None, "517", Reason::Locked),
            (None, "57P01", Reason::DatabaseUnreachable),
            // undefined_table looks like a number, but is not a SQLite error code.
            (None, "42P01", Reason::DatabaseError),
            (Some(1146), "42S02", Reason::DatabaseError),
        ] {
            assert_eq!(reason_of_code(number, code), reason, "{number:?} {code}");
        }
    }

    #[test]
    fn errors_of_the_kernel_are_told_by_their_numbers() {
        for (errno, reason) in [
            (24, Reason::TooManyOpenFiles),
            (23, Reason::TooManyOpenFiles),
            (99, Reason::OutOfPorts),
            (11, Reason::BacklogFull),
            (111, Reason::DatabaseUnreachable),
        ] {
            assert_eq!(reason_of_io(&io::Error::from_raw_os_error(errno)), reason, "{errno}");
        }
    }

    #[test]
    fn limits_give_503_and_name_the_setting() {
        for reason in REASONS {
            if reason.lifted_by().is_some() {
                assert_eq!(reason.status(), StatusCode::SERVICE_UNAVAILABLE, "{reason:?}");
            }
        }
    }
}
