//! The C library's functions that this library replaces.

use libc::{c_char, c_int, c_void};

/// Finds the next function with this name after this library's own.
pub fn find(name: &'static std::ffi::CStr) -> *mut c_void {
    let name: *const c_char = name.as_ptr();
    // SAFETY: the name ends with a zero byte.
    unsafe { libc::dlsym(libc::RTLD_NEXT, name) }
}

/// Calls the next function with this name after this library's own. Fails with `ENOSYS` if no such function exists.
macro_rules! call_real {
    ($name:ident($($argument:ident: $type:ty),*) -> $result:ty) => {{
        static REAL: std::sync::atomic::AtomicPtr<libc::c_void> = std::sync::atomic::AtomicPtr::new(std::ptr::null_mut());
        let mut real = REAL.load(std::sync::atomic::Ordering::Relaxed);
        if real.is_null() {
            const NAME: &std::ffi::CStr = match std::ffi::CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes()) {
                Ok(name) => name,
                Err(_) => c"",
            };
            real = $crate::real::find(NAME);
            REAL.store(real, std::sync::atomic::Ordering::Relaxed);
        }
        if real.is_null() {
            $crate::real::set_errno(libc::ENOSYS);
            -1
        } else {
            std::mem::transmute::<*mut libc::c_void, unsafe extern "C" fn($($type),*) -> $result>(real)($($argument),*)
        }
    }};
}
pub(crate) use call_real;

/// The calling thread's errno.
pub fn errno() -> c_int {
    // SAFETY: the location belongs to the thread.
    unsafe { *libc::__errno_location() }
}

/// Sets the calling thread's errno.
pub fn set_errno(error: c_int) {
    // SAFETY: as above.
    unsafe { *libc::__errno_location() = error };
}
