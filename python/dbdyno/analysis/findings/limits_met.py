"""Limits of the system's or the load's that were met, by the codes of all failures, each with what lifts it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from dbdyno.analysis.findings.rule import Material, Rule
from dbdyno.engines import engine_of_product
from dbdyno.engines.limits import Limit
from dbdyno.model.result.cell import Cell, Round
from dbdyno.model.result.finding import Kind
from dbdyno.model.result.shape import Finding

LIMIT = Kind("limit met", ("limit", "cells", "failed", "codes"))


@dataclass
class _Met:
    """Where a limit was met: cells, the codes that tell of it, transactions that failed, trials that did not begin."""

    cells: list[Cell] = field(default_factory=list)
    codes: dict[str, None] = field(default_factory=dict)
    failed: int = 0
    trials: int = 0


def limit_findings(cells: Sequence[Cell]) -> Iterator[Finding]:
    """Say which limits were met, by how many transactions of how many cells, and what lifts each.

    Trials that came to nothing since a client was not let in are among them.
    """
    met: dict[Limit, _Met] = {}
    for cell in cells:
        engine = engine_of_product(cell["system"]["engine"])
        for each in cell["rounds"]:
            for code, failed in _codes(each):
                limit = engine.limit(code)
                if limit is None:
                    continue
                found = met.setdefault(limit, _Met())
                if cell not in found.cells:
                    found.cells.append(cell)
                found.codes[code] = None
                found.failed += failed or 0
                found.trials += failed is None
    for limit, found in met.items():
        where = found.cells[0]["id"] if len(found.cells) == 1 else f"{len(found.cells)} cells"
        counts = [f"{found.failed:,} transactions failed by it"] if found.failed else []
        if found.trials:
            counts.append(f"{found.trials} trial{'s' if found.trials > 1 else ''} could not begin")
        text = f"A limit was met with {where}: {limit.what} ({limit.name}; {', '.join(counts)})."
        text += f" It is lifted by {limit.lifts}."
        observed = {
            "limit": limit.name,
            "cells": len(found.cells),
            "failed": found.failed,
            "trials": found.trials,
            "codes": list(found.codes),
        }
        yield LIMIT.found(text, [cell["id"] for cell in found.cells], observed)


def _codes(each: Round) -> Iterator[tuple[str, int | None]]:
    """Give the codes of a trial's failures, and how many transactions failed by each; ``None``: it did not begin."""
    for told in each["failed_by_code"]:
        yield told["code"], told["count"]
    if each["error_code"] is not None:
        yield each["error_code"], None


def _find(material: Material) -> Iterator[Finding]:
    yield from limit_findings(material.cells)


RULE = Rule(_find, (LIMIT,))
