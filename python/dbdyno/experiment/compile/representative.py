"""Representative values of generators, to execute a statement once for the engine's estimates."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from dbdyno.model.plan import generators as plan


class NoValueError(LookupError):
    """A generator without a representative value, because it depends on variables or generates random strings."""


def representatives(params: Sequence[plan.Generator]) -> list[plan.Scalar] | None:
    """Return a representative value per parameter; ``None`` if a parameter lacks one."""
    try:
        return [representative(param) for param in params]
    except NoValueError:
        return None


def representative(generator: plan.Generator) -> plan.Scalar:  # noqa: PLR0911 - one per kind
    """Return a typical value of a plan's generator, always the same one. Raises NoValueError.

    For a range, it is the middle, or the end that is drawn most often; for a list, the first of the most frequent
    values; for a key, the key of the representative row.
    """
    match generator:
        case plan.Constant(value=value):
            return value
        case plan.Pick(values=values, weights=weights):
            known = weights or [1] * len(values)
            return values[known.index(max(known))]
        case plan.Uniform(low=low, high=high) | plan.Gaussian(low=low, high=high):
            return (low + high) // 2
        case plan.UniformReal(low=bottom, high=top):
            return float((bottom + top) / 2)
        case plan.Zipf(low=low, high=high):
            return (low + high) // 2 if generator.scattered else low
        case plan.Nullable(of=of):
            return representative(of)
        case plan.Reference(of=plan.Serial(start=start, step=step), row=row):
            number = representative(row)
            if isinstance(number, int):
                return start + step * number
    raise NoValueError(generator.kind)


def drawn(generator: plan.Generator, source: Random) -> plan.Scalar:
    """Draw a value of a plan's generator. Raises NoValueError.

    Each value of a range is equally likely, whatever the generator's distribution.
    """
    match generator:
        case plan.Pick(values=values, weights=weights):
            return source.choices(values, weights)[0]
        case plan.Uniform(low=low, high=high) | plan.Gaussian(low=low, high=high) | plan.Zipf(low=low, high=high):
            return source.randint(low, high)
        case plan.UniformReal(low=bottom, high=top):
            return source.uniform(bottom, top)
        case plan.Nullable(share=share, of=of):
            return None if source.random() < share else drawn(of, source)
    return representative(generator)
