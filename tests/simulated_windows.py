"""Windows as workers would tell of them, of clients whose transactions take times that are drawn.

Nothing is copied here of what is decided from them: the rate of a window is read by the function that reads a worker's,
and the interval is that of a run.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy

from dbdyno.events import accounting
from dbdyno.results.rounds import transactions_per_s
from dbdyno.stats import Rate

Kind = Literal["exponential", "uniform", "steady", "lognormal"]

MANY = 100
"""As in ``crates/load/src/rate.rs``."""


def window(random: numpy.random.Generator, kind: Kind, clients: int, length: float, speed: float = 1.0) -> Rate:
    """One round of clients whose transactions have a mean time of 1 / ``speed``: a lead-in, and a window of ``length``.

    Where exponential times are many they are known by their sums, so that a million of them cost no more than one.
    """
    if kind == "exponential" and length * speed > 2 * MANY:
        number = 1 + random.poisson(length * speed, clients)
        spans = length + random.exponential(1 / speed, clients)
        squares, within = 2 * number.sum() / speed**2, numpy.zeros(clients)
    else:
        number, spans, squares, within = _drawn(random, kind, clients, length * speed)
        spans, squares = spans / speed, squares / speed**2
    few = number < MANY
    rate = accounting.Rate(
        many_per_s=float((number[~few] / spans[~few]).sum()),
        few=accounting.Few(
            clients=int(few.sum()),
            completed=int(number[few].sum()),
            seconds=float(spans[few].sum()),
            within=float(within[few].sum()),
            window_s=float(few.sum() * length),
        ),
        whole=accounting.Whole(completed=0.0, seconds=0.0),
        client_s=float(spans.sum()),
        clients=clients,
    )
    value, other = transactions_per_s(rate)
    return Rate(value, float(spans.mean()), int(number.sum()), float(spans.sum()), float(squares), other=other)


def _drawn(random: numpy.random.Generator, kind: Kind, clients: int, length: float) -> tuple[Any, Any, float, Any]:
    """Of each client: transactions that it began, the time they took, and the parts of the window that were done."""
    most = int(2 * length + 14 * length**0.5 + 60)
    times = {
        "exponential": lambda: random.exponential(1.0, (clients, most)),
        "uniform": lambda: random.uniform(0.5, 1.5, (clients, most)),
        "steady": lambda: random.normal(1, 1e-3, (clients, most)),
        "lognormal": lambda: random.lognormal(-0.5, 1.0, (clients, most)),
    }[kind]()
    ends = times.cumsum(axis=1)
    begins = ends - times
    start = ends[:, 0].max()
    first = numpy.where(begins >= start - 1e-12, begins, numpy.inf).min(axis=1)
    last = numpy.maximum(start + length, first + 1e-9)
    begun = (begins >= first[:, None] - 1e-12) & (begins < last[:, None])
    own = numpy.where(begun, times, 0.0)
    inside = (numpy.minimum(ends, start + length) - numpy.maximum(begins, start)).clip(0) / times
    return begun.sum(axis=1), own.sum(axis=1), float((own**2).sum()), inside.sum(axis=1)


def blocks(
    random: numpy.random.Generator, kind: Kind, clients: int, length: float, rounds: int, noise: float = 0.0
) -> dict[int, Rate]:
    """The rounds of a cell whose machine is faster and slower by ``noise`` (1 sd) from block to block."""
    return {
        block: window(random, kind, clients, length, float(numpy.exp(random.normal(0, noise))))
        for block in range(rounds)
    }
