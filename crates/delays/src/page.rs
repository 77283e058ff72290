//! The memory that a worker shares with the library that a server preloads: what is to be delayed, and what was counted.
//!
//! It is a file that both map. It begins with [`MAGIC`], which is its version too, and all else in it is zero at first. The
//! library changes nothing unless a worker asks it to.

use crate::lateness::Lateness;
use std::fs::File;
use std::io;
use std::ops::Deref;
use std::os::fd::AsRawFd as _;
use std::path::Path;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// How the file begins. Who changes what follows it changes its number.
pub const MAGIC: [u8; 8] = *b"dbdyno 1";

/// Bytes of the file.
pub const SIZE: usize = 4096;

/// What is in the file.
#[repr(C)]
#[derive(Debug)]
pub struct Page {
    magic: [u8; 8],
    /// Processes that have mapped it as they began; those that they split off have it from them.
    pub attached: AtomicU64,
    /// How late sleepers woke up.
    pub lateness: Lateness,
    /// Flushes of the device.
    pub sync: Call,
    /// Reads from files.
    pub read: Call,
    /// Writes to files.
    pub write: Call,
}

/// A kind of call. What it counts is on a cache line of its own.
#[repr(C, align(64))]
#[derive(Debug)]
pub struct Call {
    /// Whether calls are counted, timed and delayed.
    pub on: AtomicU32,
    /// Whether they are told to have succeeded, and not made.
    pub skip: AtomicU32,
    /// By how many nanoseconds each takes longer.
    pub delay_ns: AtomicU64,
    /// Whether there was any call of the kind since the server began.
    pub seen: AtomicU64,
    calls: AtomicU64,
    own_ns: AtomicU64,
    added_ns: AtomicU64,
}

/// What was counted of a kind of call.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// How many.
    pub calls: u64,
    /// Nanoseconds in the calls themselves.
    pub own_ns: u64,
    /// Nanoseconds by which they were delayed.
    pub added_ns: u64,
}

impl Counts {
    /// Adds others.
    pub fn add(&mut self, other: &Self) {
        self.calls += other.calls;
        self.own_ns += other.own_ns;
        self.added_ns += other.added_ns;
    }

    /// What has come since an earlier reading.
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            calls: self.calls.saturating_sub(earlier.calls),
            own_ns: self.own_ns.saturating_sub(earlier.own_ns),
            added_ns: self.added_ns.saturating_sub(earlier.added_ns),
        }
    }
}

impl Call {
    /// From now on calls are counted and timed, and delayed by so many nanoseconds, or skipped.
    pub fn begin(&self, delay_ns: u64, skip: bool) {
        self.delay_ns.store(delay_ns, Ordering::Relaxed);
        self.skip.store(u32::from(skip), Ordering::Relaxed);
        self.on.store(1, Ordering::Release);
    }

    /// From now on nothing is done with them.
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

    /// What was counted until now; `None` where there was never a call of the kind: then the server may make them another way.
    pub fn counts(&self) -> Option<Counts> {
        (self.seen.load(Ordering::Relaxed) != 0).then(|| Counts {
            calls: self.calls.load(Ordering::Relaxed),
            own_ns: self.own_ns.load(Ordering::Relaxed),
            added_ns: self.added_ns.load(Ordering::Relaxed),
        })
    }
}

impl Page {
    /// Whether the file is one of this version.
    pub fn is_known(&self) -> bool {
        self.magic == MAGIC
    }
}

/// A page that is mapped from a file, for as long as this is there.
#[derive(Debug)]
pub struct Shared(NonNull<Page>);

// SAFETY: all that changes in a page is atomic, and the mapping belongs to no thread.
unsafe impl Send for Shared {}
// SAFETY: as above.
unsafe impl Sync for Shared {}

impl Shared {
    /// Maps a file. Fails where it is none of this version.
    pub fn open(path: &Path) -> io::Result<Self> {
        let file = File::options().read(true).write(true).open(path)?;
        if file.metadata()?.len() < SIZE as u64 {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "it is shorter than a page"));
        }
        // SAFETY: a new mapping, of a file that is as long.
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
                "it is no such file, or of another version",
            ))
        }
    }
}

impl Deref for Shared {
    type Target = Page;

    fn deref(&self) -> &Page {
        // SAFETY: the mapping is as large, begins at a page's boundary, and is there as long as `self` is. Any bytes are a value
        // of the type, and what others write to it is atomic.
        unsafe { self.0.as_ref() }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // SAFETY: the mapping is this one's, and nothing of it is borrowed any more.
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
    fn the_page_holds_what_it_has_to() {
        assert!(size_of::<Page>() <= SIZE);
        assert_eq!(align_of::<Page>(), 64);
    }

    #[test]
    fn two_mappings_of_a_file_are_one() {
        let file = file(&page());
        let (ours, theirs) = (Shared::open(file.path()).unwrap(), Shared::open(file.path()).unwrap());
        assert_eq!(theirs.sync.counts(), None, "no call was ever seen");
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
    fn what_is_no_such_file_is_refused() {
        let mut other = page();
        other[7] = b'9';
        for content in [&other[..], &page()[..100], &[0; SIZE][..]] {
            let error = Shared::open(file(content).path()).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidData);
        }
    }
}
