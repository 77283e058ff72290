//! What disks did during a window.

use schemars::JsonSchema;
use serde::Serialize;

/// What the device did between two readings.
#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
pub struct DiskActivity {
    /// Its name.
    pub device: String,
    /// Requests to read.
    pub reads: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Milliseconds a read took on average, waiting included.
    pub read_ms: f64,
    /// Requests to write.
    pub writes: u64,
    /// Bytes written.
    pub write_bytes: u64,
    /// Milliseconds a write took on average.
    pub write_ms: f64,
    /// Requests to flush the device's cache; also 0 if the device has no cache.
    pub flushes: u64,
    /// Milliseconds a flush took on average.
    pub flush_ms: f64,
    /// Requests waiting or under way, on average.
    pub queue_length: f64,
}

/// Requests of all programs to the disks below the data, between two readings.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct DeviceFlushes {
    /// The disk's name; for several disks, the names of all that hold the data.
    pub device: String,
    /// Flushes that completed; for several disks, the largest number of any.
    pub flushes: u64,
    /// Writes that completed, if the disk has no volatile cache or can bypass it (FUA). Such a write may replace a
    /// flush. 0 for other disks.
    pub forced_writes: u64,
}
