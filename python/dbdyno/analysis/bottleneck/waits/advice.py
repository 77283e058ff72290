"""Advice against waits, without advice that is already in effect.

Each clause checks the settings that were read from the server. It is omitted if the setting already has the advised
value or is unknown.
"""

from collections.abc import Callable, Iterator

from dbdyno.engines.server.facts import Server, size

_FEWER_CLIENTS = "fewer clients at a time (a pool of connections)"


def advice(bottleneck: str, about: str, server: Server) -> str:
    """Return advice against a bottleneck, or an empty string if no further advice is known.

    ``about``: the kind of bottleneck in the lists of waits.
    """
    clauses = _AGAINST.get(bottleneck)
    return "; ".join(clauses(about, server)) if clauses else ""


def named(bottleneck: str, server: Server) -> str:
    """Return the bottleneck that a wait means under the settings: a commit that flushes is a disk flush."""
    if bottleneck == "commit" and server.flushes_commits:
        return "disk flush"
    # Without fsync, no commit waits for the device.
    if bottleneck == "disk flush" and server.setting("fsync") == "off":
        return "log write"
    return bottleneck


def without_flush(server: Server) -> str:
    """Return the settings with which commits don't wait for the device; empty if already in effect or unknown."""
    return server.without_flush() if server.flushes_commits else ""


def _flush(about: str, server: Server) -> Iterator[str]:
    if about == "log file":
        yield "larger and fewer log files (min_wal_size), which are reused"
        return
    if server.flushes_commits is False:
        # No commit waits: the log is generated faster than it is written.
        yield "fewer log records (fewer indexes, more rows per statement), or a faster device"
        yield from _larger_log_buffers(server)
        return
    yield "more work per transaction, or more clients, whose commits share a flush"
    saves = without_flush(server)
    if saves:
        yield saves


def _commit(about: str, server: Server) -> Iterator[str]:  # noqa: ARG001
    if server.flushes_commits is False:
        yield "more work per transaction"
    else:
        yield from _flush("log flush", server)


def _log_buffers(about: str, server: Server) -> Iterator[str]:
    if about == "log page":
        yield from _larger_log_buffers(server)
    fewer = "fewer concurrent log records: fewer indexes, more rows per statement"
    yield fewer + (f", or {_FEWER_CLIENTS}" if server.clients > 1 else "")


def _larger_log_buffers(server: Server) -> Iterator[str]:
    set_to = server.bytes_of("wal_buffers")
    if set_to is not None and set_to < 64 * 2**20:
        yield f"a larger wal_buffers ({size(set_to)} now)"


def _read(about: str, server: Server) -> Iterator[str]:  # noqa: ARG001
    fit = server.data_fit
    if fit:
        yield f"a longer warm-up: {server.buffer} can hold all of the data once they were read"
        return
    if fit is False:
        yield _larger_buffer(server)
    yield "a faster device, or statements that read fewer pages"


def _write(about: str, server: Server) -> Iterator[str]:  # noqa: ARG001
    if server.data_fit is False:
        yield _larger_buffer(server)
    yield "a faster device, or more rows per statement"


def _larger_buffer(server: Server) -> str:
    set_to, data = server.bytes_of(server.buffer) or 0, server.data_bytes or 0
    return f"a larger {server.buffer} ({size(set_to)} for {size(data)} of data)"


def _temporary(about: str, server: Server) -> Iterator[str]:  # noqa: ARG001
    for name in ("work_mem", "tmp_table_size"):
        set_to = server.bytes_of(name)
        if set_to is not None:
            yield f"a larger {name} ({size(set_to)} now), or statements that sort and group less"


def _lock(about: str, server: Server) -> Iterator[str]:
    match about:
        case "row":
            yield "shorter transactions, or work that conflicts less often on the same rows"
        case "table":
            yield from server.against_table_locks()
        case "extension":
            yield "more rows per statement, or a partitioned table"
        case "definition":
            yield "no schema changes during the load"
        case "server":
            yield "no backups or other operations that lock the whole server during the load"
        case "application":
            yield "shorter use of the application's own locks"


def _latch(about: str, server: Server) -> Iterator[str]:
    other = {
        "page": "work that is spread over more pages",
        "lock table": "statements that use fewer tables, indexes and partitions",
        "sessions": "more work per transaction",
    }
    if about == "buffer mapping" and server.data_fit is False:
        yield _larger_buffer(server)
    clauses = [_FEWER_CLIENTS] if server.clients > 1 else []
    clauses += [other[about]] if about in other else []
    if clauses:
        yield ", or ".join(clauses)


def _parallel(about: str, server: Server) -> Iterator[str]:  # noqa: ARG001
    workers = server.setting("max_parallel_workers_per_gather")
    if workers not in ("", "0"):
        yield f"fewer parallel workers (max_parallel_workers_per_gather is {workers})"


def _replication(about: str, server: Server) -> Iterator[str]:  # noqa: ARG001
    if server.setting("synchronous_commit") in ("on", "remote_write", "remote_apply"):
        yield "synchronous_commit=local waits for this server only, but loses commits if the server is lost"


def _query_cache(about: str, server: Server) -> Iterator[str]:  # noqa: ARG001
    if server.setting("query_cache_type") not in ("", "off", "0"):
        yield "query_cache_type=OFF"


_AGAINST: dict[str, Callable[[str, Server], Iterator[str]]] = {
    "disk flush": _flush,
    "log write": _flush,
    "commit": _commit,
    "log buffers": _log_buffers,
    "disk read": _read,
    "disk write": _write,
    "temporary files": _temporary,
    "lock": _lock,
    "latch": _latch,
    "buffer pin": _latch,
    "transaction status": lambda _, server: iter([_FEWER_CLIENTS] if server.clients > 1 else []),
    "parallel workers": _parallel,
    "replication": _replication,
    "query cache": _query_cache,
    "sleep": lambda *_: iter(["statements that do not sleep"]),
}
