"""Advice for bottlenecks of SQLite in the worker's process.

The advice considers the settings read back: it doesn't name a setting that already has the advised value, or that is
unknown.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from dbdyno.engines.embedded_advice import Embedded
from dbdyno.engines.server.facts import size
from dbdyno.model.events.observations import Io
from dbdyno.model.events.trial import TrialResult

_ONE_READ = "keep one read transaction open over several statements"


@dataclass(frozen=True)
class Library(Embedded):
    """Facts read back from SQLite, and the trial's I/O counts."""

    settings: Mapping[str, str]
    options: frozenset[str]
    data_bytes: int | None
    io: Io

    @classmethod
    def of(cls, result: TrialResult, clients: int) -> "Library":
        """Create the facts from a trial's result."""
        engine = result.engine
        settings = {name: value.lower() for name, value in engine.settings.items()}
        options = frozenset(engine.compile_options)
        return cls("SQLite", clients, settings, options, engine.catalog.data_bytes, result.io)

    def may_set(self, name: str, value: str) -> bool:
        """Whether a setting is known and has another value."""
        return self.settings.get(name, value) != value

    @property
    def cache_bytes(self) -> int | None:
        """The maximum size of a connection's page cache in bytes; ``None`` if unknown."""
        return cache_bytes(self.settings)

    def against_reads(self) -> str:
        """Return advice against reads of pages that aren't in the page cache."""
        cache, data, mapped = self.cache_bytes, self.data_bytes, _whole(self.settings.get("mmap_size"))
        if cache is not None and data is not None and cache >= data:
            return "a longer warm-up: the page cache has room for all data once they have been read"
        clauses = []
        if cache is not None:
            clauses.append("raise cache_size" + (f" ({size(cache)} for {size(data)} of data)" if data else ""))
        if mapped is not None and (data is None or mapped < data):
            clauses.append("map the file with mmap_size")
        return ", or ".join(clauses)

    def against_writes(self) -> str:
        """Return advice against page writes."""
        clauses = ["more rows per transaction"]
        if self.io.cache_spills and self.cache_bytes is not None:
            clauses.append(f"a larger cache_size ({size(self.cache_bytes)}: pages were written before the commit)")
        if self.may_set("journal_mode", "wal"):
            clauses.append("journal_mode=wal")
        return _any(clauses)

    def against_lock_calls(self) -> str:
        """Return advice against system calls that lock and unlock the file."""
        clauses = [_ONE_READ]
        # Exclusive locking only works with a single client.
        if self.clients == 1 and self.may_set("locking_mode", "exclusive"):
            clauses.append("use locking_mode=exclusive")
        if self.may_set("journal_mode", "wal"):
            clauses.append("use journal_mode=wal")
        return _any(clauses)

    def against_file_locks(self) -> str:
        """Return advice against waiting for the file lock."""
        if self.may_set("journal_mode", "wal"):
            return "journal_mode=wal, with which readers don't block a writer; or shorter write transactions"
        return "shorter write transactions, or fewer writers at a time"

    def against_syncs(self) -> str:
        """Return advice against waiting for device syncs."""
        advice = "put more rows into a transaction"
        if self.may_set("journal_mode", "wal"):
            return advice + (
                ", or use journal_mode=wal, which syncs once per commit (not at all with synchronous=normal, where a "
                "power failure may lose the last commits)"
            )
        if self.settings.get("synchronous") in ("full", "extra") and self.settings.get("journal_mode") == "wal":
            return advice + "; synchronous=normal doesn't sync commits, and a power failure may lose the last ones"
        return advice

    def against_mutex(self, mutex: str) -> str:  # noqa: PLR0911 - one per kind
        """Return advice against waiting for a mutex. ``mutex``: what it protects; empty: any mutex."""
        match mutex:
            case "shared B-tree":
                return "give each connection a page cache of its own (cache=private)"
            case "connection":
                return "give each thread a connection of its own"
            case "memory allocator":
                fixed = "use a preallocated page cache"
                if "DEFAULT_MEMSTATUS=0" in self.options or not self.options:
                    return fixed
                return f"build SQLite with -DSQLITE_DEFAULT_MEMSTATUS=0, or {fixed}"
            case "index of the write-ahead log":
                return _ONE_READ
            case "file locks of the process":
                return _ONE_READ + (", or use journal_mode=wal" if self.may_set("journal_mode", "wal") else "")
        return "use fewer clients, or connections that share less"


def against_locked(result: TrialResult, begins: Collection[str] | None) -> str:
    """Return how to let a client wait for the file lock; ``begins``: the modes in which transactions begin."""
    if begins is None or "deferred" in begins:
        return "BEGIN IMMEDIATE, which can wait for the lock, and a busy_timeout that is long enough"
    # BEGIN IMMEDIATE and statements outside transactions take the lock at the start, so they can wait for it.
    set_ms = result.engine.settings.get("busy_timeout", "0")
    return "a busy_timeout that is long enough" + (f": {set_ms} ms is too short" if set_ms != "0" else "; none is set")


def cache_bytes(settings: Mapping[str, str]) -> int | None:
    """Return the maximum size of a connection's page cache in bytes, from the settings in effect."""
    pages, page = _whole(settings.get("cache_size")), _whole(settings.get("page_size"))
    if pages is None:
        return None
    # A negative value is a size in KiB.
    return -pages * 1024 if pages < 0 else None if page is None else pages * page


def _whole(text: str | None) -> int | None:
    try:
        return int(text or "")
    except ValueError:
        return None


def _any(clauses: list[str]) -> str:
    return clauses[0] if len(clauses) == 1 else f"{', '.join(clauses[:-1])}, or {clauses[-1]}"
