//! Breakdown of the clients' time.

use dbdyno_engine::probe::ThreadCounters;

/// Breakdown of the clients' time, in nanoseconds summed over clients.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Time {
    /// Total: from the window's start to the client's last transaction's end, summed over clients.
    pub total: u64,
    /// CPU time of the clients' threads, for any work.
    pub cpu: u64,
    /// Waiting for the device to sync.
    pub sync: u64,
    /// Reading the file, from the operating system's cache or the device.
    pub read: u64,
    /// Writing the file.
    pub write: u64,
    /// Calls that lock and unlock the file.
    pub lock_calls: u64,
    /// Waiting for a mutex.
    pub mutex_wait: u64,
    /// Waiting for a lock on the file.
    pub file_lock_wait: u64,
    /// Parsing statements.
    pub prepare: u64,
    /// Idle: thinking, or waiting for a scheduled start.
    pub idle: u64,
    /// Runnable, but without a CPU.
    pub run_queue: u64,
    /// Computing in the engine and the client loop: CPU time in none of the above.
    pub engine: u64,
    /// Computing in the client, if the engine is a server.
    pub client: u64,
    /// Waiting for a server's answers.
    pub server: u64,
    /// Time that none of these explains.
    pub unknown: u64,
}

impl Time {
    /// Divides the total into parts that always add up to it.
    ///
    /// Directly timed intervals are either *waits* (idle, sync, mutex, file lock) or *work* (reads, writes, lock calls,
    /// parsing, and the engine as the remainder).
    ///
    /// The scheduler reports how long the threads ran and how long they were runnable without a CPU. In the remaining
    /// time they were *blocked*. A measured wait lasts until the thread runs again, so it includes some run queue time.
    /// Waits for mutexes, in reads and in lock calls are sampled, so a few long ones are scaled up. Therefore these
    /// three, in this order, are limited to the blocked time that idling, syncs and file locks leave. (The limit is
    /// slightly too low, by the CPU time spent in these.) If a lock call waits for a mutex, the wait counts as the
    /// mutex's.
    ///
    /// A thread that is preempted while it works makes each kind of work look longer in proportion, except reads and
    /// lock calls, which are measured without preemption. The scheduler's run queue time is subtracted from the other
    /// kinds in proportion. The engine's part is limited to the remaining CPU time; any excess is unknown.
    ///
    /// `remote`: these are clients of a server. Their CPU time isn't the engine's, and the time that remains after all
    /// their work was spent waiting for answers. The server does the parsing, so parsing counts as waiting too.
    pub(crate) fn divide(
        total: u64,
        cpu: u64,
        run_queue: u64,
        idle: u64,
        prepare: u64,
        counters: &ThreadCounters,
        remote: bool,
    ) -> Self {
        let mut rest = total;
        let idle = take(&mut rest, idle);
        let sync = take(&mut rest, counters.sync_ns);
        let file_lock_wait = take(&mut rest, counters.file_lock_ns);
        let mut blocked = rest.saturating_sub(cpu).saturating_sub(run_queue);
        let mutex_wait = take(&mut blocked, counters.mutex_ns);
        let read_wait = take(&mut blocked, counters.read_wait_ns);
        let lock_wait = take(&mut blocked, counters.lock_wait_ns);
        let read_cpu = counters.read_ns.saturating_sub(counters.read_wait_ns);
        let lock_cpu = counters.lock_call_ns.saturating_sub(counters.lock_wait_ns);

        let work = rest - mutex_wait;
        let run_queue = run_queue.min(work.saturating_sub(cpu));
        let mut working = work - run_queue;
        let read = take(&mut working, read_cpu + read_wait);
        let lock_calls = take(&mut working, lock_cpu + lock_wait);
        let (on_processor, with_waits) = (working, working + run_queue);
        let share = |part: u64| (u128::from(part) * u128::from(on_processor) / u128::from(with_waits.max(1))) as u64;
        let write = take(&mut working, share(counters.write_ns));
        let prepare = take(&mut working, share(prepare));
        let write_cpu = write.saturating_sub(blocked);
        let elsewhere = read_cpu + lock_cpu + write_cpu + if remote { 0 } else { prepare };
        let computing = working.min(cpu.saturating_sub(elsewhere));
        let rest = working - computing;
        let [engine, unknown, client, server] = if remote {
            [0, 0, computing, rest]
        } else {
            [computing, rest, 0, 0]
        };
        Self {
            total,
            cpu,
            sync,
            read,
            write,
            lock_calls,
            mutex_wait,
            file_lock_wait,
            prepare,
            idle,
            run_queue,
            engine,
            client,
            server,
            unknown,
        }
    }
}

