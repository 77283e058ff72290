//! CPU time of process trees and their threads.

use procfs::process::{Process, Stat};
use std::collections::HashMap;

/// CPU use of several process trees.
#[derive(Debug, Clone, Default)]
pub struct TreeUsage {
    /// CPU time in nanoseconds of the processes, their descendants, and their ended descendants (for the latter, with
    /// the resolution of the kernel's tick). Each process counts once.
    pub cpu_ns: u64,
    /// The threads by thread ID.
    threads: HashMap<i32, ThreadUsage>,
}

/// CPU use of a thread.
#[derive(Debug, Clone, Copy)]
struct ThreadUsage {
    pid: i32,
    cpu_ns: u64,
    run_queue_ns: u64,
}

/// A thread and its CPU time between two readings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BusyThread {
    /// Its name, at most 15 characters.
    pub name: String,
    /// Its process ID.
    pub pid: i32,
    /// CPU time in nanoseconds, from the scheduler.
    pub cpu_ns: u64,
}

/// CPU time of several process trees and their threads. `None` if all processes are gone.
pub fn trees_usage(pids: &[u32]) -> Option<TreeUsage> {
    let (cpu_ns, processes) = trees(pids)?;
    let mut usage = TreeUsage {
        cpu_ns,
        ..TreeUsage::default()
    };
    for pid in processes {
        // A process that ends in the meantime is only included in the sum.
        let Ok(tasks) = Process::new(pid).and_then(|process| process.tasks()) else {
            continue;
        };
        for task in tasks.flatten() {
            if let Ok(schedule) = task.schedstat() {
                let thread = ThreadUsage {
                    pid,
                    cpu_ns: schedule.sum_exec_runtime,
                    run_queue_ns: schedule.run_delay,
                };
                usage.threads.insert(task.tid, thread);
            }
        }
    }
    Some(usage)
}

impl TreeUsage {
    /// Nanoseconds that threads were runnable but had no CPU since an earlier reading, summed over running threads.
    pub fn run_queue_since(&self, earlier: &Self) -> u64 {
        let since = |(tid, now): (&i32, &ThreadUsage)| {
            let before = earlier.threads.get(tid).map_or(0, |then| then.run_queue_ns);
            now.run_queue_ns.saturating_sub(before)
        };
        self.threads.iter().map(since).sum()
    }

    /// The threads with the most CPU time since an earlier reading, busiest first: at most `most`, and only those that
    /// still run and used at least `least_ns`.
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

/// Maximum number of readings until no process has ended in the meantime.
const READINGS: usize = 10;

/// The CPU time of process trees, and the process IDs. `None` if all processes are gone.
fn trees(pids: &[u32]) -> Option<(u64, Vec<i32>)> {
    let mut stats = descendants(pids)?;
    // A process that ends during the reading is counted twice or not at all: in its own time, and in its parent's time
    // of ended children.
    for _ in 1..READINGS {
        if stats.iter().all(is_as_read) {
            break;
        }
        stats = descendants(pids)?;
    }
    Some((
        stats.iter().map(used_ns).sum(),
        stats.iter().map(|stat| stat.pid).collect(),
    ))
}

/// The processes and all their descendants. `None` if all are gone.
fn descendants(pids: &[u32]) -> Option<Vec<Stat>> {
    let is_root = |pid: i32| u32::try_from(pid).is_ok_and(|pid| pids.contains(&pid));
    let mut stats: Vec<_> = procfs::process::all_processes()
        .ok()?
        .flatten()
        .filter_map(|process| process.stat().ok())
        .collect();
    let parents: HashMap<i32, i32> = stats.iter().map(|stat| (stat.pid, stat.ppid)).collect();
    stats.retain(|stat| {
        let line = std::iter::successors(Some(stat.pid), |pid| parents.get(pid).copied());
        line.take(parents.len()).any(is_root)
    });
    // A process that has ended stays listed as a zombie until its parent waits for it, which some parents never do.
    let is_left = |stat: &Stat| is_root(stat.pid) && !matches!(stat.state, 'Z' | 'X');
    stats.iter().any(is_left).then_some(stats)
}

/// Whether a process still exists, and none of its children has ended since it was read.
fn is_as_read(then: &Stat) -> bool {
    let now = Process::new(then.pid).and_then(|process| process.stat());
    now.is_ok_and(|now| (now.cutime, now.cstime) == (then.cutime, then.cstime))
}

/// CPU time in nanoseconds of a process and its ended children.
fn used_ns(stat: &Stat) -> u64 {
    let ns = |ticks: u64| ticks * 1_000_000_000 / procfs::ticks_per_second();
    let own = process_cpu_ns(stat.pid).unwrap_or_else(|| ns(stat.utime + stat.stime));
    own + ns(u64::try_from(stat.cutime + stat.cstime).unwrap_or(0))
}

/// CPU time of a process in nanoseconds from the scheduler, including its ended threads. `None` if the process is gone.
fn process_cpu_ns(pid: i32) -> Option<u64> {
    let mut clock = 0;
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: both calls write to live values.
    let read = unsafe {
        libc::clock_getcpuclockid(pid, &raw mut clock) == 0 && libc::clock_gettime(clock, &raw mut time) == 0
    };
    let ns = u64::try_from(time.tv_sec).ok()? * 1_000_000_000 + u64::try_from(time.tv_nsec).ok()?;
    read.then_some(ns)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read as _, Write as _};
    use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

