"""The metric by which `dbdyno why` compares cells: throughput, or the response time of open loops."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import geometric_mean
from typing import Literal

from dbdyno.analysis.bottleneck.common import OVERLOADED
from dbdyno.analysis.measured.metrics import done, is_open_loop, keeps_up, values_by_block
from dbdyno.analysis.why.pilot import NEVER_IDLE
from dbdyno.base.numbers import milliseconds
from dbdyno.model.result.cell import Cell
from dbdyno.model.result.fixes import Fixes
from dbdyno.model.result.why import ChangeEffect, Why

# Share of skipped arrivals from which a queue at the end of the window can't explain them.
_MANY = 0.1

Metric = Literal["throughput", "p99"]


def metric_of(base: Cell) -> Metric:
    """Return the metric by which changed cells are compared with the unchanged cell.

    The throughput of an open loop equals the offered rate, so the metric is the p99 of the response time. If an open
    loop is overloaded, the metric is throughput: the rate that the system can serve.
    """
    return "p99" if is_open_loop(base) and not is_overloaded(base) else "throughput"


def is_overloaded(cell: Cell) -> bool:
    """Whether an open loop is overloaded: it skips many arrivals, or its clients are never idle.

    A few skipped arrivals don't suffice: with a varying load, arrivals may still wait when a short window ends.
    """
    if not is_open_loop(cell) or keeps_up(cell):
        return False
    rounds = done(cell)
    if sum(round_.skipped for round_ in rounds) >= _MANY * sum(round_.issued for round_ in rounds):
        return True
    idle = sum(round_.segments.get("idle") or 0.0 for round_ in rounds)
    clients_s = sum(round_.client_s or 0.0 for round_ in rounds)
    return idle <= (1 - NEVER_IDLE) * clients_s


def is_bounded(cell: Cell) -> bool:
    """Whether the p99 of a cell is a lower bound, because 1% of its transactions didn't complete."""
    rounds = done(cell)
    due, ended = sum(round_.issued for round_ in rounds), sum(round_.completed for round_ in rounds)
    return due - ended >= max(OVERLOADED * due, 1)


def speeds_by_block(cell: Cell, metric: Metric) -> Mapping[int, float]:
    """Return the speed by block, more is better: throughput, or the reciprocal of a time."""
    values = values_by_block(cell, metric)
    return values if metric == "throughput" else {block: 1 / value for block, value in values.items()}


def p99_beside(times: Mapping[int, float], cells: Sequence[Cell]) -> float | None:
    """Return the geometric mean of times over the blocks in which any of the cells was measured."""
    blocks = set().union(*(values_by_block(cell, "p99") for cell in cells))
    known = [time for block, time in times.items() if block in blocks]
    return geometric_mean(known) if known else None


def gain_of(one: ChangeEffect, metric: str) -> float:
    """Return the speed of the changed cell as a multiple of the unchanged cell's; 0 if it is unknown."""
    if metric == "throughput":
        return one.rate or 0.0
    return 1 / one.p99 if one.p99 else 0.0


def was_words(conclusion: Why | Fixes) -> str:
    """Return the p99 of the unchanged cell, such as ``12.0 ms``, with ``at least`` if it is a lower bound."""
    return ("at least " if conclusion.p99_is_bound else "") + f"{milliseconds(conclusion.p99_ms)} ms"


def becomes_words(conclusion: Why | Fixes, ratio: float, ends: list[float] | None) -> str:
    """Return a multiple of the unchanged p99, such as ``3.00 [2.60, 3.50] ms``."""
    own = conclusion.p99_ms or 0.0
    interval = "" if ends is None else f" [{milliseconds(ends[0] * own)}, {milliseconds(ends[1] * own)}]"
    return f"{milliseconds(ratio * own)}{interval} ms"


def falls_words(conclusion: Why | Fixes, ratio: float, ends: list[float] | None) -> str:
    """Return a clause such as ``the p99 response time falls from 12.0 ms to 3.00 [2.60, 3.50] ms``."""
    word = "falls" if ratio < 1 else "rises"
    return f"the p99 response time {word} from {was_words(conclusion)} to {becomes_words(conclusion, ratio, ends)}"
