//! Samples which other programs hold locks on a file.

pub use dbdyno_protocol::event::{LockHolder, LockHolders};
use rand::RngExt as _;
use rand::rand_core::SeedableRng as _;
use rand_xoshiro::Xoshiro256PlusPlus;
use std::collections::BTreeMap;
use std::fs::File;
use std::os::fd::IntoRawFd as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Interval between two samples in milliseconds, chosen at random for each sample so that sampling doesn't alias with
/// the lock holder's pattern.
const INTERVAL_MS: std::ops::RangeInclusive<u64> = 5..=15;

/// Maximum characters of a command line.
const LONGEST: usize = 120;

/// Byte range that an engine locks.
#[derive(Debug, Clone, Copy)]
pub struct LockRange {
    /// Suffix of the file, appended to the data file's name.
    pub suffix: &'static str,
    /// The first byte.
    pub start: i64,
    /// Number of bytes.
    pub length: i64,
    /// Suffix of a file. While it exists, shared locks of the range don't block other clients.
    pub shared_harmless_with: Option<&'static str>,
}

/// Samples the lock holders of the files at `data` while `running` returns true. Locks of this process and of its
/// siblings (processes with the same parent) don't count.
pub fn sample(data: &Path, ranges: &[LockRange], running: impl Fn() -> bool) -> LockHolders {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(u64::from(std::process::id()));
    let mut files: Vec<Option<i32>> = vec![None; ranges.len()];
    let mut found: BTreeMap<(i32, String), u64> = BTreeMap::new();
    let mut samples = 0;
    while running() {
        samples += 1;
        for (range, file) in ranges.iter().zip(&mut files) {
            if file.is_none() {
                // Never closed: closing any descriptor of a file drops all of this process's locks on it.
                *file = File::open(beside(data, range.suffix)).ok().map(File::into_raw_fd);
            }
            let exclusive_only = range
                .shared_harmless_with
                .is_some_and(|suffix| beside(data, suffix).exists());
            let holder = file
                .and_then(|file| holder(file, range, exclusive_only))
                .filter(|pid| !is_sibling(*pid));
            if let Some(pid) = holder {
                *found.entry((pid, command(pid))).or_default() += 1;
                break;
            }
        }
        std::thread::sleep(Duration::from_millis(random.random_range(INTERVAL_MS)));
    }
    let mut holders: Vec<_> = found
        .into_iter()
        .map(|((pid, command), samples)| LockHolder {
            pid: u32::try_from(pid).unwrap_or(0),
            command,
            samples,
        })
        .collect();
    holders.sort_by_key(|holder| std::cmp::Reverse(holder.samples));
    LockHolders { samples, holders }
}

/// The data's file name with a suffix.
fn beside(data: &Path, suffix: &str) -> PathBuf {
    let mut name = data.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

/// The process that holds a lock on a range; 0 if it cannot be identified. A process doesn't see its own locks.
fn holder(file: i32, range: &LockRange, exclusive_only: bool) -> Option<i32> {
    // SAFETY: all zeroes is a valid value, which the call reads and fills.
    let mut lock: libc::flock = unsafe { std::mem::zeroed() };
    // A shared lock only conflicts with exclusive ones.
    let wanted = if exclusive_only { libc::F_RDLCK } else { libc::F_WRLCK };
    lock.l_type = wanted as libc::c_short;
    lock.l_whence = libc::SEEK_SET as libc::c_short;
    lock.l_start = range.start;
    lock.l_len = range.length;
    // SAFETY: the descriptor is never closed.
    let code = unsafe { libc::fcntl(file, libc::F_GETLK, &raw mut lock) };
    (code == 0 && lock.l_type != libc::F_UNLCK as libc::c_short).then_some(lock.l_pid.max(0))
}

fn is_sibling(pid: i32) -> bool {
    let parent = procfs::process::Process::new(pid)
        .and_then(|process| process.stat())
        .map(|stat| stat.ppid);
    parent.is_ok_and(|parent| Some(parent) == rustix::process::getppid().map(|own| own.as_raw_nonzero().get()))
}

fn command(pid: i32) -> String {
    let words = procfs::process::Process::new(pid)
        .and_then(|process| process.cmdline())
        .unwrap_or_default();
    words
        .join(" ")
        .chars()
        .filter(|each| !each.is_control())
        .take(LONGEST)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read as _, Write as _};
    use std::process::{Command, Stdio};

    const RANGE: LockRange = LockRange {
        suffix: "-lock",
        start: 100,
        length: 10,
        shared_harmless_with: Some("-log"),
    };

    #[test]
    fn a_program_that_holds_a_lock_is_named() {
        check("LOCK_EX", false, true);
        check("LOCK_EX", true, true);
    }

    #[test]
    fn a_shared_lock_counts_unless_it_is_harmless() {
        check("LOCK_SH", false, true);
        check("LOCK_SH", true, false);
    }

    /// `logged`: whether the file exists that makes shared locks harmless.
    fn check(lock: &str, logged: bool, counts: bool) {
        let directory = tempfile::tempdir().expect("a directory");
        let data = directory.path().join("data");
        std::fs::write(directory.path().join("data-lock"), "").expect("a file");
        if logged {
            std::fs::write(directory.path().join("data-log"), "").expect("a file");
        }
        let program = "import fcntl, sys; file = open(sys.argv[1], 'r+b'); \
                       fcntl.lockf(file, getattr(fcntl, sys.argv[2]), 1, 105); print(flush=True); sys.stdin.read()";
        // Below a separate shell, so that it isn't a sibling of this process.
        let mut other = Command::new("sh")
            .args(["-c", "python3 -c \"$0\" \"$1\" \"$2\"; true", program])
            .arg(directory.path().join("data-lock"))
            .arg(lock)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("a shell");
        other
            .stdout
            .as_mut()
            .expect("a pipe")
            .read_exact(&mut [0])
            .expect("it holds the lock");
        let left = std::cell::Cell::new(4);
        let found = sample(&data, &[RANGE], || left.replace(left.get() - 1) > 0);
        assert_eq!(found.samples, 4);
        assert_eq!(found.holders.len(), usize::from(counts), "{found:?}");
        for holder in &found.holders {
            assert_eq!(holder.samples, 4);
            assert!(holder.pid > 0 && holder.command.contains("python3"), "{holder:?}");
        }
        other.stdin.take().expect("a pipe").flush().expect("it ends");
        other.wait().expect("it ends");
        let left = std::cell::Cell::new(1);
        assert_eq!(sample(&data, &[RANGE], || left.replace(left.get() - 1) > 0).holders, []);
    }
}
