"""Windows as workers would tell of them, of clients whose transactions take times that are drawn.

Nothing is copied here of what is decided from them: the rate of a window is read by the function that reads a worker's,
and the interval is that of a run.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy
from numpy.typing import NDArray

from dbdyno.results.rounds import transactions_per_s
from dbdyno.stats import Rate

Kind = Literal["exponential", "uniform", "steady"]

MANY = 100
"""As in ``crates/load/src/rate.rs``."""


def window(random: numpy.random.Generator, kind: Kind, clients: int, length: float, speed: float = 1.0) -> Rate:
    """One round: each client runs transactions of mean time 1 / ``speed`` until ``length`` is over, and ends the last.

    Exponential times are known by their sums, so that a million of them cost no more than one.
    """
    if kind == "exponential":
        number = 1 + random.poisson(length * speed, clients)
        spans = length + random.exponential(1 / speed, clients)
        squares = 2 * number.sum() / speed**2 if number.sum() > 1000 else _squares(random, number, spans)
    else:
        number, spans, squares = _drawn(random, kind, clients, length * speed)
        spans, squares = spans / speed, squares / speed**2
    few = number < MANY
    result: dict[str, Any] = {
        "rate": {
            "many_per_s": float((number[~few] / spans[~few]).sum()),
            "few": {"clients": int(few.sum()), "completed": int(number[few].sum()), "seconds": float(spans[few].sum())},
            "whole": {"completed": 0, "seconds": 0},
        }
    }
    value = transactions_per_s(result)
    assert value is not None
    return Rate(value, float(spans.mean()), int(number.sum()), float(spans.sum()), float(squares))


def _squares(random: numpy.random.Generator, number: NDArray[Any], spans: NDArray[Any]) -> float:
    """The sum of squares of exponential times whose numbers and sums are known: the gaps of uniform points."""
    total = 0.0
    for count, span in zip(number, spans, strict=True):
        ends = numpy.sort(random.random(count - 1)) * span
        total += float((numpy.diff(numpy.concatenate([[0.0], ends, [span]])) ** 2).sum())
    return total


def _drawn(random: numpy.random.Generator, kind: Kind, clients: int, length: float) -> tuple[Any, Any, float]:
    most = int(length * 2 + 10)
    times = random.uniform(0.5, 1.5, (clients, most)) if kind == "uniform" else random.normal(1, 1e-3, (clients, most))
    ends = times.cumsum(axis=1)
    begun = ends - times < length
    number = begun.sum(axis=1)
    return number, ends[numpy.arange(clients), number - 1], float((numpy.where(begun, times, 0.0) ** 2).sum())


def blocks(
    random: numpy.random.Generator, kind: Kind, clients: int, length: float, rounds: int, noise: float = 0.0
) -> dict[int, Rate]:
    """The rounds of a cell whose machine is faster and slower by ``noise`` (1 sd) from block to block."""
    return {
        block: window(random, kind, clients, length, float(numpy.exp(random.normal(0, noise))))
        for block in range(rounds)
    }
