"""Judge measured candidate indexes, and choose the set that is best for all statements together."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from dbdyno.model.result.indexes import IdleIndex, Verdict
from dbdyno.model.result.reading import JsonObject, objects
from dbdyno.stats.intervals import Ratio, paired_ratio

# An index has to make a statement faster by this factor.
MIN_GAIN = 1.1
# Statements that take less are not worth an index.
NEGLIGIBLE_MS = 0.05
# Two pairs that differ by this factor in the same direction are no noise.
_FAR, _MIN_FAR = 3.0, 2
# What an index must save: with weights, of the time of all statements; otherwise, of the time of one of them.
_MIN_SAVING_OF_ALL, _MIN_SAVING_OF_ONE = 0.01, 0.1
# Sets of up to this many useful candidates are compared exhaustively.
_EXHAUSTIVE = 12

Pairs = Sequence[Sequence[float]]


def speedup(pairs: Pairs) -> Ratio | None:
    """Return how many times as fast the second of each pair is, from times of the same work."""
    slow = {position: pair[0] for position, pair in enumerate(pairs)}
    fast = {position: pair[1] for position, pair in enumerate(pairs)}
    return paired_ratio(fast, slow)


def far_apart(pairs: Pairs) -> Verdict | None:
    """Return a verdict that needs no interval: all of several pairs differ by :data:`_FAR` in the same direction."""
    if len(pairs) < _MIN_FAR:
        return None
    if all(before >= _FAR * after for before, after in pairs):
        return "helps"
    return "slower" if all(after >= _FAR * before for before, after in pairs) else None


def is_decided(pairs: Pairs) -> bool:
    """Whether it is certain if an index makes a statement faster by :data:`MIN_GAIN`."""
    if far_apart(pairs) is not None:
        return True
    ratio = speedup(pairs)
    if ratio is None or ratio.low is None or ratio.high is None:
        return False
    return ratio.low > MIN_GAIN or ratio.high < MIN_GAIN


def verdict_of(speeds: Sequence[Pairs]) -> Verdict:
    """Return the verdict on an index from the times of the statements whose plans use it."""
    if not speeds:
        return "not used"
    far = [far_apart(pairs) for pairs in speeds]
    ratios = [ratio for pairs in speeds if (ratio := speedup(pairs)) is not None and ratio.low is not None]
    if "helps" in far or any(ratio.low is not None and ratio.low > MIN_GAIN for ratio in ratios):
        return "helps"
    if "slower" in far or any(ratio.high is not None and ratio.high < 1 / MIN_GAIN for ratio in ratios):
        return "slower"
    return "no gain"


@dataclass(frozen=True)
class Measured:
    """A useful candidate.

    ``times``: factor by which it speeds up each statement; ``bytes``: its size, if known; ``count``: the number of its
    indexes.
    """

    name: str
    times: Mapping[str, float]
    bytes: int | None = None
    count: int = 1


@dataclass(frozen=True)
class Choice:
    """The chosen indexes, and useful ones that don't fit into the budget; names."""

    chosen: tuple[str, ...]
    over_budget: tuple[str, ...]


def choose(
    indexes: Sequence[Measured], total_ms: Mapping[str, float], budget_bytes: int | None, *, weighted: bool = False
) -> Choice:
    """Choose the indexes that are best together: each one saves more than :func:`_cost` charges for it.

    ``total_ms``: the time of each statement without them, times its weight; ``weighted``: the weights are the user's.
    A statement is taken to be as fast as with its best index alone; the chosen set is measured afterwards.
    """
    fitting = [measured for measured in indexes if budget_bytes is None or (measured.bytes or 0) <= budget_bytes]

    largest = max((measured.bytes or 0 for measured in indexes), default=0) or 1

    def cost(taken: Sequence[Measured]) -> float:
        # The largest index is charged twice as much as a tiny one.
        charged = sum(measured.count + (measured.bytes or 0) / largest for measured in taken)
        return _cost(taken, total_ms, charged, weighted=weighted)

    if len(fitting) <= _EXHAUSTIVE:
        sets = (list(combination) for count in range(len(fitting) + 1) for combination in combinations(fitting, count))
        best = min((each for each in sets if budget_bytes is None or _size(each) <= budget_bytes), key=cost)
    else:
        best = _greedy(fitting, cost, budget_bytes)
    others = [measured for measured in indexes if measured not in best]
    over = [measured.name for measured in others if budget_bytes is not None and cost([*best, measured]) < cost(best)]
    return Choice(tuple(measured.name for measured in best), tuple(over))


