"""Changes of the size of a cache."""

from collections.abc import Callable, Iterator

from dbdyno.model.plan.change import Change

#: By how much a cache is made smaller.
_DIVIDED = (2, 4)


def smaller_caches(now: float | None, setting: str, written: Callable[[float], str], least: float) -> Iterator[Change]:
    """Give caches of a half and of a quarter of the bytes it has ``now``, none below ``least``.

    ``written``: bytes as the ``setting`` takes them.
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
    """Give a cache that holds all data, where they are known to be larger than it is ``now``."""
    if now is not None and data_bytes is not None and data_bytes > now:
        does = "the cache is as large as the data"
        yield Change("all in the cache", "read", "free", does, settings={setting: written(_ROOM * data_bytes)})


# What caches keep beside the pages themselves.
_ROOM = 1.25
