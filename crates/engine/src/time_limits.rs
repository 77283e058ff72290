//! Time limits for a server outside the measured load: for logins, and for dbdyno's own queries.
//!
//! The program that listens at an address may be another kind of server, or may hang. These limits don't apply to
//! measured statements: the controller stops a trial that doesn't end.

use crate::Failure;
use dbdyno_protocol::plan::document::FailureKind;
use std::future::Future;
use std::sync::OnceLock;
use std::time::Duration;

/// Limit for a login, without preparing the statements.
const LOGIN: Duration = Duration::from_secs(30);

/// Limit for dbdyno's own queries, such as reading settings or a query plan.
const ANSWER: Duration = Duration::from_secs(60);

/// Limit for work on all rows of a table, such as creating an index.
pub const WORK: Duration = Duration::from_secs(3600);

/// The environment variable that sets both limits, in seconds.
const VARIABLE: &str = "DBDYNO_SERVER_TIMEOUT";

/// Time limit for answers to dbdyno's own queries.
pub fn answer_limit() -> Duration {
    chosen().unwrap_or(ANSWER)
}

/// Waits for a login up to its time limit.
pub async fn logged_in<T>(login: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    let limit = chosen().unwrap_or(LOGIN);
    let late = |seconds| format!("login timed out after {seconds} s; is this the right kind of server?");
    within(limit, login, FailureKind::Connection, late).await
}

/// Waits for an answer up to a time limit.
pub async fn answered<T>(limit: Duration, answer: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    let late = |seconds| format!("the server did not answer within {seconds} s");
    within(limit, answer, FailureKind::Timeout, late).await
}

async fn within<T>(
    limit: Duration,
    future: impl Future<Output = Result<T, Failure>>,
    kind: FailureKind,
    late: impl Fn(f64) -> String,
) -> Result<T, Failure> {
    let ended = tokio::time::timeout(limit, future).await;
    ended.unwrap_or_else(|_| Err(Failure::new(kind, late(limit.as_secs_f64()))))
}

fn chosen() -> Option<Duration> {
    static CHOSEN: OnceLock<Option<Duration>> = OnceLock::new();
    *CHOSEN.get_or_init(|| read(&std::env::var(VARIABLE).ok()?))
}

fn read(text: &str) -> Option<Duration> {
    let limit = Duration::try_from_secs_f64(text.parse().ok()?).ok()?;
    (!limit.is_zero()).then_some(limit)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::runtime::Builder;

    #[test]
    fn a_silent_server_times_out() {
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        let silent = answered::<()>(Duration::from_millis(1), std::future::pending());
        let failure = runtime.block_on(silent).unwrap_err();
        assert_eq!(failure.kind, FailureKind::Timeout);
        assert_eq!(failure.message, "the server did not answer within 0.001 s");
        assert_eq!(runtime.block_on(logged_in(async { Ok(1) })), Ok(1));
    }

    #[test]
    fn a_limit_is_a_number_of_seconds_above_zero() {
        assert_eq!(read("1.5"), Some(Duration::from_millis(1500)));
        for text in ["", "0", "-1", "nan", "inf", "1e300", "soon"] {
            assert_eq!(read(text), None, "{text}");
        }
    }
}
