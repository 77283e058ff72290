//! When the application ends.

use rustix::process::{Signal, getppid, set_parent_process_death_signal};
use std::io;
use tokio::io::AsyncReadExt as _;
use tokio::signal::unix::{SignalKind, signal};

/// Make the kernel end this process when its parent ends. Returns an error if the parent has ended already.
pub fn bind_to_parent() -> io::Result<()> {
    let parent = getppid();
    set_parent_process_death_signal(Some(Signal::TERM))?;
    // The parent may have ended before the call.
    if getppid() == parent {
        Ok(())
    } else {
        Err(io::Error::other("the parent process has ended"))
    }
}

/// Return a future that ends on SIGTERM or SIGINT, and at the end of standard input if that is watched.
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