/// Subtracts `part` from `left`, limited to what is left, and returns the amount.
fn take(left: &mut u64, part: u64) -> u64 {
    let taken = part.min(*left);
    *left -= taken;
    taken
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sum(time: &Time) -> u64 {
        let waits = time.idle + time.sync + time.mutex_wait + time.file_lock_wait;
        let work = time.read + time.write + time.lock_calls + time.prepare + time.engine;
        waits + work + time.client + time.server + time.run_queue + time.unknown
    }

    fn counters(read: (u64, u64), locks: (u64, u64), write_ns: u64, waits: (u64, u64, u64)) -> ThreadCounters {
        ThreadCounters {
            read_ns: read.0,
            read_wait_ns: read.1,
            lock_call_ns: locks.0,
            lock_wait_ns: locks.1,
            write_ns,
            sync_ns: waits.0,
            file_lock_ns: waits.1,
            mutex_ns: waits.2,
            ..ThreadCounters::default()
        }
    }

    proptest! {
        #[test]
        fn the_parts_add_up_and_agree_with_the_scheduler(
            total in 0u64..1_000_000_000_000,
            parts in proptest::array::uniform10(0u64..300_000_000_000),
            waits in proptest::array::uniform2(0.0..1.0f64),
        ) {
            let [cpu, run_queue, idle, prepare, read, locks, write, sync, file_lock, mutex] = parts;
            let with_share = |part: u64, share: f64| (part, (part as f64 * share) as u64);
            let counters = counters(with_share(read, waits[0]), with_share(locks, waits[1]), write, (sync, file_lock, mutex));
            for remote in [false, true] {
                let time = Time::divide(total, cpu, run_queue, idle, prepare, &counters, remote);
                prop_assert_eq!(sum(&time), total);
                prop_assert!(time.engine + time.client <= cpu);
                let known = time.idle + time.sync + time.file_lock_wait;
                let rest = total - known;
                prop_assert!(time.mutex_wait <= rest.saturating_sub(cpu).saturating_sub(run_queue));
                // A mutex wait doesn't reduce the run queue time.
                prop_assert_eq!(time.run_queue, run_queue.min(rest.saturating_sub(cpu)));
            }
        }
    }

    fn divide(total: u64, cpu: u64, run_queue: u64, counters: &ThreadCounters) -> Time {
        Time::divide(total, cpu, run_queue, 0, 0, counters, false)
    }

    #[test]
    fn run_queue_time_is_subtracted_from_the_work_it_prolonged() {
        // Half of the time outside reads and the run queue was CPU time.
        let time = divide(10_000, 5_000, 3_000, &counters((2_000, 0), (0, 0), 2_000, (0, 0, 0)));
        assert_eq!((time.read, time.run_queue), (2_000, 3_000));
        assert_eq!(time.write, 2_000 * 5 / 8);
        // The blocked time may be waits in writes, so it isn't attributed to the engine.
        assert_eq!((time.engine, time.unknown), (3_000, 750));
    }

    #[test]
    fn a_runnable_thread_waits_for_a_cpu_and_not_for_a_mutex() {
        let waits = counters((0, 0), (0, 0), 0, (0, 0, 4_000));
        let time = divide(10_000, 5_000, 4_500, &waits);
        assert_eq!((time.mutex_wait, time.run_queue, time.engine), (500, 4_500, 5_000));
        let time = divide(10_000, 3_000, 1_000, &waits);
        assert_eq!((time.mutex_wait, time.run_queue, time.engine), (4_000, 1_000, 3_000));
        assert_eq!(time.unknown, 2_000);
    }

    #[test]
    fn mutex_waits_are_limited_to_the_time_without_syncs() {
        let time = divide(80, 4, 2, &counters((0, 0), (0, 0), 0, (60, 0, 40)));
        assert_eq!(
            (time.sync, time.mutex_wait, time.run_queue, time.engine),
            (60, 14, 2, 4)
        );
    }

    #[test]
    fn waits_in_lock_calls_count_as_mutex_waits_first() {
        let time = divide(
            10_000,
            6_000,
            1_000,
            &counters((0, 0), (4_000, 2_500), 0, (0, 0, 2_000)),
        );
        assert_eq!((time.mutex_wait, time.lock_calls), (2_000, 1_500 + 1_000));
        assert_eq!((time.engine, time.unknown), (4_500, 0));
    }

    #[test]
    fn the_engine_gets_the_remaining_cpu_time() {
        // Reads took five seconds, of which four waited for the device. So reads used one of the three CPU seconds.
        let time = divide(10_000, 3_000, 0, &counters((5_000, 4_000), (0, 0), 0, (0, 0, 0)));
        assert_eq!((time.read, time.engine, time.unknown), (5_000, 2_000, 3_000));
        // Reads completed by the device also waited for a CPU. That time is not read time.
        let time = divide(10_000, 2_000, 3_000, &counters((8_000, 8_000), (0, 0), 0, (0, 0, 0)));
        assert_eq!((time.read, time.run_queue, time.engine), (5_000, 3_000, 2_000));
        // No time was blocked, so writes computed.
        let time = divide(10_000, 10_000, 0, &counters((0, 0), (0, 0), 4_000, (0, 0, 0)));
        assert_eq!((time.write, time.engine), (4_000, 6_000));
    }

    #[test]
    fn parsing_in_a_server_is_not_cpu_time_of_its_client() {
        let time = Time::divide(10_000, 2_000, 0, 0, 3_000, &ThreadCounters::default(), true);
        assert_eq!((time.prepare, time.client, time.server), (3_000, 2_000, 5_000));
        let time = Time::divide(10_000, 2_000, 0, 0, 1_500, &ThreadCounters::default(), false);
        assert_eq!((time.prepare, time.engine, time.unknown), (1_500, 500, 8_000));
    }

    #[test]
    fn unexplained_time_is_unknown() {
        let time = divide(10_000, 3_000, 0, &ThreadCounters::default());
        assert_eq!((time.engine, time.unknown), (3_000, 7_000));
    }
}
