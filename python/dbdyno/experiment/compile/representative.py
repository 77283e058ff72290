"""A value that stands for those which a generator makes: what a statement is run with once for its estimates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dbdyno.experiment.compile.generators import PlanGenerator

Value = bool | int | float | str | None


class NoValueError(LookupError):
    """No value stands for those of a generator: it depends on variables, or makes texts at random."""


def representatives(params: Sequence[PlanGenerator]) -> list[Value] | None:
    """Give a value for each parameter; ``None`` where one has none."""
    try:
        return [representative(each) for each in params]
    except NoValueError:
        return None


def representative(generator: PlanGenerator) -> Value:  # noqa: PLR0911 - one per kind
    """Give a value of a plan's generator that is as usual as any, and the same each time. Raises NoValueError.

    Of a range the middle, where numbers are drawn more often about an end that end; of a list the first of the most
    frequent; of a key that of the row.
    """
    match generator:
        case {"kind": "constant", "value": value}:
            return _plain(value)
        case {"kind": "pick", "values": values}:
            weights = generator.get("weights") or [1] * len(values)
            return _plain(values[weights.index(max(weights))])
        case {"kind": "uniform" | "gaussian", "low": low, "high": high}:
            return int((low + high) // 2)
        case {"kind": "uniform_real", "low": low, "high": high}:
            return float((low + high) / 2)
        case {"kind": "zipf", "low": low, "high": high}:
            return int((low + high) // 2 if generator.get("scattered") else low)
        case {"kind": "nullable", "of": of}:
            return representative(of)
        case {"kind": "reference", "of": {"kind": "serial", "start": start, "step": step}, "row": row}:
            number = representative(row)
            if isinstance(number, int):
                return int(start + step * number)
    raise NoValueError(generator.get("kind"))


def _plain(value: Any) -> Value:
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise NoValueError(type(value).__name__)
