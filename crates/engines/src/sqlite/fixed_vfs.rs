//! A default VFS with a fixed clock and a fixed random seed, so that a library does the same work each time. File
//! operations are passed to the underlying VFS unchanged.

use super::api::Api;
use dbdyno_engine::Failure;
use dbdyno_protocol::plan::document::FailureKind;
use libsqlite3_sys as ffi;
use std::ffi::{CStr, c_char, c_int};

const NAME: &CStr = c"dbdyno-fixed";

/// 1 January 2026, 00:00 UTC, as a Julian day number in milliseconds.
const NOW_MS: i64 = 1_767_225_600_000 + 210_866_760_000_000;

const DAY_MS: f64 = 86_400_000.0;

/// Registers it as the library's default. Must be called before a connection is opened.
pub fn register(api: &Api) -> Result<(), Failure> {
    // SAFETY: a null name requests the default VFS; the call initializes the library if needed.
    let below = unsafe { (api.vfs_find)(std::ptr::null()) };
    if below.is_null() {
        let message = "the SQLite library has no default VFS";
        return Err(Failure::new(FailureKind::Connection, message));
    }
    // SAFETY: the library just returned `below`. Its other functions work on the data in the structure, which is copied
    // here.
    let vfs = Box::leak(Box::new(ffi::sqlite3_vfs {
        pNext: std::ptr::null_mut(),
        zName: NAME.as_ptr(),
        xRandomness: Some(randomness),
        xCurrentTime: Some(current_time),
        xCurrentTimeInt64: Some(current_time_ms),
        ..unsafe { *below }
    }));
    // SAFETY: the structure is complete and lives forever.
    match unsafe { (api.vfs_register)(vfs, 1) } {
        ffi::SQLITE_OK => Ok(()),
        code => Err(Failure::new(
            FailureKind::Connection,
            format!("registering a VFS failed with code {code}"),
        )),
    }
}

unsafe extern "C" fn randomness(_: *mut ffi::sqlite3_vfs, length: c_int, out: *mut c_char) -> c_int {
    for index in 0..length.max(0) as usize {
        // SAFETY: the library provides a buffer of the requested size.
        unsafe { *out.add(index) = (index as u8).wrapping_mul(167).wrapping_add(13) as c_char };
    }
    length
}

unsafe extern "C" fn current_time(_: *mut ffi::sqlite3_vfs, out: *mut f64) -> c_int {
    // SAFETY: the library provides memory for the result.
    unsafe { *out = NOW_MS as f64 / DAY_MS };
    ffi::SQLITE_OK
}

unsafe extern "C" fn current_time_ms(_: *mut ffi::sqlite3_vfs, out: *mut ffi::sqlite3_int64) -> c_int {
    // SAFETY: as above.
    unsafe { *out = NOW_MS };
    ffi::SQLITE_OK
}
