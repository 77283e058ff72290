"""Interleaved trials that were in one another's way."""

from __future__ import annotations

from collections.abc import Iterator

from dbdyno.document.cell import Cell
from dbdyno.document.finding import Kind
from dbdyno.document.reading import JsonObject
from dbdyno.document.shape import Finding
from dbdyno.findings.rule import Material, Rule
from dbdyno.results.metrics import done

OVERRUN = Kind("overrun", ("warning", "share"))


# Trials that are interleaved: the share of the time in which they went on into the others' slices.
_OVERRUN = 0.05


def _overran(cell: Cell) -> tuple[str, JsonObject] | None:
    """What cannot be suspended (syncs, above all) outlasted the slices, so that the cells were in one another's way."""
    overrun_s = elapsed_s = 0.0
    for each in done(cell):
        overrun_s += each["interleaving"].get("overrun_s", 0.0)
        elapsed_s += each["elapsed_s"] or 0.0
    if overrun_s <= _OVERRUN * elapsed_s:
        return None
    words = (
        f"Syncs and the like went on after their slices for {overrun_s / elapsed_s * 100:.0f} % of the time, beside "
        "other cells: longer `--interleave` have less of that."
    )
    return words, {"share": overrun_s / elapsed_s}


def overrun(material: Material) -> Iterator[Finding]:
    """Say of which cells what cannot be suspended outlasted the slices."""
    for cell in material.cells:
        said = _overran(cell)
        if said is not None:
            words, observed = said
            yield OVERRUN.found(words, [cell["id"]], {"warning": OVERRUN.name, **observed})


RULE = Rule(overrun, (OVERRUN,))