def _cost(taken: Sequence[Measured], total_ms: Mapping[str, float], charged: float, *, weighted: bool) -> float:
    """Return what is left of the statements' time, plus a charge for the indexes.

    With weights, the time of all statements counts. Without them nobody knows how often each one runs, so that the
    logarithms of their times count: a fast statement matters as much as a slow one, unless it is negligible.
    """
    left = {name: _left_of(name, ms, taken) for name, ms in total_ms.items()}
    if weighted:
        return sum(left.values()) / sum(total_ms.values()) + _MIN_SAVING_OF_ALL * charged
    factors = ((left[name] + NEGLIGIBLE_MS) / (ms + NEGLIGIBLE_MS) for name, ms in total_ms.items())
    return sum(map(math.log, factors)) - math.log(1 - _MIN_SAVING_OF_ONE) * charged


def _greedy(
    indexes: Sequence[Measured], cost: Callable[[Sequence[Measured]], float], budget_bytes: int | None
) -> list[Measured]:
    """Add the index that saves most, again and again."""
    taken: list[Measured] = []
    while True:
        rest = [measured for measured in indexes if measured not in taken]
        sets = [
            [*taken, measured] for measured in rest if budget_bytes is None or _size([*taken, measured]) <= budget_bytes
        ]
        best = min(sets, key=cost, default=taken)
        if cost(best) >= cost(taken):
            return taken
        taken = best


def _left_of(name: str, ms: float, taken: Sequence[Measured]) -> float:
    """Return the time of a statement. Slower plans count too: the planner may choose them."""
    times = [measured.times[name] for measured in taken if name in measured.times]
    return ms / max(times) if times else ms


def _size(taken: Sequence[Measured]) -> int:
    return sum(measured.bytes or 0 for measured in taken)


def idle_indexes(catalog: JsonObject, plans: Sequence[Sequence[str]], tables: frozenset[str]) -> list[IdleIndex]:
    """Return the existing indexes that no plan uses, and those that another index covers.

    ``tables``: the tables that the statements read, in lower case. Unique indexes are left out, since they enforce a
    rule.
    """
    found: list[IdleIndex] = []
    for table in objects(catalog.get("tables")):
        name = str(table.get("name"))
        if name.lower() not in tables:
            continue
        indexes = objects(table.get("indexes"))
        for index in indexes:
            own = str(index.get("name"))
            if index.get("unique"):
                continue
            covering = next(
                (str(other["name"]) for other in indexes if other is not index and _covers(other, index)), None
            )
            if covering is not None or not any(names_index(plan, own) for plan in plans):
                found.append(IdleIndex(name=own, table=name, covered_by=covering))
    return found


def names_index(plan: Sequence[str], name: str) -> bool:
    """Whether a plan contains the name of an index as a whole."""
    whole = re.compile(rf"(?<!\w){re.escape(name)}(?!\w)")
    return any(whole.search(line) for line in plan)


def _covers(other: JsonObject, index: JsonObject) -> bool:
    """Whether an index begins with all keys of another one; of two equal ones, the first name covers the other."""
    if index.get("partial") or other.get("partial") or not other.get("usable", True):
        return False
    keys, others = objects(index.get("keys")), objects(other.get("keys"))
    if not keys or others[: len(keys)] != keys:
        return False
    return len(others) > len(keys) or bool(other.get("unique")) or str(other.get("name")) < str(index.get("name"))
