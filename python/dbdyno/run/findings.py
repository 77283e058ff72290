"""What the cells of a run say together: where more of a factor stops helping or hurts."""

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
    return [
        finding
        for others, cells in groups.items()
        for finding in _along(axis, ", ".join(f"{name}={level}" for name, level in others if name in several), cells)
    ]


def _along(axis: str, where: str, cells: list[Any]) -> list[dict[str, Any]]:
    measured = [cell for cell in cells if cell["throughput"]["mean"] is not None]
    if len(measured) < 2:
        return []
    first = measured[0]
    best = max(measured, key=lambda cell: cell["throughput"]["mean"])
    worst = min(measured[1:], key=lambda cell: cell["throughput"]["mean"])
    at = f"With {where}: " if where else ""
    found = []
    for cell in dict.fromkeys(cell["id"] for cell in (best, worst) if cell is not first):
        other = next(each for each in measured if each["id"] == cell)
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
