//! Where the clients' time went.

use dbdyno_engines::ThreadCounters;

/// Where the clients' time went, in nanoseconds summed over clients.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Time {
    /// All of it: each client from the window's start to its last transaction's end.
    pub total: u64,
    /// CPU time of the clients' threads, whatever they did.
    pub cpu: u64,
    /// Waiting for the device to sync.
    pub sync: u64,
    /// In reads of the file, from the operating system's cache or the device.
    pub read: u64,
    /// In writes.
    pub write: u64,
    /// In calls to lock and unlock the file.
    pub lock_calls: u64,
    /// Waiting for a mutex.
    pub mutex_wait: u64,
    /// Waiting for a lock on the file.
    pub file_lock_wait: u64,
    /// Parsing statements.
    pub prepare: u64,
    /// Nothing to do: thinking, or waiting for a scheduled start.
    pub idle: u64,
    /// Ready, but without a processor.
    pub run_queue: u64,
    /// Computing in the engine (and the client loop): CPU time in none of the above.
    pub engine: u64,
    /// Computing in the client, where the engine is a server's.
    pub client: u64,
    /// Waiting for a server's answers.
    pub server: u64,
    /// None of these.
    pub unknown: u64,
}

impl Time {
    /// Divides the total. The parts always add up to it.
    ///
    /// What was timed as it happened is either a *wait* (idle, sync, mutex, file lock) or *work* (reads, writes, lock calls,
    /// parsing, and as the rest the engine).
    ///
    /// The scheduler knows how long the threads were ready without a processor, and how long they computed. A wait for a
    /// mutex ends for the waiting thread when it runs again, which may be long after the mutex was free for it; and it is
    /// seen by sample, so few long ones may stand for too much. What is called one is therefore at most the time in
    /// which the threads neither computed nor were ready.
    ///
    /// A thread that is pushed off its processor while it works makes each kind of work look longer in proportion, but
    /// reads and lock calls, which are told without that. What the scheduler says of it, as far as the work was not CPU
    /// time, is taken off all others alike. Of the engine's part, what exceeds the CPU time that reads, lock calls and parsing
    /// leave is unknown.
    pub(crate) fn divide(
        total: u64,
        cpu: u64,
        run_queue: u64,
        idle: u64,
        prepare: u64,
        counters: &ThreadCounters,
    ) -> Self {
        let mut rest = total;
        let mut take = |part: u64| {
            let taken = part.min(rest);
            rest -= taken;
            taken
        };
        let (idle, sync) = (take(idle), take(counters.sync_ns));
        let file_lock_wait = take(counters.file_lock_ns);
        let blocked = total.saturating_sub(cpu).saturating_sub(run_queue);
        let mutex_wait = take(counters.mutex_ns.min(blocked));
        let work = rest;
        let run_queue = run_queue.min(work.saturating_sub(cpu));
        let mut working = work - run_queue;
        let mut of_work = |part: u64| {
            let taken = part.min(working);
            working -= taken;
            taken
        };
        let share = |part: u64| (u128::from(part) * u128::from(work - run_queue) / u128::from(work.max(1))) as u64;
        let (read, lock_calls) = (of_work(counters.read_ns), of_work(counters.lock_call_ns));
        let (write, prepare) = (of_work(share(counters.write_ns)), of_work(share(prepare)));
        let elsewhere = read.saturating_sub(counters.read_wait_ns) + lock_calls + prepare;
        let engine = working.min(cpu.saturating_sub(elsewhere));
        let unknown = working - engine;
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
            client: 0,
            server: 0,
            unknown,
        }
    }

    /// Says of the clients of a server what it is that they did: their CPU time is no engine's, and what is left when all
    /// that they did is taken off, they waited for answers. Parsing was the server's, and was waited for as well.
    pub(crate) fn of_a_client(&mut self) {
        self.client = std::mem::take(&mut self.engine);
        self.server = std::mem::take(&mut self.unknown);
    }
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

    proptest! {
        #[test]
        fn the_parts_add_up(
            total in 0u64..1_000_000_000_000,
            parts in proptest::array::uniform9(0u64..300_000_000_000),
        ) {
            let [cpu, run_queue, idle, prepare, read_ns, write_ns, sync_ns, lock_call_ns, mutex_ns] = parts;
            let counters =
                ThreadCounters { read_ns, write_ns, sync_ns, lock_call_ns, mutex_ns, ..ThreadCounters::default() };
            let time = Time::divide(total, cpu, run_queue, idle, prepare, &counters);
            prop_assert_eq!(sum(&time), total);
        }
    }

    #[test]
    fn waiting_for_a_processor_is_taken_off_all_work_alike_that_it_made_longer() {
        // Ten seconds, half of them on a processor; a fifth of the wall time of the work was in writes. Reads are told
        // without what they waited for a processor.
        let counters = ThreadCounters {
            read_ns: 2_000,
            write_ns: 2_000,
            ..ThreadCounters::default()
        };
        let time = Time::divide(10_000, 5_000, 5_000, 0, 0, &counters);
        assert_eq!(
            (time.read, time.write, time.engine, time.run_queue, time.unknown),
            (2_000, 1_000, 2_000, 5_000, 0)
        );
    }

    #[test]
    fn who_is_ready_waits_for_a_processor_and_not_for_a_mutex() {
        let counters = ThreadCounters {
            mutex_ns: 4_000,
            ..ThreadCounters::default()
        };
        let time = Time::divide(10_000, 5_000, 4_500, 0, 0, &counters);
        assert_eq!((time.mutex_wait, time.run_queue, time.engine), (500, 4_500, 5_000));
        let time = Time::divide(10_000, 3_000, 1_000, 0, 0, &counters);
        assert_eq!((time.mutex_wait, time.run_queue, time.engine), (4_000, 1_000, 3_000));
        assert_eq!(time.unknown, 2_000);
    }

    #[test]
    fn the_engine_computes_what_cpu_time_the_rest_leaves() {
        // Of reads of five seconds four waited for the device; so one of the three on a processor was theirs.
        let counters = ThreadCounters {
            read_ns: 5_000,
            read_wait_ns: 4_000,
            ..ThreadCounters::default()
        };
        let time = Time::divide(10_000, 3_000, 0, 0, 0, &counters);
        assert_eq!((time.read, time.engine, time.unknown), (5_000, 2_000, 3_000));
    }

    #[test]
    fn what_nothing_explains_is_unknown() {
        let time = Time::divide(10_000, 3_000, 0, 0, 0, &ThreadCounters::default());
        assert_eq!((time.engine, time.unknown), (3_000, 7_000));
    }
}
