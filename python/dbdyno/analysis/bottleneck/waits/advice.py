"""What would help against a wait, less what is in force already.

Each clause of advice looks at the settings that were read back: one that is set as it advises is not given, nor one
whose setting is not known. Where nothing is left, nothing is advised.
"""

from collections.abc import Callable, Iterator

from dbdyno.engines.server.facts import Server, size

_FEWER_CLIENTS = "fewer clients at a time (a pool of connections)"


def advice(bottleneck: str, about: str, server: Server) -> str:
    """Give what would help against a bottleneck, as a clause; empty where nothing is known that is not in force.

    ``about``: which kind of it, as in the lists of waits.
    """
    clauses = _AGAINST.get(bottleneck)
    return "; ".join(clauses(about, server)) if clauses else ""


def named(bottleneck: str, server: Server) -> str:
    """Name a bottleneck by what the settings make of it: a commit that waits for the device is one of the device."""
    if bottleneck == "commit" and server.flushes_commits:
        return "disk flush"
    # Without fsync the log is written and nobody waits until it is on the device.
    if bottleneck == "disk flush" and server.setting("fsync") == "off":
        return "log write"
    return bottleneck


def without_flush(server: Server) -> str:
    """Say which settings would spare commits the wait for the device; empty where they are in force, or not known."""
    return server.without_flush() if server.flushes_commits else ""


def _flush(about: str, server: Server) -> Iterator[str]:
    if about == "log file":
        yield "larger and fewer files of the log (min_wal_size), which are used again"
        return
    if server.flushes_commits is False:
        # Nobody's commit waits: what was seen is the writing of a log that comes faster than it is written.
        yield "fewer changes to be logged (fewer indexes, more rows in a statement), or a faster device"
        yield from _larger_log_buffers(server)
        return
    yield "more work in a transaction, or more clients, whose commits share a flush"
    saves = without_flush(server)
    if saves:
        yield saves


def _commit(about: str, server: Server) -> Iterator[str]:  # noqa: ARG001
    if server.flushes_commits is False:
        yield "more work in a transaction"
    else:
        yield from _flush("log flush", server)


def _log_buffers(about: str, server: Server) -> Iterator[str]:
    if about == "log page":
        yield from _larger_log_buffers(server)
    fewer = "fewer changes to be logged at a time: fewer indexes, more rows in a statement"
    yield fewer + (f", or {_FEWER_CLIENTS}" if server.clients > 1 else "")


def _larger_log_buffers(server: Server) -> Iterator[str]:
    set_to = server.bytes_of("wal_buffers")
    if set_to is not None and set_to < 64 * 2**20:
        yield f"a larger wal_buffers ({size(set_to)} now)"


def _read(about: str, server: Server) -> Iterator[str]:  # noqa: ARG001
    fit = server.data_fit
    if fit:
        yield f"a longer warm-up: {server.buffer} holds all of the data once they have been read"
        return
    if fit is False:
        yield _larger_buffer(server)
    yield "a faster device, or statements that read fewer pages"


def _write(about: str, server: Server) -> Iterator[str]:  # noqa: ARG001
    if server.data_fit is False:
        yield _larger_buffer(server)
    yield "a faster device, or more rows in a statement"


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
            yield "shorter transactions, or work that meets less often on the same rows"
        case "table":
            yield from server.against_table_locks()
        case "extension":
            yield "more rows in a statement, or a table in several partitions"
        case "definition":
            yield "no changes of definitions while others use them"
        case "server":
            yield "no backup, and nothing else that locks the whole server, during the load"
        case "application":
            yield "shorter use of the application's own locks"


def _latch(about: str, server: Server) -> Iterator[str]:
    other = {
        "page": "work that meets on other pages",
        "lock table": "statements that use fewer tables, indexes and partitions",
        "sessions": "more work in a transaction",
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
        yield "synchronous_commit=local waits for this server alone, and can lose commits where it is lost"


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
