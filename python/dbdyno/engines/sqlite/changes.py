"""What SQLite has of its own to change, so as to see what a load depends on."""

from collections.abc import Iterator, Mapping, Sequence
from math import ceil

from dbdyno.engines.caches import smaller_caches
from dbdyno.engines.sqlite.advice import cache_bytes
from dbdyno.engines.sqlite.settings import SqliteSettings
from dbdyno.plan.change import Change

# Bytes: with fewer pages SQLite has trouble of another kind.
_LEAST = 64 << 10


def changes(
    asked: SqliteSettings, settings: Mapping[str, str], clients: int, data_bytes: float | None
) -> Sequence[Change]:
    """Give them. ``asked``: the settings of the system, of which ``settings`` are in force."""
    return [*_changes(asked, settings, clients, data_bytes)]


def _changes(
    asked: SqliteSettings, settings: Mapping[str, str], clients: int, data_bytes: float | None
) -> Iterator[Change]:
    now = cache_bytes(settings)
    if now is not None and (data_bytes is None or data_bytes > now):
        yield from smaller_caches(now, "cache_size", _kibibytes, _LEAST)
    if data_bytes is not None and now is not None and data_bytes > now and settings.get("mmap_size", "0") == "0":
        does = "the file is mapped into memory, and no page is copied from the kernel's cache"
        yield Change("file in memory", "read", "free", does, settings={"mmap_size": str(ceil(data_bytes))})
    if clients > 1 and asked.cache == "shared":
        does = "each client has a cache of its own, and no mutex of a shared one"
        yield Change("private caches", "locks", "free", does, settings={"cache": "private"})


def _kibibytes(size: float) -> str:
    # Below 0 it is a size, and not a number of pages.
    return f"-{ceil(size / 1024)}"
