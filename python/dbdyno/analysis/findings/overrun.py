"""Interleaved trials that were in one another's way."""

from __future__ import annotations

from collections.abc import Iterator

from dbdyno.analysis.findings.rule import Material, Rule
from dbdyno.analysis.findings.words import span
from dbdyno.analysis.measured.metrics import done
from dbdyno.model.result.cell import Cell
from dbdyno.model.result.finding import Kind
from dbdyno.model.result.shape import Finding

OVERRUN = Kind("overrun", ("warning", "share"))


# Trials that are interleaved: the share of the time in which they went on into the others' slices.
_OVERRUN = 0.05


def _overran(cell: Cell) -> float | None:
    """Return the share of the time for which syncs outlasted the cell's slices; None if small, or it syncs nothing.

    Reads that wait for a CPU outlast slices too. They leave nothing to the device that the other cells would wait for.
    """
    rounds = done(cell)
    asked = [each["io"].get(name) for each in rounds for name in ("syncs", "writes")]
    if all(each == 0 for each in asked):
        return None
    overrun_s = sum(each["interleaving"].get("overrun_s", 0.0) for each in rounds)
    elapsed_s = sum(each["elapsed_s"] or 0.0 for each in rounds)
    return overrun_s / elapsed_s if overrun_s > _OVERRUN * elapsed_s else None


def overrun(material: Material) -> Iterator[Finding]:
    """Report cells whose syncs outlasted their slices, so that they were in the way of the other cells."""
    shares = {cell["id"]: share for cell in material.cells if (share := _overran(cell)) is not None}
    if shares:
        text = (
            f"System calls such as fsync overran their time slices for {span(shares, 0.01)} % of the time and "
            "overlapped with other cells. Longer slices (`--interleave`) reduce this."
        )
        yield OVERRUN.found(text, shares, {"warning": OVERRUN.name, "share": shares})


RULE = Rule(overrun, (OVERRUN,))
