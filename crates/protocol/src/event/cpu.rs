//! CPU time of the worker, and the quotas of control groups.

use schemars::JsonSchema;
use serde::Serialize;

/// The difference of two [`Usage`]s, as a result shows it. Percent of one processor.
#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
pub struct CpuShare {
    /// The process.
    pub process_percent: f64,
    /// Its part in user mode.
    pub user_percent: f64,
    /// Its part in the kernel.
    pub system_percent: f64,
    /// Its busiest thread.
    pub hottest_thread_percent: f64,
    /// The whole machine, of `cores` × 100.
    pub machine_percent: f64,
    /// What the hypervisor took away.
    pub steal_percent: f64,
    /// Processors this process may use.
    pub cores: usize,
}

/// What a quota did between two readings.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, JsonSchema)]
pub struct Throttling {
    /// CPUs that the group may use at most.
    pub cpus: f64,
    /// The kernel's accounting periods in which the group wanted to compute.
    pub periods: u64,
    /// Those in which it used up its quota and had to wait for the next.
    pub throttled_periods: u64,
    /// Seconds for which it had to wait, summed over the CPUs that it could have used.
    pub throttled_s: f64,
}
