"""Effects of a factor across cells: its best and worst level, and each step of a chain.

A sentence is a claim like a verdict in the table and follows from the same intervals. The best and the worst cell are
known only afterwards, so the intervals are simultaneous over all pairs that could have been selected.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from dbdyno.analysis.findings.rule import Material, finding
from dbdyno.analysis.measured.cell_groups import cells_along, words_of
from dbdyno.analysis.measured.comparisons import Pair, judge
from dbdyno.model.result.cell import Cell
from dbdyno.model.result.reading import JsonObject, texts
from dbdyno.model.result.shape import Comparison, Finding
from dbdyno.stats import CONFIDENCE, MARGIN


@dataclass(frozen=True, slots=True)
class _Pair:
    """Two cells to compare. ``where``: the levels of other factors that have several levels."""

    where: str
    first: Cell
    other: Cell


def cross_cell_findings(
    cells: Sequence[Cell],
    report: JsonObject,
    comparisons: Sequence[Comparison],
    margin: float = MARGIN,
    confidence: float = CONFIDENCE,
) -> list[Finding]:
    """Compare the cells along the report's axis (or its ``along`` factor) within each combination of other levels.

    On an axis, compares the best and the worst cell with the first cell of their group; in a chain, each cell with its
    predecessor. Reports a change if the verdict is a difference and the interval excludes changes below the margin. A
    pair that is also in the run's table uses the table's interval. In a chain, inconclusive steps are reported too.
    Skips factors whose levels are separate questions.
    """
    axis = report.get("along") or report.get("x")
    if not axis or axis in texts(report.get("questions")):
        return []
    chain = bool(report.get("chain"))
    groups = list(cells_along(cells, axis))
    pairs = [
        _Pair(words_of(levels), first, other)
        for levels, group in groups
        for first, other in (pairwise(group) if chain else ((group[0], cell) for cell in group[1:]))
    ]
    known = {(comparison.a, comparison.b): comparison for comparison in comparisons}
    judged = judge([Pair(pair.first, pair.other, confidence=confidence) for pair in pairs], margin, len(known), cells)
    made = [known.get((comparison.a, comparison.b), comparison) for comparison in judged]
    extremes = {cell.id for _, group in groups for cell in _extremes(group)}
    findings = []
    for pair, decided in zip(pairs, made, strict=True):
        if not chain and pair.other.id not in extremes:
            continue
        text = _change(axis, pair, decided, chain=chain)
        if text is not None:
            ids = [pair.first.id, pair.other.id]
            observed = {"ratio": decided.ratio, "ci95": decided.ci95}
            findings.append(change.found(text, ids, observed))
    return findings


def _extremes(cells: list[Cell]) -> list[Cell]:
    """Return the best cell of a group, and the worst cell except for the first."""
    return [
        max(cells, key=lambda cell: cell.throughput.mean or 0.0),
        min(cells[1:], key=lambda cell: cell.throughput.mean or 0.0),
    ]


def _change(axis: str, pair: _Pair, decided: Comparison, *, chain: bool) -> str | None:
    """Return a sentence about a change, or None if there is nothing to report."""
    ratio, ci95, margin = decided.ratio, decided.ci95, decided.margin
    if ratio is None or ci95 is None or decided.lacking:
        return None
    size = f"{ratio:.3g} times ({ci95[0]:.3g} to {ci95[1]:.3g})"
    steps = f"from {axis}={pair.first.factors[axis]} to {axis}={pair.other.factors[axis]}"
    name = "throughput" if decided.metric == "throughput" else f"the response time ({decided.metric})"
    at = f"With {pair.where}, {name}" if pair.where else f"{name[0].upper()}{name[1:]}"
    if decided.not_comparable:
        return (
            f"{at} {steps} is {size}, but not for the same work: {'; '.join(decided.not_comparable)}."
            if chain
            else None
        )
    if decided.verdict in ("faster", "slower"):
        if ci95[0] < 1 + margin and ci95[1] > 1 / (1 + margin):
            return None
        return f"{at} {'rises' if ratio > 1 else 'falls'} to {size} {steps}."
    if chain and decided.verdict == "inconclusive":
        return f"{at} {steps} is {size}: not conclusive after {decided.blocks} rounds."
    return None


@finding(
    "change",
    needs=("ratio", "ci95"),
    meaning="Throughput or response time differs between levels of a factor, or a step of a chain is not settled.",
    remedy="Choose the level that suits you, or run more rounds if a step is not settled.",
)
def change(material: Material) -> list[Finding]:
    """Report the effects of the factor along the report's axis."""
    return cross_cell_findings(
        material.cells, material.report, material.comparisons, material.margin, material.confidence
    )
