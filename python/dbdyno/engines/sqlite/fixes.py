"""SQLite's catalogue of fixes: PRAGMAs, flags of connections, and how a transaction begins."""

from collections.abc import Iterator
from math import ceil

from dbdyno.engines.entries import Entry
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

_FILES = Price("use", "two files more beside the database, and none of it on a network file system")
_LOST = Price("durability", "the last commits are lost where the machine fails; the file stays whole")

# Pages of the log between two checkpoints, in place of the default of 1,000.
_PAGES = 10_000
_TIMEOUT_MS = 5000

# The journal's modes that leave the file whole when the machine fails, and flush for it.
_ROLLBACK = ("delete", "truncate", "persist")


def _pragma(name: str) -> Source:
    return Source("PRAGMA Statements", f"PRAGMA {name}", f"{_PRAGMAS}{name}")


def _wal(of: Situation) -> Iterator[Fix]:
    if of.setting("journal_mode") in _ROLLBACK and of.writes:
        does = "changes go to a log, and readers and one writer work side by side"
        yield setting_fix(of, {"journal_mode": "wal"}, does, _FILES, group="journal")


def _wal_normal(of: Situation) -> Iterator[Fix]:
    if not of.writes or of.setting("synchronous") not in ("full", "extra"):
        return
    does = "the log is flushed at checkpoints, and at no commit"
    if of.setting("journal_mode") == "wal":
        yield setting_fix(of, {"synchronous": "normal"}, does, _LOST)
    elif of.setting("journal_mode") in _ROLLBACK:
        settings = {"journal_mode": "wal", "synchronous": "normal"}
        yield setting_fix(of, settings, f"changes go to a log; {does}", _LOST, _FILES, group="journal")


def _kept_journal(of: Situation) -> Iterator[Fix]:
    if of.setting("journal_mode") == "delete" and of.writes:
        does = "the rollback journal is kept and its header overwritten, and no directory is flushed"
        space = Price("space", "the journal stays, as large as the largest transaction made it")
        yield setting_fix(of, {"journal_mode": "persist"}, does, space, group="journal")


def _checkpoints(of: Situation) -> Iterator[Fix]:
    now = of.number("wal_autocheckpoint")
    if of.setting("journal_mode") == "wal" and of.writes and now is not None and 0 < now < _PAGES:
        page = of.number("page_size") or 4096
        does = f"a checkpoint comes each {_PAGES:,} pages, and pages that change again are written once"
        space = Price("space", f"a log of {size(round(_PAGES * page))} or more, in which reads look for their pages")
        yield setting_fix(of, {"wal_autocheckpoint": str(_PAGES)}, does, space)


def _exclusive(of: Situation) -> Iterator[Fix]:
    if of.clients == 1 and of.setting("locking_mode") == "normal" and of.own_tables:
        does = "the file is locked once, and no transaction asks whether it has changed"
        alone = Price("exclusive", "no other connection can use the file")
        yield setting_fix(of, {"locking_mode": "exclusive"}, does, alone)


def _cache(of: Situation) -> Iterator[Fix]:
    shared = of.setting("cache") == "shared"
    caches = 1 if shared else of.clients
    wanted = of.larger_cache(cache_bytes(of.settings), caches)
    if wanted is not None:
        kib = ceil(wanted / 1024)
        does = f"the page cache of a connection has {size(kib * 1024)}"
        # Below 0 it is a size, and not a number of pages.
        yield setting_fix(of, {"cache_size": f"-{kib}"}, does, memory(kib * 1024, "pages", caches))


def _mapped(of: Situation) -> Iterator[Fix]:
    if of.setting("mmap_size") == "0" and of.data_bytes:
        does = "the file is mapped into memory, and its pages are not copied from the kernel's cache"
        danger = Price(
            "use", "an error of the device ends the program, and a stray pointer can change the file's pages"
        )
        yield setting_fix(of, {"mmap_size": str(ceil(of.data_bytes))}, does, danger)


def _private(of: Situation) -> Iterator[Fix]:
    if of.setting("cache") == "shared" and of.clients > 1:
        now = cache_bytes(of.settings)
        prices = () if now is None else (memory(now, "pages", of.clients),)
        does = "each connection has a page cache of its own, and no mutex of a shared one"
        yield setting_fix(of, {"cache": "private"}, does, *prices, group="cache")


