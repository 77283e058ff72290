//! The functions that the program calls instead of SQLite's.
//!
//! Each is a few instructions that add the return address to the arguments, and a function that takes them. The address
//! shows which copy of SQLite is meant.

use crate::sqlite::{Call, Caller, Db, Destructor, Functions, MISUSE, OK, ROW, Stmt};
use crate::statements::{self, LONGEST_VALUE};
use crate::{IS_ACTIVE, now};
use dbdyno_reports::Parameter;
use libc::{c_char, c_double, c_int, c_uchar, c_uint, c_void};
use std::arch::naked_asm;
use std::cell::Cell;
use std::ffi::CStr;
use std::sync::atomic::Ordering;

thread_local! {
    /// Whether SQLite is running: what it calls itself isn't observed.
    static IS_WITHIN: Cell<bool> = const { Cell::new(false) };
    /// Statements that the thread has prepared.
    static PREPARED: Cell<u64> = const { Cell::new(0) };
}

fn is_observed() -> bool {
    IS_ACTIVE.load(Ordering::Relaxed) && !IS_WITHIN.get()
}

fn within<T>(call: impl FnOnce() -> T) -> T {
    IS_WITHIN.set(true);
    let result = call();
    IS_WITHIN.set(false);
    result
}

/// `arguments`: the number of integer and pointer arguments. The return address follows.
#[cfg(target_arch = "x86_64")]
macro_rules! pass_caller {
    (1, $inner:ident) => { naked_asm!("mov rsi, [rsp]", "jmp {}", sym $inner) };
    (2, $inner:ident) => { naked_asm!("mov rdx, [rsp]", "jmp {}", sym $inner) };
    (3, $inner:ident) => { naked_asm!("mov rcx, [rsp]", "jmp {}", sym $inner) };
    (4, $inner:ident) => { naked_asm!("mov r8, [rsp]", "jmp {}", sym $inner) };
    (5, $inner:ident) => { naked_asm!("mov r9, [rsp]", "jmp {}", sym $inner) };
    // The seventh argument is on the stack, which is then aligned for a call.
    (6, $inner:ident) => { naked_asm!("push [rsp]", "call {}", "add rsp, 8", "ret", sym $inner) };
}

#[cfg(target_arch = "aarch64")]
macro_rules! pass_caller {
    ($arguments:literal, $inner:ident) => {
        naked_asm!(concat!("mov x", $arguments, ", x30"), "b {}", sym $inner)
    };
}

macro_rules! interpose {
    ($($name:ident, $inner:ident($arguments:tt);)+) => {$(
        /// Replaces SQLite's function of this name.
        ///
        /// # Safety
        ///
        /// The same as for that function.
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name() {
            pass_caller!($arguments, $inner)
        }
    )+};
}

interpose! {
    sqlite3_prepare, prepare(5);
    sqlite3_prepare_v2, prepare_v2(5);
    sqlite3_prepare_v3, prepare_v3(6);
    sqlite3_prepare16, prepare16(5);
    sqlite3_prepare16_v2, prepare16_v2(5);
    sqlite3_prepare16_v3, prepare16_v3(6);
    sqlite3_step, step(1);
    sqlite3_reset, reset(1);
    sqlite3_finalize, finalize(1);
    sqlite3_exec, exec(5);
    sqlite3_close, close(1);
    sqlite3_close_v2, close_v2(1);
    sqlite3_clear_bindings, clear_bindings(1);
    sqlite3_bind_blob, bind_blob(5);
    sqlite3_bind_blob64, bind_blob64(5);
    sqlite3_bind_double, bind_double(2);
    sqlite3_bind_int, bind_int(3);
    sqlite3_bind_int64, bind_int64(3);
    sqlite3_bind_null, bind_null(2);
    sqlite3_bind_text, bind_text(5);
    sqlite3_bind_text16, bind_text16(5);
    sqlite3_bind_text64, bind_text64(6);
    sqlite3_bind_value, bind_value(3);
    sqlite3_bind_pointer, bind_pointer(5);
    sqlite3_bind_zeroblob, bind_zeroblob(3);
    sqlite3_bind_zeroblob64, bind_zeroblob64(3);
}

/// Observes a call that prepares a statement. `text`: the statement and its length, if it is in UTF-8.
///
/// # Safety
///
/// The handles are valid. `text` has this length, or ends with a zero byte if the length is negative.
unsafe fn prepare_with(
    functions: &Functions,
    (db, text): (Db, Option<(*const c_char, c_int)>),
    stmt: *mut Stmt,
    call: impl FnOnce() -> c_int,
) -> c_int {
    if !is_observed() {
        return call();
    }
    PREPARED.set(PREPARED.get() + 1);
    let start = now();
    let code = within(call);
    if code != OK {
        // SAFETY: see above.
        let text = text.and_then(|(text, length)| unsafe { bytes(text.cast(), length) });
        statements::executed(functions, db, text, code, (start, now()));
    } else if !stmt.is_null() {
        // SAFETY: SQLite has written the statement there; null if the text contains none.
        let stmt = unsafe { *stmt };
        if !stmt.is_null() {
            statements::prepared(functions, db, stmt);
        }
    }
    code
}

