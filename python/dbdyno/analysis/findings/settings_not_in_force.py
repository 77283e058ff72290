"""Settings that were asked for, and are not what was read back."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dbdyno.analysis.findings.rule import Rule
from dbdyno.engines import known_engine
from dbdyno.model.result.cell import Cell
from dbdyno.model.result.finding import Kind
from dbdyno.model.result.reading import JsonObject, objects, part, text
from dbdyno.model.result.shape import Finding

NOT_IN_FORCE = Kind("setting not in force", ("asked", "in_force"))

# What is read back of a setting that a system does not know.
_NOTHING = "nothing"


def settings_not_in_force(cells: Sequence[Cell], design: JsonObject) -> Iterator[Finding]:
    """Say which settings a system has otherwise than they were asked for, or does not know, once for each.

    Which settings can be told apart so is the engine's to say. A system of which nothing was read back has no settings.
    """
    planned = {str(each.get("id", "")): each for each in objects(design.get("cells"))}
    found: dict[tuple[str, str, str, str], list[str]] = {}
    for cell in cells:
        own = planned.get(cell["id"], {})
        engine, settings = known_engine(text(part(own, "system"), "engine") or ""), cell["system"]["settings"]
        for name, asked in part(own, "asked").items():
            read = settings.get(name)
            if settings and engine.in_force(name, str(asked), None if read is None else str(read)) is False:
                key = (cell["system"]["name"], name, str(asked), _NOTHING if read is None else str(read))
                found.setdefault(key, []).append(cell["id"])
    for (system, name, asked, read), ids in found.items():
        words = f"{system} was asked for `{name}={asked}`"
        words += ", which it does not know." if read == _NOTHING else f", and has `{name}={read}` in force."
        yield NOT_IN_FORCE.found(words, ids, {"asked": {name: asked}, "in_force": {name: read}})


RULE = Rule(lambda material: settings_not_in_force(material.cells, material.run.design), (NOT_IN_FORCE,))
