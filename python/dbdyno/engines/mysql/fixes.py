"""The catalog of fixes for MySQL and MariaDB: server variables and indexes."""

from collections.abc import Iterator
from math import ceil

from dbdyno.engines.fix_entries import Entry
from dbdyno.engines.fixes import Situation, memory, prefix_index, setting_fix
from dbdyno.engines.prefix_rules import begins_with
from dbdyno.engines.server.facts import size
from dbdyno.engines.string_rules import type_of
from dbdyno.model.plan.fix import Fix, Price, Source

_MANUAL = "https://dev.mysql.com/doc/refman/en/"
_INNODB = _MANUAL + "innodb-parameters.html#sysvar_"
_BINLOG = _MANUAL + "replication-options-binary-log.html#sysvar_"
_MARIADB = "https://mariadb.com/kb/en/"

_LOST = Price("durability", "a crash of the machine loses the commits of about the last second; the data stay intact")

_LOG = 1 << 30
# The default, which is low for a solid-state drive.
_USUAL_IO_CAPACITY = 200
_DELAY_US, _WAITING = 200, 4

# For columns of these types, an index contains only a prefix of this many characters.
_LONG = ("text", "tinytext", "mediumtext", "longtext")
_PREFIX = 64


def _innodb(name: str) -> Source:
    return Source("MySQL Reference Manual, InnoDB Startup Options and System Variables", name, _INNODB + name)


def _binlog(name: str) -> Source:
    return Source("MySQL Reference Manual, Binary Logging Options and Variables", name, _BINLOG + name)


def _is_mariadb(cell: Situation) -> bool:
    return cell.product.lower() == "mariadb"


def _of_innodb(cell: Situation) -> bool:
    """Whether the statements' tables are InnoDB tables, according to the catalog."""
    kinds = {str(table.get("storage_engine") or "InnoDB").lower() for table in cell.catalog.get("tables") or []}
    return kinds <= {"innodb"}


def _has_binlog(cell: Situation) -> bool:
    return cell.is_on("log_bin")


def _asynchronous(cell: Situation) -> Iterator[Fix]:
    if not cell.writes or not _of_innodb(cell):
        return
    settings = {}
    if cell.setting("innodb_flush_log_at_trx_commit") in ("1", "3"):
        settings["innodb_flush_log_at_trx_commit"] = "2"
    if _has_binlog(cell) and cell.setting("sync_binlog") not in ("", "0"):
        settings["sync_binlog"] = "0"
    if settings:
        does = "logs are written at each commit, but flushed only about once per second"
        yield setting_fix(cell, settings, does, _LOST, group="flush of the log")


def _without_binlog(cell: Situation) -> Iterator[Fix]:
    if cell.writes and _has_binlog(cell):
        does = "the binary log is not written"
        lost = Price("durability", "no replicas, and no point-in-time recovery after the last backup")
        yield setting_fix(cell, {"skip_log_bin": "on"}, does, lost, name="no binary log", group="binary log")


def _row_image(cell: Situation) -> Iterator[Fix]:
    if (
        _has_binlog(cell)
        and cell.setting("binlog_row_image") in ("full", "")
        and any(statement.changes for statement in cell.statements)
    ):
        does = "the binary log contains only the key and the changed columns of a row"
        use = Price("use", "readers of the log don't get unchanged columns")
        yield setting_fix(cell, {"binlog_row_image": "minimal"}, does, use, group="binary log")


def _group_commit(cell: Situation) -> Iterator[Fix]:
    if not cell.writes or cell.clients < _WAITING or not _has_binlog(cell):
        return
    does = f"commits wait up to {_DELAY_US} µs for each other, and share a flush of the binary log"
    longer = Price("latency", f"a commit takes up to {_DELAY_US} µs longer")
    if _is_mariadb(cell):
        settings = {"binlog_commit_wait_count": str(_WAITING), "binlog_commit_wait_usec": str(_DELAY_US)}
    else:
        settings = {
            "binlog_group_commit_sync_delay": str(_DELAY_US),
            "binlog_group_commit_sync_no_delay_count": str(_WAITING),
        }
    yield setting_fix(cell, settings, does, longer, name="group commit")


