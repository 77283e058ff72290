//! How clients run: alone in a thread, or many in one that waits for whichever is answered next.

use crate::pacing::Timer;
use dbdyno_engine::alarm::Alarm;
use dbdyno_probes::Clock;
use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use std::io;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

/// Runs a future whose parts all answer at once, in this thread.
pub fn run_alone<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    let mut context = Context::from_waker(Waker::noop());
    loop {
        match future.as_mut().poll(&mut context) {
            Poll::Ready(output) => return output,
            Poll::Pending => std::thread::yield_now(),
        }
    }
}

/// Runs futures that wait for a server beside one another in this thread; gives what they give in the order they end.
pub fn run_together<F: Future>(futures: impl Iterator<Item = F>) -> io::Result<Vec<F::Output>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    // Each has a waker of its own, so that an answer wakes the one that it is for.
    Ok(runtime.block_on(futures.collect::<FuturesUnordered<F>>().collect()))
}

/// Waits without holding up the thread's other clients: for engines that wait for a server.
#[derive(Debug)]
pub struct SharedTimer(Alarm);

impl SharedTimer {
    /// A client's timer by this clock.
    pub fn new(clock: Clock) -> Self {
        Self(Alarm::new(clock))
    }
}

impl Timer for SharedTimer {
    async fn sleep_until(&self, at: u64) {
        self.0.sleep_until(at).await;
    }

    async fn hold(&self, nanoseconds: u64) -> u64 {
        self.0.hold(nanoseconds).await
    }
}
