"""What SQLite has of its own to change, so as to see what a load depends on."""

from collections.abc import Iterator, Mapping, Sequence
from math import ceil

from dbdyno.engines.caches import smaller_caches
from dbdyno.engines.fixes import Asked
from dbdyno.engines.sqlite.advice import cache_bytes
from dbdyno.engines.sqlite.targets import settings_of
from dbdyno.model.plan.cell import CompiledCell
from dbdyno.model.plan.change import Change

# Bytes: with fewer pages SQLite has trouble of another kind.
_LEAST = 64 << 10

# Bytes that the clients' copies of a file take in all; making them takes a second or two.
_MOST_COPIED = 1 << 30


def changes(compiled: CompiledCell, settings: Mapping[str, str], data_bytes: float | None) -> Sequence[Change]:
    """Give them. ``settings``: what is in force."""
    return [*_changes(compiled, settings, data_bytes)]


def _changes(compiled: CompiledCell, settings: Mapping[str, str], data_bytes: float | None) -> Iterator[Change]:
    asked, clients = settings_of(compiled), compiled.definition.load.clients
    now = cache_bytes(settings)
    if now is not None and (data_bytes is None or data_bytes > now):
        yield from smaller_caches(now, "cache_size", _kibibytes, _LEAST)
    if data_bytes is not None and now is not None and data_bytes > now and settings.get("mmap_size", "0") == "0":
        does = "the file is mapped into memory, and no page is copied from the kernel's cache"
        yield Change("file in memory", "read", "free", does, settings={"mmap_size": str(ceil(data_bytes))})
    if clients > 1 and asked.cache == "shared":
        does = "each client has a cache of its own, and no mutex of a shared one"
        yield Change("private caches", "locks", "free", does, settings={"cache": "private"})
    copied = None if data_bytes is None else data_bytes * clients
    # Copies have just been written, and are in the kernel's cache.
    cold = compiled.definition.load.fresh_os_cache == "cold"
    if clients > 1 and copied is not None and copied <= _MOST_COPIED and not cold and _writes(compiled):
        does = "each client has a copy of the file, and waits for no lock of another one"
        yield Change("own files", "locks", "free", does, own_files=True)


def _writes(compiled: CompiledCell) -> bool:
    """Whether a cell's transactions take the lock that one writer has at a time."""
    return any(Asked("", str(each["sql"])).writes for each in compiled.trial.get("statements", []))


def _kibibytes(size: float) -> str:
    # Below 0 it is a size, and not a number of pages.
    return f"-{ceil(size / 1024)}"
