"""Observations of an engine during a trial: its clients' time, file operations, waits and counters."""

from typing import Annotated, Any

from pydantic import Discriminator, Tag

from dbdyno.model.events.base import Count, Part

SEEN, NOT_SEEN = "(seen)", "(not seen)"


class Segments(Part):
    """Parts of the clients' time in seconds; their sum is the total (docs/reference/result-document.md, ``time``)."""

    sync: float
    read: float
    write: float
    lock_calls: float
    mutex_wait: float
    client: float
    server: float
    file_lock_wait: float
    prepare: float
    idle: float
    run_queue: float
    engine: float
    unknown: float


class Time(Part):
    """The clients' time, and the CPU time of their threads, in seconds."""

    client_s: float
    cpu_s: float
    segments: Segments


class Io(Part):
    """The engine's file operations, waits of sessions for file locks, and use of its page cache."""

    reads: Count
    read_bytes: Count
    writes: Count
    write_bytes: Count
    syncs: Count
    lock_calls: Count
    file_lock_waits: Count
    cache_hits: Count
    cache_misses: Count
    cache_spills: Count


class ContentionSite(Part):
    """A place in the code where threads waited for a mutex. ``stack``: the callers, innermost first."""

    function: str
    mutex: str
    waits: Count
    wait_s: float
    stack: list[str]


class Contention(Part):
    """Contended mutexes. ``contended``: number of waits; ``wait_s``: seconds, summed over the threads."""

    contended: Count
    wait_s: float
    sites: list[ContentionSite]


class Observed(Part):
    """The engine's own counters of the work below its transactions (``crates/engine/src/observed.rs``).

    ``acknowledged``: transactions between the readings of the counters; ``counters``: their increase; ``backlog``,
    ``backlog_before``: deferred work when the window ended, and before the first session opened; ``error``: why values
    are missing, otherwise absent.
    """

    acknowledged: Count
    counters: dict[str, float]
    backlog: dict[str, float]
    backlog_before: dict[str, float]
    error: str | None = None


class LockHolder(Part):
    """Another program that locked the data. ``pid``: 0 if unknown; ``samples``: samples in which it held the lock."""

    pid: Count
    command: str
    samples: Count


class LockHolders(Part):
    """Other programs that locked the data, the most frequent first. ``samples``: number of samples taken."""

    samples: Count
    holders: list[LockHolder]


class Waits(Part):
    """Sampled activity of sessions. ``query_s``: seconds that the server spent on the sampling queries.

    ``seen``: number of sessions over all samples, by activity, as ``class:event`` in the server's terms.
    """

    samples: Count
    query_s: float
    seen: dict[str, Count]


class NoWaits(Part):
    """Why the waits of the server's sessions are unknown."""

    error: str


def _told(value: Any) -> str:
    return NOT_SEEN if isinstance(value, NoWaits) or (isinstance(value, dict) and "error" in value) else SEEN


WaitsOrError = Annotated[Annotated[Waits, Tag(SEEN)] | Annotated[NoWaits, Tag(NOT_SEEN)], Discriminator(_told)]
