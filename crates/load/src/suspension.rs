//! Makes a thread follow its slices. At the end of each slice a signal interrupts the thread, which sleeps in the
//! handler until its next slice. So transactions and statements of any length can be interleaved, and the code that
//! runs them is unaware of it. The thread's clock stops in the meantime ([`Clock::that_stands_still`]).
//!
//! System calls that cannot be interrupted, such as fsync, complete first, and the overrun is recorded. A suspended
//! thread keeps its locks. This is harmless, because all threads of its trial are suspended at the same time.

use crate::interleaving::{Interleaving, Processors};
use dbdyno_probes::Clock;
use std::cell::Cell;
use std::io;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicU64, Ordering};

/// Nanoseconds within which a thread with a CPU of its own wakes up.
const WAKING: u64 = 200_000;

/// State of the signal handler.
#[derive(Clone, Copy)]
struct SliceState {
    interleaving: Interleaving,
    processors: Option<Processors>,
    /// When the other trials ended, or 0. Valid as long as `Suspension`.
    alone: *const AtomicU64,
    clock: Clock,
    timer: libc::timer_t,
    /// Number of the current slice, when the thread resumed for it, and when it ends.
    number: u64,
    back: u64,
    end: u64,
    overrun: u64,
}

impl SliceState {
    /// Whether the other trials have ended and the current slice began after that.
    fn alone(&self) -> bool {
        // SAFETY: the pointee outlives the thread's `Suspension`.
        let moment = unsafe { &*self.alone }.load(Ordering::Acquire);
        moment != 0 && self.number >= self.interleaving.last(moment).1
    }

    /// Ends the current slice and returns in the next one.
    fn next_slice(&mut self) {
        let began = self.clock.now();
        // The timer and the measurement use different clocks, so a slice may appear to end slightly early.
        let over = began.max(self.end);
        if self.alone() {
            self.number += 1;
            self.end = over + self.interleaving.length();
            self.choose_processor();
            return;
        }
        let (start, number) = self.interleaving.at(over);
        // A thread that overran into its next slice continues there, since it may hold locks that its trial needs. Only
        // the time before that slice is overrun.
        self.overrun += over.min(start).saturating_sub(self.end.max(self.back));
        self.number = number;
        self.end = self.interleaving.end(start);
        self.choose_processor();
        if start > over {
            sleep_until(self.clock, start);
            self.back = self.clock.now();
            // The kernel's wake-up latency is caused by the suspension and excluded. Waiting for a CPU that another
            // client of the trial uses is not.
            let waited = self.back.min(self.end).saturating_sub(start + WAKING);
            self.clock.leave_out(self.back - began - waited);
        }
    }

    fn choose_processor(&self) {
        if let Some(processors) = self.processors {
            processors.take(self.number);
        }
    }
}

thread_local! {
    static STATE: Cell<Option<SliceState>> = const { Cell::new(None) };
}

/// Makes the calling thread follow its slices until dropped. It belongs to that thread.
pub struct Suspension<'a> {
    timer: libc::timer_t,
    alone: PhantomData<&'a AtomicU64>,
}

impl<'a> Suspension<'a> {
    /// Begins with a slice that starts at `start`, in nanoseconds of the real clock. `alone`: when the other trials
    /// ended; 0 until then.
    pub fn begin(
        interleaving: Interleaving,
        processors: Option<Processors>,
        alone: &'a AtomicU64,
        start: u64,
    ) -> io::Result<Self> {
        install()?;
        // SAFETY: all zeroes is a valid value; the fields that the kernel reads are set below.
        let mut event: libc::sigevent = unsafe { std::mem::zeroed() };
        event.sigev_notify = libc::SIGEV_THREAD_ID;
        event.sigev_signo = signal();
        event.sigev_notify_thread_id = rustix::thread::gettid().as_raw_nonzero().get();
        let mut timer: libc::timer_t = std::ptr::null_mut();
        // SAFETY: both pointers are to live values.
        if unsafe { libc::timer_create(libc::CLOCK_MONOTONIC, &raw mut event, &raw mut timer) } != 0 {
            return Err(io::Error::last_os_error());
        }
        let state = SliceState {
            interleaving,
            processors,
            alone,
            clock: Clock::real(),
            timer,
            number: 0,
            back: start,
            end: interleaving.end(start),
            overrun: 0,
        };
        STATE.set(Some(state));
        // If the slice is already over, the signal arrives at once and ends it.
        arm(&state);
        Ok(Self {
            timer,
            alone: PhantomData,
        })
    }

    /// Nanoseconds by which the thread has overrun its slices.
    pub fn overrun(&self) -> u64 {
        STATE.get().map_or(0, |state| state.overrun)
    }
}

