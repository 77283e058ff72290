//! Progress events of a trial.

use crate::live::LiveCounts;
use dbdyno_probes::disk::DiskActivity;
use dbdyno_probes::process::CpuShare;

/// Progress of a running trial.
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
    /// Its number, counted from 0.
    pub index: u64,
    /// Its start and end in seconds of the window.
    pub span_s: (f64, f64),
    /// Work done in it.
    pub counts: LiveCounts,
    /// 50th percentile, 99th percentile and maximum of the service times recorded in it, in nanoseconds.
    pub service_ns: Option<(u64, u64, u64)>,
    /// CPU used.
    pub cpu: CpuShare,
    /// Disk activity.
    pub disk: Option<DiskActivity>,
}
