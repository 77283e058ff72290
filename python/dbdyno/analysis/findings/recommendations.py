"""What each recommendation that was measured did."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence

from dbdyno.analysis.findings.rule import Material, Rule
from dbdyno.analysis.findings.searching import all_of, prefix_searches, scans
from dbdyno.analysis.measured.judging import Pair, judge
from dbdyno.model.result.cell import Cell
from dbdyno.model.result.finding import Kind
from dbdyno.model.result.shape import Comparison, Finding, Recommendation
from dbdyno.stats import CONFIDENCE, MARGIN

RECOMMENDATION = Kind("recommendation", ("recommendation", "plans", "comparisons"))


def recommendations_tried(
    cells: Sequence[Cell],
    recommendations: Iterable[Recommendation],
    margin: float = MARGIN,
    confidence: float = CONFIDENCE,
    family: int | None = None,
) -> list[Finding]:
    """Say what each recommendation that was measured did where it was needed, and what came of it.

    Each is a comparison like those of the table, and all of a run's are decided together (:func:`judge`).
    """
    by_id = {cell["id"]: cell for cell in cells}
    measured: list[tuple[Recommendation, list[tuple[Cell, Cell]]]] = []
    for recommendation in recommendations:
        both = ((by_id.get(base), by_id.get(changed)) for base, changed in recommendation["cells"].items())
        needed = [(base, changed) for base, changed in both if base and changed and any(scans([base]))]
        if needed:
            measured.append((recommendation, needed))
    pairs = [Pair(base, changed, confidence=confidence) for _, needed in measured for base, changed in needed]
    decided = iter(judge(pairs, margin, family, cells))
    found: list[Finding] = []
    for recommendation, needed in measured:
        comparisons = [each for each in itertools.islice(decided, len(needed)) if each["ratio"] is not None]
        if not comparisons:
            continue
        unserved = [f"`{search.text}`" for _, changed in needed for _, _, search in scans([changed])]
        rows = [words for base, changed in needed for words in _rows_changed(base, changed)]
        told = [f"{_gain(each)}: {each['b']} against {each['a']}" for each in comparisons]
        text = f"Recommendation {recommendation['name']} ({recommendation['does']}) was measured: {'; '.join(told)}"
        text += f"; still without an index: {all_of(list(dict.fromkeys(unserved)))}" if unserved else ""
        text += f"; it returns other rows: {', '.join(dict.fromkeys(rows))}" if rows else ""
        observed = {
            "recommendation": recommendation["name"],
            "finding": recommendation["answers"],
            "comparisons": comparisons,
            "plans": {each["id"]: [one["plan"] for one in each["statements"]] for pair in needed for each in pair},
        }
        found.append(RECOMMENDATION.found(f"{text}.", [changed["id"] for _, changed in needed], observed))
    return found


def _gain(decided: Comparison) -> str:
    """Say what a recommendation's comparison showed: how many times, how sure, and what that decides."""
    ratio, ci95 = decided["ratio"] or 0.0, decided["ci95"]
    what = "the throughput" if decided["metric"] == "throughput" else f"the response time ({decided['metric']})"
    size = f"{_times(ratio)} times {what}"
    size += f" ({_times(ci95[0])} to {_times(ci95[1])})" if ci95 else " (no interval: one round)"
    if decided["not_comparable"]:
        return f"{size}, but not for the same work: {'; '.join(decided['not_comparable'])}"
    if decided["lacking"]:
        return f"{size}, which settles nothing: {decided['lacking']}"
    return f"{size}, {decided['verdict']}"


def _rows_changed(base: Cell, changed: Cell) -> Iterator[str]:
    """Say which searches return other rows with a recommendation."""
    before = {each["name"]: each["rows"] for each in base["statements"]}
    for _, each, search in prefix_searches([changed]):
        was, now = before.get(each["name"]), each["rows"]
        if was is not None and now is not None and was != now:
            yield f"{now:,.6g} for `{search.text}` instead of {was:,.6g}"


def _times(ratio: float) -> str:
    return f"{ratio:,.0f}" if ratio >= 100 else f"{ratio:.3g}"


def _of_run(material: Material) -> list[Finding]:
    return recommendations_tried(
        material.cells, material.recommendations, material.margin, material.confidence, material.family
    )


RULE = Rule(_of_run, (RECOMMENDATION,))
