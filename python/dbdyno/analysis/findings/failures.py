"""Failed and skipped transactions, and the limits that caused them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from dbdyno.analysis.bottleneck.common import OVERLOADED
from dbdyno.analysis.findings.rule import Material, finding
from dbdyno.analysis.findings.words import rate
from dbdyno.base.numbers import percent
from dbdyno.engines import engine_of_product
from dbdyno.engines.limits import Limit
from dbdyno.model.result.cell import Cell, Round
from dbdyno.model.result.shape import Finding

# Maximum number of cells to list.
_MAX_CELLS = 5

# Maximum number of error codes to list.
_MAX_CODES = 4


def failures(cells: Sequence[Cell]) -> list[Finding]:
    """Report failed transactions of finished trials by kind and message, with the share in each cell.

    A cell's message is the most frequent first message of its rounds. If failures of a kind have several codes, each
    code is listed with its count.
    """
    found: dict[tuple[str, str], list[tuple[Cell, int, int]]] = {}
    codes: dict[tuple[str, str], Counter[str]] = {}
    for cell in cells:
        done = [round_ for round_ in cell.rounds if round_.status == "done"]
        issued = sum(round_.issued for round_ in done)
        for kind, times in sum((Counter(round_.failed) for round_ in done), Counter()).items():
            messages = Counter(message for round_ in done if (message := round_.failures.get(kind)))
            first = messages.most_common(1)[0][0] if messages else ""
            found.setdefault((kind, first), []).append((cell, times, issued))
            by_code = codes.setdefault((kind, first), Counter())
            for failure in (failure for round_ in done for failure in round_.failed_by_code if failure.kind == kind):
                by_code[failure.code] += failure.count
    return [_failed(kind, message, hit, codes[kind, message]) for (kind, message), hit in found.items()]


def _failed(kind: str, message: str, hit: list[tuple[Cell, int, int]], codes: Counter[str]) -> Finding:
    hit.sort(key=lambda each: -each[1] / each[2])
    what = f"transactions failed ({kind})" + (f': "{message}"' if message else "")
    if len(codes) > 1:
        most = [f"{times:,} of {code}" for code, times in codes.most_common(_MAX_CODES)]
        rest = sum(codes.values()) - sum(times for _, times in codes.most_common(_MAX_CODES))
        what += f"; by code {', '.join(most)}" + (f" and {rest:,} of others" if rest else "")
    what += "; they do not count towards throughput"
    if len(hit) == 1:
        text = f"{hit[0][1]:,} of {hit[0][2]:,} {what}.{_how_long(hit[0][0])}"
    else:
        parts = [f"{times:,} of {issued:,} ({percent(times / issued)}) at {cell.id}" for cell, times, issued in hit]
        more = [f"and {len(parts) - _MAX_CELLS:,} more"] if len(parts) > _MAX_CELLS else []
        text = f"In {len(hit):,} cells {what}: {'; '.join([*parts[:_MAX_CELLS], *more])}."
    shares = {cell.id: {"failed": times, "issued": issued} for cell, times, issued in hit}
    return failed_transactions.found(text, shares, {"kind": kind, "by_cell": shares, "codes": dict(codes)})


def _how_long(cell: Cell) -> str:
    """Return a sentence about the time until transactions failed: a lower bound of the time that clients waited."""
    times = cell.latency_ms.get("failed")
    if times is None or times.p50 is None or times.max is None:
        return ""
    return f" They failed after {times.p50:,.4g} ms at the median and {times.max:,.4g} ms at most."


@finding(
    "failures",
    needs=("kind", "by_cell"),
    meaning="Transactions failed; failed transactions don't count towards throughput.",
    remedy="Fix the cause that the error message gives, or set `load.retry` for errors that a retry cures.",
)
def failed_transactions(material: Material) -> list[Finding]:
    """Report transactions that failed."""
    return failures(material.cells)


@dataclass
class _ReachedLimit:
    """Where a limit was reached: cells, error codes, failed transactions, and trials that could not begin."""

    cells: list[Cell] = field(default_factory=list)
    codes: dict[str, None] = field(default_factory=dict)
    failed: int = 0
    trials: int = 0


def limit_findings(cells: Sequence[Cell]) -> Iterator[Finding]:
    """Report the limits that were reached, with the affected transactions and cells, and how to raise each.

    Includes trials that could not begin because a client could not connect.
    """
    reached: dict[Limit, _ReachedLimit] = {}
    for cell in cells:
        engine = engine_of_product(cell.system.engine)
        for round_ in cell.rounds:
            for code, failed in _codes(round_):
                limit = engine.limit(code)
                if limit is None:
                    continue
                found = reached.setdefault(limit, _ReachedLimit())
                if cell not in found.cells:
                    found.cells.append(cell)
                found.codes[code] = None
                found.failed += failed or 0
                found.trials += failed is None
    for limit, found in reached.items():
        where = found.cells[0].id if len(found.cells) == 1 else f"{len(found.cells)} cells"
        counts = [f"{found.failed:,} transactions failed"] if found.failed else []
        if found.trials:
            counts.append(f"{found.trials} trial{'s' if found.trials > 1 else ''} could not begin")
        text = f"A limit was reached in {where}: {limit.what} ({limit.name}; {', '.join(counts)})."
        text += f" To raise it: {limit.lifts}."
        observed = {
            "limit": limit.name,
            "cells": len(found.cells),
            "failed": found.failed,
            "trials": found.trials,
            "codes": list(found.codes),
        }
        yield limit_met.found(text, [cell.id for cell in found.cells], observed)


def _codes(round_: Round) -> Iterator[tuple[str, int | None]]:
    """Yield the error codes of a trial with the number of failed transactions; ``None``: the trial did not begin."""
    for failure in round_.failed_by_code:
        yield failure.code, failure.count
    if round_.error_code is not None:
        yield round_.error_code, None


@finding(
    "limit met",
    needs=("limit", "cells", "failed", "codes"),
    meaning="Transactions failed, or trials could not begin, because of a limit of the system or the machine.",
    remedy="Raise the limit as the finding describes.",
)
def limit_met(material: Material) -> Iterator[Finding]:
    """Report limits that made transactions fail."""
    yield from limit_findings(material.cells)


@finding(
    "skipped",
    needs=("skipped", "issued"),
    meaning="An open loop skipped 1% or more of its arrivals, because the system could not keep up.",
    remedy="Lower the rate, or find the highest rate with `dbdyno run --slo`.",
)
def skipped_arrivals(material: Material) -> list[Finding]:
    """Report cells in which an open loop skipped 1 % or more of its scheduled arrivals."""
    findings: list[Finding] = []
    for cell in material.cells:
        done = [round_ for round_ in cell.rounds if round_.status == "done"]
        due, skipped = sum(round_.issued for round_ in done), sum(round_.skipped for round_ in done)
        elapsed = sum(round_.elapsed_s or 0.0 for round_ in done)
        if not skipped or skipped < OVERLOADED * due or not elapsed:
            continue
        served = sum(round_.ok for round_ in done)
        findings.append(
            skipped_arrivals.found(
                f"{percent(skipped / due)} of arrivals were skipped: the system served {rate(served / elapsed)} of the "
                f"{rate(due / elapsed)} transactions/s offered. Skipped arrivals enter the response times as lower "
                "bounds, equal to the time they had waited when the trial ended.",
                [cell.id],
                {"skipped": skipped, "issued": due, "ok": served},
            )
        )
    return findings
