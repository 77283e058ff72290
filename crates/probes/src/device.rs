//! Measures the storage device: sync latency, and speed of random reads and writes by queue depth.

use crate::{Clock, ProbeError};
pub use dbdyno_protocol::event::{DeviceFacts, RandomAccess};
use rand::Rng as _;
use rand::rand_core::SeedableRng as _;
use rand_xoshiro::Xoshiro256PlusPlus;
use rustix::fs::{Advice, Mode, OFlags};
use std::fs::File;
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

const PAGE: usize = 4096;

/// Pages written before a large sync, if the file is large enough.
const LARGE: u64 = 256;

/// Minimum number of small syncs (percentiles are reported) and of large ones (the mean is reported).
const LEAST: usize = 20;
const LEAST_LARGE: usize = 5;

/// A file that is removed on drop.
struct Scratch(PathBuf);

impl Drop for Scratch {
    fn drop(&mut self) {
        // Keep the results even if the file cannot be removed; it is in the run's own directory.
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Measures the device that contains `directory`, with a file of `bytes`. `seconds`: duration for the syncs and for
/// each depth.
pub fn measure(directory: &Path, seconds: f64, bytes: u64, depths: &[u32]) -> Result<DeviceFacts, ProbeError> {
    let scratch = Scratch(directory.join(format!(".dbdyno-device-{}", std::process::id())));
    let pages = (bytes / PAGE as u64).max(16);
    fill(&scratch.0, pages)?;
    let mut sync = syncs(&scratch.0, pages, 1, seconds, LEAST)?;
    sync.sort_unstable();
    let quantile = |q: f64| sync[((sync.len() - 1) as f64 * q) as usize] as f64 / 1000.0;
    let mean_us = |times: &[u64]| times.iter().sum::<u64>() as f64 / times.len() as f64 / 1000.0;
    let sync_us = mean_us(&sync);
    let large = LARGE.min(pages);
    let large_sync_us = mean_us(&syncs(&scratch.0, pages, large, seconds, LEAST_LARGE)?);
    let mut direct = true;
    let mut at_each_depth = |access: Access| -> Result<Vec<RandomAccess>, ProbeError> {
        let at = |depth: &u32| {
            let (found, past_cache) = random(&scratch.0, access, pages, seconds, (*depth).max(1))?;
            direct &= past_cache;
            Ok(found)
        };
        depths.iter().map(at).collect()
    };
    let random_read = at_each_depth(Access::Read)?;
    let random_write = at_each_depth(Access::Write)?;
    Ok(DeviceFacts {
        sync_us,
        sync_per_s: 1e6 / sync_us,
        sync_p50_us: quantile(0.5),
        sync_min_us: quantile(0.0),
        sync_p99_us: quantile(0.99),
        large_sync_us,
        large_sync_bytes: large * PAGE as u64,
        random_read,
        random_write,
        direct,
    })
}

fn fill(path: &Path, pages: u64) -> Result<(), ProbeError> {
    let wrong =
        |error: std::io::Error| ProbeError::new(format!("cannot write the scratch file {}", path.display()), error);
    let file = File::create(path).map_err(wrong)?;
    let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
    let mut chunk = vec![0u8; 256 * PAGE];
    for word in chunk.chunks_exact_mut(8) {
        word.copy_from_slice(&random.next_u64().to_le_bytes());
    }
    let mut written = 0;
    while written < pages {
        let count = (pages - written).min(256) as usize;
        file.write_all_at(&chunk[..count * PAGE], written * PAGE as u64)
            .map_err(wrong)?;
        written += count as u64;
    }
    file.sync_all().map_err(wrong)
}

/// Nanoseconds of each overwrite of `each` pages with sync; at least `least` of them.
fn syncs(path: &Path, pages: u64, each: u64, seconds: f64, least: usize) -> Result<Vec<u64>, ProbeError> {
    let wrong = |error: std::io::Error| ProbeError::new(format!("cannot sync {}", path.display()), error);
    let file = File::options().write(true).open(path).map_err(wrong)?;
    let clock = Clock::get();
    let end = clock.now() + (seconds * 1e9) as u64;
    let mut times = Vec::new();
    let mut content = vec![0; each as usize * PAGE];
    let mut start = clock.now();
    while times.len() < least || start < end {
        content.fill(times.len() as u8);
        let place = times.len() as u64 % (pages / each) * each;
        file.write_all_at(&content, place * PAGE as u64).map_err(wrong)?;
        sync_in_kernel(&file).map_err(wrong)?;
        let now = clock.now();
        times.push(now - start);
        start = now;
    }
    Ok(times)
}

/// Calls the kernel's `fdatasync` directly. The C library's function may be replaced by one that does nothing
/// (eatmydata), but this measures the device.
fn sync_in_kernel(file: &File) -> std::io::Result<()> {
    // SAFETY: the call takes an open descriptor.
    match unsafe { libc::syscall(libc::SYS_fdatasync, file.as_raw_fd()) } {
        0 => Ok(()),
        _ => Err(std::io::Error::last_os_error()),
    }
}

/// Type of random access.
#[derive(Debug, Clone, Copy)]
enum Access {
    Read,
    Write,
}

fn random(
    path: &Path,
    access: Access,
    pages: u64,
    seconds: f64,
    depth: u32,
) -> Result<(RandomAccess, bool), ProbeError> {
    let (doing, flags) = match access {
        Access::Read => ("reading", OFlags::RDONLY),
        Access::Write => ("writing", OFlags::WRONLY),
    };
    let wrong = |error: std::io::Error| ProbeError::new(format!("{doing} {}", path.display()), error);
    let clock = Clock::get();
    let (file, direct) = match rustix::fs::open(path, flags | OFlags::DIRECT, Mode::empty()) {
        Ok(file) => (File::from(file), true),
        // tmpfs and some network file systems don't support direct access: drop the pages and use the cache.
        Err(_) => {
            let file = rustix::fs::open(path, flags, Mode::empty()).map_err(|error| wrong(error.into()))?;
            (File::from(file), false)
        }
    };
    if !direct {
        rustix::fs::fadvise(&file, 0, None, Advice::DontNeed).map_err(|error| wrong(error.into()))?;
    }
    let limit = Duration::from_secs_f64(seconds).as_nanos() as u64;
    let start = clock.now();
    let work = |number: u32| -> Result<u64, std::io::Error> {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(u64::from(number) + 2);
        // Direct access requires page-aligned memory.
        let mut memory = vec![0u8; 2 * PAGE];
        let offset = memory.as_ptr().align_offset(PAGE);
        let buffer = &mut memory[offset..offset + PAGE];
        // Some storage compresses zeros.
        for word in buffer.chunks_exact_mut(8) {
            word.copy_from_slice(&random.next_u64().to_le_bytes());
        }
        let mut count = 0;
        while count < 10 || clock.now() - start < limit {
            let place = random.next_u64() % pages * PAGE as u64;
            match access {
                Access::Read => file.read_exact_at(buffer, place)?,
                Access::Write => file.write_all_at(buffer, place)?,
            }
            count += 1;
        }
        Ok(count)
    };
    let counts: Vec<Result<u64, std::io::Error>> = std::thread::scope(|scope| {
        let work = &work;
        let threads: Vec<_> = (0..depth).map(|number| scope.spawn(move || work(number))).collect();
        threads
            .into_iter()
            .map(|thread| {
                thread
                    .join()
                    .unwrap_or_else(|_| Err(std::io::Error::other("a thread panicked")))
            })
            .collect()
    });
    let elapsed = (clock.now() - start) as f64 / 1e9;
    let total: u64 = counts.into_iter().sum::<Result<u64, _>>().map_err(wrong)?;
    let found = RandomAccess {
        depth,
        per_s: total as f64 / elapsed,
        mean_us: elapsed * f64::from(depth) / total as f64 * 1e6,
    };
    Ok((found, direct))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_is_measured_and_the_file_removed() {
        let directory = tempfile::tempdir().expect("a directory");
        let facts = measure(directory.path(), 0.01, 1 << 20, &[1, 4]).expect("a measurement");
        assert!(
            facts.sync_us > 0.0 && facts.sync_p50_us <= facts.sync_p99_us && facts.large_sync_us > 0.0,
            "{facts:?}"
        );
        assert_eq!(
            facts.random_read.iter().map(|read| read.depth).collect::<Vec<_>>(),
            [1, 4]
        );
        assert!(
            facts
                .random_read
                .iter()
                .all(|read| read.per_s > 0.0 && read.mean_us > 0.0),
            "{facts:?}"
        );
        assert_eq!(std::fs::read_dir(directory.path()).expect("readable").count(), 0);
    }

    #[test]
    fn a_missing_directory_is_named() {
        let error = measure(Path::new("/nonexistent"), 0.01, 1, &[1]).expect_err("refused");
        assert!(error.to_string().contains("/nonexistent"), "{error}");
    }
}