/// The bytes of a string until its first zero byte. `length`: the number of bytes, if it isn't negative.
unsafe fn bytes<'a>(text: *const c_void, length: c_int) -> Option<&'a [u8]> {
    if text.is_null() {
        return None;
    }
    let Ok(length) = usize::try_from(length) else {
        // SAFETY: the string ends with a zero byte.
        return Some(unsafe { CStr::from_ptr(text.cast()) }.to_bytes());
    };
    // SAFETY: the string has this length, or ends before.
    let length = unsafe { libc::strnlen(text.cast(), length) };
    // SAFETY: as above.
    Some(unsafe { std::slice::from_raw_parts(text.cast(), length) })
}

macro_rules! preparing {
    ($($inner:ident($text:ty $(, $flags:ident: $type:ty)?), $is_utf8:literal;)+) => {$(
        unsafe extern "C" fn $inner(
            db: Db,
            text: *const $text,
            length: c_int,
            $($flags: $type,)?
            stmt: *mut Stmt,
            tail: *mut *const $text,
            caller: Caller,
        ) -> c_int {
            let functions = Call::of(caller);
            let Some(real) = functions.$inner else { return MISUSE };
            let known = $is_utf8.then_some((text.cast::<c_char>(), length));
            // SAFETY: the program passes these arguments.
            unsafe {
                prepare_with(&functions, (db, known), stmt, || real(db, text, length, $($flags,)? stmt, tail))
            }
        }
    )+};
}

preparing! {
    prepare(c_char), true;
    prepare_v2(c_char), true;
    prepare_v3(c_char, flags: c_uint), true;
    prepare16(c_void), false;
    prepare16_v2(c_void), false;
    prepare16_v3(c_void, flags: c_uint), false;
}

unsafe extern "C" fn step(stmt: Stmt, caller: Caller) -> c_int {
    let functions = Call::of(caller);
    let Some(real) = functions.step else { return MISUSE };
    // SAFETY: the program passes this argument.
    let call = || unsafe { real(stmt) };
    if !is_observed() || stmt.is_null() {
        return call();
    }
    let start = now();
    let code = within(call);
    let end = now();
    if code == ROW {
        statements::returned_row(stmt, start, end);
    } else {
        statements::completed(&functions, stmt, code, start, end);
    }
    code
}

unsafe extern "C" fn reset(stmt: Stmt, caller: Caller) -> c_int {
    let functions = Call::of(caller);
    let Some(real) = functions.reset else { return MISUSE };
    // SAFETY: the program passes this argument.
    let call = || unsafe { real(stmt) };
    if !is_observed() || stmt.is_null() {
        return call();
    }
    let code = within(call);
    statements::reset(&functions, stmt);
    code
}

unsafe extern "C" fn finalize(stmt: Stmt, caller: Caller) -> c_int {
    let functions = Call::of(caller);
    let Some(real) = functions.finalize else { return MISUSE };
    // SAFETY: the program passes this argument.
    let call = || unsafe { real(stmt) };
    if !is_observed() || stmt.is_null() {
        return call();
    }
    statements::finalize(&functions, stmt, || within(call))
}

/// SQLite prepares these statements with the functions above, which report them. A library that binds its own symbols
/// doesn't call the functions above; then the statements are reported together.
unsafe extern "C" fn exec(
    db: Db,
    text: *const c_char,
    callback: *const c_void,
    argument: *mut c_void,
    message: *mut *mut c_char,
    caller: Caller,
) -> c_int {
    let functions = Call::of(caller);
    let Some(real) = functions.exec else { return MISUSE };
    let (before, start) = (PREPARED.get(), now());
    // SAFETY: the program passes these arguments.
    let code = unsafe { real(db, text, callback, argument, message) };
    if is_observed() && PREPARED.get() == before {
        // SAFETY: the string ends with a zero byte.
        if let Some(text) = unsafe { bytes(text.cast(), -1) } {
            statements::executed(&functions, db, Some(text), code, (start, now()));
        }
    }
    code
}

macro_rules! closing {
    ($($inner:ident)+) => {$(
        unsafe extern "C" fn $inner(db: Db, caller: Caller) -> c_int {
            let functions = Call::of(caller);
            let Some(real) = functions.$inner else { return MISUSE };
            // SAFETY: the program passes this argument.
            let call = || unsafe { real(db) };
            if is_observed() { statements::close(db, || within(call)) } else { call() }
        }
    )+};
}

