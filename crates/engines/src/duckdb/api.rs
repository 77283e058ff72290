//! Functions of DuckDB's C API, loaded from a shared library (<https://duckdb.org/docs/stable/clients/c/api>).

use dbdyno_engine::Failure;
use dbdyno_protocol::plan::document::FailureKind;
use libloading::Library;
use std::ffi::{c_char, c_int, c_void};

/// An opaque handle.
pub type Handle = *mut c_void;

/// `duckdb_state`: success.
pub const OK: c_int = 0;

/// `duckdb_result`. Only the library reads its fields.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct QueryResult {
    inside: [*mut c_void; 6],
}

impl QueryResult {
    /// An empty result for the library to fill.
    pub const EMPTY: Self = Self {
        inside: [std::ptr::null_mut(); 6],
    };
}

macro_rules! api {
    ($($name:ident: fn($($argument:ty),*) $(-> $result:ty)?;)+) => {
        /// The functions of a library, by their names without `duckdb_`.
        pub struct Api {
            $(pub $name: unsafe extern "C" fn($($argument),*) $(-> $result)?,)+
            /// Keeps the library loaded.
            _library: Library,
        }

        impl Api {
            /// Loads a library. Fails if the file isn't DuckDB's library or lacks a function.
            pub fn load(path: &str) -> Result<Self, Failure> {
                let wrong = |what: String| Failure::new(FailureKind::Connection, what);
                // SAFETY: loading a library runs its initializers; DuckDB's only set up its own state.
                let library = unsafe { Library::new(path) }
                    .map_err(|error| wrong(format!("cannot load DuckDB's library {path}: {error}")))?;
                Ok(Self {
                    $($name: {
                        let symbol = concat!("duckdb_", stringify!($name));
                        // SAFETY: the type matches DuckDB's documentation of the function.
                        *unsafe { library.get(symbol.as_bytes()) }.map_err(|_| {
                            wrong(format!("{path} is not a DuckDB library of version 1.2 or later: the function {symbol} is missing"))
                        })?
                    },)+
                    _library: library,
                })
            }
        }
    };
}

api! {
    library_version: fn() -> *const c_char;
    create_config: fn(*mut Handle) -> c_int;
    set_config: fn(Handle, *const c_char, *const c_char) -> c_int;
    destroy_config: fn(*mut Handle);
    open_ext: fn(*const c_char, *mut Handle, Handle, *mut *mut c_char) -> c_int;
    close: fn(*mut Handle);
    free: fn(*mut c_void);
    connect: fn(Handle, *mut Handle) -> c_int;
    disconnect: fn(*mut Handle);
    interrupt: fn(Handle);
    query: fn(Handle, *const c_char, *mut QueryResult) -> c_int;
    destroy_result: fn(*mut QueryResult);
    result_error: fn(*mut QueryResult) -> *const c_char;
    result_error_type: fn(*mut QueryResult) -> c_int;
    result_return_type: fn(QueryResult) -> c_int;
    column_count: fn(*mut QueryResult) -> u64;
    column_type: fn(*mut QueryResult, u64) -> c_int;
    column_logical_type: fn(*mut QueryResult, u64) -> Handle;
    destroy_logical_type: fn(*mut Handle);
    decimal_scale: fn(Handle) -> u8;
    decimal_internal_type: fn(Handle) -> c_int;
    rows_changed: fn(*mut QueryResult) -> u64;
    fetch_chunk: fn(QueryResult) -> Handle;
    data_chunk_get_size: fn(Handle) -> u64;
    data_chunk_get_vector: fn(Handle, u64) -> Handle;
    destroy_data_chunk: fn(*mut Handle);
    vector_get_data: fn(Handle) -> *mut c_void;
    vector_get_validity: fn(Handle) -> *mut u64;
    prepare: fn(Handle, *const c_char, *mut Handle) -> c_int;
    prepare_error: fn(Handle) -> *const c_char;
    destroy_prepare: fn(*mut Handle);
    prepared_statement_type: fn(Handle) -> c_int;
    nparams: fn(Handle) -> u64;
    bind_null: fn(Handle, u64) -> c_int;
    bind_int64: fn(Handle, u64, i64) -> c_int;
    bind_double: fn(Handle, u64, f64) -> c_int;
    bind_varchar_length: fn(Handle, u64, *const c_char, u64) -> c_int;
    bind_blob: fn(Handle, u64, *const c_void, u64) -> c_int;
    execute_prepared: fn(Handle, *mut QueryResult) -> c_int;
    appender_create: fn(Handle, *const c_char, *const c_char, *mut Handle) -> c_int;
    appender_add_column: fn(Handle, *const c_char) -> c_int;
    appender_error: fn(Handle) -> *const c_char;
    appender_end_row: fn(Handle) -> c_int;
    appender_close: fn(Handle) -> c_int;
    appender_destroy: fn(*mut Handle) -> c_int;
    append_null: fn(Handle) -> c_int;
    append_int64: fn(Handle, i64) -> c_int;
    append_double: fn(Handle, f64) -> c_int;
    append_varchar_length: fn(Handle, *const c_char, u64) -> c_int;
    append_blob: fn(Handle, *const c_void, u64) -> c_int;
}
