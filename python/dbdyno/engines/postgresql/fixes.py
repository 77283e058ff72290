"""PostgreSQL's catalog of fixes: server parameters, indexes, and free space in pages."""

from collections.abc import Iterator, Mapping
from math import ceil

from dbdyno.engines.fix_entries import Entry
from dbdyno.engines.fixes import PLACEHOLDER_SOURCE, Situation, memory, prefix_index, setting_fix
from dbdyno.engines.postgresql.advice import cache_bytes, size_bytes
from dbdyno.engines.server.facts import size
from dbdyno.model.plan.fix import Fix, Price, Source

_DOCS = "https://www.postgresql.org/docs/current/"
_WAL = _DOCS + "runtime-config-wal.html"
_PLANNER = _DOCS + "runtime-config-query.html"
_RESOURCES = _DOCS + "runtime-config-resource.html"

# Microseconds that a commit waits for others, and the minimum number of other open transactions.
_DELAY_US, _SIBLINGS = 200, 3
# Bytes of log between checkpoints, and bytes of log buffers.
_LOG, _LOG_BUFFERS = 4 << 30, 64 << 20
_SORT = 64 << 20
_RANDOM_PAGE_COST = 1.1
# Initial fill of each page of an updated table, in percent.
_FILL = 70


def _parameter(chapter: str, section: str, page: str, name: str) -> Source:
    return Source(
        f"PostgreSQL documentation, {chapter}", f"{section}, {name}", f"{page}#GUC-{name.upper().replace('_', '-')}"
    )


# Parameters that require a restart of the server.
_AT_START = frozenset({"shared_buffers", "wal_buffers"})


def _set(cell: Situation, settings: Mapping[str, str], does: str, *prices: Price, name: str = "") -> Fix:
    closing = "-- then restart the server" if _AT_START & settings.keys() else "SELECT pg_reload_conf();"
    return setting_fix(cell, settings, does, *prices, name=name, closing=closing)


def _asynchronous(cell: Situation) -> Iterator[Fix]:
    if cell.writes and cell.setting("synchronous_commit") in ("on", "remote_write", "remote_apply", "local"):
        if cell.setting("fsync") == "off":
            return
        does = "commits don't wait until the log is on the device"
        lost = Price("durability", "a crash loses the commits of up to the last 0.6 s; the data stay intact")
        yield _set(cell, {"synchronous_commit": "off"}, does, lost)


def _delay(cell: Situation) -> Iterator[Fix]:
    flushes = cell.setting("synchronous_commit") != "off" and cell.setting("fsync") != "off"
    if cell.writes and flushes and cell.clients > _SIBLINGS and cell.setting("commit_delay") in ("", "0"):
        does = f"a commit waits {_DELAY_US} µs for others to share its flush, if {_SIBLINGS} are open"
        longer = Price("latency", f"a commit takes up to {_DELAY_US} µs longer")
        yield _set(cell, {"commit_delay": str(_DELAY_US), "commit_siblings": str(_SIBLINGS)}, does, longer)


def _flush_method(cell: Situation) -> Iterator[Fix]:
    if cell.writes and cell.setting("wal_sync_method") == "fdatasync" and cell.setting("fsync") != "off":
        does = "the log is opened with O_DSYNC, so writes flush without another system call"
        yield _set(cell, {"wal_sync_method": "open_datasync"}, does)


def _compression(cell: Situation) -> Iterator[Fix]:
    if cell.writes and cell.setting("wal_compression") == "off":
        does = "full page images in the log are compressed"
        yield _set(cell, {"wal_compression": "on"}, does, Price("use", "CPU time for compression"))


def _checkpoints(cell: Situation) -> Iterator[Fix]:
    now = size_bytes(cell.settings.get("max_wal_size", ""))
    if cell.writes and now is not None and now < _LOG:
        does = "checkpoints happen less often, and fewer full page images go to the log"
        prices = (
            Price("recovery", f"after a crash, up to {size(_LOG)} of log must be read"),
            Price("space", f"up to {size(_LOG)} of log"),
        )
        settings = {"max_wal_size": f"{_LOG >> 20}MB", "checkpoint_timeout": "30min"}
        yield _set(cell, settings, does, *prices)


def _log_buffers(cell: Situation) -> Iterator[Fix]:
    now = size_bytes(cell.settings.get("wal_buffers", ""))
    if cell.writes and now is not None and now < _LOG_BUFFERS:
        does = "more of the log stays in memory until it is written"
        yield _set(cell, {"wal_buffers": f"{_LOG_BUFFERS >> 20}MB"}, does, memory(_LOG_BUFFERS, "the log"))


def _shared_buffers(cell: Situation) -> Iterator[Fix]:
    wanted = cell.larger_cache(cache_bytes(cell.settings))
    if wanted is not None:
        mib = ceil(wanted / 2**20)
        does = f"the server's page cache has {size(mib << 20)}"
        yield _set(cell, {"shared_buffers": f"{mib}MB"}, does, memory(mib << 20, "the cache"))


def _random_pages(cell: Situation) -> Iterator[Fix]:
    now = cell.number("random_page_cost")
    whole = any(read.kind == "scan" for plan in cell.plans for read in plan.reads)
    if whole and now is not None and now > _RANDOM_PAGE_COST:
        does = "the planner assumes that random page reads cost little more than sequential ones, as on an SSD"
        use = Price("use", "plans of other statements may change, too")
        yield _set(cell, {"random_page_cost": f"{_RANDOM_PAGE_COST:g}"}, does, use)


