"""Load machines whose windows did not begin together."""

from __future__ import annotations

from collections.abc import Iterator

from dbdyno.analysis.findings.rule import Material, Rule
from dbdyno.analysis.measured.metrics import done
from dbdyno.model.result.cell import Round
from dbdyno.model.result.finding import Kind
from dbdyno.model.result.shape import Finding

LOAD_MACHINES_APART = Kind("load machines apart", ("warning", "trials", "began_ms"))

# Of a window: in which not all machines were measured, at either end.
_APART = 0.05


def load_machines_apart(material: Material) -> Iterator[Finding]:
    """Say of which cells a part of the window had not all of the load."""
    for cell in material.cells:
        trials = [each for each in done(cell) if each["load_machines"]]
        late = [apart for each in trials if (apart := _apart_ms(each)) > _APART * 1e3 * (each["elapsed_s"] or 0.0)]
        if late:
            words = (
                f"In {len(late)} of {len(trials)} trials the windows of the load machines began up to "
                f"{max(late):,.0f} ms apart: the sum of their rates is not that of one moment. Make the window longer."
            )
            observed = {"warning": LOAD_MACHINES_APART.name, "trials": len(late), "began_ms": max(late)}
            yield LOAD_MACHINES_APART.found(words, [cell["id"]], observed)


def _apart_ms(each: Round) -> float:
    """Give by how many milliseconds they began apart at least, as their clocks are known."""
    began = [
        (machine["began_ms"], machine["clock_ms"])
        for machine in each["load_machines"]
        if machine["began_ms"] is not None
    ]
    if len(began) < 2:
        return 0.0
    return max(0.0, max(at - wrong for at, wrong in began) - min(at + wrong for at, wrong in began))


RULE = Rule(load_machines_apart, (LOAD_MACHINES_APART,))
