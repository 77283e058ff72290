//! SQLite's deferred work: unsynced writes, and the part of the write-ahead log that isn't checkpointed.

use super::vfs;
use dbdyno_engine::observed::Backlog;
use std::fs::File;
use std::os::unix::fs::FileExt as _;

/// Offsets in the `-shm` file, in native byte order: page size, number of frames in the log, and number of frames
/// already copied to the database (<https://sqlite.org/walformat.html>).
const PAGE_SIZE: u64 = 14;
const FRAMES: u64 = 16;
const BACKFILLED: u64 = 96;

/// Reads the deferred work of a database at `path`. `written`: whether this process's writes were counted.
pub fn backlog(path: &str, written: bool) -> Backlog {
    let mut found = Backlog::new();
    if written {
        found.insert("unsynced_bytes", vfs::unsynced() as f64);
    }
    found.extend(log_bytes(path).map(|bytes| ("log_bytes_since_checkpoint", bytes)));
    found
}

fn log_bytes(path: &str) -> Option<f64> {
    let index = File::open(format!("{path}-shm")).ok()?;
    let word = |at: u64| {
        let mut bytes = [0; 4];
        index.read_exact_at(&mut bytes, at).ok()?;
        Some(u32::from_ne_bytes(bytes))
    };
    let mut size = [0; 2];
    index.read_exact_at(&mut size, PAGE_SIZE).ok()?;
    let size = match u16::from_ne_bytes(size) {
        // 65536 doesn't fit into 16 bits.
        1 => 65_536,
        size => u32::from(size),
    };
    let frames = word(FRAMES)?.saturating_sub(word(BACKFILLED)?);
    Some(f64::from(frames) * f64::from(size))
}