closing! { close close_v2 }

unsafe extern "C" fn clear_bindings(stmt: Stmt, caller: Caller) -> c_int {
    let functions = Call::of(caller);
    let Some(real) = functions.clear_bindings else {
        return MISUSE;
    };
    // SAFETY: the program passes this argument.
    let code = unsafe { real(stmt) };
    if code == OK && is_observed() {
        statements::cleared(stmt);
    }
    code
}

/// The value is read before the call, which may free it.
macro_rules! binding {
    ($($inner:ident($($argument:ident: $type:ty),*) { $value:expr })+) => {$(
        unsafe extern "C" fn $inner(stmt: Stmt, number: c_int, $($argument: $type,)* caller: Caller) -> c_int {
            let functions = Call::of(caller);
            let Some(real) = functions.$inner else { return MISUSE };
            let value = is_observed().then(|| $value);
            // SAFETY: the program passes these arguments.
            let code = unsafe { real(stmt, number, $($argument),*) };
            if let Some(value) = value
                && code == OK
            {
                statements::bound(stmt, number, value);
            }
            code
        }
    )+};
}

binding! {
    bind_null() { Parameter::Null }
    bind_int(value: c_int) { Parameter::Integer(value.into()) }
    bind_int64(value: i64) { Parameter::Integer(value) }
    bind_double(value: c_double) { Parameter::Real(value) }
    bind_text(text: *const c_char, length: c_int, free: Destructor) { string(text, i64::from(length), UTF8) }
    bind_text16(text: *const c_void, length: c_int, free: Destructor) { string(text.cast(), i64::from(length), UTF16) }
    bind_text64(text: *const c_char, length: u64, free: Destructor, form: c_uchar) {
        string(text, i64::try_from(length).unwrap_or(i64::MAX), form)
    }
    bind_blob(content: *const c_void, length: c_int, free: Destructor) {
        blob(content, u64::try_from(length).unwrap_or(0))
    }
    bind_blob64(content: *const c_void, length: u64, free: Destructor) { blob(content, length) }
    bind_value(value: *const c_void) { Parameter::Unknown }
    bind_pointer(value: *mut c_void, kind: *const c_char, free: Destructor) { Parameter::Unknown }
    bind_zeroblob(length: c_int) { Parameter::Unknown }
    bind_zeroblob64(length: u64) { Parameter::Unknown }
}

/// Encodings of SQLite.
const UTF8: c_uchar = 1;
const UTF16: c_uchar = 4;

/// A string as it is bound. `length`: in bytes; negative if a zero character ends it.
fn string(text: *const c_char, length: i64, form: c_uchar) -> Parameter {
    if text.is_null() {
        return Parameter::Null;
    }
    let is_long = usize::try_from(length).is_ok_and(|length| length > LONGEST_VALUE);
    let native = [UTF16, if cfg!(target_endian = "little") { 2 } else { 3 }];
    if is_long || (form != UTF8 && !native.contains(&form)) {
        return Parameter::Unknown;
    }
    if form == UTF8 {
        // SAFETY: the string has this length, and may contain zero bytes, or ends with a zero byte.
        let found = unsafe {
            match usize::try_from(length) {
                Ok(length) => std::slice::from_raw_parts(text.cast(), length),
                Err(_) => CStr::from_ptr(text).to_bytes(),
            }
        };
        return if found.len() <= LONGEST_VALUE {
            Parameter::Text(String::from_utf8_lossy(found).into())
        } else {
            Parameter::Unknown
        };
    }
    let most = usize::try_from(length).map_or(LONGEST_VALUE, |length| length / 2);
    let units = text.cast::<u16>();
    let read = (0..most)
        // SAFETY: all units before this length, or before the first zero unit, belong to the string.
        .map(|at| unsafe { units.add(at).read_unaligned() })
        .take_while(|unit| length >= 0 || *unit != 0);
    let found: String = char::decode_utf16(read)
        .map(|each| each.unwrap_or(char::REPLACEMENT_CHARACTER))
        .collect();
    if length < 0 && found.len() >= LONGEST_VALUE {
        Parameter::Unknown
    } else {
        Parameter::Text(found.into())
    }
}

fn blob(content: *const c_void, length: u64) -> Parameter {
    match usize::try_from(length) {
        _ if content.is_null() => Parameter::Null,
        Ok(length) if length <= LONGEST_VALUE => {
            // SAFETY: the content has this length.
            Parameter::Bytes(unsafe { std::slice::from_raw_parts(content.cast::<u8>(), length) }.into())
        }
        _ => Parameter::Unknown,
    }
}
