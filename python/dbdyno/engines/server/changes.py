"""What servers that dbdyno starts have to change, so as to see what a load depends on."""

from collections.abc import Callable, Iterator, Mapping

from dbdyno.engines.caches import smaller_caches, whole_data
from dbdyno.engines.server.preload import preload_library
from dbdyno.model.plan.change import Change


def cache_changes(
    now: float | None,
    data_bytes: float | None,
    setting: str,
    least: float,
    written: Callable[[float], str] = lambda size: f"{size / 1024:.0f}kB",
) -> Iterator[Change]:
    """Give smaller caches, and one that holds all data; none where all data are in it already.

    ``now``: its bytes; ``setting``: what sets it, as ``written`` writes bytes; ``least``: the fewest it may have.
    """
    if now is None or (data_bytes is not None and data_bytes <= now):
        return
    yield from smaller_caches(now, setting, written, least)
    yield from whole_data(now, data_bytes, setting, written)


def without_flushes(settings: Mapping[str, str]) -> Iterator[Change]:
    """Give settings by which nothing waits for the device, where the server's calls cannot be left out."""
    if preload_library() is None:
        yield Change("flush free", "flush", "free", "nothing waits for the device to flush", settings=settings)
