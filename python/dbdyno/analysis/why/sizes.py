"""Sizes of changes, derived from the pilot of a cell, and their names."""

from math import floor, log10

# Relative increases of a transaction's time by delays of a kind of call, if calls don't overlap.
ADDED = (0.2, 0.5, 1.0)

# Fractions of each CPU that the competing program uses.
TAKEN = (0.1, 0.25, 0.4)


def delays_us(time_us: float, each: float, room: float = 1.0) -> list[float]:
    """Return delays in microseconds for a call that a transaction of ``time_us`` makes ``each`` times.

    ``room``: largest relative slowdown of a transaction.
    """
    return [_two_digits(share * room * time_us / each) for share in ADDED]


def _two_digits(value: float) -> float:
    """Round to two digits, which keeps the names of changes short."""
    if value <= 0:
        return 0.0
    digits = 1 - floor(log10(value))
    return round(value, digits)


def time_name(us: float) -> str:
    """Return microseconds in the format of names: ``250us``, ``1.5ms``, ``2s``."""
    for unit, factor in (("s", 1e6), ("ms", 1e3)):
        if us >= factor:
            return f"{us / factor:g}{unit}"
    return f"{us:g}us" if us >= 1 else f"{us * 1e3:g}ns"


def time_words(us: float) -> str:
    """Return microseconds in the format of sentences: ``250 µs``, ``1.5 ms``."""
    name = time_name(us)
    number = name.rstrip("smun")
    unit = name.removeprefix(number).replace("us", "µs")
    return f"{number} {unit}"
