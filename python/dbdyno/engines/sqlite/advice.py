"""What would help against a bottleneck of SQLite in the worker, less what is in force already.

Each clause looks at what was read back of the library: a setting that is as it advises is not named, nor one that is
not known.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from dbdyno.engines.embedded import Embedded
from dbdyno.engines.server.facts import size
from dbdyno.model.events.trial import TrialResult
from dbdyno.model.events.watched import Io

_ONE_READ = "keep one read transaction open over several statements"


@dataclass(frozen=True)
class Library(Embedded):
    """SQLite as it was read back, with the trial's counts of it."""

    settings: Mapping[str, str]
    options: frozenset[str]
    data_bytes: int | None
    io: Io

    @classmethod
    def of(cls, result: TrialResult, clients: int) -> "Library":
        """Read what a trial's result says of its library."""
        engine = result.engine
        settings = {name: value.lower() for name, value in engine.settings.items()}
        options = frozenset(engine.compile_options)
        return cls("SQLite", clients, settings, options, engine.catalog.data_bytes, result.io)

    def may_set(self, name: str, value: str) -> bool:
        """Whether a setting is known, and another."""
        return self.settings.get(name, value) != value

    @property
    def cache_bytes(self) -> int | None:
        """How large the page cache of a connection may grow; ``None`` where that is not known."""
        return cache_bytes(self.settings)

    def against_reads(self) -> str:
        """Give what would help against reading pages that are not in the page cache."""
        cache, data, mapped = self.cache_bytes, self.data_bytes, _whole(self.settings.get("mmap_size"))
        if cache is not None and data is not None and cache >= data:
            return "a longer warm-up: the page cache holds all of the data once they have been read"
        clauses = []
        if cache is not None:
            clauses.append("raise cache_size" + (f" ({size(cache)} for {size(data)} of data)" if data else ""))
        if mapped is not None and (data is None or mapped < data):
            clauses.append("map the file with mmap_size")
        return ", or ".join(clauses)

    def against_writes(self) -> str:
        """Give what would help against writing pages."""
        clauses = ["more rows per transaction"]
        if self.io.cache_spills and self.cache_bytes is not None:
            clauses.append(f"a larger cache_size ({size(self.cache_bytes)}: pages were written before the commit)")
        if self.may_set("journal_mode", "wal"):
            clauses.append("journal_mode=wal")
        return _any(clauses)

    def against_lock_calls(self) -> str:
        """Give what would help against system calls that lock and unlock the file."""
        clauses = [_ONE_READ]
        # Who has the file alone locks all others out.
        if self.clients == 1 and self.may_set("locking_mode", "exclusive"):
            clauses.append("use locking_mode=exclusive")
        if self.may_set("journal_mode", "wal"):
            clauses.append("use journal_mode=wal")
        return _any(clauses)

    def against_file_locks(self) -> str:
        """Give what would help against waiting for a lock on the file."""
        if self.may_set("journal_mode", "wal"):
            return "journal_mode=wal lets readers and one writer work together; shorter write transactions help"
        return "shorter write transactions, or fewer writers at a time"

    def against_syncs(self) -> str:
        """Give what would help against waiting for the device to sync."""
        advice = "put more rows into a transaction"
        if self.may_set("journal_mode", "wal"):
            return advice + (
                ", or use journal_mode=wal, which syncs once per commit (not at all with synchronous=normal, where a "
                "power failure may lose the last commits)"
            )
        if self.settings.get("synchronous") in ("full", "extra") and self.settings.get("journal_mode") == "wal":
            return advice + "; synchronous=normal syncs at no commit, and a power failure may lose the last ones"
        return advice

    def against_mutex(self, mutex: str) -> str:  # noqa: PLR0911 - one per kind
        """Give what would help against waiting for a mutex, by what it guards; empty: for any."""
        match mutex:
            case "shared B-tree":
                return "give each connection a page cache of its own (cache=private)"
            case "connection":
                return "give each thread a connection of its own"
            case "memory allocator":
                fixed = "use a page cache of fixed memory"
                if "DEFAULT_MEMSTATUS=0" in self.options or not self.options:
                    return fixed
                return f"build SQLite with -DSQLITE_DEFAULT_MEMSTATUS=0, or {fixed}"
            case "index of the write-ahead log":
                return _ONE_READ
            case "file locks of the process":
                return _ONE_READ + (", or use journal_mode=wal" if self.may_set("journal_mode", "wal") else "")
        return "use fewer clients, or connections that share less"


def against_locked(result: TrialResult, begins: Collection[str] | None) -> str:
    """Give what lets a client wait for the lock on the file; ``begins``: the modes in which transactions begin."""
    if begins is None or "deferred" in begins:
        return "BEGIN IMMEDIATE, which can wait for the lock, and a busy_timeout that is long enough"
    # A statement alone, and BEGIN IMMEDIATE, take the lock at the start: they can wait for it.
    set_ms = result.engine.settings.get("busy_timeout", "0")
    return "a busy_timeout that is long enough" + (f": {set_ms} ms are not" if set_ms != "0" else "; none is set")


def cache_bytes(settings: Mapping[str, str]) -> int | None:
    """Give how large the page cache of a connection may grow, by the settings in force."""
    pages, page = _whole(settings.get("cache_size")), _whole(settings.get("page_size"))
    if pages is None:
        return None
    # Below zero it is a number of KiB.
    return -pages * 1024 if pages < 0 else None if page is None else pages * page


def _whole(text: str | None) -> int | None:
    try:
        return int(text or "")
    except ValueError:
        return None


def _any(clauses: list[str]) -> str:
    return clauses[0] if len(clauses) == 1 else f"{', '.join(clauses[:-1])}, or {clauses[-1]}"
