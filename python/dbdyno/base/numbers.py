"""Numbers as people read them; the same in the table, in Markdown and in HTML."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

NONE = "-"

# The least values that are rounded to a power of ten, at three significant digits or four.
ROUNDS_TO_10 = 9.995
_ROUNDS_TO_1, _ROUNDS_TO_100, _ROUNDS_TO_1000 = 0.9995, 99.95, 999.95
_THOUSAND, _MILLION = 1e3, 1e6

# Digits behind the point: of a figure by its least size, of a percentage by the size that it is below.
_FIGURE_DIGITS = ((100, 1), (10, 2), (1, 3), (0.001, 4))
_PERCENT_DIGITS = ((0.1, 2), (10, 1))
_LEAST_PERCENT = 0.005

# An interval that reaches further says no more than that nothing is known.
_FAR = 100


def figure(value: float | None) -> str:
    """Return a number with three to four significant digits, whole from 1000 on: ``59.32``, ``8,568``, ``0.0122``."""
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


# Two significant digits make it 100.
_THREE_DIGITS = 99.5


def rough(value: float, sign: str = "") -> str:
    """Write a number with two digits, and one of three or more without a power of ten: ``4.3``, ``120``.

    ``sign``: ``+`` for a sign before what is above 0 as well.
    """
    return f"{value:{sign}.2g}" if abs(value) < _THREE_DIGITS else f"{value:{sign}.0f}"


def percent(share: float | None) -> str:
    """Return a share as percent with at most three digits: ``0.04 %``, ``3.1 %``, ``97 %``."""
    if share is None:
        return NONE
    value = share * 100
    if value == 0:
        return "0 %"
    if abs(value) < _LEAST_PERCENT:
        return "<0.01 %"
    digits = next((digits for bound, digits in _PERCENT_DIGITS if abs(value) < bound), 0)
    return f"{value:,.{digits}f} %"


def times(value: float) -> str:
    """Return a ratio with three significant digits, such as ``0.958``, ``417`` or ``1,783``; ``2.1e+07`` if large."""
    if abs(value) >= _MILLION:
        return f"{value:.1e}"
    return f"{value:.3f}" if abs(value) < _ROUNDS_TO_1 else _three(value) if abs(value) < _THOUSAND else whole(value)


def bracketed(ratio: float, ci95: Sequence[float] | None) -> str:
    """Return a ratio with its interval, if it has one: ``1.92 [1.88, 1.96]``."""
    return times(ratio) + ("" if ci95 is None else f" [{times(ci95[0])}, {times(ci95[1])}]")


def factor_words(ratio: float, ci95: Sequence[float] | None) -> str:
    """Return a ratio as a factor with its interval, if it has one: ``1.92x [1.88, 1.96]``.

    An end more than 100 times away from the ratio is cut, unless it is on the ratio's side of 1:
    ``1.92x [1.02, >192]``. If both are cut, the interval says nothing.
    """
    if ci95 is None:
        return f"{times(ratio)}x"
    far_low, far_high = ci95[0] * _FAR < min(ratio, _FAR), ci95[1] > max(ratio * _FAR, 1.0)
    if far_low and far_high:
        return f"{times(ratio)}x [too noisy]"
    low = f"<{times(ratio / _FAR)}" if far_low else times(ci95[0])
    high = f">{times(ratio * _FAR)}" if far_high else times(ci95[1])
    return f"{times(ratio)}x [{low}, {high}]"


def whole(value: float | None) -> str:
    """Return a number without its fraction."""
    return NONE if value is None else f"{value:,.0f}"


# In milliseconds: below half of it three decimals show nothing.
_MICROSECOND = 0.0005
_TENTH_MICROSECOND = 1e-4


def milliseconds(value: float | None) -> str:
    """Return milliseconds with three significant digits, down to a microsecond: ``0.029``, ``1.42``, ``843``.

    Less has one or two: ``0.0004``.
    """
    if value is None:
        return NONE
    if 0 < abs(value) < _MICROSECOND:
        return f"{value:.2g}" if abs(value) >= _TENTH_MICROSECOND else f"{value:.6f}".rstrip("0").rstrip(".")
    return f"{value:.3f}" if abs(value) < 1 else _three(value) if value < _THOUSAND else whole(value)


def duration(seconds: float) -> str:
    """Return a time to wait, such as ``2 h 10 min``, ``2 min 05 s`` or ``40 s``."""
    minutes, seconds = divmod(round(seconds), 60)
    hours, rest = divmod(minutes, 60)
    if hours:
        return f"{hours} h {rest:02d} min"
    return f"{minutes} min {seconds:02d} s" if minutes else f"{seconds} s"


def level(value: object) -> str:
    """Return the level of a factor as text, as it would be given on the command line."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return f"{value:g}" if isinstance(value, float) else str(value)


def _three(value: float) -> str:
    size = abs(value)
    return f"{value:.0f}" if size >= _ROUNDS_TO_100 else f"{value:.1f}" if size >= ROUNDS_TO_10 else f"{value:.2f}"


def time_words(ms: float) -> str:
    """Write a time in milliseconds, from a second on in seconds."""
    return f"{ms / _THOUSAND:.1f} s" if ms >= _THOUSAND else f"{milliseconds(ms)} ms"


Pairs = list[tuple[str, str]]
"""Names and values, as text."""


def flat(source: Mapping[str, Any], prefix: str = "") -> Pairs:
    """Return an object as pairs of text, nested names joined by dots."""
    found: Pairs = []
    for name, value in source.items():
        if isinstance(value, dict):
            found += flat(value, f"{prefix}{name}.")
        elif isinstance(value, list):
            found.append((prefix + name, ", ".join(_plain(each) for each in value)))
        else:
            found.append((prefix + name, _plain(value)))
    return found


# Shorter integers may be years or ports.
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
