"""Confirm or refute the claims of an experiment's source with the results of a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from textwrap import shorten
from typing import Any

from dbdyno.analysis.answer.prices import failures_words
from dbdyno.analysis.answer.short import named
from dbdyno.analysis.measured.comparisons import Pair, failures_differ, judge
from dbdyno.analysis.measured.metrics import failing
from dbdyno.base.numbers import factor_words, figure
from dbdyno.model.result.cell import Cell
from dbdyno.model.result.reading import JsonObject, objects, part, text
from dbdyno.model.result.shape import Finding
from dbdyno.stats import Criteria

# Maximum characters of a finding quoted for a claim; the findings contain the whole text.
_FINDING = 160
# Maximum pairs of cells shown per claim.
_PAIRS = 3
_OPPOSITE = {"faster": "slower", "slower": "faster"}
_WORDS = {"confirmed": "Confirmed:", "refuted": "Refuted:", "open": "Not settled whether"}


def judged_claims(
    definition: JsonObject,
    cells: Sequence[Cell],
    factors: Mapping[str, Sequence[Any]],
    systems: Mapping[str, str],
    findings: Sequence[Finding],
    criteria: Criteria,
) -> list[str]:
    """Return a sentence with measured values for each claim that the run's cells can confirm or refute.

    A claim about a kind of finding is confirmed by the first finding of that kind. ``criteria``: the criteria of the
    run's table, so that intervals are the same in both.
    """
    claims = objects(definition.get("claims"))
    pairs = [_pairs(each, cells, factors) for each in claims]
    compared = [
        Pair(a, b, metric="throughput", confidence=criteria.confidence) for of_claim in pairs for a, b in of_claim
    ]
    made = judge(compared, criteria.margin, criteria.family, cells)
    said = []
    for claim, own in zip(claims, pairs, strict=True):
        results, made = made[: len(own)], made[len(own) :]
        says, kind = text(claim, "says") or "", text(claim, "finding")
        if kind is not None:
            texts = [shorten(finding.text, _FINDING, placeholder=" …") for finding in findings if finding.kind == kind]
            said += [f"Confirmed: {says}. {each}" for each in texts[:1]]
            continue
        if not own:
            continue
        expect = text(claim, "expect") or ""
        if expect in ("fails", "cures"):
            verdicts = [_failures_verdict(a, b, expect) for a, b in own]
            figures = [failures_words(failing(a), failing(b)) for a, b in own]
        else:
            verdicts = [
                _verdict(comparison.ratio, comparison.ci95, comparison.verdict, expect) for comparison in results
            ]
            figures = [
                _figures(a, b, comparison.ratio, comparison.ci95)
                for (a, b), comparison in zip(own, results, strict=True)
            ]
        if len(own) > 1:
            names = [_where(b, claim, own, systems) for _, b in own]
            figures = [f"{name} {each}" for name, each in zip(names, figures, strict=True)]
        verdict = "refuted" if "refuted" in verdicts else "open" if "open" in verdicts else "confirmed"
        shown = sorted(zip(verdicts, figures, strict=True), key=lambda pair: pair[0] != verdict)[:_PAIRS]
        rest = len(own) - len(shown)
        more = f"; {rest} more" if rest else ""
        said.append(f"{_WORDS[verdict]} {says}: {'; '.join(each for _, each in shown)}{more}.")
    return said


def _pairs(claim: JsonObject, cells: Sequence[Cell], factors: Mapping[str, Sequence[Any]]) -> list[tuple[Cell, Cell]]:
    """Return the pairs of measured cells that differ only in the claim's levels."""
    sides = [_levels(part(claim, name), cells, factors) for name in ("against", "of")]
    if not all(sides):
        return []
    before, after = sides
    found = []
    for b in cells:
        if not _has(b, after):
            continue
        wanted = {**b.factors, **before}
        a = next((cell for cell in cells if cell.factors == wanted), None)
        if a is not None and a is not b and a.throughput.mean is not None and b.throughput.mean is not None:
            found.append((a, b))
    return found


def _levels(levels: JsonObject, cells: Sequence[Cell], factors: Mapping[str, Sequence[Any]]) -> JsonObject:
    """Replace `first` and `last` with the first and last measured level."""
    made = {}
    for name, level in levels.items():
        measured = [one for one in factors.get(name, ()) if any(cell.factors.get(name) == one for cell in cells)]
        made[name] = level
        if level in ("first", "last") and level not in measured:
            if len(measured) <= 1:
                return {}
            made[name] = measured[0 if level == "first" else -1]
    return made


def _has(cell: Cell, levels: Mapping[str, Any]) -> bool:
    return all(cell.factors.get(name) == level for name, level in levels.items())


def _verdict(ratio: float | None, ci95: Sequence[float] | None, verdict: str | None, expect: str) -> str:
    """Return whether a comparison confirms or refutes the expected verdict, or leaves it open.

    If the cells are not comparable, and so have no verdict, the interval decides.
    """
    if ratio is None or ci95 is None:
        return "open"
    if verdict is None:
        verdict = "faster" if ci95[0] > 1 else "slower" if ci95[1] < 1 else "inconclusive"
    if verdict == expect:
        return "confirmed"
    if verdict == _OPPOSITE.get(expect) or (verdict == "equivalent" and expect in _OPPOSITE):
        return "refuted"
    if expect == "equivalent" and verdict in _OPPOSITE:
        return "refuted"
    return "open"


def _failures_verdict(before: Cell, after: Cell, expect: str) -> str:
    a, b = failing(before), failing(after)
    if not failures_differ(before, after):
        return "refuted" if a == b == 0 else "open"
    return "confirmed" if (b > a) == (expect == "fails") else "refuted"


def _figures(a: Cell, b: Cell, ratio: float | None, ci95: Sequence[float] | None) -> str:
    values = [figure(cell.throughput.mean) for cell in (a, b)]
    known = "" if ratio is None else f" ({factor_words(ratio, ci95)})"
    return f"{values[0]} -> {values[1]} {b.throughput.unit}{known}"


def _where(cell: Cell, claim: JsonObject, pairs: Sequence[tuple[Cell, Cell]], systems: Mapping[str, str]) -> str:
    """Name a pair by the levels that differ between the claim's pairs."""
    others = [b for _, b in pairs]
    own = {
        name: level
        for name, level in cell.factors.items()
        if name not in part(claim, "of") and any(each.factors.get(name) != level for each in others)
    }
    return named(own, systems)
