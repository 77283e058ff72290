"""SQLite's catalog of fixes: PRAGMAs, connection flags, indexes, and the BEGIN mode."""

from collections.abc import Iterator
from math import ceil

from dbdyno.engines.fix_entries import Entry
from dbdyno.engines.fixes import Situation, memory, prefix_index, setting_fix
from dbdyno.engines.prefix_rules import begins_with, key_collation
from dbdyno.engines.server.facts import size
from dbdyno.engines.sqlite.advice import cache_bytes
from dbdyno.model.plan.fix import Fix, Price, Source

_PRAGMAS = "https://www.sqlite.org/pragma.html#pragma_"
_WAL = Source("Write-Ahead Logging", "Overview", "https://www.sqlite.org/wal.html")
_CHECKPOINTS = Source(
    "Write-Ahead Logging", "Performance Considerations", "https://www.sqlite.org/wal.html#performance_considerations"
)
_THREADS = Source(
    "Using SQLite In Multi-Threaded Applications",
    "Run-time selection of threading mode",
    "https://www.sqlite.org/threadsafe.html",
)
_SHARED = Source(
    "SQLite Shared-Cache Mode", "Use of shared-cache is discouraged", "https://www.sqlite.org/sharedcache.html"
)
_DIRTY = Source(
    "SQLite Shared-Cache Mode", "Read-Uncommitted Isolation Mode", "https://www.sqlite.org/sharedcache.html"
)
_MAPPED = Source("Memory-Mapped I/O", "How Memory-Mapped I/O Works", "https://www.sqlite.org/mmap.html")
_BEGIN = Source(
    "Transaction",
    "DEFERRED, IMMEDIATE, and EXCLUSIVE transactions",
    "https://www.sqlite.org/lang_transaction.html",
)
_LIKE = Source(
    "The SQLite Query Optimizer Overview", "The LIKE Optimization", "https://www.sqlite.org/optoverview.html"
)

_FILES = Price("use", "two more files next to the database, and no network file systems")
_LOST = Price("durability", "a crash of the machine loses the last commits; the file stays intact")

# Pages of the log between checkpoints, instead of the default of 1,000.
_PAGES = 10_000
_TIMEOUT_MS = 5000

# The journal modes that protect the file against crashes of the machine, and flush for that.
_ROLLBACK = ("delete", "truncate", "persist")


def _pragma(name: str) -> Source:
    return Source("PRAGMA Statements", f"PRAGMA {name}", f"{_PRAGMAS}{name}")


def _wal(cell: Situation) -> Iterator[Fix]:
    if cell.setting("journal_mode") in _ROLLBACK and cell.writes:
        does = "changes go to a log, and readers and one writer work concurrently"
        yield setting_fix(cell, {"journal_mode": "wal"}, does, _FILES, group="journal")


def _wal_normal(cell: Situation) -> Iterator[Fix]:
    if not cell.writes or cell.setting("synchronous") not in ("full", "extra"):
        return
    does = "the log is flushed at checkpoints, not at commits"
    if cell.setting("journal_mode") == "wal":
        yield setting_fix(cell, {"synchronous": "normal"}, does, _LOST)
    elif cell.setting("journal_mode") in _ROLLBACK:
        settings = {"journal_mode": "wal", "synchronous": "normal"}
        yield setting_fix(cell, settings, f"changes go to a log; {does}", _LOST, _FILES, group="journal")


def _kept_journal(cell: Situation) -> Iterator[Fix]:
    if cell.setting("journal_mode") == "delete" and cell.writes:
        does = "the rollback journal is kept and its header overwritten, without flushing the directory"
        space = Price("space", "the journal remains, as large as the largest transaction required")
        yield setting_fix(cell, {"journal_mode": "persist"}, does, space, group="journal")


