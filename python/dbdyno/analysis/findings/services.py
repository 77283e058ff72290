"""Systems of several tiers, and services that handle one request at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dbdyno.analysis.bottleneck.common import FULL
from dbdyno.analysis.bottleneck.tiers import DATABASE, tier_of
from dbdyno.analysis.findings.rule import Material, finding
from dbdyno.analysis.measured.metrics import unit_seconds
from dbdyno.base.numbers import percent, rough
from dbdyno.engines import engine_of_product
from dbdyno.model.result.cell import Cell
from dbdyno.model.result.shape import Finding


def tier_findings(cells: Sequence[Cell]) -> Iterator[Finding]:
    """Report tiers other than the database that were the bottleneck, and whether they hide differences of databases.

    Covers cells whose system has several tiers.
    """
    tiered = [cell for cell in cells if cell.cpu_percent.tiers and cell.bottleneck is not None]
    by_tier: dict[tuple[str, bool], list[Cell]] = {}
    for cell in tiered:
        tier = _tier(cell)
        if tier is not None and tier != DATABASE:
            by_tier.setdefault((tier, DATABASE in _tiers(cell)), []).append(cell)
    for (tier, is_before_database), affected in by_tier.items():
        evidence = affected[0].bottleneck
        told = "" if evidence is None else evidence.evidence
        text = f"The {tier} was the bottleneck of {_cells_of(affected, tiered)}"
        text += f": {told}. " if len(affected) == 1 else f", as in {affected[0].id}: {told}. "
        helps = {cell.bottleneck.advice for cell in affected if cell.bottleneck is not None}
        systems = {cell.system.name for cell in affected}
        if not is_before_database:
            text += "The database's share is unknown: it runs inside that tier, or its process was not named"
        elif len(systems) > 1:
            text += f"Differences between the databases behind it don't show there: try {_either(helps, tier)}"
        else:
            text += f"The capacity of the database behind it doesn't show: try {_either(helps, tier)}"
        behind = [cell for cell in tiered if _tier(cell) == DATABASE]
        if behind and is_before_database:
            text += f". The database was the bottleneck of {_cells_of(behind, tiered)}: compare those"
        text += "."
        observed = {"tier": tier, "cells": len(affected), "of": len(tiered)}
        yield bottleneck_tier.found(text, [cell.id for cell in affected], observed)


def _tier(cell: Cell) -> str | None:
    """Return the tier that is a cell's bottleneck, or None."""
    bottleneck = cell.bottleneck
    return bottleneck.resource if bottleneck is not None and bottleneck.resource in _tiers(cell) else None


def _tiers(cell: Cell) -> set[str]:
    return {tier_of(name) for name in cell.cpu_percent.tiers}


def _either(helps: set[str], tier: str) -> str:
    """Return the advice that applies to all of the cells."""
    return next(iter(helps)) if len(helps) == 1 else f"more CPUs or more threads for the {tier}"


def _cells_of(affected: Sequence[Cell], cells: Sequence[Cell]) -> str:
    if len(affected) == len(cells):
        return "the only cell" if len(cells) == 1 else f"all {len(cells)} cells"
    return f"{len(affected)} of {len(cells)} cells ({percent(len(affected) / len(cells))})"


@finding(
    "bottleneck tier",
    needs=("tier", "cells", "of"),
    meaning="Another tier than the database was the bottleneck, so the databases behind it can't be compared.",
    remedy="Give that tier more CPUs or threads.",
)
def bottleneck_tier(material: Material) -> Iterator[Finding]:
    """Report tiers that limited the throughput instead of the database."""
    yield from tier_findings(material.cells)


# Range of the product of a single request's time and the highest rate: the number of requests served at once.
_ONE = (0.8, 1.15)

# Requests that wait for each other take at least this many times as long at the highest rate.
_WAITING = 2.0


# The load keeps the machine busy only if it adds at least this many percent of a CPU at the highest rate.
_COMPUTING = 20.0


def one_at_a_time(cells: Sequence[Cell]) -> Iterator[Finding]:
    """Report each service whose highest rate is the rate of consecutive requests, with their time and rate."""
    by_system: dict[str, list[Cell]] = {}
    for cell in cells:
        engine = engine_of_product(cell.system.engine)
        is_service = engine.message_calls and not engine.has_data
        if is_service and cell.throughput.mean and _median_ms(cell, "service"):
            by_system.setdefault(cell.system.name, []).append(cell)
    for name, own in by_system.items():
        quiet, slow = (choose(own, key=lambda cell: _median_ms(cell, "service")) for choose in (min, max))
        each_ms = _median_ms(quiet, "service")
        per_s = max((cell.throughput.mean or 0.0) / unit_seconds(cell) for cell in own)
        waits = max(_median_ms(slow, "response"), _median_ms(slow, "service")) >= _WAITING * each_ms
        if not _ONE[0] <= each_ms * per_s / 1000 <= _ONE[1] or not waits or _computes(quiet, slow):
            continue
        text = (
            f"{name} serves one request at a time: {rough(each_ms)} ms each, so at most {rough(per_s)} per second. "
            "More clients or a higher rate only wait longer."
        )
        yield serves_one_at_a_time.found(text, [cell.id for cell in own], {"each_ms": each_ms, "per_s": per_s})


def _median_ms(cell: Cell, name: str) -> float:
    latency = cell.latency_ms.get(name)
    return 0.0 if latency is None else latency.p50 or 0.0


def _computes(quiet: Cell, full: Cell) -> bool:
    """Whether the load kept all CPUs of this machine busy, which limits any number of requests at once."""
    cpu, before = full.cpu_percent, quiet.cpu_percent.machine or 0.0
    machine = cpu.machine or 0.0
    return machine >= FULL * 100 * (cpu.cores or 1) and machine - before >= _COMPUTING


@finding(
    "one at a time",
    needs=("each_ms", "per_s"),
    meaning="A service handles one request at a time, so more clients or a higher rate only wait longer.",
    remedy="Give the service more workers, or find the lock that its requests share.",
)
def serves_one_at_a_time(material: Material) -> Iterator[Finding]:
    """Report services that serve one request at a time."""
    yield from one_at_a_time(material.cells)
