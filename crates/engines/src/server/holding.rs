//! What the sessions that hold a lock on a server share.

use dbdyno_engine::Failure;
use dbdyno_plan::document::FailureKind;
use std::time::Duration;

/// Digits of a token.
const DIGITS: usize = 12;

/// How long such a session waits before it looks again whether it is over, and how often before it asks the server
/// something: what is between them may close a session that is silent for minutes.
const PAUSE: Duration = Duration::from_millis(200);
const PAUSES: u32 = 50;

/// The number of a token. Fails for one that is none.
pub fn number(token: &str) -> Result<i64, Failure> {
    let digits = token.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    match i64::from_str_radix(token, 16) {
        Ok(number) if digits && token.len() == DIGITS => Ok(number),
        _ => Err(Failure::new(
            FailureKind::Other,
            format!("`{token}` is no token: it has {DIGITS} hexadecimal digits"),
        )),
    }
}

/// Waits until it is over, and asks the server something every now and then.
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
