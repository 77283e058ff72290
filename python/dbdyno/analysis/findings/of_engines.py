"""What only one engine's cells can show: found in the engine's own folder."""

from __future__ import annotations

from collections.abc import Iterator

from dbdyno.analysis.findings.rule import Material, Rule
from dbdyno.engines import ENGINES, engine_of, known_engine
from dbdyno.model.result.finding import Measured
from dbdyno.model.result.reading import objects, part, text
from dbdyno.model.result.shape import Finding


def of_engines(material: Material) -> Iterator[Finding]:
    """Ask each engine about its own cells."""
    planned = {str(each.get("id", "")): each for each in objects(material.run.design.get("cells"))}
    by_engine: dict[str, list[Measured]] = {}
    for cell in material.cells:
        design, task = planned.get(cell["id"], {}), material.tasks.get(cell["id"])
        engine = text(part(design, "system"), "engine")
        if engine is not None and task:
            by_engine.setdefault(engine, []).append(Measured(cell, task, text(design, "data") or ""))
    for name, cells in by_engine.items():
        yield from known_engine(name).findings(cells)


RULE = Rule(of_engines, tuple(kind for name in ENGINES for kind in engine_of(name).finding_kinds))