def _checkpoints(cell: Situation) -> Iterator[Fix]:
    now = cell.number("wal_autocheckpoint")
    if cell.setting("journal_mode") == "wal" and cell.writes and now is not None and 0 < now < _PAGES:
        page = cell.number("page_size") or 4096
        does = f"checkpoints happen every {_PAGES:,} pages, so a page changed repeatedly is written once"
        space = Price(
            "space", f"a log of {size(round(_PAGES * page))} or more, which reads must search for their pages"
        )
        yield setting_fix(cell, {"wal_autocheckpoint": str(_PAGES)}, does, space)


def _exclusive(cell: Situation) -> Iterator[Fix]:
    if cell.clients == 1 and cell.setting("locking_mode") == "normal" and cell.own_tables:
        does = "the file is locked once, and transactions don't check whether it has changed"
        alone = Price("exclusive", "no other connection can use the file")
        yield setting_fix(cell, {"locking_mode": "exclusive"}, does, alone)


def _cache(cell: Situation) -> Iterator[Fix]:
    shared = cell.setting("cache") == "shared"
    caches = 1 if shared else cell.clients
    wanted = cell.larger_cache(cache_bytes(cell.settings), caches)
    if wanted is not None:
        kib = ceil(wanted / 1024)
        does = f"a connection's page cache has {size(kib * 1024)}"
        # A negative value is a size in KiB, a positive one a number of pages.
        yield setting_fix(cell, {"cache_size": f"-{kib}"}, does, memory(kib * 1024, "pages", caches))


def _mapped(cell: Situation) -> Iterator[Fix]:
    if cell.setting("mmap_size") == "0" and cell.data_bytes:
        does = "the file is mapped into memory, and its pages are not copied from the kernel's cache"
        danger = Price(
            "use", "an I/O error of the device crashes the program, and a stray pointer can corrupt the file"
        )
        yield setting_fix(cell, {"mmap_size": str(ceil(cell.data_bytes))}, does, danger)


def _private(cell: Situation) -> Iterator[Fix]:
    if cell.setting("cache") == "shared" and cell.clients > 1:
        now = cache_bytes(cell.settings)
        prices = () if now is None else (memory(now, "pages", cell.clients),)
        does = "each connection has its own page cache, without the mutex of a shared one"
        yield setting_fix(cell, {"cache": "private"}, does, *prices, group="cache")


def _uncommitted(cell: Situation) -> Iterator[Fix]:
    if cell.setting("cache") == "shared" and cell.clients > 1 and cell.writes and not cell.is_on("read_uncommitted"):
        does = "reads don't lock tables of the shared cache"
        dirty = Price("isolation", "reads see changes that others haven't committed and may roll back")
        yield setting_fix(cell, {"read_uncommitted": "on"}, does, dirty, group="cache")


def _no_mutex(cell: Situation) -> Iterator[Fix]:
    by_default = cell.setting("open_mutex") in ("", "fullmutex") and cell.setting("threadsafe") in ("", "1")
    if by_default and cell.setting("config_threading") in ("", "serialized"):
        does = "a connection doesn't have a mutex"
        use = Price("use", "no two threads may use a connection at the same time")
        yield setting_fix(cell, {"open_mutex": "nomutex"}, does, use)


def _temporary(cell: Situation) -> Iterator[Fix]:
    if cell.sorts and cell.setting("temp_store") in ("0", "1", "file", "default"):
        does = "temporary B-trees are kept in memory"
        more = Price("memory", "enough memory for all rows to sort")
        yield setting_fix(cell, {"temp_store": "memory"}, does, more)


def _immediate(cell: Situation) -> Iterator[Fix]:
    if cell.clients > 1 and cell.writes and "deferred" in cell.begins:
        does = "a transaction that writes waits for the write lock and takes it when it begins"
        longer = Price("latency", "other writers wait from its beginning, not only from its first write")
        snippet = ("BEGIN IMMEDIATE; -- instead of BEGIN, if a transaction writes",)
        yield Fix("begin immediate", does, (longer,), _BEGIN, snippet, begins="immediate")


