"""What the cells of a run say together: what more of a factor does, and each step of a chain."""

from itertools import pairwise
from typing import Any

from dbdyno.results import Document
from dbdyno.results.comparing import by_block
from dbdyno.stats import MARGIN, paired_ratio


def cross_cell_findings(document: Document) -> list[dict[str, Any]]:
    """Compare the cells along the report's axis, or the factor that it says, within each level of the other factors.

    Only changes whose 95 % interval, paired within blocks, lies clear of no change by the margin are told.
    """
    axis = document["report"].get("along") or document["report"].get("x")
    if not axis:
        return []
    groups: dict[tuple[tuple[str, Any], ...], list[Any]] = {}
    for cell in document["cells"]:
        if axis in cell["factors"]:
            others = tuple((name, level) for name, level in cell["factors"].items() if name != axis)
            groups.setdefault(others, []).append(cell)
    several = {name for others in groups for name, _ in others if len({dict(each).get(name) for each in groups}) > 1}
    judge = _step_by_step if document["report"].get("chain") else _along
    return [
        finding
        for others, cells in groups.items()
        for finding in judge(axis, ", ".join(f"{name}={level}" for name, level in others if name in several), cells)
    ]


def _step_by_step(axis: str, where: str, cells: list[Any]) -> list[dict[str, Any]]:
    """Compare each cell with the one before: what each change of a chain did."""
    measured = [cell for cell in cells if cell["throughput"]["mean"] is not None]
    return _changes(axis, where, list(pairwise(measured)))


def _along(axis: str, where: str, cells: list[Any]) -> list[dict[str, Any]]:
    """Compare the best and the worst cell with the first."""
    measured = [cell for cell in cells if cell["throughput"]["mean"] is not None]
    if len(measured) < 2:
        return []
    first = measured[0]
    best = max(measured, key=lambda cell: cell["throughput"]["mean"])
    worst = min(measured[1:], key=lambda cell: cell["throughput"]["mean"])
    others = [best] if best is worst else [best, worst]
    return _changes(axis, where, [(first, other) for other in others if other is not first])


def _changes(axis: str, where: str, pairs: list[tuple[Any, Any]]) -> list[dict[str, Any]]:
    at = f"With {where}: " if where else ""
    found = []
    for first, other in pairs:
        ratio = paired_ratio(by_block(first), by_block(other))
        if ratio is None or ratio.low is None or ratio.high is None:
            continue
        if ratio.low < 1 + MARGIN and ratio.high > 1 / (1 + MARGIN):
            continue
        verb = "rises" if ratio.mean > 1 else "falls"
        text = (
            f"{at}throughput {verb} to {ratio.mean:.3g} times ({ratio.low:.3g} to {ratio.high:.3g}) from "
            f"{axis}={first['factors'][axis]} to {axis}={other['factors'][axis]}."
        )
        text = text[0].upper() + text[1:]
        found.append({"text": text, "cells": [first["id"], other["id"]], "evidence": {"ratio": ratio.mean}})
    return found
