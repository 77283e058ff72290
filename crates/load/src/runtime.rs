//! Runs clients: one in a thread, or many in one thread that waits for any of their answers.

use crate::pacing::Timer;
use dbdyno_engine::alarm::Alarm;
use dbdyno_probes::Clock;
use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use std::io;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

/// Runs a future that never waits for an event, in this thread.
pub fn run_inline<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    let mut context = Context::from_waker(Waker::noop());
    loop {
        match future.as_mut().poll(&mut context) {
            Poll::Ready(output) => return output,
            Poll::Pending => std::thread::yield_now(),
        }
    }
}

/// Runs futures that wait for a server concurrently in this thread. Returns their outputs in order of completion.
pub fn run_concurrently<F: Future>(futures: impl Iterator<Item = F>) -> io::Result<Vec<F::Output>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    // `FuturesUnordered` has one waker per future, so an answer wakes only its own client.
    Ok(runtime.block_on(futures.collect::<FuturesUnordered<F>>().collect()))
}

/// Waits without blocking the thread's other clients. For engines that wait for a server.
#[derive(Debug)]
pub struct SharedTimer(Alarm);

impl SharedTimer {
    /// A client's timer that uses this clock.
    pub fn new(clock: Clock) -> Self {
        Self(Alarm::new(clock))
    }
}

impl Timer for SharedTimer {
    async fn sleep_until(&self, at: u64) {
        self.0.sleep_until(at).await;
    }

    async fn wait_exactly(&self, nanoseconds: u64) -> u64 {
        self.0.wait_exactly(nanoseconds).await
    }
}
