"""How large changes are, and what they are called: from what the pilot of a cell showed."""

from math import floor, log10

# The shares of a transaction's time that the delays of a kind of call add to it, if nothing overlaps.
ADDED = (0.2, 0.5, 1.0)

# The shares of each processor that another program takes.
TAKEN = (0.1, 0.25, 0.4)


def delays_us(time_us: float, each: float, room: float = 1.0) -> list[float]:
    """Return the delays of a call in microseconds, that a transaction makes ``each`` times in ``time_us``.

    ``room``: by which share of its time a transaction may take longer.
    """
    return [_two_digits(share * room * time_us / each) for share in ADDED]


def _two_digits(value: float) -> float:
    """Round to two digits, so that a change has a name that can be read."""
    if value <= 0:
        return 0.0
    digits = 1 - floor(log10(value))
    return round(value, digits)


def time_name(us: float) -> str:
    """Write microseconds as a name has them: ``250us``, ``1.5ms``, ``2s``."""
    for unit, factor in (("s", 1e6), ("ms", 1e3)):
        if us >= factor:
            return f"{us / factor:g}{unit}"
    return f"{us:g}us" if us >= 1 else f"{us * 1e3:g}ns"


def time_words(us: float) -> str:
    """Write microseconds for people: ``250 µs``, ``1.5 ms``."""
    name = time_name(us)
    number = name.rstrip("smun")
    unit = name.removeprefix(number).replace("us", "µs")
    return f"{number} {unit}"
