//! CPU time, scheduling and memory of this process and its threads, from `/proc` and the kernel's accounting.

use crate::ProbeError;
use procfs::process::Process;
use procfs::{CurrentSI as _, KernelStats};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::HashMap;

/// What the process has used so far.
#[derive(Debug, Clone, Default)]
pub struct Usage {
    /// CPU seconds in user mode.
    pub user_s: f64,
    /// CPU seconds in the kernel.
    pub system_s: f64,
    /// CPU seconds of each thread, by its id.
    pub threads: HashMap<i32, f64>,
    /// Switches because a thread waited for something.
    pub voluntary_switches: u64,
    /// Switches because a thread's turn was over.
    pub involuntary_switches: u64,
    /// Seconds that threads were ready but had no processor, summed over threads.
    pub run_queue_s: f64,
    /// Bytes that had to be fetched from storage.
    pub read_bytes: u64,
    /// Bytes sent to be written to storage.
    pub write_bytes: u64,
    /// CPU seconds of the whole machine that were not idle, all processors together.
    pub machine_busy_s: f64,
    /// CPU seconds that the hypervisor took away.
    pub machine_steal_s: f64,
}

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

impl Usage {
    /// Reads the current figures.
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
            // A thread may end between the listing and the read: its figures are then in the process's sums only.
            let Ok(schedule) = task.schedstat() else { continue };
            usage.threads.insert(task.tid, schedule.sum_exec_runtime as f64 / 1e9);
            usage.run_queue_s += schedule.run_delay as f64 / 1e9;
            if let Ok(status) = task.status() {
                usage.voluntary_switches += status.voluntary_ctxt_switches.unwrap_or(0);
                usage.involuntary_switches += status.nonvoluntary_ctxt_switches.unwrap_or(0);
            }
        }
        let machine = KernelStats::current().map_err(wrong("/proc/stat"))?.total;
        let busy =
            machine.user + machine.nice + machine.system + machine.irq.unwrap_or(0) + machine.softirq.unwrap_or(0);
        usage.machine_busy_s = busy as f64 / tick;
        usage.machine_steal_s = machine.steal.unwrap_or(0) as f64 / tick;
        Ok(usage)
    }

    /// The shares of a processor used since an earlier reading, `real_s` seconds ago. `active_s`: how many of these the
    /// process was at work.
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
            // The scheduler's figures are exact, the process's are sampled by tick; but threads that ended are in the latter only.
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

/// The most memory the process has had, in bytes.
pub fn peak_rss_bytes() -> u64 {
    Process::myself()
        .and_then(|me| me.status())
        .ok()
        .and_then(|status| status.vmhwm)
        .unwrap_or(0)
        * 1024
}

/// CPU time in nanoseconds of a process, of all that descend from it, and of those of them that have ended; of the ended
/// ones to a tick of the kernel's accounting. `None` where the process is gone.
pub fn tree_cpu_ns(pid: u32) -> Option<u64> {
    trees_cpu_ns(&[pid])
}

/// The same of several processes, each of which counts once. `None` where all are gone.
pub fn trees_cpu_ns(pids: &[u32]) -> Option<u64> {
    trees(pids).map(|(sum, _)| sum)
}

/// What several processes and all that descend from them have used.
#[derive(Debug, Clone, Default)]
pub struct TreeUsage {
    /// CPU time as [`trees_cpu_ns`] has it.
    pub cpu_ns: u64,
    /// The threads, by their ids.
    threads: HashMap<i32, ThreadUsage>,
}

/// What a thread has used.
#[derive(Debug, Clone, Copy)]
struct ThreadUsage {
    pid: i32,
    cpu_ns: u64,
}

/// A thread and what it used between two readings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BusyThread {
    /// Its name, of at most 15 characters.
    pub name: String,
    /// Its process.
    pub pid: i32,
    /// CPU time in nanoseconds, as the scheduler counts it.
    pub cpu_ns: u64,
}