impl Drop for Suspension<'_> {
    fn drop(&mut self) {
        // A pending signal now has no effect.
        STATE.set(None);
        // SAFETY: `begin` created the timer, and it is deleted once; no other reference to it remains.
        unsafe { libc::timer_delete(self.timer) };
    }
}

fn signal() -> libc::c_int {
    libc::SIGRTMIN() + 3
}

fn install() -> io::Result<()> {
    // SAFETY: all zeroes is a valid value: an empty mask, no flags.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = suspend as extern "C" fn(libc::c_int) as usize;
    action.sa_flags = libc::SA_RESTART;
    // SAFETY: the handler is async-signal-safe, see there.
    if unsafe { libc::sigaction(signal(), &raw const action, std::ptr::null_mut()) } != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

/// Handler of the signal that ends a slice.
///
/// It is async-signal-safe: it reads clocks and thread-local values without a destructor, sets the CPU affinity,
/// sleeps, and sets a timer.
extern "C" fn suspend(_: libc::c_int) {
    // SAFETY: the location belongs to the thread. The interrupted code must find its errno unchanged.
    let errno = unsafe { *libc::__errno_location() };
    if let Some(mut state) = STATE.get() {
        state.next_slice();
        STATE.set(Some(state));
        // A thread that woke up after its slice is interrupted again at once.
        arm(&state);
    }
    // SAFETY: as above.
    unsafe { *libc::__errno_location() = errno };
}

fn sleep_until(clock: Clock, at: u64) {
    loop {
        let left = at.saturating_sub(clock.now());
        if left == 0 {
            return;
        }
        let time = time_of(left);
        // SAFETY: the pointer is to a live value. If another signal wakes the thread, it sleeps again.
        unsafe { libc::nanosleep(&raw const time, std::ptr::null_mut()) };
    }
}

/// Sets the timer to the end of the slice, or to fire at once if that has passed.
fn arm(state: &SliceState) {
    let left = state.end.saturating_sub(state.clock.now()).max(1);
    let when = libc::itimerspec {
        it_interval: time_of(0),
        it_value: time_of(left),
    };
    // SAFETY: the timer exists as long as `Suspension`, and the pointer is to a live value. The call cannot fail with
    // these arguments.
    unsafe { libc::timer_settime(state.timer, 0, &raw const when, std::ptr::null_mut()) };
}

fn time_of(nanoseconds: u64) -> libc::timespec {
    libc::timespec {
        tv_sec: (nanoseconds / 1_000_000_000) as libc::time_t,
        tv_nsec: (nanoseconds % 1_000_000_000) as libc::c_long,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dbdyno_protocol::plan::document;

    #[test]
    fn a_thread_is_interrupted_wherever_it_is_and_its_clock_stands_still() {
        let (real, own) = (Clock::real(), Clock::real().that_stands_still());
        let plan = document::Interleaving {
            length_ms: 2.0,
            index: 0,
            of: 3,
            cpu: 0,
        };
        let start = real.now();
        let interleaving = Interleaving::new(plan, start);
        let alone = AtomicU64::new(0);
        let suspension = Suspension::begin(interleaving, None, &alone, start).expect("timers can be made");
        // SAFETY: the location belongs to the thread.
        unsafe { *libc::__errno_location() = 77 };
        let mut last = own.now();
        while last < start + 20_000_000 {
            let now = own.now();
            assert!(now >= last, "own time is monotonic");
            last = now;
        }
        // SAFETY: as above.
        assert_eq!(unsafe { *libc::__errno_location() }, 77);
        let (real_ns, overrun) = (real.now() - start, suspension.overrun());
        // Ten slices, or fewer if some overran, with two slices of other trials between each two. If the thread's own
        // time included these, less real time would have passed. Own time also runs while the thread has no CPU in its
        // slice, so a single jump proves nothing.
        let in_turn = 20_000_000u64.saturating_sub(overrun);
        assert!(
            real_ns >= in_turn + (in_turn / 2_000_000).saturating_sub(1) * 4_000_000,
            "{real_ns}, {overrun}"
        );
        alone.store(real.now(), Ordering::Release);
        // A suspension may have begun just when the other trials ended.
        std::thread::sleep(std::time::Duration::from_millis(10));
        let (own_ns, real_ns) = (own.now(), real.now());
        for _ in 0..5 {
            std::thread::sleep(std::time::Duration::from_millis(3));
        }
        let real_spent = real.now() - real_ns;
        // Own time is read first and last.
        assert!(
            own.now() - own_ns >= real_spent,
            "suspended although no other trial runs"
        );
    }
}
