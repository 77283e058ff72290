"""Comparing cells: paired ratios, and whether two systems did the same work."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from dbdyno.results.cell_document import Cell, Round
from dbdyno.results.document import Comparison
from dbdyno.stats import CONFIDENCE, Decision, Rate, Ratio, decide, inverse, paired_rates

# What is drawn differs between runs of the same work: by so many standard errors once in 16,000 comparisons.
_CHANCE = 4.0
# Rows of a transaction that differ by so small a share are the same either way.
_SAME_ROWS = 0.005

# How a difference in rows begins.
ROWS = "rows returned by a transaction"


def compare_with_baseline(
    cells: Sequence[Cell], margin: float, confidence: float = CONFIDENCE, questions: Sequence[str] = ()
) -> list[Comparison]:
    """Compare the throughput of cells with that of their baselines, within blocks.

    Which those are says :func:`baselines`. ``margin`` is a share. The comparisons are decided together: their p values
    are corrected for their number. Two systems that did unlike work are not ranked: the ratio stands, the verdict is
    left out.
    """
    pairs = [(cells[a], cells[b]) for a, b in baselines([cell["factors"] for cell in cells], questions)]
    unlike = [differences(a, b) if a["system"]["name"] != b["system"]["name"] else [] for a, b in pairs]
    ratios = [paired_rates(by_block(a), by_block(b), confidence) for a, b in pairs]
    return decided([(a["id"], b["id"]) for a, b in pairs], ratios, unlike, margin)


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


def decided(
    names: Sequence[tuple[str, str]],
    ratios: Sequence[Ratio | None],
    unlike: Sequence[list[str]],
    margin: float,
    metric: str = "throughput",
) -> list[Comparison]:
    """Decide ratios together, and put each into the form of the result document.

    Of every metric but the throughput less is better: there the reciprocal is judged. What is ``unlike`` is not judged.
    """
    less = metric != "throughput"
    judged = [
        None if apart or ratio is None else inverse(ratio) if less else ratio
        for ratio, apart in zip(ratios, unlike, strict=True)
    ]
    return [
        comparison(a, b, ratio, decision, margin, apart, metric)
        for (a, b), ratio, decision, apart in zip(names, ratios, decide(judged, margin), unlike, strict=True)
    ]


def comparison(
    a: str,
    b: str,
    ratio: Ratio | None,
    decision: Decision,
    margin: float,
    unlike: list[str],
    metric: str = "throughput",
) -> Comparison:
    """Put a ratio and what was decided of it into the form of the result document."""
    interval = None if ratio is None or ratio.low is None or ratio.high is None else [ratio.low, ratio.high]
    return {
        "a": a,
        "b": b,
        "metric": metric,
        "ratio": None if ratio is None else ratio.mean,
        "ci95": interval,
        "bootstrap95": None if ratio is None or ratio.bootstrap is None else list(ratio.bootstrap),
        "intervals_disagree": ratio is not None and ratio.intervals_disagree,
        "verdict": None if unlike else decision.verdict,
        "p": decision.p,
        "margin": margin,
        "detectable": decision.detectable,
        "more_rounds": decision.more_rounds,
        "blocks": 0 if ratio is None else ratio.count,
        "unlike": unlike,
    }


def differences(a: Cell, b: Cell) -> list[str]:
    """Say what two cells of different systems did differently: durability, and rows where the rest is alike.

    Where nothing was written, there was nothing to be durable. Rows differ where chance does not explain it, as far as
    it is known how the transactions of a cell differ among themselves.
    """
    found = []
    durability = (a["system"]["durability"], b["system"]["durability"])
    if None not in durability and durability[0] != durability[1] and (_writes(a) or _writes(b)):
        found.append(f"durability: {durability[0]} against {durability[1]}")
    rows_a, rows_b = a["rows_per_transaction"], b["rows_per_transaction"]
    if rows_a is None or rows_b is None or other_factors(a) != other_factors(b):
        return found
    errors = [each["rows_standard_error"] or 0.0 for each in (a, b)]
    if is_no_chance(rows_a - rows_b, errors, _SAME_ROWS * max(rows_a, rows_b)):
        found.append(f"{ROWS}: {rows_a:.4g} against {rows_b:.4g}")
    return found


def is_no_chance(difference: float, errors: Sequence[float], least: float) -> bool:
    """Whether two means differ by more than ``least``, and by more than their standard ``errors`` explain."""
    return abs(difference) > max(least, _CHANCE * math.hypot(*errors))


def _writes(cell: Cell) -> bool:
    return any(each["rows_changed"] != 0 for each in cell["rounds"] if each["status"] == "done")


def other_factors(cell: Cell) -> dict[str, object]:
    """Return the levels of a cell without its system."""
    return {name: level for name, level in cell["factors"].items() if name != "system"}


def rate_of(each: Round) -> Rate | None:
    """Return a round's throughput with what it is told from; None where it gave none, or nothing was done."""
    if not each["throughput"]:
        return None
    basis = each["rate"]
    return Rate(
        each["throughput"], basis["time_s"], basis["count"], basis["seconds"], basis["squares"], basis["resolution"]
    )


def by_block(cell: Cell) -> dict[int, Rate]:
    """Return the throughput of each block that gave one."""
    return {each["block"]: rate for each in cell["rounds"] if (rate := rate_of(each)) is not None}
