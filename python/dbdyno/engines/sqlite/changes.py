"""Changes to SQLite that ``why`` measures."""

from collections.abc import Iterator, Mapping, Sequence
from math import ceil

from dbdyno.engines.cache_changes import smaller_caches
from dbdyno.engines.fixes import StatementFacts
from dbdyno.engines.sqlite.advice import cache_bytes
from dbdyno.engines.sqlite.targets import settings_of
from dbdyno.model.plan.cell import CompiledCell
from dbdyno.model.plan.change import Change

# Minimum cache size in bytes; smaller caches cause other problems.
_MIN_CACHE_BYTES = 64 << 10

# Maximum bytes of all clients' file copies together; copying them takes one or two seconds.
_MAX_COPIED_BYTES = 1 << 30


def changes(compiled: CompiledCell, settings: Mapping[str, str], data_bytes: float | None) -> Sequence[Change]:
    """Return SQLite's changes. ``settings``: the settings in effect; ``data_bytes``: the size of the data."""
    return [*_changes(compiled, settings, data_bytes)]


def _changes(compiled: CompiledCell, settings: Mapping[str, str], data_bytes: float | None) -> Iterator[Change]:
    asked, clients = settings_of(compiled), compiled.definition.load.clients
    now = cache_bytes(settings)
    if now is not None and (data_bytes is None or data_bytes > now):
        yield from smaller_caches(now, "cache_size", _kibibytes, _MIN_CACHE_BYTES)
    if data_bytes is not None and now is not None and data_bytes > now and settings.get("mmap_size", "0") == "0":
        does = "the file is mapped into memory, and pages are not copied from the kernel's cache"
        yield Change("file in memory", "read", "free", does, settings={"mmap_size": str(ceil(data_bytes))})
    if clients > 1 and asked.cache == "shared":
        does = "each client has its own cache, without the mutex of a shared one"
        yield Change("private caches", "locks", "free", does, settings={"cache": "private"})
    copied = None if data_bytes is None else data_bytes * clients
    # Copies have just been written, so they are in the kernel's cache.
    cold = compiled.definition.load.fresh_os_cache == "cold"
    if clients > 1 and copied is not None and copied <= _MAX_COPIED_BYTES and not cold and _writes(compiled):
        does = "each client has its own copy of the file, and doesn't wait for other clients' locks"
        yield Change("own files", "locks", "free", does, own_files=True)


def _writes(compiled: CompiledCell) -> bool:
    """Whether a cell's transactions take the write lock."""
    return any(StatementFacts("", statement.sql).writes for statement in compiled.task.with_all_statements().statements)


def _kibibytes(size: float) -> str:
    # A negative value is a size in KiB, a positive one a number of pages.
    return f"-{ceil(size / 1024)}"
