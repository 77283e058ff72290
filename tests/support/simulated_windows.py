"""Windows as workers would tell of them, of clients whose transactions take times that are drawn.

Nothing is copied here of what is decided from them: the rate of a window is read by the function that reads a worker's,
and the interval is that of a run.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

import numpy

from dbdyno.analysis.measured.rounds import transactions_per_s
from dbdyno.model.events import accounting
from dbdyno.stats import Rate

Kind = Literal["exponential", "uniform", "steady", "lognormal"]

MANY, COVERED_BY_MANY = 100, 0.9
"""As in ``crates/load/src/rate.rs``."""


_AT_ONCE = 1_000_000
"""Times that are drawn together: so many that numpy is not called for each window, and no more than memory is there."""


def windows(random: numpy.random.Generator, kind: Kind, clients: int, length: float, number: int) -> list[Rate]:
    """So many rounds of clients whose transactions have a mean time of 1: a lead-in, and a window of ``length``.

    Where exponential times are many they are known by their sums, so that a million of them cost no more than one.
    """
    by_sums = kind == "exponential" and length > 2 * MANY
    of_each = clients * (1 if by_sums else _most(length))
    made: list[Rate] = []
    while len(made) < number:
        together = min(number - len(made), max(1, _AT_ONCE // of_each))
        shape = (together, clients)
        if by_sums:
            counts = 1 + random.poisson(length, shape)
            spans = length + random.exponential(1, shape)
            squares, within = 2.0 * counts.sum(axis=1), numpy.zeros(shape)
        else:
            counts, spans, squares, within = _drawn(random, kind, shape, length)
        made += _rates(counts, spans, squares, within, length)
    return made


def blocks(
    random: numpy.random.Generator, kind: Kind, clients: int, length: float, rounds: int, noise: float = 0.0
) -> dict[int, Rate]:
    """The rounds of a cell whose machine is faster and slower by ``noise`` (1 sd) from block to block."""
    made = {}
    for block in range(rounds):
        speed = float(numpy.exp(random.normal(0, noise)))
        (rate,) = windows(random, kind, clients, length * speed, 1)
        made[block] = replace(
            rate,
            value=rate.value * speed,
            time=rate.time / speed,
            seconds=rate.seconds / speed,
            squares=rate.squares / speed**2,
        )
    return made


def _rates(counts: Any, spans: Any, squares: Any, within: Any, length: float) -> list[Rate]:
    """Read windows as those of a worker. ``squares``: of each window; all else: of each and its clients."""
    few = counts < MANY
    covered = numpy.where(spans < COVERED_BY_MANY * length, within / length, counts / spans)
    columns = (
        numpy.where(few, 0.0, covered).sum(axis=1),
        few.sum(axis=1),
        numpy.where(few, counts, 0).sum(axis=1),
        numpy.where(few, spans, 0.0).sum(axis=1),
        numpy.where(few, within, 0.0).sum(axis=1),
        counts.sum(axis=1),
        spans.sum(axis=1),
        squares,
    )
    clients = counts.shape[1]
    made = []
    for many_per_s, those, completed, seconds, inside, count, client_s, square in zip(
        *(each.tolist() for each in columns), strict=True
    ):
        rate = accounting.Rate(
            many_per_s=many_per_s,
            few=accounting.Few(
                clients=those, completed=completed, seconds=seconds, within=inside, window_s=those * length
            ),
            whole=accounting.Whole(completed=0.0, seconds=0.0),
            client_s=client_s,
            clients=clients,
        )
        value, other = transactions_per_s(rate)
        made.append(Rate(value, client_s / clients, count, client_s, square, other=other))
    return made


def _most(length: float) -> int:
    """More transactions than a client can have begun at the end of a window."""
    return int(2 * length + 14 * length**0.5 + 60)


def _drawn(
    random: numpy.random.Generator, kind: Kind, shape: tuple[int, int], length: float
) -> tuple[Any, Any, Any, Any]:
    """Of each window and client: transactions that it began, the time they took, and the parts of the window that were
    done; and of each window the sum of the squares of those times."""
    size = (*shape, _most(length))
    times = {
        "exponential": lambda: random.exponential(1.0, size),
        "uniform": lambda: random.uniform(0.5, 1.5, size),
        "steady": lambda: random.normal(1, 1e-3, size),
        "lognormal": lambda: random.lognormal(-0.5, 1.0, size),
    }[kind]()
    ends = times.cumsum(axis=2)
    begins = ends - times
    start = ends[:, :, 0].max(axis=1)[:, None, None]
    first = numpy.where(begins >= start - 1e-12, begins, numpy.inf).min(axis=2, keepdims=True)
    last = numpy.maximum(start + length, first + 1e-9)
    begun = (begins >= first - 1e-12) & (begins < last)
    own = numpy.where(begun, times, 0.0)
    inside = (numpy.minimum(ends, start + length) - numpy.maximum(begins, start)).clip(0) / times
    return begun.sum(axis=2), own.sum(axis=2), (own**2).sum(axis=(1, 2)), inside.sum(axis=2)
