//! CPU time, scheduling and memory of this process and its threads, from `/proc` and the kernel's accounting.

use crate::ProbeError;
pub use dbdyno_protocol::event::CpuShare;
use procfs::process::Process;
use procfs::{CurrentSI as _, KernelStats};
use std::collections::HashMap;

/// Resources that the process has used so far.
#[derive(Debug, Clone, Default)]
pub struct Usage {
    /// CPU seconds in user mode.
    pub user_s: f64,
    /// CPU seconds in the kernel.
    pub system_s: f64,
    /// CPU seconds of each thread, by thread ID.
    pub threads: HashMap<i32, f64>,
    /// Context switches because a thread waited.
    pub voluntary_switches: u64,
    /// Context switches because a thread was preempted.
    pub involuntary_switches: u64,
    /// Seconds that threads were runnable but had no CPU, summed over threads.
    pub run_queue_s: f64,
    /// Bytes read from storage.
    pub read_bytes: u64,
    /// Bytes written to storage.
    pub write_bytes: u64,
    /// Non-idle CPU seconds of the machine, summed over CPUs. Only differences are meaningful.
    pub machine_busy_s: f64,
    /// CPU seconds taken by the hypervisor (steal).
    pub machine_steal_s: f64,
}

impl Usage {
    /// Reads the current values.
    pub fn read() -> Result<Self, ProbeError> {
        let wrong = |what: &str| {
            let what = what.to_owned();
            move |error: procfs::ProcError| ProbeError::new(what.clone(), std::io::Error::other(error))
        };
        let process = Process::myself().map_err(wrong("/proc/self"))?;
        let tick = procfs::ticks_per_second() as f64;
        let stat = process.stat().map_err(wrong("/proc/self/stat"))?;
        let io = process.io().map_err(wrong("/proc/self/io"))?;
        let mut usage = Self {
            user_s: stat.utime as f64 / tick,
            system_s: stat.stime as f64 / tick,
            read_bytes: io.read_bytes,
            write_bytes: io.write_bytes,
            ..Self::default()
        };
        for task in process.tasks().map_err(wrong("/proc/self/task"))?.flatten() {
            // A thread may end between the listing and the read. Then only the process's sums include it.
            let Ok(schedule) = task.schedstat() else { continue };
            usage.threads.insert(task.tid, schedule.sum_exec_runtime as f64 / 1e9);
            usage.run_queue_s += schedule.run_delay as f64 / 1e9;
            if let Ok(status) = task.status() {
                usage.voluntary_switches += status.voluntary_ctxt_switches.unwrap_or(0);
                usage.involuntary_switches += status.nonvoluntary_ctxt_switches.unwrap_or(0);
            }
        }
        let stat = KernelStats::current().map_err(wrong("/proc/stat"))?;
        let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
        let machine = stat.total;
        let not_busy = machine.idle + machine.iowait.unwrap_or(0) + machine.steal.unwrap_or(0);
        // The kernel measures idle time and samples busy time, which is too coarse for a short window.
        let seconds = now.tv_sec as f64 + now.tv_nsec as f64 / 1e9;
        usage.machine_busy_s = stat.cpu_time.len() as f64 * seconds - not_busy as f64 / tick;
        usage.machine_steal_s = machine.steal.unwrap_or(0) as f64 / tick;
        Ok(usage)
    }

    /// CPU use since an earlier reading `real_s` seconds ago. `active_s`: seconds in which the process was not
    /// suspended.
    pub fn since(&self, earlier: &Self, active_s: f64, real_s: f64) -> CpuShare {
        let share = |now: f64, then: f64, seconds: f64| {
            if seconds > 0.0 {
                ((now - then) / seconds * 100.0).max(0.0)
            } else {
                0.0
            }
        };
        let percent = |now: f64, then: f64| share(now, then, active_s);
        let thread = |(id, now): (&i32, &f64)| now - earlier.threads.get(id).copied().unwrap_or(0.0);
        let threads: f64 = self.threads.iter().map(thread).sum();
        let by_clock = percent(self.user_s + self.system_s, earlier.user_s + earlier.system_s);
        CpuShare {
            // The scheduler's values are exact, and the process's are sampled by tick. But only the latter include
            // threads that have ended.
            process_percent: percent(threads, 0.0).max(if threads > 0.0 { 0.0 } else { by_clock }),
            user_percent: percent(self.user_s, earlier.user_s),
            system_percent: percent(self.system_s, earlier.system_s),
            hottest_thread_percent: percent(self.threads.iter().map(thread).fold(0.0, f64::max), 0.0),
            machine_percent: share(self.machine_busy_s, earlier.machine_busy_s, real_s),
            steal_percent: share(self.machine_steal_s, earlier.machine_steal_s, real_s),
            cores: std::thread::available_parallelism().map_or(1, usize::from),
        }
    }
}

/// Peak memory of the process in bytes.
pub fn peak_rss_bytes() -> u64 {
    Process::myself()
        .and_then(|me| me.status())
        .ok()
        .and_then(|status| status.vmhwm)
        .unwrap_or(0)
        * 1024
}

/// CPU time of the calling thread in nanoseconds.
pub fn thread_cpu_ns() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Context switches of a thread.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Switches {
    /// To wait for something.
    pub voluntary: u64,
    /// Because it was preempted.
    pub involuntary: u64,
}

/// Context switches of the calling thread since it started. The system call takes about 0.2 µs.
pub fn thread_switches() -> Switches {
    // SAFETY: all zeroes is a valid value, which the call fills; it cannot fail for this thread.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_THREAD, &raw mut usage);
        usage
    };
    Switches {
        voluntary: u64::try_from(usage.ru_nvcsw).unwrap_or(0),
        involuntary: u64::try_from(usage.ru_nivcsw).unwrap_or(0),
    }
}

/// Nanoseconds in which the calling thread was runnable but had no CPU; 0 if the kernel doesn't report it.
pub fn thread_run_queue_ns() -> u64 {
    std::fs::read_to_string("/proc/thread-self/schedstat")
        .ok()
        .and_then(|text| text.split_whitespace().nth(1)?.parse().ok())
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_waits_is_switched_voluntarily() {
        let before = thread_switches();
        for _ in 0..20 {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        let after = thread_switches();
        assert!(after.voluntary >= before.voluntary + 20, "{before:?} {after:?}");
        assert!(after.involuntary < before.involuntary + 20, "{before:?} {after:?}");
    }

    #[test]
    fn work_shows_as_cpu_time() {
        let before = Usage::read().expect("/proc is there");
        let start = thread_cpu_ns();
        let mut sum = 0u64;
        while thread_cpu_ns() - start < 100_000_000 {
            sum = sum.wrapping_add(std::hint::black_box(1));
        }
        let after = Usage::read().expect("/proc is there");
        let share = after.since(&before, 0.1, 0.1);
        // 100 ms of CPU in a nominal 100 ms is 100%, plus threads of other tests.
        assert!(share.hottest_thread_percent >= 95.0, "{share:?} {sum}");
        assert!(share.process_percent >= share.hottest_thread_percent, "{share:?}");
        assert!(peak_rss_bytes() > 0);
    }
}
