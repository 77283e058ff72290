"""Which cells of a run are compared with which."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dbdyno.analysis.measured.judging import Pair, judge
from dbdyno.analysis.measured.metrics import gate_metric
from dbdyno.model.result.cell import Cell
from dbdyno.model.result.shape import Comparison
from dbdyno.stats import CONFIDENCE

SIDE, BASELINE, CANDIDATE = "side", "baseline", "candidate"
"""The factor that tells the cells of a gate apart that were measured in the same blocks, and its levels."""


def compare_with_baseline(
    cells: Sequence[Cell], margin: float, confidence: float = CONFIDENCE, questions: Sequence[str] = ()
) -> list[Comparison]:
    """Compare cells with their baselines (:func:`baselines`), within blocks. ``margin`` is a share."""
    return judge(baseline_pairs(cells, confidence, questions), margin)


def baseline_pairs(
    cells: Sequence[Cell], confidence: float, questions: Sequence[str], *, of_sides: bool = False
) -> list[Pair]:
    """Give the pairs of a baseline and of what is compared with it. ``confidence``: of their intervals.

    ``of_sides``: the run is a gate's, and each cell of the candidate is compared with that of the baseline.
    """
    levels = [cell.factors for cell in cells]
    places = side_pairs(levels) if of_sides else baselines(levels, questions)
    return [Pair(cells[a], cells[b], confidence=confidence) for a, b in places]


def gate_pairs(cells: Sequence[Cell], confidence: float, metric: str | None = None) -> list[Pair]:
    """Give the cells of a gate's two sides that were measured in the same rounds, by what judges them."""
    sides = [(cells[a], cells[b]) for a, b in side_pairs([cell.factors for cell in cells])]
    return [Pair(a, b, metric=metric or gate_metric(a, b), confidence=confidence) for a, b in sides]


def side_pairs(levels: Sequence[Mapping[str, object]]) -> list[tuple[int, int]]:
    """Give for each cell of the candidate the place of the baseline's that has its other levels, and its own.

    Where the baseline has another system, it is the one that has its levels of the other factors.
    """
    baseline = {place: dict(own) for place, own in enumerate(levels) if own.get(SIDE) == BASELINE}
    found = []
    for place, own in enumerate(levels):
        if own.get(SIDE) != CANDIDATE:
            continue
        for ignored in ((SIDE,), (SIDE, "system")):
            alike = [at for at, other in baseline.items() if _without(other, ignored) == _without(own, ignored)]
            if len(alike) == 1:
                found.append((alike[0], place))
                break
    return found


def without_side(cell_id: str) -> str:
    """Return the name of a gate's cell as its experiment calls it."""
    first, comma, rest = cell_id.partition(",")
    return rest if comma and first in (f"{SIDE}={BASELINE}", f"{SIDE}={CANDIDATE}") else cell_id


def _without(levels: Mapping[str, object], names: Sequence[str]) -> dict[str, object]:
    return {name: level for name, level in levels.items() if name not in names}


def baselines(levels: Sequence[Mapping[str, object]], questions: Sequence[str] = ()) -> list[tuple[int, int]]:
    """Give what each cell is compared with: the places of the two, the baseline's first.

    ``levels``: those of each cell's factors. Each cell has a first one: of those that have its levels of the factors
    ``questions``, the first of the first system, or the first where that system has none. A cell of another system than
    its first one is compared with the cell of that system that differs from it in nothing else; where there is none,
    and within that system, with the first one, if that is not itself. Another load on another system would say nothing
    of either, nor would the answer to another question.
    """
    of_all = [dict(each) for each in levels]
    asked = [[each.get(name) for name in questions] for each in levels]
    made = []
    for place, own in enumerate(of_all):
        alike = [index for index, each in enumerate(asked) if each == asked[place]]
        first = next((index for index in alike if of_all[index].get("system") == of_all[0].get("system")), alike[0])
        counterpart = own | {"system": of_all[first].get("system")}
        # A cell of that system is its own counterpart.
        base = of_all.index(counterpart) if counterpart != own and counterpart in of_all else first
        if base != place:
            made.append((base, place))
    return made
