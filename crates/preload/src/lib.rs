//! A library that a server preloads (`LD_PRELOAD`). When a worker asks for it, it counts, times and delays the server's
//! file operations.
//!
//! Its functions replace functions of the C library and call the originals. The environment variable `DBDYNO_PRELOAD_FILE` names the
//! file shared with the worker. If the variable is unset, or the file has another version, the library does nothing.
//! While no worker asks for changes, a call only costs a read of the shared memory.
//!
//! Flushes are `fsync`, `fdatasync`, `syncfs`, `msync`, waiting calls of `sync_file_range`, and each write to a file
//! opened with `O_DSYNC` or `O_SYNC`. Reads and writes are positional ones (`pread`, `pwrite` and variants), which
//! sockets and pipes don't support. Operations made through io_uring, or without the C library, are not intercepted; if
//! a server only uses these, no call is seen.

mod descriptors;
mod real;

use dbdyno_delays::{Call, Page, Shared};
use descriptors::flushes;
use libc::{c_int, c_uint, c_void, iovec, off_t, off64_t, size_t, ssize_t};
use real::{call_real, errno, set_errno};
use std::sync::OnceLock;
use std::sync::atomic::Ordering;

/// The memory shared with the worker, mapped when the library is loaded.
static PAGE: OnceLock<Shared> = OnceLock::new();

/// Called by the dynamic loader.
#[used]
#[unsafe(link_section = ".init_array")]
static BEGIN: extern "C" fn() = begin;

extern "C" fn begin() {
    let Some(path) = std::env::var_os("DBDYNO_PRELOAD_FILE") else {
        return;
    };
    if let Ok(page) = Shared::open(path.as_ref()) {
        page.attached.fetch_add(1, Ordering::Relaxed);
        let _ = PAGE.set(page);
    }
}

fn now() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is to a live value.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Makes a call, changed if the worker asked for it.
#[inline(always)]
fn intercept<T>(kind: impl FnOnce(&Page) -> &Call, skipped: impl FnOnce() -> T, call: impl FnOnce() -> T) -> T {
    let Some(page) = PAGE.get() else { return call() };
    let kind = kind(page);
    if kind.on.load(Ordering::Acquire) != 0 {
        return intercept_active(page, kind, skipped, call);
    }
    if kind.seen.load(Ordering::Relaxed) == 0 {
        kind.seen.store(1, Ordering::Relaxed);
    }
    call()
}

/// Makes a call that is counted, and delayed or skipped.
#[cold]
#[inline(never)]
fn intercept_active<T>(page: &Page, kind: &Call, skipped: impl FnOnce() -> T, call: impl FnOnce() -> T) -> T {
    kind.seen.store(1, Ordering::Relaxed);
    let start = now();
    let result = if kind.skip.load(Ordering::Relaxed) == 0 {
        call()
    } else {
        skipped()
    };
    let own = now() - start;
    let delay = kind.delay_ns.load(Ordering::Relaxed);
    let added = if delay > 0 {
        // Preserve errno for the caller.
        let error = errno();
        let added = dbdyno_delays::delay(delay, &page.lateness, now);
        set_errno(error);
        added
    } else {
        0
    };
    kind.count(own, added);
    result
}

fn sync(call: impl FnOnce() -> c_int) -> c_int {
    intercept(|page| &page.sync, || 0, call)
}

fn read<T>(call: impl Fn() -> T) -> T {
    intercept(|page| &page.read, &call, &call)
}

/// Makes a write. It counts as a flush if the descriptor or the call has a flag that requires one. If flushes are
/// skipped, it uses another descriptor without these flags.
fn write<T>(file: c_int, flags: c_int, call: impl Fn(c_int, c_int) -> T) -> T {
    if PAGE.get().is_none() {
        return call(file, flags);
    }
    if flags & FLUSHED != 0 || flushes(file) {
        let skipped = || descriptors::unflushed(file, |file| call(file, flags & !FLUSHED));
        intercept(|page| &page.sync, skipped, || call(file, flags))
    } else {
        intercept(|page| &page.write, || call(file, flags), || call(file, flags))
    }
}

macro_rules! interpose {
    ($($name:ident($($argument:ident: $type:ty),*) -> $result:ty { |$real:ident| $body:expr })+) => {$(
        /// Replaces the C library's function of this name.
        ///
        /// # Safety
        ///
        /// The same as for that function.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($argument: $type),*) -> $result {
            // SAFETY: `call_real` finds the C library's function, which has this signature, and passes the caller's
            // arguments.
            let $real = |$($argument: $type),*| unsafe {
                call_real!($name($($argument: $type),*) -> $result)
            };
            $body
        }
    )+};
}

