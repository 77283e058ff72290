"""Representative values of generators, to execute a statement once for the engine's estimates."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

from dbdyno.experiment.compile.generators import PlanGenerator

Value = bool | int | float | str | None


class NoValueError(LookupError):
    """A generator has no representative value, because it depends on variables or generates random strings."""


def representatives(params: Sequence[PlanGenerator]) -> list[Value] | None:
    """Return a representative value per parameter; ``None`` if one has none."""
    try:
        return [representative(each) for each in params]
    except NoValueError:
        return None


def representative(generator: PlanGenerator) -> Value:  # noqa: PLR0911 - one per kind
    """Return a typical value of a plan's generator, always the same one. Raises NoValueError.

    For a range, it is the middle, or the end that is drawn most often; for a list, the first of the most frequent
    values; for a key, the key of the representative row.
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


def drawn(generator: PlanGenerator, source: Random) -> Value:
    """Draw a value of a plan's generator. Raises NoValueError.

    Each value of a range is equally likely, whatever the generator's distribution.
    """
    match generator:
        case {"kind": "pick", "values": values}:
            return _plain(source.choices(values, generator.get("weights"))[0])
        case {"kind": "uniform" | "gaussian" | "zipf", "low": low, "high": high}:
            return source.randint(low, high)
        case {"kind": "uniform_real", "low": low, "high": high}:
            return source.uniform(low, high)
        case {"kind": "nullable", "share": share, "of": of}:
            return None if source.random() < share else drawn(of, source)
    return representative(generator)


def _plain(value: Any) -> Value:
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise NoValueError(type(value).__name__)
