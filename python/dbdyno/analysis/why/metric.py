"""What the cells of a `dbdyno why` are compared by: throughput, and of open loops the response time."""

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

# Of the arrivals: skipped, from which on no queue at a window's end explains them.
_MANY = 0.1

Metric = Literal["throughput", "p99"]


def metric_of(base: Cell) -> Metric:
    """Return what is compared with the cell as it is.

    The throughput of an open loop is the rate offered, so it is the p99 of the response time. Of one that is overloaded
    it is the throughput: as much as the system carries.
    """
    return "p99" if is_open_loop(base) and not is_overloaded(base) else "throughput"


def is_overloaded(cell: Cell) -> bool:
    """Whether an open loop is offered more than it carries: it skips many arrivals, or its clients are never idle.

    Short windows of a load that varies skip some arrivals as well, those that wait at their end.
    """
    if not is_open_loop(cell) or keeps_up(cell):
        return False
    rounds = done(cell)
    if sum(each.skipped for each in rounds) >= _MANY * sum(each.issued for each in rounds):
        return True
    idle = sum(each.segments.get("idle") or 0.0 for each in rounds)
    clients_s = sum(each.client_s or 0.0 for each in rounds)
    return idle <= (1 - NEVER_IDLE) * clients_s


def is_bounded(cell: Cell) -> bool:
    """Whether the p99 of a cell is a lower bound: a hundredth of what was due has no response time."""
    rounds = done(cell)
    due, ended = sum(each.issued for each in rounds), sum(each.completed for each in rounds)
    return due - ended >= max(OVERLOADED * due, 1)


def speeds_by_block(cell: Cell, metric: Metric) -> Mapping[int, float]:
    """Return a figure of each block, more of which is better: throughput, or the reciprocal of a time."""
    values = values_by_block(cell, metric)
    return values if metric == "throughput" else {block: 1 / value for block, value in values.items()}


def p99_beside(times: Mapping[int, float], cells: Sequence[Cell]) -> float | None:
    """Return the geometric mean of times over the blocks that one of the cells beside it has as well."""
    blocks = set().union(*(values_by_block(cell, "p99") for cell in cells))
    known = [time for block, time in times.items() if block in blocks]
    return geometric_mean(known) if known else None


def gain_of(one: ChangeEffect, metric: str) -> float:
    """Return how many times as fast a change made the cell; 0 where that is not known."""
    if metric == "throughput":
        return one.rate or 0.0
    return 1 / one.p99 if one.p99 else 0.0


def was_words(found: Why | Fixes) -> str:
    """Write the p99 of the cell as it is, as ``12.0 ms``; ``at least`` where it is a lower bound."""
    return ("at least " if found.p99_is_bound else "") + f"{milliseconds(found.p99_ms)} ms"


def becomes_words(found: Why | Fixes, ratio: float, ends: list[float] | None) -> str:
    """Write the p99 that a multiple of it is, as ``3.00 [2.60, 3.50] ms``."""
    own = found.p99_ms or 0.0
    interval = "" if ends is None else f" [{milliseconds(ends[0] * own)}, {milliseconds(ends[1] * own)}]"
    return f"{milliseconds(ratio * own)}{interval} ms"


def falls_words(found: Why | Fixes, ratio: float, ends: list[float] | None) -> str:
    """Write a change of the p99: ``the p99 response time falls from 12.0 ms to 3.00 [2.60, 3.50] ms``."""
    word = "falls" if ratio < 1 else "goes"
    return f"the p99 response time {word} from {was_words(found)} to {becomes_words(found, ratio, ends)}"