def _pool(cell: Situation) -> Iterator[Fix]:
    wanted = cell.larger_cache(cell.number("innodb_buffer_pool_size"))
    if wanted is not None and _of_innodb(cell):
        mib = ceil(wanted / 2**20)
        does = f"the server's page cache has {size(mib << 20)}"
        yield setting_fix(cell, {"innodb_buffer_pool_size": str(mib << 20)}, does, memory(mib << 20, "the buffer pool"))


def _direct(cell: Situation) -> Iterator[Fix]:
    method = cell.setting("innodb_flush_method")
    if method and "direct" not in method and _of_innodb(cell):
        does = "data files bypass the kernel's cache"
        use = Price("use", "reads that miss the buffer pool always go to the device")
        yield setting_fix(cell, {"innodb_flush_method": "O_DIRECT"}, does, use)


def _buffered(cell: Situation) -> Iterator[Fix]:
    if "direct" in cell.setting("innodb_flush_method") and _of_innodb(cell):
        does = "data files go through the kernel's cache, which serves reads that miss the buffer pool"
        yield setting_fix(cell, {"innodb_flush_method": "fsync"}, does, Price("memory", "pages are cached twice"))


def _log_file(cell: Situation) -> Iterator[Fix]:
    if not cell.writes or not _of_innodb(cell):
        return
    # MySQL has one size for all of the log since 8.0.30.
    name = "innodb_redo_log_capacity" if cell.settings.get("innodb_redo_log_capacity") else "innodb_log_file_size"
    now = cell.number(name)
    if now is not None and now < _LOG:
        does = "pages are written later, so a page changed repeatedly is written once"
        recovery = Price("recovery", f"after a crash, up to {size(_LOG)} of log must be read")
        yield setting_fix(cell, {name: str(_LOG)}, does, recovery, Price("space", f"{size(_LOG)} of log"))


def _io_capacity(cell: Situation) -> Iterator[Fix]:
    now = cell.number("innodb_io_capacity")
    if cell.writes and _of_innodb(cell) and now is not None and now <= _USUAL_IO_CAPACITY:
        does = "more pages are written in the background, before a client must wait for it"
        settings = {"innodb_io_capacity": "2000", "innodb_io_capacity_max": "4000"}
        yield setting_fix(cell, settings, does, Price("use", "device bandwidth that other operations then lack"))


def _neighbours(cell: Situation) -> Iterator[Fix]:
    if cell.writes and _of_innodb(cell) and cell.setting("innodb_flush_neighbors") in ("1", "2"):
        does = "a page is written without its neighbors, which only helps hard disks"
        yield setting_fix(cell, {"innodb_flush_neighbors": "0"}, does)


def _hash(cell: Situation) -> Iterator[Fix]:
    if cell.reads and _of_innodb(cell) and cell.setting("innodb_adaptive_hash_index") == "off":
        does = "a hash index in memory finds rows that are looked up repeatedly"
        more = Price("memory", "a part of the buffer pool, and a latch that many clients may wait for")
        yield setting_fix(cell, {"innodb_adaptive_hash_index": "on"}, does, more)


def _read_committed(cell: Situation) -> Iterator[Fix]:
    name = "transaction_isolation" if cell.settings.get("transaction_isolation") else "tx_isolation"
    if cell.clients > 1 and cell.writes and cell.setting(name) == "repeatable-read":
        does = "statements lock the rows that they find, but not the gaps between rows"
        weaker = Price("isolation", "a transaction sees changes that others commit while it runs")
        yield setting_fix(cell, {"transaction_isolation": "READ-COMMITTED"}, does, weaker)


def _interleaved_keys(cell: Situation) -> Iterator[Fix]:
    inserts = any(statement.inserts for statement in cell.statements)
    if cell.clients > 1 and inserts and cell.setting("innodb_autoinc_lock_mode") in ("0", "1"):
        does = "statements don't hold a lock while they generate keys"
        use = Price("use", "keys of one statement may not be consecutive, and replication must be row-based")
        yield setting_fix(cell, {"innodb_autoinc_lock_mode": "2"}, does, use)


def _thread_pool(cell: Situation) -> Iterator[Fix]:
    if (
        _is_mariadb(cell)
        and cell.clients > 4 * cell.processors
        and cell.setting("thread_handling") == "one-thread-per-connection"
    ):
        does = "few threads serve all connections"
        use = Price("latency", "a statement may wait behind a long one")
        yield setting_fix(cell, {"thread_handling": "pool-of-threads"}, does, use)


