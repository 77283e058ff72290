//! A library that a program preloads (`LD_PRELOAD`), and that reports the statements that the program sends to SQLite.
//!
//! Its functions replace SQLite's functions of the same names, and call them. This works if the program, or a library
//! that it loads, finds SQLite by the dynamic linker. The environment variable `DBDYNO_STATEMENTS` names the socket of the
//! recorder. Each process connects to it with its first statement.
//!
//! The program isn't disturbed: it gets SQLite's results, no lock is held while SQLite runs, no thread is started, and
//! no call waits for the recorder. Only the end of a process may wait, for at most a second. Without a recorder, the
//! functions only call SQLite. Statements that SQLite executes itself, for example in full-text search, aren't reported.

// Elsewhere the library is empty, and a recording contains no statement.
#![cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]

mod interposed;
mod reporter;
mod sqlite;
mod statements;

use std::ffi::CStr;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether a recorder reads the reports.
static IS_ACTIVE: AtomicBool = AtomicBool::new(false);

/// Called by the dynamic loader.
#[used]
#[unsafe(link_section = ".init_array")]
static BEGIN: extern "C" fn() = begin;

/// Called when the process exits.
#[used]
#[unsafe(link_section = ".fini_array")]
static END: extern "C" fn() = end;

extern "C" fn begin() {
    if std::env::var_os(reporter::SOCKET).is_none() {
        return;
    }
    IS_ACTIVE.store(true, Ordering::Relaxed);
    // SAFETY: the function has the signature of such a handler, and exists as long as the process: it isn't unloaded.
    unsafe { libc::pthread_atfork(None, None, Some(after_fork)) };
}

/// A child process has another connection to the recorder. Its parent's locks may have been held by other threads.
extern "C" fn after_fork() {
    statements::begin_again();
}

extern "C" fn end() {
    statements::end();
}

/// Replaces the C library's function of this name: many child processes end with it.
///
/// # Safety
///
/// The same as for that function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _exit(code: libc::c_int) -> ! {
    end();
    let real = next(c"_exit");
    if !real.is_null() {
        // SAFETY: it is the C library's function.
        unsafe { std::mem::transmute::<*mut libc::c_void, unsafe extern "C" fn(libc::c_int) -> !>(real)(code) };
    }
    loop {
        // SAFETY: the call ends the process.
        unsafe { libc::syscall(libc::SYS_exit_group, code) };
    }
}

/// Finds the next symbol of this name behind this library's in the program's global scope.
fn next(name: &CStr) -> *mut libc::c_void {
    // SAFETY: the name ends with a zero byte.
    unsafe { libc::dlsym(libc::RTLD_NEXT, name.as_ptr()) }
}

/// Nanoseconds of a clock that never goes back.
fn now() -> u64 {
    time(libc::CLOCK_MONOTONIC)
}

fn time(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is to a live value.
    unsafe { libc::clock_gettime(clock, &raw mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
