//! Helpers for sessions that hold a lock on a server.

use dbdyno_engine::Failure;
use dbdyno_protocol::plan::document::FailureKind;
use std::time::Duration;

/// Digits of a token.
const DIGITS: usize = 12;

/// Interval between checks whether the lock is still needed, and the number of checks between two queries. Without
/// queries, a firewall may close a session that is idle for minutes.
const PAUSE: Duration = Duration::from_millis(200);
const PAUSES: u32 = 50;

/// The number of a token. Fails for an invalid token.
pub fn number(token: &str) -> Result<i64, Failure> {
    let digits = token.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    match i64::from_str_radix(token, 16) {
        Ok(number) if digits && token.len() == DIGITS => Ok(number),
        _ => Err(Failure::new(
            FailureKind::Other,
            format!("`{token}` is not a token of {DIGITS} hexadecimal digits"),
        )),
    }
}

/// Waits until the lock is no longer needed, and runs a query at intervals.
pub async fn wait(over: &dyn Fn() -> bool, mut ask: impl AsyncFnMut() -> Result<(), Failure>) -> Result<(), Failure> {
    let mut pauses = 0;
    while !over() {
        tokio::time::sleep(PAUSE).await;
        pauses += 1;
        if pauses % PAUSES == 0 {
            ask().await?;
        }
    }
    Ok(())
}