def _no_performance_schema(cell: Situation) -> Iterator[Fix]:
    if cell.is_on("performance_schema"):
        does = "the server doesn't count waits and statements"
        yield setting_fix(
            cell, {"performance_schema": "off"}, does, Price("use", "wait events of statements are not available")
        )


def _like_index(cell: Situation) -> Iterator[Fix]:
    for search in cell.prefix_scans if cell.may_index else ():
        if not any(begins_with(index, str(search.column["name"])) for index in search.table.get("indexes") or []):
            long = type_of(search.column) in _LONG
            does = "an index finds the pattern's prefix"
            yield prefix_index(cell, search, f"({_PREFIX})" if long else "", does)


ENTRIES = (
    Entry(
        "innodb_flush_log_at_trx_commit",
        ("flush",),
        "commits that wait for a log",
        _innodb("innodb_flush_log_at_trx_commit"),
        _asynchronous,
    ),
    Entry("no binary log", ("flush", "write"), "a binary log", _binlog("log_bin"), _without_binlog),
    Entry("binlog_row_image", ("flush", "write"), "a binary log, updates", _binlog("binlog_row_image"), _row_image),
    Entry(
        "group commit",
        ("flush",),
        "a binary log, four clients or more",
        _binlog("binlog_group_commit_sync_delay"),
        _group_commit,
    ),
    Entry(
        "innodb_buffer_pool_size",
        ("cache", "read", "write", "processors"),
        "data larger than the buffer pool",
        _innodb("innodb_buffer_pool_size"),
        _pool,
    ),
    Entry(
        "innodb_flush_method=O_DIRECT",
        ("read", "write", "flush"),
        "files that go through the kernel's cache",
        _innodb("innodb_flush_method"),
        _direct,
    ),
    Entry(
        "innodb_flush_method=fsync",
        ("read",),
        "files that bypass the kernel's cache",
        _innodb("innodb_flush_method"),
        _buffered,
    ),
    Entry(
        "size of the log",
        ("flush", "write"),
        "statements that write, and less than 1 GB of log",
        _innodb("innodb_redo_log_capacity"),
        _log_file,
    ),
    Entry(
        "innodb_io_capacity",
        ("write",),
        "200 or less, and statements that write",
        _innodb("innodb_io_capacity"),
        _io_capacity,
    ),
    Entry(
        "innodb_flush_neighbors",
        ("write", "flush"),
        "neighbors that are written too",
        _innodb("innodb_flush_neighbors"),
        _neighbours,
    ),
    Entry(
        "innodb_adaptive_hash_index",
        ("processors", "cache"),
        "statements that read, and no such index",
        _innodb("innodb_adaptive_hash_index"),
        _hash,
    ),
    Entry(
        "index for LIKE",
        ("processors", "read", "cache"),
        "a LIKE, and no index on its column",
        Source("MySQL Reference Manual, Column Indexes", "Index Prefixes", _MANUAL + "column-indexes.html"),
        _like_index,
    ),
    Entry(
        "READ COMMITTED",
        ("locks",),
        "repeatable read, several clients, one that writes",
        Source(
            "MySQL Reference Manual, Transaction Isolation Levels",
            "READ COMMITTED",
            _MANUAL + "innodb-transaction-isolation-levels.html",
        ),
        _read_committed,
    ),
    Entry(
        "innodb_autoinc_lock_mode",
        ("locks",),
        "inserts of several clients",
        _innodb("innodb_autoinc_lock_mode"),
        _interleaved_keys,
    ),
    Entry(
        "thread_handling",
        ("processors", "locks"),
        "MariaDB, with more than four clients per CPU",
        Source(
            "MariaDB documentation, Thread Pool in MariaDB", "thread_handling", _MARIADB + "thread-pool-in-mariadb/"
        ),
        _thread_pool,
    ),
    Entry(
        "performance_schema=off",
        ("processors",),
        "performance_schema=on",
        Source(
            "MySQL Reference Manual, Performance Schema System Variables",
            "performance_schema",
            _MANUAL + "performance-schema-system-variables.html#sysvar_performance_schema",
        ),
        _no_performance_schema,
    ),
)
"""The fixes of MySQL and MariaDB."""