def _uncommitted(of: Situation) -> Iterator[Fix]:
    if of.setting("cache") == "shared" and of.clients > 1 and of.writes and not of.is_on("read_uncommitted"):
        does = "reads take no locks on tables of the shared cache"
        dirty = Price("isolation", "reads see what others have not committed, and may take back")
        yield setting_fix(of, {"read_uncommitted": "on"}, does, dirty, group="cache")


def _no_mutex(of: Situation) -> Iterator[Fix]:
    by_default = of.setting("open_mutex") in ("", "fullmutex") and of.setting("threadsafe") in ("", "1")
    if by_default and of.setting("config_threading") in ("", "serialized"):
        does = "a connection has no mutex of its own"
        use = Price("use", "no two threads may use a connection at the same time")
        yield setting_fix(of, {"open_mutex": "nomutex"}, does, use)


def _temporary(of: Situation) -> Iterator[Fix]:
    if of.sorts and of.setting("temp_store") in ("0", "1", "file", "default"):
        does = "temporary B-trees are kept in memory"
        more = Price("memory", "memory for what is sorted, as much as there is of it")
        yield setting_fix(of, {"temp_store": "memory"}, does, more)


def _immediate(of: Situation) -> Iterator[Fix]:
    if of.clients > 1 and of.writes and "deferred" in of.begins:
        does = "a transaction that writes takes the write lock when it begins, and waits for it there"
        longer = Price("latency", "other writers wait from its beginning on, and not from its first write")
        snippet = ("BEGIN IMMEDIATE; -- in place of BEGIN, where a transaction writes",)
        yield Fix("begin immediate", does, (longer,), _BEGIN, snippet, begins="immediate")


def _timeout(of: Situation) -> Iterator[Fix]:
    now = of.number("busy_timeout")
    if of.failed & {"locked"} and now is not None and now < _TIMEOUT_MS:
        does = "who finds the file locked waits and tries again, in place of failing"
        longer = Price("latency", f"a transaction may wait {_TIMEOUT_MS / 1000:g} s before it fails")
        yield setting_fix(of, {"busy_timeout": str(_TIMEOUT_MS)}, does, longer)


def _like_index(of: Situation) -> Iterator[Fix]:
    switch = of.setting("case_sensitive_like")
    for search in of.prefix_scans if of.may_index and switch else ():
        order = "binary" if switch == "on" else "nocase"
        does = "an index in the order of LIKE leads to how the pattern begins"
        yield prefix_index(of, search, f"collate {order}", does)


def _like_case(of: Situation) -> Iterator[Fix]:
    if of.setting("case_sensitive_like") != "off":
        return
    for search in of.prefix_scans:
        indexes = [each for each in search.table.get("indexes") or [] if begins_with(each, str(search.column["name"]))]
        if any(str(key_collation(each).get("name")).upper() == "BINARY" for each in indexes):
            does = "LIKE regards case, and the index that is there serves it"
            use = Price("use", "LIKE tells capital letters from small ones")
            # An index in the order of LIKE as it is does the same.
            group = f"index {search.table['name']} {search.column['name']}"
            yield setting_fix(of, {"case_sensitive_like": "on"}, does, use, group=group)


ENTRIES = (
    Entry("WAL", ("flush", "write", "locks"), "a rollback journal, and statements that write", _WAL, _wal),
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
    Entry("open_mutex=nomutex", ("locks", "processors"), "connections with mutexes", _THREADS, _no_mutex),
    Entry("temp_store", ("write", "read", "processors"), "a plan that sorts", _pragma("temp_store"), _temporary),
    Entry("BEGIN IMMEDIATE", ("locks",), "deferred transactions that write, several clients", _BEGIN, _immediate),
    Entry("index for LIKE", ("processors", "read", "cache"), "a LIKE that no index serves", _LIKE, _like_index),
    Entry(
        "case_sensitive_like",
        ("processors", "read", "cache"),
        "a LIKE, and an index of another case",
        _pragma("case_sensitive_like"),
        _like_case,
    ),
    Entry("busy_timeout", ("locks",), "transactions that failed on a lock", _pragma("busy_timeout"), _timeout),
)
"""What can be tried on SQLite."""
