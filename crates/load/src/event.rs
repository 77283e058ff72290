//! What a trial says while it runs.

use crate::live::LiveCounts;
use dbdyno_probes::disk::DiskActivity;
use dbdyno_probes::process::CpuShare;

/// What a trial says while it runs.
#[derive(Debug)]
pub enum Event {
    /// A phase begins: `connect`, `warmup`, `window`.
    Phase(&'static str),
    /// An interval of the window is over.
    Interval(Box<Interval>),
}

/// One interval of the timeline.
#[derive(Debug, Clone)]
pub struct Interval {
    /// Its number, from 0.
    pub index: u64,
    /// Its start and end in seconds of the window.
    pub span_s: (f64, f64),
    /// What was done in it.
    pub counts: LiveCounts,
    /// 50th and 99th percentile and greatest service time in nanoseconds, of the transactions recorded in it.
    pub service_ns: Option<(u64, u64, u64)>,
    /// CPU used.
    pub cpu: CpuShare,
    /// What the disk did.
    pub disk: Option<DiskActivity>,
}
