"""Steps that were not done on an engine because they are for others."""

from __future__ import annotations

from collections.abc import Iterator

from dbdyno.analysis.findings.rule import Rule
from dbdyno.model.result.finding import Kind
from dbdyno.model.result.reading import JsonObject, objects, part, text, texts
from dbdyno.model.result.shape import Finding

STEPS_LEFT_OUT = Kind("steps left out", ("steps",))


def steps_left_out(design: JsonObject) -> Iterator[Finding]:
    """Say which steps of its transactions a design leaves out, once for each engine."""
    found: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for each in objects(design.get("cells")):
        steps, engine = tuple(texts(each.get("left_out"))), text(part(each, "system"), "engine")
        if steps and engine is not None:
            found.setdefault((engine, steps), []).append(str(each.get("id", "")))
    for (engine, steps), ids in found.items():
        yield STEPS_LEFT_OUT.found(_without(engine, steps), ids, {"steps": list(steps)})


def _without(engine: str, steps: tuple[str, ...]) -> str:
    named = " and ".join(f"`{step}`" for step in steps)
    words = f"On {engine} the steps {named} were left out: the experiment has them for other engines only"
    return f"{words}; each statement was a transaction of its own." if "begin" in steps else f"{words}."


RULE = Rule(lambda material: steps_left_out(material.run.design), (STEPS_LEFT_OUT,))
