//! Capabilities of a storage device.

use schemars::JsonSchema;
use serde::Serialize;

/// The measured capabilities of a storage device.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct DeviceFacts {
    /// Mean microseconds of overwriting one 4 KiB page and `fdatasync`.
    pub sync_us: f64,
    /// The same as syncs per second.
    pub sync_per_s: f64,
    /// Median microseconds of it.
    pub sync_p50_us: f64,
    /// The shortest of these times.
    pub sync_min_us: f64,
    /// The 99th percentile of it.
    pub sync_p99_us: f64,
    /// Mean microseconds of overwriting `large_sync_bytes` and `fdatasync`: a sync takes the longer, the more it writes.
    pub large_sync_us: f64,
    /// The size of a large sync in bytes.
    pub large_sync_bytes: u64,
    /// Random reads of 4 KiB, by number of readers.
    pub random_read: Vec<RandomAccess>,
    /// Random writes of 4 KiB, by number of writers, without syncs.
    pub random_write: Vec<RandomAccess>,
    /// Whether reads and writes went past the operating system's cache (`O_DIRECT`), as they should.
    pub direct: bool,
}

/// Random reads, or writes, of 4 KiB.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct RandomAccess {
    /// The number of concurrent requests.
    pub depth: u32,
    /// Requests per second, over all of them.
    pub per_s: f64,
    /// Mean microseconds of one.
    pub mean_us: f64,
}