def _no_jit(cell: Situation) -> Iterator[Fix]:
    if cell.is_on("jit") and cell.plans:
        does = "statements are not compiled to machine code before they run"
        yield _set(cell, {"jit": "off"}, does, Price("use", "long analytical statements may take longer"))


def _sort_memory(cell: Situation) -> Iterator[Fix]:
    now = size_bytes(cell.settings.get("work_mem", ""))
    if cell.sorts and now is not None and now < _SORT:
        does = f"sorts and hashes up to {size(_SORT)} stay in memory"
        yield _set(cell, {"work_mem": f"{_SORT >> 20}MB"}, does, memory(_SORT, "each sort and hash", cell.clients))


def _vacuum(cell: Situation) -> Iterator[Fix]:
    if any(statement.changes for statement in cell.statements) and cell.setting("autovacuum") != "off":
        does = "old versions of rows are removed sooner"
        settings = {
            "autovacuum_naptime": "1s",
            "autovacuum_vacuum_scale_factor": "0.01",
            "autovacuum_vacuum_cost_delay": "0",
        }
        use = Price("use", "more frequent reads and writes of changed tables")
        yield _set(cell, settings, does, use, name="autovacuum sooner")


def _fill(cell: Situation) -> Iterator[Fix]:
    tables = sorted({each for one in cell.statements if one.changes and (each := _updated(one.sql))})
    if tables and cell.own_tables and not cell.named:
        lines = tuple(
            line
            for table in tables
            for line in (f"alter table {table} set (fillfactor = {_FILL})", f"vacuum (full, analyze) {table}")
        )
        does = "pages keep free space for new versions of their rows, which then don't need new index entries"
        space = Price("space", f"tables of {100 / _FILL:.2g} times the size")
        snippet = tuple(f"{line};" for line in lines)
        yield Fix(f"fillfactor={_FILL}", does, (space,), PLACEHOLDER_SOURCE, snippet, statements=lines)


def _updated(sql: str) -> str | None:
    words = sql.split()
    return words[1] if len(words) > 1 and words[0].lower() == "update" and words[1].lower() != "only" else None


def _pattern_index(cell: Situation) -> Iterator[Fix]:
    for search in cell.prefix_scans if cell.may_index else ():
        if search.column.get("type") != "citext":
            by_bytes = (search.column.get("collation") or {}).get("by_bytes")
            does = "an index in byte order finds the pattern's prefix"
            yield prefix_index(cell, search, "" if by_bytes else "text_pattern_ops", does)


ENTRIES = (
    Entry(
        "synchronous_commit=off",
        ("flush",),
        "commits that wait for the device",
        _parameter("Write Ahead Log", "Settings", _WAL, "synchronous_commit"),
        _asynchronous,
    ),
    Entry(
        "commit_delay",
        ("flush",),
        "commits that wait for the device, more than three clients",
        _parameter("Write Ahead Log", "Settings", _WAL, "commit_delay"),
        _delay,
    ),
    Entry(
        "wal_sync_method",
        ("flush",),
        "wal_sync_method=fdatasync",
        _parameter("Write Ahead Log", "Settings", _WAL, "wal_sync_method"),
        _flush_method,
    ),
    Entry(
        "wal_compression",
        ("flush", "write"),
        "full page images in the log that are not compressed",
        _parameter("Write Ahead Log", "Settings", _WAL, "wal_compression"),
        _compression,
    ),
    Entry(
        "fewer checkpoints",
        ("flush", "write"),
        "statements that write, and less than 4 GB of log",
        _parameter("Write Ahead Log", "Checkpoints", _WAL, "max_wal_size"),
        _checkpoints,
    ),
    Entry(
        "wal_buffers",
        ("flush", "write", "locks"),
        "statements that write, and less than 64 MB of them",
        _parameter("Write Ahead Log", "Settings", _WAL, "wal_buffers"),
        _log_buffers,
    ),
    Entry(
        "shared_buffers",
        ("cache", "read", "write", "processors"),
        "data larger than the cache",
        _parameter("Resource Consumption", "Memory", _RESOURCES, "shared_buffers"),
        _shared_buffers,
    ),
    Entry(
        "random_page_cost",
        ("read", "processors", "cache"),
        "a plan with a full table scan",
        _parameter("Query Planning", "Planner Cost Constants", _PLANNER, "random_page_cost"),
        _random_pages,
    ),
    Entry(
        "jit=off",
        ("processors",),
        "jit=on",
        _parameter("Query Planning", "Other Planner Options", _PLANNER, "jit"),
        _no_jit,
    ),
    Entry(
        "text_pattern_ops",
        ("processors", "read", "cache"),
        "a LIKE without a usable index",
        Source(
            "PostgreSQL documentation, Indexes",
            "Operator Classes and Operator Families",
            _DOCS + "indexes-opclass.html",
        ),
        _pattern_index,
    ),
    Entry(
        "work_mem",
        ("read", "write", "processors"),
        "a plan that sorts",
        _parameter("Resource Consumption", "Memory", _RESOURCES, "work_mem"),
        _sort_memory,
    ),
    Entry(
        "autovacuum",
        ("processors", "read", "locks"),
        "statements that update or delete",
        Source(
            "PostgreSQL documentation, Routine Vacuuming",
            "The Autovacuum Daemon",
            _DOCS + "routine-vacuuming.html#AUTOVACUUM",
        ),
        _vacuum,
    ),
    Entry(
        "fillfactor",
        ("processors", "write", "flush"),
        "statements that update, on tables of the experiment",
        Source(
            "PostgreSQL documentation, Database Physical Storage", "Heap-Only Tuples (HOT)", _DOCS + "storage-hot.html"
        ),
        _fill,
    ),
)
"""PostgreSQL's fixes."""
