//! Which file descriptors flush on each write. The flags of a descriptor are read at its first write and then cached.

use crate::real::{errno, set_errno};
use libc::c_int;
use std::sync::atomic::{AtomicU8, Ordering};

/// Descriptors above this are not cached.
const KEPT: usize = 65_536;

const UNKNOWN: u8 = 0;
const PLAIN: u8 = 1;
const FLUSHES: u8 = 2;

static KNOWN: [AtomicU8; KEPT] = [const { AtomicU8::new(UNKNOWN) }; KEPT];

fn known(file: c_int) -> Option<&'static AtomicU8> {
    KNOWN.get(usize::try_from(file).ok()?)
}

/// Clears the cache entry, because the descriptor number will be reused.
pub fn forget(file: c_int) {
    if let Some(known) = known(file)
        && known.load(Ordering::Relaxed) != UNKNOWN
    {
        known.store(UNKNOWN, Ordering::Relaxed);
    }
}

/// Whether each write to the file flushes the device.
pub fn flushes(file: c_int) -> bool {
    let Some(known) = known(file) else {
        return ask(file);
    };
    match known.load(Ordering::Relaxed) {
        UNKNOWN => {
            let flushes = ask(file);
            known.store(if flushes { FLUSHES } else { PLAIN }, Ordering::Relaxed);
            flushes
        }
        known => known == FLUSHES,
    }
}

fn flags(file: c_int) -> c_int {
    let error = errno();
    // SAFETY: the call only reads flags, and fails for an invalid descriptor.
    let flags = unsafe { libc::fcntl(file, libc::F_GETFL) };
    set_errno(error);
    flags.max(0)
}

fn ask(file: c_int) -> bool {
    // `O_SYNC` includes the bit of `O_DSYNC`.
    flags(file) & libc::O_DSYNC != 0
}

/// Makes a call through another descriptor of the same file that doesn't flush. If it cannot be opened, uses the
/// original one.
pub fn unflushed<T>(file: c_int, call: impl Fn(c_int) -> T) -> T {
    let mut path = [0u8; 32];
    write_path(&mut path, file);
    let flags = libc::O_WRONLY | libc::O_CLOEXEC | (flags(file) & libc::O_DIRECT);
    // SAFETY: the path ends with a zero byte.
    let other = unsafe { libc::open(path.as_ptr().cast(), flags) };
    if other < 0 {
        return call(file);
    }
    forget(other);
    let result = call(other);
    let error = errno();
    // SAFETY: it was opened above, and no other code uses it.
    unsafe { libc::close(other) };
    set_errno(error);
    result
}

/// Writes the path of a descriptor, with a terminating zero byte.
fn write_path(path: &mut [u8; 32], file: c_int) {
    const FILES: &[u8] = b"/proc/self/fd/";
    path[..FILES.len()].copy_from_slice(FILES);
    let (mut digits, mut rest, mut count) = ([0u8; 10], file.unsigned_abs(), 0);
    loop {
        digits[count] = b'0' + (rest % 10) as u8;
        rest /= 10;
        count += 1;
        if rest == 0 {
            break;
        }
    }
    for (place, digit) in path[FILES.len()..].iter_mut().zip(digits[..count].iter().rev()) {
        *place = *digit;
    }
}
