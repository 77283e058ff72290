"""Services that serve one request at a time, whatever the number of clients or the rate."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dbdyno.analysis.bottleneck.common import FULL
from dbdyno.analysis.findings.rule import Rule
from dbdyno.base.numbers import rough
from dbdyno.engines import engine_of_product
from dbdyno.model.result.cell import Cell
from dbdyno.model.result.finding import Kind
from dbdyno.model.result.shape import Finding

ONE_AT_A_TIME = Kind("one at a time", ("each_ms", "per_s"))

# The product of the time of a request by itself and the highest rate: how many are served at once.
_ONE = (0.8, 1.15)

# How many times as long requests take at the highest rate if they wait for one another.
_WAITING = 2.0


# Percent of a CPU by which the machine must be busier at the highest rate for the load to be what keeps it busy.
_COMPUTING = 20.0


def one_at_a_time(cells: Sequence[Cell]) -> Iterator[Finding]:
    """Report each service whose highest rate is that of one request after the other, with time and rate of these."""
    by_system: dict[str, list[Cell]] = {}
    for cell in cells:
        engine = engine_of_product(cell["system"]["engine"])
        is_service = engine.message_calls and not engine.has_data
        if is_service and cell["throughput"]["mean"] and _median_ms(cell, "service"):
            by_system.setdefault(cell["system"]["name"], []).append(cell)
    for name, own in by_system.items():
        quiet, slow = (choose(own, key=lambda cell: _median_ms(cell, "service")) for choose in (min, max))
        each_ms, per_s = _median_ms(quiet, "service"), max(cell["throughput"]["mean"] or 0.0 for cell in own)
        waits = max(_median_ms(slow, "response"), _median_ms(slow, "service")) >= _WAITING * each_ms
        if not _ONE[0] <= each_ms * per_s / 1000 <= _ONE[1] or not waits or _computes(quiet, slow):
            continue
        text = (
            f"{name} serves one request at a time: {rough(each_ms)} ms each, so at most {rough(per_s)} per second. "
            "More clients or a higher rate only wait longer."
        )
        yield ONE_AT_A_TIME.found(text, [cell["id"] for cell in own], {"each_ms": each_ms, "per_s": per_s})


def _median_ms(cell: Cell, name: str) -> float:
    latency = cell["latency_ms"].get(name)
    return 0.0 if latency is None else latency["p50"] or 0.0


def _computes(quiet: Cell, full: Cell) -> bool:
    """Whether the load kept all CPUs of this machine busy, which limits any number of requests at once."""
    cpu, before = full["cpu_percent"], quiet["cpu_percent"]["machine"] or 0.0
    machine = cpu["machine"] or 0.0
    return machine >= FULL * 100 * (cpu["cores"] or 1) and machine - before >= _COMPUTING


RULE = Rule(lambda material: one_at_a_time(material.cells), (ONE_AT_A_TIME,))
