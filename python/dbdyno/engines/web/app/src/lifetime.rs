//! When the application is to end.

use rustix::process::{Signal, getppid, set_parent_process_death_signal};
use std::io;
use tokio::io::AsyncReadExt as _;
use tokio::signal::unix::{SignalKind, signal};

/// Have the kernel end this process with its parent. An error: the parent has ended already.
pub fn bind_to_parent() -> io::Result<()> {
    let parent = getppid();
    set_parent_process_death_signal(Some(Signal::TERM))?;
    // It may have ended before the kernel was asked.
    if getppid() == parent {
        Ok(())
    } else {
        Err(io::Error::other("the parent process has ended"))
    }
}

/// Make what ends with SIGTERM or SIGINT, and with the standard input where it is listened to.
pub fn end(listens: bool) -> io::Result<impl Future<Output = ()>> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
            () = closed_input(), if listens => {}
        }
    })
}

/// Wait until the standard input is closed.
async fn closed_input() {
    let mut input = tokio::io::stdin();
    let mut unread = [0; 256];
    while matches!(input.read(&mut unread).await, Ok(length) if length > 0) {}
}
