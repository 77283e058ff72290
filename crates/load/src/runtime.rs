//! How clients run: alone in a thread, or many in one that waits for whichever is answered next.

use crate::pacing::Timer;
use dbdyno_probes::Clock;
use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use rustix::time::{Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec};
use std::cell::OnceCell;
use std::io;
use std::os::fd::OwnedFd;
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;
use tokio::io::unix::AsyncFd;

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
pub struct SharedTimer {
    clock: Clock,
    /// Made when it is first needed: a closed loop without suspensions never does.
    alarm: OnceCell<AsyncFd<OwnedFd>>,
}

impl SharedTimer {
    /// A client's timer by this clock.
    pub fn new(clock: Clock) -> Self {
        Self {
            clock,
            alarm: OnceCell::new(),
        }
    }

    fn alarm(&self) -> io::Result<&AsyncFd<OwnedFd>> {
        if let Some(alarm) = self.alarm.get() {
            return Ok(alarm);
        }
        let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
        let alarm = rustix::time::timerfd_create(TimerfdClockId::Monotonic, flags)?;
        // SAFETY: the descriptor is owned by what registers it, and is neither taken out nor closed before.
        let alarm = unsafe { AsyncFd::register(alarm)? };
        Ok(self.alarm.get_or_init(|| alarm))
    }

    /// Waits by the kernel's own timer: tokio's goes by milliseconds.
    async fn wait(&self, nanoseconds: u64) -> io::Result<()> {
        let alarm = self.alarm()?;
        let after = Itimerspec {
            it_interval: Timespec { tv_sec: 0, tv_nsec: 0 },
            it_value: Timespec {
                tv_sec: (nanoseconds / 1_000_000_000) as i64,
                tv_nsec: (nanoseconds % 1_000_000_000) as i64,
            },
        };
        rustix::time::timerfd_settime(alarm, TimerfdTimerFlags::empty(), &after)?;
        alarm.readable().await?.clear_ready();
        Ok(())
    }
}

impl Timer for SharedTimer {
    async fn sleep_until(&self, at: u64) {
        loop {
            let left = at.saturating_sub(self.clock.now());
            if left == 0 {
                return;
            }
            if self.wait(left).await.is_err() {
                // No descriptor is left for a timer: later by up to a millisecond, but not never.
                tokio::time::sleep(Duration::from_nanos(left)).await;
            }
        }
    }

    async fn look_again(&self) {
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}
