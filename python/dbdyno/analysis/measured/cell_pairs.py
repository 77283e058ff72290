"""Select the pairs of a run's cells to compare."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dbdyno.analysis.measured.comparisons import Pair
from dbdyno.analysis.measured.metrics import gate_metric
from dbdyno.model.result.cell import Cell

SIDE, BASELINE, CANDIDATE = "side", "baseline", "candidate"
"""The factor that distinguishes a gate's baseline from its candidate, and its levels. Both share blocks."""


def baseline_pairs(
    cells: Sequence[Cell], confidence: float, questions: Sequence[str], *, of_sides: bool = False
) -> list[Pair]:
    """Return pairs of a baseline and the cell to compare with it. ``confidence``: confidence of the intervals.

    ``of_sides``: whether the run is a gate's, so that candidate cells are compared with baseline cells.
    """
    levels = [cell.factors for cell in cells]
    places = side_pairs(levels) if of_sides else baselines(levels, questions)
    return [Pair(cells[a], cells[b], confidence=confidence) for a, b in places]


def gate_pairs(cells: Sequence[Cell], confidence: float, metric: str | None = None) -> list[Pair]:
    """Return pairs of a gate's baseline and candidate cells, with the metric to compare them by."""
    sides = [(cells[a], cells[b]) for a, b in side_pairs([cell.factors for cell in cells])]
    return [Pair(a, b, metric=metric or gate_metric(a, b), confidence=confidence) for a, b in sides]


def side_pairs(levels: Sequence[Mapping[str, object]]) -> list[tuple[int, int]]:
    """Return index pairs of baseline and candidate cells with the same levels of the other factors.

    If no such pair exists, the systems of a pair may differ.
    """
    baseline = {position: dict(own) for position, own in enumerate(levels) if own.get(SIDE) == BASELINE}
    found = []
    for position, own in enumerate(levels):
        if own.get(SIDE) != CANDIDATE:
            continue
        for ignored in ((SIDE,), (SIDE, "system")):
            alike = [at for at, other in baseline.items() if _without(other, ignored) == _without(own, ignored)]
            if len(alike) == 1:
                found.append((alike[0], position))
                break
    return found


def without_side(cell_id: str) -> str:
    """Return the id of a gate's cell without its side."""
    first, comma, rest = cell_id.partition(",")
    return rest if comma and first in (f"{SIDE}={BASELINE}", f"{SIDE}={CANDIDATE}") else cell_id


def _without(levels: Mapping[str, object], names: Sequence[str]) -> dict[str, object]:
    return {name: level for name, level in levels.items() if name not in names}


def baselines(levels: Sequence[Mapping[str, object]], questions: Sequence[str] = ()) -> list[tuple[int, int]]:
    """Return index pairs of a baseline and the cell to compare with it.

    ``levels``: each cell's levels by factor. Cells are grouped by their levels of the factors ``questions``. Each group
    has a first cell: the first one with the run's first system, or otherwise the group's first. A cell with another
    system is compared with the cell that differs from it only by having the first cell's system. If that cell does not
    exist, and within the same system, a cell is compared with the group's first cell. Cells of different systems are
    thus compared at equal load if possible, and never across questions.
    """
    of_all = [dict(each) for each in levels]
    groups = [[each.get(name) for name in questions] for each in levels]
    made = []
    for position, own in enumerate(of_all):
        alike = [index for index, each in enumerate(groups) if each == groups[position]]
        first = next((index for index in alike if of_all[index].get("system") == of_all[0].get("system")), alike[0])
        counterpart = own | {"system": of_all[first].get("system")}
        # A cell with that system equals its counterpart.
        base = of_all.index(counterpart) if counterpart != own and counterpart in of_all else first
        if base != position:
            made.append((base, position))
    return made