/// CPU time of several processes, of all that descend from them, and of their threads. `None` where all are gone.
pub fn trees_usage(pids: &[u32]) -> Option<TreeUsage> {
    let (cpu_ns, processes) = trees(pids)?;
    let mut usage = TreeUsage {
        cpu_ns,
        ..TreeUsage::default()
    };
    for pid in processes {
        // What ends meanwhile is in the sum only.
        let Ok(tasks) = Process::new(pid).and_then(|process| process.tasks()) else {
            continue;
        };
        for task in tasks.flatten() {
            if let Ok(schedule) = task.schedstat() {
                let cpu_ns = schedule.sum_exec_runtime;
                usage.threads.insert(task.tid, ThreadUsage { pid, cpu_ns });
            }
        }
    }
    Some(usage)
}

impl TreeUsage {
    /// The threads that used the most since an earlier reading, at most so many and the busiest first, without those that
    /// used less than `least_ns` or have ended.
    pub fn busiest_since(&self, earlier: &Self, most: usize, least_ns: u64) -> Vec<BusyThread> {
        let used = |(tid, now): (&i32, &ThreadUsage)| {
            let before = earlier.threads.get(tid).map_or(0, |then| then.cpu_ns);
            (now.cpu_ns.saturating_sub(before), *tid, now.pid)
        };
        let mut all: Vec<_> = self
            .threads
            .iter()
            .map(used)
            .filter(|each| each.0 >= least_ns.max(1))
            .collect();
        all.sort_unstable_by(|a, b| b.cmp(a));
        all.into_iter()
            .take(most)
            .filter_map(|(cpu_ns, tid, pid)| {
                let name = std::fs::read_to_string(format!("/proc/{pid}/task/{tid}/comm")).ok()?;
                let name = name.trim_end().to_owned();
                Some(BusyThread { name, pid, cpu_ns })
            })
            .collect()
    }
}

/// The CPU time of processes and of all that descend from them, and the ids of those. `None` where all are gone.
fn trees(pids: &[u32]) -> Option<(u64, Vec<i32>)> {
    let is_root = |pid: i32| u32::try_from(pid).is_ok_and(|pid| pids.contains(&pid));
    let stats: Vec<_> = procfs::process::all_processes()
        .ok()?
        .flatten()
        .filter_map(|process| process.stat().ok())
        .collect();
    let parents: HashMap<i32, i32> = stats.iter().map(|stat| (stat.pid, stat.ppid)).collect();
    let descends = |pid: i32| {
        let line = std::iter::successors(Some(pid), |pid| parents.get(pid).copied());
        line.take(parents.len()).any(is_root)
    };
    // One that has ended stays in the list until who started it asks after it, which not everybody does.
    let is_left = |stat: &procfs::process::Stat| is_root(stat.pid) && !matches!(stat.state, 'Z' | 'X');
    stats.iter().any(is_left).then(|| {
        let ns = |ticks: u64| ticks * 1_000_000_000 / procfs::ticks_per_second();
        let used = |stat: &procfs::process::Stat| {
            let own = process_cpu_ns(stat.pid).unwrap_or_else(|| ns(stat.utime + stat.stime));
            own + ns(u64::try_from(stat.cutime + stat.cstime).unwrap_or(0))
        };
        let those = || stats.iter().filter(|stat| descends(stat.pid));
        (those().map(used).sum(), those().map(|stat| stat.pid).collect())
    })
}

/// CPU time of a process in nanoseconds, as the scheduler counts it, with that of its threads that have ended. `None`
/// where the process is gone.
fn process_cpu_ns(pid: i32) -> Option<u64> {
    let mut clock = 0;
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: both calls write to what they are given, which lives on.
    let read = unsafe {
        libc::clock_getcpuclockid(pid, &raw mut clock) == 0 && libc::clock_gettime(clock, &raw mut time) == 0
    };
    let ns = u64::try_from(time.tv_sec).ok()? * 1_000_000_000 + u64::try_from(time.tv_nsec).ok()?;
    read.then_some(ns)
}