    /// A shell that waits for a line, does some work, reports it with a line, and waits for another line.
    struct Shell {
        process: Child,
        input: ChildStdin,
        output: ChildStdout,
    }

    impl Shell {
        fn start(work: &str) -> Self {
            let mut process = Command::new("sh")
                .args(["-c", &format!("read go; {work}; echo; read end")])
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .spawn()
                .expect("a shell");
            let input = process.stdin.take().expect("a pipe");
            let output = process.stdout.take().expect("a pipe");
            Self { process, input, output }
        }

        fn id(&self) -> u32 {
            self.process.id()
        }

        fn begin(&mut self) {
            self.input.write_all(b"\n").expect("it reads");
        }

        fn wait_for_work(&mut self) {
            self.output.read_exact(&mut [0]).expect("it has done its work");
        }

        fn end(mut self) {
            drop(self.input);
            self.process.wait().expect("it ends");
        }
    }

    /// A shell loop with this number of iterations.
    fn turns(count: u32) -> String {
        format!("i=0; while [ $i -lt {count} ]; do i=$((i+1)); done")
    }

    fn cpu_ns(shell: &Shell) -> u64 {
        trees_usage(&[shell.id()]).expect("it is there").cpu_ns
    }

    #[test]
    fn a_tree_includes_its_ended_processes() {
        let mut shell = Shell::start(&format!("({})", turns(200_000)));
        let before = cpu_ns(&shell);
        shell.begin();
        shell.wait_for_work();
        // At least 100 ms, nearly all in a process that has ended.
        assert!(cpu_ns(&shell) > before + 20_000_000, "{before}");
        shell.end();
        assert!(trees_usage(&[u32::MAX >> 1]).is_none());
        assert!(trees_usage(&[]).is_none());
    }

    #[test]
    fn a_process_that_ends_during_a_reading_is_noticed() {
        let mut shell = Shell::start("sh -c 'echo; read end'");
        shell.begin();
        shell.wait_for_work();
        let both = descendants(&[shell.id()]).expect("it is there");
        assert_eq!(both.len(), 2, "a shell below a shell: {both:?}");
        assert!(both.iter().all(is_as_read));
        shell.begin();
        shell.wait_for_work();
        assert!(!both.iter().all(is_as_read));
        // The parent's time of ended children would show it too, if it used a tick.
        let mut parent = both.into_iter().find(|stat| stat.pid == shell.id() as i32).expect("it");
        parent.cutime += 1;
        assert!(!is_as_read(&parent));
        shell.end();
    }

    #[test]
    fn each_process_counts_once() {
        let mut shell = Shell::start(&format!("sh -c '{}; echo; read end'", turns(1_000)));
        shell.begin();
        shell.wait_for_work();
        let (whole, processes) = trees(&[shell.id()]).expect("it is there");
        let [_, below] = processes[..] else {
            panic!("a shell below a shell: {processes:?}");
        };
        let named = [shell.id(), below as u32, below as u32, u32::MAX >> 1];
        let (again, those) = trees(&named).expect("it is there");
        // The nested shell may still be about to wait.
        assert!(
            (whole..whole + whole.max(5_000_000)).contains(&again),
            "{whole} {again}"
        );
        assert_eq!(those, processes);
        shell.end();
    }

    #[test]
    fn cpu_time_has_a_finer_resolution_than_a_tick() {
        let mut shell = Shell::start(&turns(1_000));
        let before = cpu_ns(&shell);
        shell.begin();
        shell.wait_for_work();
        let used = cpu_ns(&shell) - before;
        let tick = 1_000_000_000 / procfs::ticks_per_second();
        assert!(used > 0 && !used.is_multiple_of(tick), "{used}");
        shell.end();
    }

    #[test]
    fn the_run_queue_time_of_running_threads_is_summed() {
        let usage = |threads: &[(i32, u64)]| TreeUsage {
            cpu_ns: 0,
            threads: threads
                .iter()
                .map(|(tid, run_queue_ns)| {
                    let thread = ThreadUsage {
                        pid: 1,
                        cpu_ns: 0,
                        run_queue_ns: *run_queue_ns,
                    };
                    (*tid, thread)
                })
                .collect(),
        };
        let (before, after) = (usage(&[(1, 10), (2, 90)]), usage(&[(1, 15), (3, 7)]));
        assert_eq!(after.run_queue_since(&before), 12);
    }

    #[test]
    fn the_busiest_thread_of_a_tree_is_named() {
        let mut shell = Shell::start(&turns(200_000));
        let before = trees_usage(&[shell.id()]).expect("it is there");
        shell.begin();
        shell.wait_for_work();
        let after = trees_usage(&[shell.id()]).expect("it is there");
        let [busy] = &after.busiest_since(&before, 4, 0)[..] else {
            panic!("it has one thread: {after:?}");
        };
        assert_eq!(busy.pid, shell.id() as i32);
        assert!(busy.name.contains("sh"), "{busy:?}");
        // The sum is read first, while the shell is about to wait.
        assert!(
            busy.cpu_ns > 0 && busy.cpu_ns <= after.cpu_ns + 5_000_000,
            "{busy:?} {after:?}"
        );
        assert_eq!(after.busiest_since(&before, 4, busy.cpu_ns + 1), []);
        assert_eq!(after.busiest_since(&before, 0, 0), []);
        shell.end();
        assert!(trees_usage(&[u32::MAX >> 1]).is_none());
    }
}
