//! A timer that doesn't block the thread's other clients. It uses a timerfd, because tokio's timers only have
//! millisecond resolution.

use dbdyno_delays::Lateness;
use dbdyno_probes::Clock;
use rustix::time::{Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec};
use std::cell::OnceCell;
use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;
use tokio::io::unix::AsyncFd;

/// Wake-up lateness of these timers.
static LATENESS: Lateness = Lateness::new();

/// A client's timer, for use within a tokio runtime.
#[derive(Debug)]
pub struct Alarm {
    clock: Clock,
    /// Created on first use, because most clients never wait for a time.
    timer: OnceCell<AsyncFd<OwnedFd>>,
}

impl Alarm {
    /// Creates a timer that uses this clock.
    pub fn new(clock: Clock) -> Self {
        Self {
            clock,
            timer: OnceCell::new(),
        }
    }

    /// Waits until the clock shows `at` nanoseconds. It returns late by the kernel's wake-up latency.
    pub async fn sleep_until(&self, at: u64) {
        loop {
            let left = at.saturating_sub(self.clock.now());
            if left == 0 {
                return;
            }
            if self.wait(left).await.is_err() {
                // If no descriptor is available for a timer, wait up to a millisecond too long.
                tokio::time::sleep(Duration::from_nanos(left)).await;
            }
        }
    }

    /// Waits precisely for the given nanoseconds and returns the actual time. Near the end it spins: other clients can
    /// run, but the thread doesn't sleep.
    pub async fn wait_exactly(&self, nanoseconds: u64) -> u64 {
        let start = self.clock.now();
        let end = start.saturating_add(nanoseconds);
        let until = end.saturating_sub(LATENESS.margin());
        if start < until {
            self.sleep_until(until).await;
            LATENESS.note(self.clock.now().saturating_sub(until));
        }
        while self.clock.now() < end {
            tokio::task::yield_now().await;
        }
        self.clock.now() - start
    }

    fn timer(&self) -> io::Result<&AsyncFd<OwnedFd>> {
        if let Some(timer) = self.timer.get() {
            return Ok(timer);
        }
        let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
        let timer = rustix::time::timerfd_create(TimerfdClockId::Monotonic, flags)?;
        // SAFETY: the `AsyncFd` owns the descriptor, and it is neither taken out nor closed earlier.
        let timer = unsafe { AsyncFd::register(timer)? };
        Ok(self.timer.get_or_init(|| timer))
    }

    async fn wait(&self, nanoseconds: u64) -> io::Result<()> {
        let timer = self.timer()?;
        let after = Itimerspec {
            it_interval: Timespec { tv_sec: 0, tv_nsec: 0 },
            it_value: Timespec {
                tv_sec: (nanoseconds / 1_000_000_000) as i64,
                tv_nsec: (nanoseconds % 1_000_000_000) as i64,
            },
        };
        rustix::time::timerfd_settime(timer, TimerfdTimerFlags::empty(), &after)?;
        timer.readable().await?.clear_ready();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_clients_of_the_thread_continue() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.unwrap().block_on(async {
            let clock = Clock::get();
            let (alarm, others) = (Alarm::new(clock), Alarm::new(clock));
            // If one wait blocked the other, the second would only begin after the first.
            let start = clock.now();
            let both = std::pin::pin!(async {
                let first = std::pin::pin!(alarm.wait_exactly(20_000_000));
                let second = std::pin::pin!(others.wait_exactly(100_000));
                match futures_util::future::select(first, second).await {
                    futures_util::future::Either::Left(_) => None,
                    futures_util::future::Either::Right((held, first)) => Some((held, first.await)),
                }
            });
            let (second, first) = both.await.expect("the shorter ends first");
            assert!(second >= 100_000 && first >= 20_000_000, "{second}, {first}");
            assert!(clock.now() - start >= 20_000_000);
            for nanoseconds in [0, 1, 50_000] {
                assert!(alarm.wait_exactly(nanoseconds).await >= nanoseconds);
            }
        });
    }
}