/// CPU time of the calling thread in nanoseconds.
pub fn thread_cpu_ns() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// How often a thread has left its processor.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Switches {
    /// To wait for something.
    pub voluntary: u64,
    /// Because another thread was given it.
    pub involuntary: u64,
}

/// How often the calling thread has left its processor since it began. A system call, of a fifth of a microsecond or so.
pub fn thread_switches() -> Switches {
    // SAFETY: all zeroes is a value of the structure, which the call fills; for this thread it cannot fail.
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

/// Nanoseconds the calling thread was ready but had no processor; 0 where the kernel does not say.
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
    fn a_thread_that_waits_leaves_its_processor_of_its_own_will() {
        let before = thread_switches();
        for _ in 0..20 {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        let after = thread_switches();
        assert!(after.voluntary >= before.voluntary + 20, "{before:?} {after:?}");
        assert!(after.involuntary < before.involuntary + 20, "{before:?} {after:?}");
    }

    #[test]
    fn a_tree_holds_what_its_ended_processes_used() {
        let before = tree_cpu_ns(std::process::id()).expect("this process is there");
        let work = "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done";
        let ended = std::process::Command::new("sh")
            .args(["-c", work])
            .status()
            .expect("a shell");
        assert!(ended.success());
        let after = tree_cpu_ns(std::process::id()).expect("this process is there");
        assert!(after > before, "{before} {after}");
        assert_eq!(tree_cpu_ns(u32::MAX >> 1), None);
        assert_eq!(trees_cpu_ns(&[]), None);
        // Who is named twice, or below another, counts once.
        let (me, parent) = (std::process::id(), std::os::unix::process::parent_id());
        let whole = tree_cpu_ns(parent).unwrap_or(after);
        let both = trees_cpu_ns(&[parent, me, me, u32::MAX >> 1]).expect("this process is there");
        assert!(both >= whole && both < 2 * whole.max(after), "{whole} {both}");
    }

    #[test]
    fn a_tree_tells_of_less_than_a_tick() {
        let me = std::process::id();
        let before = tree_cpu_ns(me).expect("this process is there");
        let start = thread_cpu_ns();
        while thread_cpu_ns() - start < 1_000_000 {
            std::hint::spin_loop();
        }
        let after = tree_cpu_ns(me).expect("this process is there");
        assert!(after >= before + 1_000_000, "{before} {after}");
    }

    #[test]
    fn the_busiest_thread_of_a_tree_is_named() {
        let mut shell = std::process::Command::new("sh")
            .args([
                "-c",
                "read go; i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done; echo; read end",
            ])
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .spawn()
            .expect("a shell");
        let before = trees_usage(&[shell.id()]).expect("it is there");
        let mut input = shell.stdin.take().expect("a pipe");
        std::io::Write::write_all(&mut input, b"\n").expect("it reads");
        let mut done = [0];
        std::io::Read::read_exact(&mut shell.stdout.take().expect("a pipe"), &mut done).expect("it has done its work");
        let after = trees_usage(&[shell.id()]).expect("it is there");
        let [busy] = &after.busiest_since(&before, 4, 0)[..] else {
            panic!("it has one thread: {after:?}");
        };
        assert_eq!(busy.pid, shell.id() as i32);
        assert!(busy.name.contains("sh"), "{busy:?}");
        // The sum is read first, while it is about to wait for more.
        assert!(
            busy.cpu_ns > 0 && busy.cpu_ns <= after.cpu_ns + 5_000_000,
            "{busy:?} {after:?}"
        );
        assert_eq!(after.busiest_since(&before, 4, busy.cpu_ns + 1), []);
        assert_eq!(after.busiest_since(&before, 0, 0), []);
        drop(input);
        shell.wait().expect("it ends");
        assert!(trees_usage(&[u32::MAX >> 1]).is_none());
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
        // 100 ms of CPU over a nominal 100 ms: a hundred percent, and other tests' threads on top.
        assert!(share.hottest_thread_percent >= 95.0, "{share:?} {sum}");
        assert!(share.process_percent >= share.hottest_thread_percent, "{share:?}");
        assert!(peak_rss_bytes() > 0);
    }
}
