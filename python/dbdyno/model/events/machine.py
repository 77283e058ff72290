"""What the machine did meanwhile: its processors, its memory, its storage."""

from pydantic import Field

from dbdyno.model.events.base import Count, Part


class CpuShare(Part):
    """CPU used, in percent of one processor; ``cores``: processors that the process may use.

    ``machine_percent``: of the whole machine, of ``cores`` times 100; ``steal_percent``: what its host took away.
    """

    process_percent: float
    user_percent: float
    system_percent: float
    hottest_thread_percent: float
    machine_percent: float
    steal_percent: float
    cores: Count


class ServerCpu(Part):
    """CPU that a server's processes used, in percent of one processor."""

    process_percent: float


class Server(Part):
    """A server's processes.

    ``run_queue_wait_s``: seconds that its threads were ready but had no CPU, summed over them; null if not known.
    """

    cpu: ServerCpu
    run_queue_wait_s: float | None = None


class Throttling(Part):
    """What a CPU quota of a control group did.

    ``cpus``: CPUs that the group may use at most; ``periods``: those of the kernel's accounting in which the group
    wanted to compute, and ``throttled_periods`` those in which it used up its quota; ``throttled_s``: seconds for which
    it had to wait then, summed over the CPUs that it could have used.
    """

    cpus: float
    periods: Count
    throttled_periods: Count
    throttled_s: float


class BusyThread(Part):
    """CPU that a thread used, in percent of one processor; ``pid``: of its process."""

    name: str
    pid: int
    cpu_percent: float


class TierCpu(Part):
    """CPU that the processes of a part of the system used, in percent of one processor; null where there were none.

    ``threads``: the busiest, the busiest first; left out where none was at work for a twentieth of the time.
    """

    name: str
    cpu_percent: float | None
    threads: list[BusyThread] = Field(default_factory=list)


class Scheduling(Part):
    """What the kernel's scheduler did with the threads.

    ``run_queue_wait_s``: seconds that runnable threads waited for a processor; ``batch_threads``: those that took no
    processor from another.
    """

    voluntary_switches: Count
    involuntary_switches: Count
    run_queue_wait_s: float
    batch_threads: Count


class DiskActivity(Part):
    """What a block device did: requests and bytes, and how long a request took on average, in milliseconds.

    ``queue_length``: requests waiting or under way, on average.
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
    """What all programs asked of the disks below the data: flushes that completed.

    ``forced_writes``: writes to a disk without a volatile cache, or to one that can write past it, any of which may
    have replaced a flush.
    """

    device: str
    flushes: Count
    forced_writes: Count


class ProcessIo(Part):
    """Bytes that the process fetched from storage and sent to it."""

    read_bytes: Count
    write_bytes: Count


class Memory(Part):
    """The most memory that the process had, in bytes."""

    peak_rss_bytes: Count


class RandomAccess(Part):
    """Random reads, or writes, of 4 KiB: how many a second with so many at once, and mean microseconds of one."""

    depth: Count
    per_s: float
    mean_us: float


class DeviceFacts(Part):
    """What a storage device can do: microseconds of a sync after overwriting 4 KiB, and after ``large_sync_bytes``.

    ``direct``: reads and writes went past the operating system's cache, as they should.
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