def _timeout(cell: Situation) -> Iterator[Fix]:
    now = cell.number("busy_timeout")
    if cell.failed & {"locked"} and now is not None and now < _TIMEOUT_MS:
        does = "a client that finds the file locked waits and retries instead of failing"
        longer = Price("latency", f"a transaction may wait {_TIMEOUT_MS / 1000:g} s before it fails")
        yield setting_fix(cell, {"busy_timeout": str(_TIMEOUT_MS)}, does, longer)


def _like_index(cell: Situation) -> Iterator[Fix]:
    switch = cell.setting("case_sensitive_like")
    for search in cell.prefix_scans if cell.may_index and switch else ():
        order = "binary" if switch == "on" else "nocase"
        does = "an index in the collation of LIKE finds the pattern's prefix"
        yield prefix_index(cell, search, f"collate {order}", does)


def _like_case(cell: Situation) -> Iterator[Fix]:
    if cell.setting("case_sensitive_like") != "off":
        return
    for search in cell.prefix_scans:
        indexes = [
            index for index in search.table.get("indexes") or [] if begins_with(index, str(search.column["name"]))
        ]
        if any(str(key_collation(index).get("name")).upper() == "BINARY" for index in indexes):
            does = "LIKE is case-sensitive, so it can use the existing index"
            use = Price("use", "LIKE becomes case-sensitive")
            # Same group as an index in LIKE's current collation, because both have the same effect.
            group = f"index {search.table['name']} {search.column['name']}"
            yield setting_fix(cell, {"case_sensitive_like": "on"}, does, use, group=group)


ENTRIES = (
    Entry("WAL", ("locks", "flush", "write"), "a rollback journal, and statements that write", _WAL, _wal),
    Entry(
        "synchronous=normal",
        ("flush", "write"),
        "synchronous=full or extra, and statements that write",
        _pragma("synchronous"),
        _wal_normal,
    ),
    Entry(
        "journal_mode=persist",
        ("flush", "write"),
        "journal_mode=delete, and statements that write",
        _pragma("journal_mode"),
        _kept_journal,
    ),
    Entry(
        "fewer checkpoints", ("flush", "write", "locks"), "a log, and statements that write", _CHECKPOINTS, _checkpoints
    ),
    Entry(
        "locking_mode=exclusive",
        ("locks", "processors", "read", "flush"),
        "one client",
        _pragma("locking_mode"),
        _exclusive,
    ),
    Entry(
        "cache_size",
        ("cache", "read", "processors", "write"),
        "data larger than the cache",
        _pragma("cache_size"),
        _cache,
    ),
    Entry("mmap_size", ("read", "processors", "cache"), "no mapping yet", _MAPPED, _mapped),
    Entry("cache=private", ("locks", "processors"), "a shared cache, several clients", _SHARED, _private),
    Entry("read_uncommitted", ("locks",), "a shared cache, several clients, one that writes", _DIRTY, _uncommitted),
    Entry("open_mutex=nomutex", ("processors", "locks"), "connections with mutexes", _THREADS, _no_mutex),
    Entry("temp_store", ("write", "read", "processors"), "a plan that sorts", _pragma("temp_store"), _temporary),
    Entry("BEGIN IMMEDIATE", ("locks",), "deferred transactions that write, several clients", _BEGIN, _immediate),
    Entry("index for LIKE", ("processors", "read", "cache"), "a LIKE without a usable index", _LIKE, _like_index),
    Entry(
        "case_sensitive_like",
        ("processors", "read", "cache"),
        "a LIKE, and an index of another case",
        _pragma("case_sensitive_like"),
        _like_case,
    ),
    Entry("busy_timeout", ("locks",), "transactions that failed on a lock", _pragma("busy_timeout"), _timeout),
)
"""SQLite's fixes."""
