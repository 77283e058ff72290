"""Formats numbers and lists in findings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dbdyno.model.result.shape import Comparison

# The smallest value that is printed as 100.
_ROUNDED_TO_100 = 99.5


def rate(value: float) -> str:
    """Format a rate with three digits, or as an integer from 100 on."""
    return f"{value:,.0f}" if value >= _ROUNDED_TO_100 else f"{value:.3g}"


def with_interval(comparison: Comparison, digits: int = 3) -> str:
    """Format the ratio of two cells with its interval: ``0.42 (0.31 to 0.57)``; ``?`` without an interval."""
    ratio, ci95 = comparison.ratio, comparison.ci95
    if ratio is None or ci95 is None:
        return "?"
    return f"{ratio:.{digits}g} ({ci95[0]:.{digits}g} to {ci95[1]:.{digits}g})"


def span(values: Mapping[str, float], unit: float = 1.0) -> str:
    """Format the range of values, divided by ``unit``; a single number if both ends look the same."""
    least, most = (rate(each / unit) for each in (min(values.values()), max(values.values())))
    return least if least == most else f"{least} to {most}"


def all_of(names: Sequence[str], word: str = "and") -> str:
    """Join names: ``a, b and c``."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} {word} {names[-1]}"


def first_of(texts: Sequence[str]) -> str:
    """Return the first of several similar sentences, with the number of further ones."""
    return f"{texts[0]}." if len(texts) == 1 else f"{texts[0]}; {len(texts) - 1} more of this kind."
