"""What was seen of an engine while a trial ran: where its clients' time went, what it asked for and waited for."""

from typing import Annotated, Any

from pydantic import Discriminator, Tag

from dbdyno.model.events.base import Count, Part

SEEN, NOT_SEEN = "(seen)", "(not seen)"


class Segments(Part):
    """Parts of the clients' time in seconds, which sum to all of it (docs/reference/result-document.md, ``time``)."""

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
    """What the engine asked of the file system, how often sessions waited for a lock on a file, and its page cache."""

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
    """A place where threads queued on a mutex: how often, how many seconds, and the stack of the longest wait."""

    function: str
    mutex: str
    waits: Count
    wait_s: float
    stack: list[str]


class Contention(Part):
    """Contended mutexes: how often, how many seconds were waited for them, and where."""

    contended: Count
    wait_s: float
    sites: list[ContentionSite]


class Observed(Part):
    """What the engine told beneath its transactions (``crates/engine/src/observed.rs``).

    ``acknowledged``: transactions between the readings of the counters; ``counters``: what they rose by; ``backlog``:
    what was put off when the window ended, and before it began; ``error``: why there is no more; absent elsewhere.
    """

    acknowledged: Count
    counters: dict[str, float]
    backlog: dict[str, float]
    backlog_before: dict[str, float]
    error: str | None = None


class LockHolder(Part):
    """Another program that held a lock on the data: its process, 0 if not known, and in how many samples it did."""

    pid: Count
    command: str
    samples: Count


class LockHolders(Part):
    """Other programs that locked the data, the most frequent first, as seen in so many samples."""

    samples: Count
    holders: list[LockHolder]


class Waits(Part):
    """Sessions as they were seen: in how many looks, which took the server ``query_s`` seconds to answer.

    ``seen``: how often, by what the session did, ``class:event`` in the server's words.
    """

    samples: Count
    query_s: float
    seen: dict[str, Count]


class NoWaits(Part):
    """Why the server did not tell what its sessions waited for."""

    error: str


def _told(value: Any) -> str:
    return NOT_SEEN if isinstance(value, NoWaits) or (isinstance(value, dict) and "error" in value) else SEEN


WaitsOrError = Annotated[Annotated[Waits, Tag(SEEN)] | Annotated[NoWaits, Tag(NOT_SEEN)], Discriminator(_told)]
