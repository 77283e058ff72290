"""How findings write their figures."""

from __future__ import annotations

from collections.abc import Mapping

from dbdyno.model.result.shape import Comparison


def percent(share: float) -> str:
    """Write a share as a percentage, one below 10 % with a digit more."""
    return f"{share * 100:.{1 if share < 0.0995 else 0}f} %"


def rate(value: float) -> str:
    """Write a rate without a fraction where it has three digits before it."""
    return f"{value:,.0f}" if value >= 99.5 else f"{value:.3g}"


def with_interval(comparison: Comparison, digits: int = 3) -> str:
    """Write the ratio of two cells with its interval: ``0.42 (0.31 to 0.57)``; a question mark where there is none."""
    ratio, ci95 = comparison["ratio"], comparison["ci95"]
    if ratio is None or ci95 is None:
        return "?"
    return f"{ratio:.{digits}g} ({ci95[0]:.{digits}g} to {ci95[1]:.{digits}g})"


def span(values: Mapping[str, float], unit: float = 1.0) -> str:
    """Write the least and the greatest of values, divided by ``unit``; one where they read alike."""
    least, most = (rate(each / unit) for each in (min(values.values()), max(values.values())))
    return least if least == most else f"{least} to {most}"
