"""Transactions that failed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from dbdyno.analysis.findings.rule import Rule
from dbdyno.analysis.findings.words import percent
from dbdyno.model.result.cell import Cell
from dbdyno.model.result.finding import Kind
from dbdyno.model.result.shape import Finding

FAILURES = Kind("failures", ("kind", "by_cell"))


# Cells whose failures are told one by one.
_MOST_CELLS = 5

# Codes that are told one by one.
_MOST_CODES = 4


def failures(cells: Sequence[Cell]) -> list[Finding]:
    """Say how many transactions failed in the trials that count, by kind and message, with each cell's own share.

    A cell's message is the one that most of its rounds met first. Where failures of a kind have several codes, each is
    told with its number.
    """
    found: dict[tuple[str, str], list[tuple[Cell, int, int]]] = {}
    codes: dict[tuple[str, str], Counter[str]] = {}
    for cell in cells:
        done = [each for each in cell["rounds"] if each["status"] == "done"]
        issued = sum(each["issued"] for each in done)
        for kind, times in sum((Counter(each["failed"]) for each in done), Counter()).items():
            messages = Counter(message for each in done if (message := each["failures"].get(kind)))
            first = messages.most_common(1)[0][0] if messages else ""
            found.setdefault((kind, first), []).append((cell, times, issued))
            by_code = codes.setdefault((kind, first), Counter())
            for told in (told for each in done for told in each["failed_by_code"] if told["kind"] == kind):
                by_code[told["code"]] += told["count"]
    return [_failures(kind, message, hit, codes[kind, message]) for (kind, message), hit in found.items()]


def _failures(kind: str, message: str, hit: list[tuple[Cell, int, int]], codes: Counter[str]) -> Finding:
    hit.sort(key=lambda each: -each[1] / each[2])
    what = f"transactions failed ({kind})" + (f': "{message}"' if message else "")
    if len(codes) > 1:
        most = [f"{times:,} of {code}" for code, times in codes.most_common(_MOST_CODES)]
        rest = sum(codes.values()) - sum(times for _, times in codes.most_common(_MOST_CODES))
        what += f"; by code {', '.join(most)}" + (f" and {rest:,} of others" if rest else "")
    what += "; they are not in the throughput"
    if len(hit) == 1:
        text = f"{hit[0][1]:,} of {hit[0][2]:,} {what}.{_how_long(hit[0][0])}"
    else:
        parts = [f"{times:,} of {issued:,} ({percent(times / issued)}) at {cell['id']}" for cell, times, issued in hit]
        more = [f"and {len(parts) - _MOST_CELLS:,} more"] if len(parts) > _MOST_CELLS else []
        text = f"In {len(hit):,} cells {what}: {'; '.join([*parts[:_MOST_CELLS], *more])}."
    shares = {cell["id"]: {"failed": times, "issued": issued} for cell, times, issued in hit}
    return FAILURES.found(text, shares, {"kind": kind, "by_cell": shares, "codes": dict(codes)})


def _how_long(cell: Cell) -> str:
    """Say how long transactions took until they failed: that is a lower bound of the time that clients waited."""
    times = cell["latency_ms"].get("failed")
    if times is None or times["p50"] is None or times["max"] is None:
        return ""
    return f" It took {times['p50']:,.4g} ms at the median until they failed, {times['max']:,.4g} ms at the most."


RULE = Rule(lambda material: failures(material.cells), (FAILURES,))
