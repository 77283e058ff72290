//! SQLite's own functions, as the code that calls this library would have found them.
//!
//! A process may load SQLite several times, and a plugin's dependencies are not in the program's global scope.
//! Therefore the scope depends on the object (program or library) that contains the calling code.

use libc::{c_char, c_double, c_int, c_uchar, c_uint, c_void, dl_phdr_info, size_t};
use std::cell::Cell;
use std::ffi::{CStr, CString};
use std::ops::Deref;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, Ordering};

/// A connection.
pub type Db = *mut c_void;
/// A prepared statement.
pub type Stmt = *mut c_void;
/// The function that SQLite calls when it no longer needs a value.
pub type Destructor = *const c_void;
/// An address in the calling code.
pub type Caller = *const c_void;

pub const OK: c_int = 0;
pub const MISUSE: c_int = 21;
pub const ROW: c_int = 100;
pub const DONE: c_int = 101;

macro_rules! functions {
    ($($name:ident: fn($($argument:ty),*) -> $result:ty;)+) => {
        /// The functions of one copy of SQLite. `None`: the copy doesn't have the function.
        pub struct Functions {
            $(pub $name: Option<unsafe extern "C" fn($($argument),*) -> $result>,)+
        }

        impl Functions {
            fn find(symbol: impl Fn(&CStr) -> *mut c_void) -> Self {
                Self {
                    $($name: {
                        const NAME: &CStr =
                            match CStr::from_bytes_with_nul(concat!("sqlite3_", stringify!($name), "\0").as_bytes()) {
                                Ok(name) => name,
                                Err(_) => c"",
                            };
                        // SAFETY: null is `None`. Otherwise it is SQLite's function, which has this signature.
                        unsafe {
                            std::mem::transmute::<*mut c_void, Option<unsafe extern "C" fn($($argument),*) -> $result>>(
                                symbol(NAME),
                            )
                        }
                    },)+
                }
            }
        }
    };
}

type Callback = *const c_void;

functions! {
    prepare: fn(Db, *const c_char, c_int, *mut Stmt, *mut *const c_char) -> c_int;
    prepare_v2: fn(Db, *const c_char, c_int, *mut Stmt, *mut *const c_char) -> c_int;
    prepare_v3: fn(Db, *const c_char, c_int, c_uint, *mut Stmt, *mut *const c_char) -> c_int;
    prepare16: fn(Db, *const c_void, c_int, *mut Stmt, *mut *const c_void) -> c_int;
    prepare16_v2: fn(Db, *const c_void, c_int, *mut Stmt, *mut *const c_void) -> c_int;
    prepare16_v3: fn(Db, *const c_void, c_int, c_uint, *mut Stmt, *mut *const c_void) -> c_int;
    step: fn(Stmt) -> c_int;
    reset: fn(Stmt) -> c_int;
    finalize: fn(Stmt) -> c_int;
    exec: fn(Db, *const c_char, Callback, *mut c_void, *mut *mut c_char) -> c_int;
    close: fn(Db) -> c_int;
    close_v2: fn(Db) -> c_int;
    clear_bindings: fn(Stmt) -> c_int;
    bind_blob: fn(Stmt, c_int, *const c_void, c_int, Destructor) -> c_int;
    bind_blob64: fn(Stmt, c_int, *const c_void, u64, Destructor) -> c_int;
    bind_double: fn(Stmt, c_int, c_double) -> c_int;
    bind_int: fn(Stmt, c_int, c_int) -> c_int;
    bind_int64: fn(Stmt, c_int, i64) -> c_int;
    bind_null: fn(Stmt, c_int) -> c_int;
    bind_text: fn(Stmt, c_int, *const c_char, c_int, Destructor) -> c_int;
    bind_text16: fn(Stmt, c_int, *const c_void, c_int, Destructor) -> c_int;
    bind_text64: fn(Stmt, c_int, *const c_char, u64, Destructor, c_uchar) -> c_int;
    bind_value: fn(Stmt, c_int, *const c_void) -> c_int;
    bind_pointer: fn(Stmt, c_int, *mut c_void, *const c_char, Destructor) -> c_int;
    bind_zeroblob: fn(Stmt, c_int, c_int) -> c_int;
    bind_zeroblob64: fn(Stmt, c_int, u64) -> c_int;
    sql: fn(Stmt) -> *const c_char;
    db_handle: fn(Stmt) -> Db;
    bind_parameter_count: fn(Stmt) -> c_int;
    bind_parameter_name: fn(Stmt, c_int) -> *const c_char;
    get_autocommit: fn(Db) -> c_int;
    total_changes: fn(Db) -> c_int;
    changes: fn(Db) -> c_int;
    extended_errcode: fn(Db) -> c_int;
}

/// The code of an object, and the functions that it calls; `None`: it is this library. The object isn't unloaded any
/// more.
struct Object {
    begin: usize,
    end: usize,
    functions: Option<Functions>,
    next: *mut Object,
}

static OBJECTS: AtomicPtr<Object> = AtomicPtr::new(std::ptr::null_mut());

/// The functions for code that is in no object, because it was generated at run time.
static ELSEWHERE: OnceLock<Functions> = OnceLock::new();

thread_local! {
    /// The functions that this library is calling.
    static CALLED: Cell<Option<&'static Functions>> = const { Cell::new(None) };
}

/// The functions that the calling code means, during a call.
pub struct Call {
    functions: &'static Functions,
    before: Option<&'static Functions>,
}

