"""Number formatting for the terminal, Markdown and HTML."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

NONE = "-"

# The smallest values that round up to a power of ten, with three or four significant digits.
ROUNDS_TO_10 = 9.995
_ROUNDS_TO_1, _ROUNDS_TO_100, _ROUNDS_TO_1000 = 0.9995, 99.95, 999.95
_THOUSAND, _MILLION = 1e3, 1e6

# Numbers of decimals: (minimum absolute value, decimals) in figure(), (upper bound, decimals) in percent().
_FIGURE_DIGITS = ((100, 1), (10, 2), (1, 3), (0.001, 4))
_PERCENT_DIGITS = ((0.095, 2), (9.95, 1))
_MIN_PERCENT = 0.005
# From here on, a percentage below 100 would be rounded to it.
_ROUNDS_TO_ALL = 99.5

# Interval bounds that differ from the ratio by a larger factor are not printed.
_FAR = 100


def figure(value: float | None) -> str:
    """Return a number with three to four significant digits: ``59.32``, ``8,568``, ``0.0122``.

    Numbers of 1,000 and above are rounded to integers.
    """
    if value is None:
        return NONE
    if value == 0:
        return "0"
    size = abs(value)
    if size >= _ROUNDS_TO_1000:
        return f"{value:,.0f}"
    digits = next((digits for least, digits in _FIGURE_DIGITS if size >= least), None)
    return f"{value:.2g}" if digits is None else f"{value:.{digits}f}"


def short(value: float | None) -> str:
    """Return a number in at most six characters: ``59.3``, ``8.57k``, ``1.23M``."""
    if value is None:
        return NONE
    for limit, letter in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= limit:
            return _three(value / limit) + letter
    return _three(value)


# The smallest value that two significant digits round to 100, which `g` would write as 1e+02.
_THREE_DIGITS = 99.5


def rough(value: float, sign: str = "") -> str:
    """Return a number with two significant digits, from 100 rounded to an integer: ``4.3``, ``120``.

    ``sign``: ``+`` to write a sign before positive numbers as well.
    """
    return f"{value:{sign}.2g}" if abs(value) < _THREE_DIGITS else f"{value:{sign}.0f}"


def percent(share: float | None) -> str:
    """Return a share (1.0 = 100%) as a percentage: ``0.04 %``, ``3.1 %``, ``97 %``."""
    if share is None:
        return NONE
    value = share * 100
    if value == 0:
        return "0 %"
    if abs(value) < _MIN_PERCENT:
        return "<0.01 %"
    if _ROUNDS_TO_ALL <= value < 100:  # noqa: PLR2004 - percent
        return f"{math.floor(value * 10) / 10:.1f} %"
    digits = next((digits for bound, digits in _PERCENT_DIGITS if abs(value) < bound), 0)
    return f"{value:,.{digits}f} %"


def times(value: float) -> str:
    """Return a ratio as a number, such as ``0.958``, ``417`` or ``1,783``; from a million on as ``2.1e+07``."""
    if abs(value) >= _MILLION:
        return f"{value:.1e}"
    return f"{value:.3f}" if abs(value) < _ROUNDS_TO_1 else _three(value) if abs(value) < _THOUSAND else whole(value)


def bracketed(ratio: float, ci95: Sequence[float] | None) -> str:
    """Return a ratio with its interval, if it has one: ``1.92 [1.88, 1.96]``.

    A bound that differs from the ratio by a factor of more than 100 is cut, unless it is on the same side of 1:
    ``1.92 [1.02, >192]``. If both are cut, the result is ``1.92 [too noisy]``.
    """
    return times(ratio) + _ends(ratio, ci95)


def factor_words(ratio: float, ci95: Sequence[float] | None) -> str:
    """Return a ratio as a factor with its interval as in :func:`bracketed`: ``1.92x [1.88, 1.96]``."""
    return f"{times(ratio)}x{_ends(ratio, ci95)}"


def _ends(ratio: float, ci95: Sequence[float] | None) -> str:
    if ci95 is None:
        return ""
    far_low, far_high = ci95[0] * _FAR < min(ratio, _FAR), ci95[1] > max(ratio * _FAR, 1.0)
    if far_low and far_high:
        return " [too noisy]"
    low = f"<{times(ratio / _FAR)}" if far_low else times(ci95[0])
    high = f">{times(ratio * _FAR)}" if far_high else times(ci95[1])
    return f" [{low}, {high}]"


def whole(value: float | None) -> str:
    """Return a number rounded to an integer, with thousands separators."""
    return NONE if value is None else f"{value:,.0f}"


# Half a microsecond, in milliseconds: three decimals would show less as 0.000.
_MICROSECOND = 0.0005
_TENTH_MICROSECOND = 1e-4


def milliseconds(value: float | None) -> str:
    """Return milliseconds with three significant digits, down to a microsecond: ``0.029``, ``1.42``, ``843``.

    Times below half a microsecond have one or two significant digits: ``0.0004``.
    """
    if value is None:
        return NONE
    if 0 < abs(value) < _MICROSECOND:
        return f"{value:.2g}" if abs(value) >= _TENTH_MICROSECOND else f"{value:.6f}".rstrip("0").rstrip(".")
    return f"{value:.3f}" if abs(value) < 1 else _three(value) if value < _THOUSAND else whole(value)


_SECONDS = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}


def parse_duration(text: str) -> float | None:
    """Return the seconds of a duration with its unit, such as ``500ms``, ``2 s`` or ``1h``; None for another text."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([a-z]+)", text)
    return None if match is None or match[2] not in _SECONDS else float(match[1]) * _SECONDS[match[2]]


def duration(seconds: float) -> str:
    """Return a duration, such as ``2 h 10 min``, ``2 min 05 s`` or ``40 s``."""
    minutes, seconds = divmod(round(seconds), 60)
    hours, rest = divmod(minutes, 60)
    if hours:
        return f"{hours} h {rest:02d} min"
    return f"{minutes} min {seconds:02d} s" if minutes else f"{seconds} s"


def level(value: object) -> str:
    """Return a factor level as a string, in the syntax of the command line."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return f"{value:g}" if isinstance(value, float) else str(value)


def _three(value: float) -> str:
    size = abs(value)
    return f"{value:.0f}" if size >= _ROUNDS_TO_100 else f"{value:.1f}" if size >= ROUNDS_TO_10 else f"{value:.2f}"


def time_words(ms: float) -> str:
    """Return a time with its unit: ``1.42 ms``, from one second on ``2.5 s``. ``ms``: milliseconds."""
    return f"{ms / _THOUSAND:.1f} s" if ms >= _THOUSAND else f"{milliseconds(ms)} ms"


Pairs = list[tuple[str, str]]
"""Names and values, both as strings."""


def flat(source: Mapping[str, Any], prefix: str = "") -> Pairs:
    """Flatten a JSON object to pairs of strings; the names of nested values are joined by dots."""
    found: Pairs = []
    for name, value in source.items():
        if isinstance(value, dict):
            found += flat(value, f"{prefix}{name}.")
        elif isinstance(value, list):
            found.append((prefix + name, ", ".join(_plain(item) for item in value)))
        else:
            found.append((prefix + name, _plain(value)))
    return found


# Integers below this limit have no thousands separators, because they may be years or ports.
_GROUPED_FROM = 10_000


def _plain(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, dict):
        return json.dumps(value, ensure_ascii=False)
    return (
        f"{value:,}"
        if isinstance(value, int) and not isinstance(value, bool) and value >= _GROUPED_FROM
        else level(value)
    )
