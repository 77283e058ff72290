"""Use of CPUs, memory and storage during a trial."""

from pydantic import Field

from dbdyno.model.events.base import Count, Part


class CpuShare(Part):
    """CPU use in percent of one CPU. ``cores``: number of CPUs that the process may use.

    ``machine_percent``: the whole machine, up to ``cores`` times 100; ``steal_percent``: CPU time that the hypervisor
    gave to other virtual machines.
    """

    process_percent: float
    user_percent: float
    system_percent: float
    hottest_thread_percent: float
    machine_percent: float
    steal_percent: float
    cores: Count


class ServerCpu(Part):
    """CPU use of a server's processes, in percent of one CPU."""

    process_percent: float


class Server(Part):
    """A server's processes.

    ``run_queue_wait_s``: seconds that its threads were ready to run but had no CPU, summed over the threads; null if
    unknown.
    """

    cpu: ServerCpu
    run_queue_wait_s: float | None = None


class Throttling(Part):
    """The effect of the CPU quota of a control group.

    ``cpus``: the quota in CPUs; ``periods``: accounting periods of the kernel in which the group was runnable;
    ``throttled_periods``: periods in which it used up its quota; ``throttled_s``: seconds of waiting because of that,
    summed over the CPUs that it could have used.
    """

    cpus: float
    periods: Count
    throttled_periods: Count
    throttled_s: float


class BusyThread(Part):
    """CPU use of a thread, in percent of one CPU. ``pid``: the id of its process."""

    name: str
    pid: int
    cpu_percent: float


class TierCpu(Part):
    """CPU use of the processes of a part of the system, in percent of one CPU; null if it had no processes.

    ``threads``: the busiest threads in descending order; missing if none used 5% of a CPU.
    """

    name: str
    cpu_percent: float | None
    threads: list[BusyThread] = Field(default_factory=list)


class Scheduling(Part):
    """The kernel's scheduling of the worker's threads.

    ``run_queue_wait_s``: seconds that runnable threads waited for a CPU; ``batch_threads``: number of threads that
    don't preempt other threads.
    """

    voluntary_switches: Count
    involuntary_switches: Count
    run_queue_wait_s: float
    batch_threads: Count


class DiskActivity(Part):
    """Requests and bytes of a block device, and mean latencies of requests in milliseconds.

    ``queue_length``: mean number of requests waiting or in progress.
    """

    device: str
    reads: Count
    read_bytes: Count
    read_ms: float
    writes: Count
    write_bytes: Count
    write_ms: float
    flushes: Count
    flush_ms: float
    queue_length: float


class DeviceFlushes(Part):
    """Completed flushes of the disks that hold the data, from all programs.

    ``forced_writes``: writes to a disk that has no volatile cache or can bypass it. Each of them may have replaced a
    flush.
    """

    device: str
    flushes: Count
    forced_writes: Count


class ProcessIo(Part):
    """Bytes that the process read from storage and wrote to it."""

    read_bytes: Count
    write_bytes: Count


class Memory(Part):
    """Peak resident memory of the process, in bytes."""

    peak_rss_bytes: Count


class RandomAccess(Part):
    """Random 4 KiB reads or writes: rate per second and mean microseconds, with ``depth`` requests at once."""

    depth: Count
    per_s: float
    mean_us: float


class DeviceFacts(Part):
    """Measurements of a storage device: microseconds of overwriting 4 KiB, or ``large_sync_bytes``, with a sync.

    ``direct``: whether reads and writes bypassed the operating system's cache, as intended.
    """

    sync_us: float
    sync_per_s: float
    sync_min_us: float
    sync_p50_us: float
    sync_p99_us: float
    large_sync_us: float
    large_sync_bytes: Count
    random_read: list[RandomAccess]
    random_write: list[RandomAccess]
    direct: bool