impl Call {
    /// Finds the functions.
    pub fn of(caller: Caller) -> Self {
        let functions = match find(caller) {
            Some(functions) => functions,
            // A function that this library called has ended with a call of another one, which returns to this library.
            None => CALLED.get().unwrap_or_else(elsewhere),
        };
        Self {
            functions,
            before: CALLED.replace(Some(functions)),
        }
    }
}

impl Deref for Call {
    type Target = Functions;

    fn deref(&self) -> &Functions {
        self.functions
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        CALLED.set(self.before);
    }
}

fn elsewhere() -> &'static Functions {
    ELSEWHERE.get_or_init(|| Functions::find(scope(None)))
}

/// Returns the functions that the calling code means; `None` for code of this library.
fn find(caller: Caller) -> Option<&'static Functions> {
    let mut object = OBJECTS.load(Ordering::Acquire);
    // SAFETY: objects are never freed, and not changed after they were added.
    while let Some(known) = unsafe { object.as_ref() } {
        if (known.begin..known.end).contains(&(caller as usize)) {
            return known.functions.as_ref();
        }
        object = known.next;
    }
    add(caller)
}

#[cold]
fn add(caller: Caller) -> Option<&'static Functions> {
    let Some(place) = place_of(caller as usize) else {
        return Some(elsewhere());
    };
    let is_own = (place.begin..place.end).contains(&(add as *const () as usize));
    let object = Box::leak(Box::new(Object {
        begin: place.begin,
        end: place.end,
        functions: (!is_own).then(|| Functions::find(scope(Some(place.name)))),
        next: OBJECTS.load(Ordering::Acquire),
    }));
    // If another thread adds one, too, both remain.
    while let Err(first) = OBJECTS.compare_exchange(object.next, &raw mut *object, Ordering::AcqRel, Ordering::Acquire)
    {
        object.next = first;
    }
    object.functions.as_ref()
}

/// The address range of an object's code, and its name for the dynamic linker.
struct Place {
    begin: usize,
    end: usize,
    name: CString,
}

/// How to look up a symbol for code of an object: in the global scope, then in the object with its dependencies.
fn scope(name: Option<CString>) -> Box<dyn Fn(&CStr) -> *mut c_void> {
    const ANY: &CStr = c"sqlite3_step";
    let global: fn(&CStr) -> *mut c_void = crate::next;
    if !global(ANY).is_null() {
        return Box::new(global);
    }
    // If the object doesn't name its dependencies, another one has loaded them for it.
    name.into_iter()
        .chain(other_objects())
        .filter(|name| !name.is_empty())
        .find_map(|name| {
            // SAFETY: the name ends with a zero byte. The object is loaded, so no code of it runs.
            let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD) } as usize;
            // SAFETY: the handle is never closed; the name ends with a zero byte.
            let find = move |name: &CStr| unsafe { libc::dlsym(handle as *mut c_void, name.as_ptr()) };
            let is_found = handle != 0 && !find(ANY).is_null();
            is_found.then(|| Box::new(find) as Box<dyn Fn(&CStr) -> *mut c_void>)
        })
        .unwrap_or_else(|| Box::new(global))
}

/// Calls a function with each loaded object: its name, and the ranges of its segments.
fn each_object(mut take: impl FnMut(&CStr, &[(usize, usize)])) {
    unsafe extern "C" fn visit<F: FnMut(&CStr, &[(usize, usize)])>(
        info: *mut dl_phdr_info,
        _size: size_t,
        take: *mut c_void,
    ) -> c_int {
        // SAFETY: the linker passes a valid structure, and the pointer given below, which is not used elsewhere.
        let (info, take) = unsafe { (&*info, &mut *take.cast::<F>()) };
        if info.dlpi_phdr.is_null() || info.dlpi_name.is_null() {
            return 0;
        }
        // SAFETY: the structure describes an array of this length, and a name that ends with a zero byte.
        let (headers, name) = unsafe {
            (
                std::slice::from_raw_parts(info.dlpi_phdr, usize::from(info.dlpi_phnum)),
                CStr::from_ptr(info.dlpi_name),
            )
        };
        let segments: Vec<_> = headers
            .iter()
            .filter(|each| each.p_type == libc::PT_LOAD)
            .map(|each| {
                let begin = (info.dlpi_addr + each.p_vaddr) as usize;
                (begin, begin + each.p_memsz as usize)
            })
            .collect();
        take(name, &segments);
        0
    }
    fn run<F: FnMut(&CStr, &[(usize, usize)])>(take: &mut F) {
        // SAFETY: `visit` casts the pointer back to the same type.
        unsafe { libc::dl_iterate_phdr(Some(visit::<F>), (&raw mut *take).cast()) };
    }
    run(&mut take);
}

fn place_of(address: usize) -> Option<Place> {
    let mut found = None;
    each_object(|name, segments| {
        for &(begin, end) in segments {
            if (begin..end).contains(&address) {
                found = Some(Place {
                    begin,
                    end,
                    name: name.to_owned(),
                });
            }
        }
    });
    found
}

/// The names of all objects except this library.
fn other_objects() -> Vec<CString> {
    let own = (&raw const OBJECTS) as usize;
    let mut found = Vec::new();
    each_object(|name, segments| {
        if !segments.iter().any(|(begin, end)| (*begin..*end).contains(&own)) {
            found.push(name.to_owned());
        }
    });
    found
}
