"""Changes to the size of a cache."""

from collections.abc import Callable, Iterator

from dbdyno.model.plan.change import Change

#: Divisors of a cache's size.
_DIVIDED = (2, 4)


def smaller_caches(now: float | None, setting: str, written: Callable[[float], str], least: float) -> Iterator[Change]:
    """Yield caches of half and a quarter of the bytes ``now``, but none smaller than ``least``.

    ``written``: formats bytes for the ``setting``.
    """
    for divided in _DIVIDED:
        if now is not None and now / divided >= least:
            does = f"the cache has 1/{divided} of its size"
            yield Change(
                f"cache /{divided}",
                "cache",
                "slower",
                does,
                "ratio",
                float(divided),
                settings={setting: written(now / divided)},
            )


def whole_data(
    now: float | None, data_bytes: float | None, setting: str, written: Callable[[float], str]
) -> Iterator[Change]:
    """Yield a cache large enough for all data if the data are known to exceed the bytes ``now``."""
    if now is not None and data_bytes is not None and data_bytes > now:
        does = "the cache is as large as the data"
        yield Change("all in the cache", "read", "free", does, settings={setting: written(_ROOM * data_bytes)})


# Size of a cache relative to the pages in it: caches store more than the pages themselves.
_ROOM = 1.25
