//! How a thread keeps to its slices: at the end of each a signal interrupts it, wherever it is, and it sleeps in the
//! handler until the next. So transactions and statements of any length are interleaved, and the code that runs them knows
//! nothing of it; its clock stands still meanwhile ([`Clock::that_stands_still`]).
//!
//! A call to the kernel that cannot be interrupted, as a sync, is ended first, and the time by which it goes on after the
//! slice is told. What the thread holds it goes on to hold; others of its trial are suspended at the same time.

use crate::interleaving::{Interleaving, Processors};
use dbdyno_probes::Clock;
use std::cell::Cell;
use std::io;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicU64, Ordering};

/// Nanoseconds within which a thread that has a processor to itself is awake.
const WAKING: u64 = 200_000;

/// What the handler needs to know.
#[derive(Clone, Copy)]
struct Taking {
    interleaving: Interleaving,
    processors: Option<Processors>,
    /// When the others had ended, or 0. It is there for as long as `Suspension` is.
    alone: *const AtomicU64,
    clock: Clock,
    timer: libc::timer_t,
    /// The number of the slice that runs, when the thread was back for it, and when it ends.
    number: u64,
    back: u64,
    end: u64,
    overrun: u64,
}

impl Taking {
    /// Whether the others have ended, and the slice that runs has begun since.
    fn alone(&self) -> bool {
        // SAFETY: the pointer is to a value that is there as long as the thread is kept to its slices.
        let moment = unsafe { &*self.alone }.load(Ordering::Acquire);
        moment != 0 && self.number >= self.interleaving.last(moment).1
    }

    /// Ends the slice that runs, and returns in the next.
    fn next_turn(&mut self) {
        let began = self.clock.now();
        // Armed in nanoseconds of one clock and measured by another, a slice may seem to end a moment early.
        let over = began.max(self.end);
        if self.alone() {
            self.number += 1;
            self.end = over + self.interleaving.length();
            self.choose_processor();
            return;
        }
        let (start, number) = self.interleaving.at(over);
        // What went on into its next slice went astray up to that only, and goes on: it may hold what others of its trial wait for.
        self.overrun += over.min(start).saturating_sub(self.end.max(self.back));
        self.number = number;
        self.end = self.interleaving.end(start);
        self.choose_processor();
        if start > over {
            sleep_until(self.clock, start);
            self.back = self.clock.now();
            // That the kernel takes a moment to wake a thread is the suspension's doing; that another client of the trial has the
            // processor in its slice is not.
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
    static TAKING: Cell<Option<Taking>> = const { Cell::new(None) };
}

/// Keeps the calling thread to its slices for as long as it is there. It belongs to the thread.
pub struct Suspension<'a> {
    timer: libc::timer_t,
    alone: PhantomData<&'a AtomicU64>,
}

impl<'a> Suspension<'a> {
    /// Begins with a slice that starts at `start`, nanoseconds of the real clock. `alone`: when the others had ended; 0: they
    /// have not.
    pub fn begin(
        interleaving: Interleaving,
        processors: Option<Processors>,
        alone: &'a AtomicU64,
        start: u64,
    ) -> io::Result<Self> {
        install()?;
        // SAFETY: all zeroes is a value of the structure; the fields that are read are then set.
        let mut event: libc::sigevent = unsafe { std::mem::zeroed() };
        event.sigev_notify = libc::SIGEV_THREAD_ID;
        event.sigev_signo = signal();
        event.sigev_notify_thread_id = rustix::thread::gettid().as_raw_nonzero().get();
        let mut timer: libc::timer_t = std::ptr::null_mut();
        // SAFETY: both pointers are to live values.
        if unsafe { libc::timer_create(libc::CLOCK_MONOTONIC, &raw mut event, &raw mut timer) } != 0 {
            return Err(io::Error::last_os_error());
        }
        let taking = Taking {
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
        TAKING.set(Some(taking));
        // A slice that is over already is ended by the signal that comes at once.
        arm(&taking);
        Ok(Self {
            timer,
            alone: PhantomData,
        })
    }

    /// Nanoseconds that the thread has gone on after its slices.
    pub fn overrun(&self) -> u64 {
        TAKING.get().map_or(0, |taking| taking.overrun)
    }
}

impl Drop for Suspension<'_> {
    fn drop(&mut self) {
        // A signal that is on its way finds nothing to do.
        TAKING.set(None);
        // SAFETY: the timer was made by `begin` and is deleted once; nothing knows it any more.
        unsafe { libc::timer_delete(self.timer) };
    }
}

fn signal() -> libc::c_int {
    libc::SIGRTMIN() + 3
}

fn install() -> io::Result<()> {
    // SAFETY: all zeroes is a value of the structure: an empty mask, no flags.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = suspend as extern "C" fn(libc::c_int) as usize;
    action.sa_flags = libc::SA_RESTART;
    // SAFETY: the handler keeps to what a handler may do, see there.
    if unsafe { libc::sigaction(signal(), &raw const action, std::ptr::null_mut()) } != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

/// The handler of the signal that ends a slice.
///
/// All it does a handler may do: it reads clocks and thread-local values without a destructor, chooses a processor,
/// sleeps, and sets a timer.
extern "C" fn suspend(_: libc::c_int) {
    // SAFETY: the location is the thread's own. What was interrupted must find its error as it was.
    let errno = unsafe { *libc::__errno_location() };
    if let Some(mut taking) = TAKING.get() {
        taking.next_turn();
        TAKING.set(Some(taking));
        // One that was woken after its slice is interrupted again at once.
        arm(&taking);
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
        // SAFETY: the pointer is to a live value. Woken by another signal it sleeps again.
        unsafe { libc::nanosleep(&raw const time, std::ptr::null_mut()) };
    }
}

/// Has the signal come when the slice ends, or at once.
fn arm(taking: &Taking) {
    let left = taking.end.saturating_sub(taking.clock.now()).max(1);
    let when = libc::itimerspec {
        it_interval: time_of(0),
        it_value: time_of(left),
    };
    // SAFETY: the timer is there as long as `Suspension` is, and the pointer is to a live value. It cannot fail with these.
    unsafe { libc::timer_settime(taking.timer, 0, &raw const when, std::ptr::null_mut()) };
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
    use dbdyno_plan::document;

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
        // SAFETY: the location is the thread's own.
        unsafe { *libc::__errno_location() = 77 };
        let mut last = own.now();
        while last < start + 20_000_000 {
            let now = own.now();
            assert!(now >= last, "own time never runs back");
            last = now;
        }
        // SAFETY: as above.
        assert_eq!(unsafe { *libc::__errno_location() }, 77);
        let (real_ns, overrun) = (real.now() - start, suspension.overrun());
        // Ten slices, or fewer that went on in those of the others, and between each two of them two of the others': were
        // these in its own time, less would have passed. Its time goes on in a slice in which it has no processor, so that
        // how far it goes at once says nothing.
        let in_turn = 20_000_000u64.saturating_sub(overrun);
        assert!(
            real_ns >= in_turn + (in_turn / 2_000_000).saturating_sub(1) * 4_000_000,
            "{real_ns}, {overrun}"
        );
        alone.store(real.now(), Ordering::Release);
        // A suspension may have begun when the others ended.
        std::thread::sleep(std::time::Duration::from_millis(10));
        let (own_ns, real_ns) = (own.now(), real.now());
        for _ in 0..5 {
            std::thread::sleep(std::time::Duration::from_millis(3));
        }
        let real_spent = real.now() - real_ns;
        // Own time is read first and last.
        assert!(own.now() - own_ns >= real_spent, "nobody is suspended for");
    }
}
