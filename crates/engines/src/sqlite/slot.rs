//! Where a SQLite library keeps the methods it was given for mutexes.
//!
//! A library reads the address of each method from its own configuration whenever it uses it, but takes a new one only
//! before it starts. The layer over the mutexes is to be there in some slices of a window and not in the others, in
//! which even one jump more for each mutex would show. So the place is looked for in the library's writable memory, by
//! the addresses that it was given. No other place holds all of these in a row.

use libsqlite3_sys as ffi;
use std::ffi::{c_int, c_void};
use std::sync::atomic::AtomicPtr;

/// The fields of a table that are compared, in the order of `sqlite3_mutex_methods`, from `xMutexAlloc` on.
const COMPARED: usize = 5;
/// Which of them is `xMutexEnter`.
const ENTER: usize = 2;

/// What is looked for, and what has been found.
struct Search {
    inside: usize,
    words: [usize; COMPARED],
    found: Vec<usize>,
}

/// The place of `xMutexEnter` in the configuration of the library in which the address `inside` lies, or `None` where there
/// is not exactly one that could be it. The library was given `methods`, and no other thread uses it.
///
/// The place is there for as long as the library is loaded.
pub fn of_enter(inside: usize, methods: &ffi::sqlite3_mutex_methods) -> Option<&'static AtomicPtr<c_void>> {
    let words = [
        methods.xMutexAlloc? as usize,
        methods.xMutexFree? as usize,
        methods.xMutexEnter? as usize,
        methods.xMutexTry? as usize,
        methods.xMutexLeave? as usize,
    ];
    let mut search = Search {
        inside,
        words,
        found: Vec::new(),
    };
    // SAFETY: the function below is called before this call returns, and with this pointer.
    unsafe { libc::dl_iterate_phdr(Some(look), (&raw mut search).cast()) };
    let [place] = search.found[..] else {
        return None;
    };
    // SAFETY: the place is a word of a writable segment, aligned, and stays mapped with its library, which is never
    // unloaded. From now on it is read by the library only, and written only as an atomic.
    Some(unsafe { AtomicPtr::from_ptr((place + ENTER * size_of::<usize>()) as *mut *mut c_void) })
}

unsafe extern "C" fn look(object: *mut libc::dl_phdr_info, _: usize, search: *mut c_void) -> c_int {
    // SAFETY: `of_enter` gave the pointer; the object is the loader's, and describes memory that is mapped.
    let (search, base, segments) = unsafe {
        let object = &*object;
        (
            &mut *search.cast::<Search>(),
            object.dlpi_addr as usize,
            std::slice::from_raw_parts(object.dlpi_phdr, usize::from(object.dlpi_phnum)),
        )
    };
    let loaded = || {
        segments
            .iter()
            .filter(|segment| segment.p_type == libc::PT_LOAD)
            .map(|segment| {
                let start = base + segment.p_vaddr as usize;
                (
                    start..start + segment.p_memsz as usize,
                    segment.p_flags & libc::PF_W != 0,
                )
            })
    };
    if !loaded().any(|(memory, _)| memory.contains(&search.inside)) {
        return 0;
    }
    let word = size_of::<usize>();
    for (memory, _) in loaded().filter(|(_, writable)| *writable) {
        let first = memory.start.next_multiple_of(word);
        let last = memory.end.saturating_sub(COMPARED * word);
        for place in (first..=last).step_by(word) {
            // SAFETY: the words lie in a segment that is mapped and can be read. Others may write there: what is read is
            // only compared.
            let at = |index: usize| unsafe { ((place + index * word) as *const usize).read_volatile() };
            if (0..COMPARED).all(|index| at(index) == search.words[index]) {
                search.found.push(place);
            }
        }
    }
    // The object has been found: no need to see the others.
    1
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::Ordering;

    unsafe extern "C" fn allocate(_: c_int) -> *mut ffi::sqlite3_mutex {
        std::ptr::null_mut()
    }
    unsafe extern "C" fn free(_: *mut ffi::sqlite3_mutex) {}
    unsafe extern "C" fn enter(_: *mut ffi::sqlite3_mutex) {}
    unsafe extern "C" fn another(mutex: *mut ffi::sqlite3_mutex) {
        assert!(mutex.is_null());
    }
    unsafe extern "C" fn attempt(_: *mut ffi::sqlite3_mutex) -> c_int {
        7
    }
    unsafe extern "C" fn leave(_: *mut ffi::sqlite3_mutex) {}

    /// Memory of this program that is written to at its start, as a library's configuration is.
    static KEPT: [AtomicPtr<c_void>; COMPARED + 1] = [const { AtomicPtr::new(std::ptr::null_mut()) }; COMPARED + 1];

    #[test]
    fn the_place_of_a_method_is_found_where_the_table_was_copied_to() {
        let methods = ffi::sqlite3_mutex_methods {
            xMutexInit: None,
            xMutexEnd: None,
            xMutexAlloc: Some(allocate),
            xMutexFree: Some(free),
            xMutexEnter: Some(enter),
            xMutexTry: Some(attempt),
            xMutexLeave: Some(leave),
            xMutexHeld: None,
            xMutexNotheld: None,
        };
        let inside = KEPT.as_ptr() as usize;
        assert!(of_enter(inside, &methods).is_none(), "it is nowhere");
        let words = [
            allocate as *mut c_void,
            free as *mut c_void,
            enter as *mut c_void,
            attempt as *mut c_void,
        ];
        for (kept, word) in KEPT[1..].iter().zip(words) {
            kept.store(word, Ordering::Relaxed);
        }
        assert!(of_enter(inside, &methods).is_none(), "one of the methods is missing");
        KEPT[5].store(leave as *mut c_void, Ordering::Relaxed);
        let place = of_enter(inside, &methods).expect("it is there");
        assert!(std::ptr::eq(place, &KEPT[3]));
        place.store(another as *mut c_void, Ordering::Relaxed);
        assert_eq!(KEPT[3].load(Ordering::Relaxed), another as *mut c_void);
        assert!(
            of_enter(free as *const () as usize, &methods).is_none(),
            "another method is there"
        );
        assert!(of_enter(0, &methods).is_none(), "no object is there");
    }
}
