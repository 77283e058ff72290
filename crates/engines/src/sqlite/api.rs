//! SQLite's functions as a table, so that one driver serves the bundled library and any shared one.

use dbdyno_engine::Failure;
use dbdyno_protocol::plan::document::FailureKind;
use libsqlite3_sys as ffi;
use std::ffi::{c_char, c_int, c_uchar, c_void};
use std::path::Path;

macro_rules! api {
    ($($(#[$doc:meta])* $name:ident = $symbol:ident : $type:ty;)+) => {
        /// The functions of one SQLite library.
        #[allow(missing_docs)] // SQLite's documentation describes them under `sqlite3_` and the field's name.
        #[derive(Clone, Copy)]
        pub struct Api {
            $($(#[$doc])* pub $name: $type,)+
            /// `None` in libraries compiled with `SQLITE_OMIT_AUTHORIZATION`.
            pub set_authorizer: Option<SetAuthorizer>,
        }

        impl Api {
            /// The library linked into this program.
            pub fn bundled() -> Self {
                Self { $($name: ffi::$symbol,)+ set_authorizer: Some(ffi::sqlite3_set_authorizer) }
            }

            fn from_library(library: &libloading::Library) -> Result<Self, libloading::Error> {
                Ok(Self { $(
                    // SAFETY: the symbol is SQLite's, and its signature has never changed.
                    $name: unsafe { *library.get::<$type>(concat!(stringify!($symbol), "\0").as_bytes())? },
                )+
                    // SAFETY: as above.
                    set_authorizer: unsafe { library.get::<SetAuthorizer>(b"sqlite3_set_authorizer\0") }
                        .ok()
                        .map(|symbol| *symbol),
                })
            }
        }
    };
}

type Db = *mut ffi::sqlite3;
type Stmt = *mut ffi::sqlite3_stmt;
/// Arguments: the user data, the action, and up to four names that depend on the action.
pub type Authorizer =
    unsafe extern "C" fn(*mut c_void, c_int, *const c_char, *const c_char, *const c_char, *const c_char) -> c_int;
type SetAuthorizer = unsafe extern "C" fn(Db, Option<Authorizer>, *mut c_void) -> c_int;
type Destructor = Option<unsafe extern "C" fn(*mut c_void)>;

api! {
    libversion = sqlite3_libversion: unsafe extern "C" fn() -> *const c_char;
    sourceid = sqlite3_sourceid: unsafe extern "C" fn() -> *const c_char;
    compileoption_get = sqlite3_compileoption_get: unsafe extern "C" fn(c_int) -> *const c_char;
    threadsafe = sqlite3_threadsafe: unsafe extern "C" fn() -> c_int;
    initialize = sqlite3_initialize: unsafe extern "C" fn() -> c_int;
    shutdown = sqlite3_shutdown: unsafe extern "C" fn() -> c_int;
    config = sqlite3_config: unsafe extern "C" fn(c_int, ...) -> c_int;
    vfs_find = sqlite3_vfs_find: unsafe extern "C" fn(*const c_char) -> *mut ffi::sqlite3_vfs;
    vfs_register = sqlite3_vfs_register: unsafe extern "C" fn(*mut ffi::sqlite3_vfs, c_int) -> c_int;
    open_v2 = sqlite3_open_v2: unsafe extern "C" fn(*const c_char, *mut Db, c_int, *const c_char) -> c_int;
    close = sqlite3_close: unsafe extern "C" fn(Db) -> c_int;
    errmsg = sqlite3_errmsg: unsafe extern "C" fn(Db) -> *const c_char;
    extended_errcode = sqlite3_extended_errcode: unsafe extern "C" fn(Db) -> c_int;
    busy_handler = sqlite3_busy_handler:
        unsafe extern "C" fn(Db, Option<unsafe extern "C" fn(*mut c_void, c_int) -> c_int>, *mut c_void) -> c_int;
    get_autocommit = sqlite3_get_autocommit: unsafe extern "C" fn(Db) -> c_int;
    changes = sqlite3_changes: unsafe extern "C" fn(Db) -> c_int;
    total_changes = sqlite3_total_changes: unsafe extern "C" fn(Db) -> c_int;
    db_status = sqlite3_db_status: unsafe extern "C" fn(Db, c_int, *mut c_int, *mut c_int, c_int) -> c_int;
    prepare_v2 = sqlite3_prepare_v2:
        unsafe extern "C" fn(Db, *const c_char, c_int, *mut Stmt, *mut *const c_char) -> c_int;
    finalize = sqlite3_finalize: unsafe extern "C" fn(Stmt) -> c_int;
    reset = sqlite3_reset: unsafe extern "C" fn(Stmt) -> c_int;
    step = sqlite3_step: unsafe extern "C" fn(Stmt) -> c_int;
    stmt_readonly = sqlite3_stmt_readonly: unsafe extern "C" fn(Stmt) -> c_int;
    bind_parameter_count = sqlite3_bind_parameter_count: unsafe extern "C" fn(Stmt) -> c_int;
    bind_null = sqlite3_bind_null: unsafe extern "C" fn(Stmt, c_int) -> c_int;
    bind_int64 = sqlite3_bind_int64: unsafe extern "C" fn(Stmt, c_int, i64) -> c_int;
    bind_double = sqlite3_bind_double: unsafe extern "C" fn(Stmt, c_int, f64) -> c_int;
    bind_text = sqlite3_bind_text: unsafe extern "C" fn(Stmt, c_int, *const c_char, c_int, Destructor) -> c_int;
    bind_blob = sqlite3_bind_blob: unsafe extern "C" fn(Stmt, c_int, *const c_void, c_int, Destructor) -> c_int;
    column_count = sqlite3_column_count: unsafe extern "C" fn(Stmt) -> c_int;
    column_type = sqlite3_column_type: unsafe extern "C" fn(Stmt, c_int) -> c_int;
    column_int64 = sqlite3_column_int64: unsafe extern "C" fn(Stmt, c_int) -> i64;
    column_double = sqlite3_column_double: unsafe extern "C" fn(Stmt, c_int) -> f64;
    column_blob = sqlite3_column_blob: unsafe extern "C" fn(Stmt, c_int) -> *const c_void;
    column_text = sqlite3_column_text: unsafe extern "C" fn(Stmt, c_int) -> *const c_uchar;
    column_bytes = sqlite3_column_bytes: unsafe extern "C" fn(Stmt, c_int) -> c_int;
}

impl Api {
    /// Loads a shared library. It stays loaded until the process ends.
    pub fn load(path: &Path) -> Result<Self, Failure> {
        let wrong = |error: libloading::Error| {
            let message = format!("{} is not a SQLite library that can be loaded: {error}", path.display());
            Failure::new(FailureKind::Connection, message)
        };
        // SAFETY: loading runs the library's initializers, and a SQLite library has none. The user specified the file.
        let library = unsafe { libloading::Library::new(path) }.map_err(wrong)?;
        let api = Self::from_library(&library).map_err(wrong)?;
        std::mem::forget(library);
        Ok(api)
    }
}
