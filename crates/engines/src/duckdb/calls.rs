//! Counts and times the library's file system calls: `fsync`, `pread`, `pwrite` and `write`.
//!
//! A shared library calls external functions through an address table that the loader fills. The entries of these
//! functions are replaced by wrappers that call the original ones. So calls of the rest of the process are not counted.

use dbdyno_engine::Failure;
use dbdyno_engine::probe::ThreadCounters;
use dbdyno_probes::Clock;
use dbdyno_protocol::plan::document::FailureKind;
use std::cell::Cell;
use std::ffi::{CStr, c_int, c_void};
use std::mem;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Syncs by all threads, including the library's own.
static SYNCS: AtomicU64 = AtomicU64::new(0);

const NONE: ThreadCounters = ThreadCounters {
    reads: 0,
    read_bytes: 0,
    read_ns: 0,
    read_wait_ns: 0,
    writes: 0,
    write_bytes: 0,
    write_ns: 0,
    syncs: 0,
    sync_ns: 0,
    lock_calls: 0,
    lock_call_ns: 0,
    lock_wait_ns: 0,
    file_lock_waits: 0,
    file_lock_ns: 0,
    mutex_waits: 0,
    mutex_ns: 0,
};

/// Counts of the library's own threads that no client has claimed yet.
static ELSEWHERE: Mutex<ThreadCounters> = Mutex::new(NONE);

thread_local! {
    /// Counts of a client's thread. `None` in other threads, and before the first call of [`counters`].
    static COUNTERS: Cell<Option<ThreadCounters>> = const { Cell::new(None) };
}

/// File system calls for the calling thread since its first call of this function, made by this thread or by the
/// library's own threads. For the latter, the client is unknown, so the next client that asks claims all of them. The
/// sum over clients is exact.
pub fn counters() -> ThreadCounters {
    let mut counters = COUNTERS.get().unwrap_or(NONE);
    counters.add(&mem::replace(&mut *elsewhere(), NONE));
    COUNTERS.set(Some(counters));
    counters
}

fn elsewhere() -> MutexGuard<'static, ThreadCounters> {
    ELSEWHERE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Syncs of the process so far.
pub fn syncs() -> u64 {
    SYNCS.load(Ordering::Relaxed)
}

fn timed<T>(call: impl FnOnce() -> T, count: impl FnOnce(&mut ThreadCounters, u64, &T)) -> T {
    let clock = Clock::get();
    let start = clock.now();
    let result = call();
    let spent = clock.now().saturating_sub(start);
    if let Some(mut counters) = COUNTERS.get() {
        count(&mut counters, spent, &result);
        COUNTERS.set(Some(counters));
    } else {
        count(&mut elsewhere(), spent, &result);
    }
    result
}

unsafe extern "C" fn fsync(file: c_int) -> c_int {
    // SAFETY: the caller passes valid arguments.
    timed(
        || unsafe { libc::fsync(file) },
        |counters, spent, _| {
            SYNCS.fetch_add(1, Ordering::Relaxed);
            counters.syncs += 1;
            counters.sync_ns += spent;
        },
    )
}

fn wrote(counters: &mut ThreadCounters, spent: u64, bytes: &isize) {
    counters.writes += 1;
    counters.write_ns += spent;
    counters.write_bytes += u64::try_from(*bytes).unwrap_or(0);
}

unsafe extern "C" fn write(file: c_int, from: *const c_void, size: usize) -> isize {
    // SAFETY: the caller passes valid arguments.
    timed(|| unsafe { libc::write(file, from, size) }, wrote)
}

unsafe extern "C" fn pwrite(file: c_int, from: *const c_void, size: usize, at: libc::off_t) -> isize {
    // SAFETY: the caller passes valid arguments.
    timed(|| unsafe { libc::pwrite(file, from, size, at) }, wrote)
}

unsafe extern "C" fn pread(file: c_int, to: *mut c_void, size: usize, at: libc::off_t) -> isize {
    // SAFETY: the caller passes valid arguments.
    timed(
        || unsafe { libc::pread(file, to, size, at) },
        |counters, spent, bytes| {
            counters.reads += 1;
            counters.read_ns += spent;
            counters.read_bytes += u64::try_from(*bytes).unwrap_or(0);
        },
    )
}

fn exchanged(name: &CStr) -> Option<*const c_void> {
    match name.to_bytes() {
        b"fsync" => Some(fsync as *const c_void),
        b"write" => Some(write as *const c_void),
        b"pwrite" | b"pwrite64" => Some(pwrite as *const c_void),
        b"pread" | b"pread64" => Some(pread as *const c_void),
        _ => None,
    }
}

