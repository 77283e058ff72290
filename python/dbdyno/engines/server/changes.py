"""Changes that ``why`` applies to servers that dbdyno starts."""

from collections.abc import Callable, Iterator, Mapping

from dbdyno.engines.cache_changes import smaller_caches, whole_data
from dbdyno.engines.server.preload import preload_library
from dbdyno.model.plan.change import Change


def cache_changes(
    now: float | None,
    data_bytes: float | None,
    setting: str,
    least: float,
    written: Callable[[float], str] = lambda size: f"{size / 1024:.0f}kB",
) -> Iterator[Change]:
    """Yield smaller caches, and one that contains all data; none if the cache contains all data already.

    ``now``: its size in bytes; ``setting``: the setting for its size; ``written``: formats bytes for the setting;
    ``least``: its minimum size in bytes.
    """
    if now is None or (data_bytes is not None and data_bytes <= now):
        return
    yield from smaller_caches(now, setting, written, least)
    yield from whole_data(now, data_bytes, setting, written)


def without_flushes(settings: Mapping[str, str]) -> Iterator[Change]:
    """Yield settings that disable flushes, if the preload library that skips the server's calls is missing."""
    if preload_library() is None:
        yield Change("flush free", "flush", "free", "clients don't wait for the device to flush", settings=settings)