/// Flags of `preadv2` and `pwritev2` that make a write flush.
const FLUSHED: c_int = libc::RWF_DSYNC | libc::RWF_SYNC;

/// Flags of `sync_file_range` that make it wait.
const WAITS: c_uint = libc::SYNC_FILE_RANGE_WAIT_BEFORE | libc::SYNC_FILE_RANGE_WAIT_AFTER;

interpose! {
    fsync(file: c_int) -> c_int { |real| sync(|| real(file)) }
    fdatasync(file: c_int) -> c_int { |real| sync(|| real(file)) }
    syncfs(file: c_int) -> c_int { |real| sync(|| real(file)) }
    sync_file_range(file: c_int, offset: off64_t, bytes: off64_t, flags: c_uint) -> c_int { |real| {
        if flags & WAITS == 0 {
            real(file, offset, bytes, flags)
        } else {
            sync(|| real(file, offset, bytes, flags))
        }
    }}
    msync(address: *mut c_void, length: size_t, flags: c_int) -> c_int { |real| {
        if flags & libc::MS_SYNC == 0 {
            real(address, length, flags)
        } else {
            sync(|| real(address, length, flags))
        }
    }}

    pread(file: c_int, to: *mut c_void, bytes: size_t, offset: off_t) -> ssize_t { |real|
        read(|| real(file, to, bytes, offset))
    }
    pread64(file: c_int, to: *mut c_void, bytes: size_t, offset: off64_t) -> ssize_t { |real|
        read(|| real(file, to, bytes, offset))
    }
    __pread_chk(file: c_int, to: *mut c_void, bytes: size_t, offset: off_t, room: size_t) -> ssize_t { |real|
        read(|| real(file, to, bytes, offset, room))
    }
    __pread64_chk(file: c_int, to: *mut c_void, bytes: size_t, offset: off64_t, room: size_t) -> ssize_t { |real|
        read(|| real(file, to, bytes, offset, room))
    }
    preadv(file: c_int, to: *const iovec, parts: c_int, offset: off_t) -> ssize_t { |real|
        read(|| real(file, to, parts, offset))
    }
    preadv64(file: c_int, to: *const iovec, parts: c_int, offset: off64_t) -> ssize_t { |real|
        read(|| real(file, to, parts, offset))
    }
    preadv2(file: c_int, to: *const iovec, parts: c_int, offset: off_t, flags: c_int) -> ssize_t { |real|
        read(|| real(file, to, parts, offset, flags))
    }
    preadv64v2(file: c_int, to: *const iovec, parts: c_int, offset: off64_t, flags: c_int) -> ssize_t { |real|
        read(|| real(file, to, parts, offset, flags))
    }

    pwrite(file: c_int, from: *const c_void, bytes: size_t, offset: off_t) -> ssize_t { |real|
        write(file, 0, |file, _| real(file, from, bytes, offset))
    }
    pwrite64(file: c_int, from: *const c_void, bytes: size_t, offset: off64_t) -> ssize_t { |real|
        write(file, 0, |file, _| real(file, from, bytes, offset))
    }
    pwritev(file: c_int, from: *const iovec, parts: c_int, offset: off_t) -> ssize_t { |real|
        write(file, 0, |file, _| real(file, from, parts, offset))
    }
    pwritev64(file: c_int, from: *const iovec, parts: c_int, offset: off64_t) -> ssize_t { |real|
        write(file, 0, |file, _| real(file, from, parts, offset))
    }
    pwritev2(file: c_int, from: *const iovec, parts: c_int, offset: off_t, flags: c_int) -> ssize_t { |real|
        write(file, flags, |file, flags| real(file, from, parts, offset, flags))
    }
    pwritev64v2(file: c_int, from: *const iovec, parts: c_int, offset: off64_t, flags: c_int) -> ssize_t { |real|
        write(file, flags, |file, flags| real(file, from, parts, offset, flags))
    }

    close(file: c_int) -> c_int { |real| {
        descriptors::forget(file);
        real(file)
    }}
    dup2(old: c_int, new: c_int) -> c_int { |real| {
        descriptors::forget(new);
        real(old, new)
    }}
    dup3(old: c_int, new: c_int, flags: c_int) -> c_int { |real| {
        descriptors::forget(new);
        real(old, new, flags)
    }}
}