/// Makes the library that contains the function at `inside` count its calls. Fails if its address table isn't found.
pub fn watch(inside: *const c_void) -> Result<(), Failure> {
    let mut seen = Seen {
        inside: inside as usize,
        exchanged: 0,
        refused: false,
    };
    // SAFETY: the callback receives this struct, which outlives the call.
    unsafe { libc::dl_iterate_phdr(Some(look), (&raw mut seen).cast()) };
    if seen.exchanged == 0 || seen.refused {
        let why = "its function table is not at the expected place";
        return Err(Failure::new(
            FailureKind::Other,
            format!(
                "cannot count the file system calls of DuckDB's library: {why}; `record.io = false` turns this off"
            ),
        ));
    }
    Ok(())
}

struct Seen {
    inside: usize,
    exchanged: usize,
    refused: bool,
}

unsafe extern "C" fn look(info: *mut libc::dl_phdr_info, _size: usize, seen: *mut c_void) -> c_int {
    // SAFETY: the loader passes a valid description of a loaded object, and `watch` a valid struct.
    unsafe {
        let (info, seen) = (&*info, &mut *seen.cast::<Seen>());
        let base = info.dlpi_addr as usize;
        let headers = std::slice::from_raw_parts(info.dlpi_phdr, usize::from(info.dlpi_phnum));
        let holds = |header: &libc::Elf64_Phdr| {
            let start = base + header.p_vaddr as usize;
            header.p_type == libc::PT_LOAD && (start..start + header.p_memsz as usize).contains(&seen.inside)
        };
        if !headers.iter().any(holds) {
            return 0;
        }
        if let Some(dynamic) = headers.iter().find(|header| header.p_type == libc::PT_DYNAMIC) {
            exchange(base, (base + dynamic.p_vaddr as usize) as *const Dynamic, seen);
        }
        1
    }
}

/// `Elf64_Dyn`.
#[repr(C)]
struct Dynamic {
    tag: i64,
    value: u64,
}

/// `Elf64_Rela`.
#[repr(C)]
struct Relocation {
    offset: u64,
    info: u64,
    addend: i64,
}

// Tags of the dynamic section in the System V ABI.
const DT_PLTRELSZ: i64 = 2;
const DT_STRTAB: i64 = 5;
const DT_SYMTAB: i64 = 6;
const DT_RELA: i64 = 7;
const DT_RELASZ: i64 = 8;
const DT_JMPREL: i64 = 23;

/// # Safety
/// `dynamic` is the dynamic section of the object that was loaded at `base`.
unsafe fn exchange(base: usize, mut dynamic: *const Dynamic, seen: &mut Seen) {
    let (mut strings, mut symbols) = (0, 0);
    let (mut jumps, mut jump_bytes, mut others, mut other_bytes) = (0, 0, 0, 0);
    // SAFETY: the section ends with an entry of tag 0.
    unsafe {
        while (*dynamic).tag != 0 {
            let value = (*dynamic).value as usize;
            match (*dynamic).tag {
                DT_STRTAB => strings = value,
                DT_SYMTAB => symbols = value,
                DT_JMPREL => jumps = value,
                DT_PLTRELSZ => jump_bytes = value,
                DT_RELA => others = value,
                DT_RELASZ => other_bytes = value,
                _ => {}
            }
            dynamic = dynamic.add(1);
        }
    }
    if strings == 0 || symbols == 0 {
        return;
    }
    for (table, bytes) in [(jumps, jump_bytes), (others, other_bytes)] {
        for index in 0..bytes / size_of::<Relocation>() {
            // SAFETY: the table has that number of entries; each refers to a symbol and the location of its address.
            unsafe {
                let relocation = &*(table as *const Relocation).add(index);
                let symbol = &*(symbols as *const libc::Elf64_Sym).add((relocation.info >> 32) as usize);
                if symbol.st_name == 0 {
                    continue;
                }
                let name = CStr::from_ptr((strings + symbol.st_name as usize) as *const _);
                if let Some(ours) = exchanged(name) {
                    let place = (base + relocation.offset as usize) as *mut *const c_void;
                    if writable(place) {
                        place.write(ours);
                        seen.exchanged += 1;
                    } else {
                        seen.refused = true;
                    }
                }
            }
        }
    }
}

/// Makes the page of an entry writable; the loader may have made it read-only.
fn writable(place: *mut *const c_void) -> bool {
    let page = rustix::param::page_size();
    let start = place as usize / page * page;
    // SAFETY: the page is the library's table, and leaving it writable is harmless.
    unsafe { libc::mprotect(start as *mut c_void, page, libc::PROT_READ | libc::PROT_WRITE) == 0 }
}
