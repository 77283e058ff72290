"""Comparing cells: paired ratios, and whether two systems did the same work."""

from __future__ import annotations

from collections.abc import Sequence

from dbdyno.results.document import Cell, Comparison
from dbdyno.stats import paired_ratio, verdict

# Rows per transaction of random lookups differ a little between runs of the same work.
_SAME_ROWS = 0.005


def compare_with_baseline(cells: Sequence[Cell], margin: float) -> list[Comparison]:
    """Compare the throughput of every cell with that of the first, within blocks; ``margin`` is a share.

    Two systems that did unlike work are not ranked: the ratio stands, the verdict is left out.
    """
    if len(cells) < 2:
        return []
    return [_compare(cells[0], cell, margin) for cell in cells[1:]]


def _compare(a: Cell, b: Cell, margin: float) -> Comparison:
    ratio = paired_ratio(_by_block(a), _by_block(b))
    unlike = differences(a, b) if a["system"]["name"] != b["system"]["name"] else []
    interval = None if ratio is None or ratio.low is None or ratio.high is None else [ratio.low, ratio.high]
    return {
        "a": a["id"],
        "b": b["id"],
        "metric": "throughput",
        "ratio": None if ratio is None else ratio.mean,
        "ci95": interval,
        "verdict": None if unlike else "inconclusive" if ratio is None else verdict(ratio, margin),
        "margin": margin,
        "blocks": 0 if ratio is None else ratio.count,
        "unlike": unlike,
    }


def differences(a: Cell, b: Cell) -> list[str]:
    """Say what two cells of different systems did differently: durability, and rows where the rest is alike."""
    found = []
    durability = (a["system"]["durability"], b["system"]["durability"])
    if None not in durability and durability[0] != durability[1]:
        found.append(f"durability: {durability[0]} against {durability[1]}")
    rows_a, rows_b = a["rows_per_transaction"], b["rows_per_transaction"]
    if rows_a is None or rows_b is None or other_factors(a) != other_factors(b):
        return found
    if abs(rows_a - rows_b) > _SAME_ROWS * max(rows_a, rows_b):
        found.append(f"rows returned by a transaction: {rows_a:.4g} against {rows_b:.4g}")
    return found


def other_factors(cell: Cell) -> dict[str, object]:
    """Return the levels of a cell without its system."""
    return {name: level for name, level in cell["factors"].items() if name != "system"}


def _by_block(cell: Cell) -> dict[int, float]:
    return {each["block"]: each["throughput"] for each in cell["rounds"] if each["throughput"]}
