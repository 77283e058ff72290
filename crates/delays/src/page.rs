//! The memory that a worker shares with the library preloaded into a server: the delays to add, and the counts.
//!
//! Both map the same file. It begins with [`MAGIC`], which includes its version; all other bytes are initially zero.
//! The library changes nothing until a worker asks for it.

use crate::lateness::Lateness;
use std::fs::File;
use std::io;
use std::ops::Deref;
use std::os::fd::AsRawFd as _;
use std::path::Path;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// First bytes of the file. Change the number if the layout changes.
pub const MAGIC: [u8; 8] = *b"dbdyno 1";

/// File size in bytes.
pub const SIZE: usize = 4096;

/// Layout of the file.
#[repr(C)]
#[derive(Debug)]
pub struct Page {
    magic: [u8; 8],
    /// Processes that mapped the file at startup. Forked children inherit the mapping and aren't counted.
    pub attached: AtomicU64,
    /// Wake-up lateness.
    pub lateness: Lateness,
    /// Device flushes.
    pub sync: Call,
    /// Reads from files.
    pub read: Call,
    /// Writes to files.
    pub write: Call,
}

/// A kind of call. Each has a cache line of its own.
#[repr(C, align(64))]
#[derive(Debug)]
pub struct Call {
    /// Whether calls are counted, timed and delayed.
    pub on: AtomicU32,
    /// Whether calls return success without being made.
    pub skip: AtomicU32,
    /// Nanoseconds to add to each call.
    pub delay_ns: AtomicU64,
    /// Whether the server has made any such call since it started.
    pub seen: AtomicU64,
    calls: AtomicU64,
    own_ns: AtomicU64,
    added_ns: AtomicU64,
}

/// Counts of one kind of call.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Number of calls.
    pub calls: u64,
    /// Nanoseconds in the calls themselves.
    pub own_ns: u64,
    /// Nanoseconds by which they were delayed.
    pub added_ns: u64,
}

impl Counts {
    /// Adds the counts of `other`.
    pub fn add(&mut self, other: &Self) {
        self.calls += other.calls;
        self.own_ns += other.own_ns;
        self.added_ns += other.added_ns;
    }

    /// The increase since an earlier reading.
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            calls: self.calls.saturating_sub(earlier.calls),
            own_ns: self.own_ns.saturating_sub(earlier.own_ns),
            added_ns: self.added_ns.saturating_sub(earlier.added_ns),
        }
    }
}

impl Call {
    /// Starts counting and timing calls, and delaying them by `delay_ns` or skipping them.
    pub fn begin(&self, delay_ns: u64, skip: bool) {
        self.delay_ns.store(delay_ns, Ordering::Relaxed);
        self.skip.store(u32::from(skip), Ordering::Relaxed);
        self.on.store(1, Ordering::Release);
    }

    /// Stops counting and changing calls.
    pub fn end(&self) {
        self.on.store(0, Ordering::Release);
        self.delay_ns.store(0, Ordering::Relaxed);
        self.skip.store(0, Ordering::Relaxed);
    }

    /// Counts a call.
    pub fn count(&self, own_ns: u64, added_ns: u64) {
        self.calls.fetch_add(1, Ordering::Relaxed);
        self.own_ns.fetch_add(own_ns, Ordering::Relaxed);
        if added_ns > 0 {
            self.added_ns.fetch_add(added_ns, Ordering::Relaxed);
        }
    }

    /// The current counts. `None` if no such call was ever seen; the server may use a system call that isn't
    /// intercepted.
    pub fn counts(&self) -> Option<Counts> {
        (self.seen.load(Ordering::Relaxed) != 0).then(|| Counts {
            calls: self.calls.load(Ordering::Relaxed),
            own_ns: self.own_ns.load(Ordering::Relaxed),
            added_ns: self.added_ns.load(Ordering::Relaxed),
        })
    }
}

impl Page {
    /// Whether the file has this version.
    pub fn is_known(&self) -> bool {
        self.magic == MAGIC
    }
}

/// A page mapped from a file, until dropped.
#[derive(Debug)]
pub struct Shared(NonNull<Page>);

// SAFETY: all mutable fields of a page are atomic, and the mapping isn't tied to a thread.
unsafe impl Send for Shared {}
// SAFETY: as above.
unsafe impl Sync for Shared {}

impl Shared {
    /// Maps a file. Fails if it isn't of this version.
    pub fn open(path: &Path) -> io::Result<Self> {
        let file = File::options().read(true).write(true).open(path)?;
        if file.metadata()?.len() < SIZE as u64 {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "shorter than a page"));
        }
        // SAFETY: a new mapping of a file that is long enough.
        let address = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                SIZE,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED,
                file.as_raw_fd(),
                0,
            )
        };
        if address == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let page = NonNull::new(address.cast::<Page>()).ok_or(io::ErrorKind::OutOfMemory)?;
        let shared = Self(page);
        if shared.is_known() {
            Ok(shared)
        } else {
            Err(io::Error::new(
                io::ErrorKind::InvalidData,
                "not a dbdyno preload file, or another version",
            ))
        }
    }
}

impl Deref for Shared {
    type Target = Page;

    fn deref(&self) -> &Page {
        // SAFETY: the mapping is large enough, page-aligned, and lives as long as `self`. Any bytes are a valid value
        // of the type, and other processes write to it atomically.
        unsafe { self.0.as_ref() }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // SAFETY: the mapping belongs to this value, and no borrow of it remains.
        unsafe { libc::munmap(self.0.as_ptr().cast(), SIZE) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(content: &[u8]) -> tempfile::NamedTempFile {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), content).unwrap();
        file
    }

    fn page() -> Vec<u8> {
        let mut content = vec![0; SIZE];
        content[..MAGIC.len()].copy_from_slice(&MAGIC);
        content
    }

    #[test]
    fn the_layout_fits_the_page() {
        assert!(size_of::<Page>() <= SIZE);
        assert_eq!(align_of::<Page>(), 64);
    }

    #[test]
    fn mappings_of_a_file_share_memory() {
        let file = file(&page());
        let (ours, theirs) = (Shared::open(file.path()).unwrap(), Shared::open(file.path()).unwrap());
        assert_eq!(theirs.sync.counts(), None, "no call has been seen");
        theirs.sync.seen.store(1, Ordering::Relaxed);
        ours.sync.begin(1500, true);
        assert_eq!(theirs.sync.delay_ns.load(Ordering::Relaxed), 1500);
        let before = ours.sync.counts().unwrap();
        theirs.sync.count(20, 1600);
        theirs.sync.count(30, 0);
        let counted = ours.sync.counts().unwrap().since(&before);
        assert_eq!((counted.calls, counted.own_ns, counted.added_ns), (2, 50, 1600));
        ours.sync.end();
        let left = [&theirs.sync.on, &theirs.sync.skip].map(|each| each.load(Ordering::Relaxed));
        assert_eq!((left, theirs.sync.delay_ns.load(Ordering::Relaxed)), ([0, 0], 0));
    }

    #[test]
    fn files_of_another_format_are_refused() {
        let mut other = page();
        other[7] = b'9';
        for content in [&other[..], &page()[..100], &[0; SIZE][..]] {
            let error = Shared::open(file(content).path()).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidData);
        }
    }
}
