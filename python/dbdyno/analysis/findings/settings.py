"""Settings, server versions and steps that are not what the user may expect."""

from __future__ import annotations

from collections.abc import Iterator

from dbdyno.analysis.findings.rule import Material, finding
from dbdyno.engines import known_engine
from dbdyno.engines.writes import ALLOW
from dbdyno.model.result.reading import objects, part, text, texts
from dbdyno.model.result.shape import Finding

# What is read back of a setting that a system does not know.
_NOTHING = "nothing"


@finding(
    "setting not in force",
    needs=("asked", "in_force"),
    meaning="A requested setting is not in effect, or the system doesn't know it.",
    remedy="Correct the value or the name of the setting in the URL of the system.",
)
def setting_not_in_force(material: Material) -> Iterator[Finding]:
    """Say which settings a system has otherwise than they were asked for, or does not know, once for each.

    Which settings can be told apart so is the engine's to say. A system of which nothing was read back has no settings.
    """
    planned = {str(each.get("id", "")): each for each in objects(material.run.design.get("cells"))}
    found: dict[tuple[str, str, str, str], list[str]] = {}
    for cell in material.cells:
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
        yield setting_not_in_force.found(words, ids, {"asked": {name: asked}, "in_force": {name: read}})


@finding(
    "one of several servers",
    needs=("engine", "installed"),
    meaning="Several servers of this kind are installed, and dbdyno started the newest.",
    remedy="Choose another one with `program=` in the URL of the system.",
)
def several_servers(material: Material) -> Iterator[Finding]:
    """Say which was taken where none was asked for, and how to take another. The first that is listed was taken."""
    for each in material.observed(several_servers.kind):
        (taken, title), *others = each["installed"].items()
        told = ", ".join(f"{other} ({server})" for server, other in others)
        words = f"`{each['engine']}:` is {title} ({taken}), of the highest version number here; "
        words += f"`program=` takes another: {told}."
        evidence = {"engine": each["engine"], "installed": each["installed"]}
        yield several_servers.found(words, [], evidence)


@finding(
    "steps left out",
    needs=("steps",),
    meaning="Some steps of the experiment are for other engines, so they did not run on this one.",
    remedy="Compare engines only if the steps that are left out don't matter to you.",
)
def steps_left_out(material: Material) -> Iterator[Finding]:
    """Say which steps of its transactions a design leaves out, once for each engine."""
    found: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for each in objects(material.run.design.get("cells")):
        steps, engine = tuple(texts(each.get("left_out"))), text(part(each, "system"), "engine")
        if steps and engine is not None:
            found.setdefault((engine, steps), []).append(str(each.get("id", "")))
    for (engine, steps), ids in found.items():
        yield steps_left_out.found(_without(engine, steps), ids, {"steps": list(steps)})


def _without(engine: str, steps: tuple[str, ...]) -> str:
    named = " and ".join(f"`{step}`" for step in steps)
    words = f"On {engine} the steps {named} were left out: the experiment has them for other engines only"
    return f"{words}; each statement was a transaction of its own." if "begin" in steps else f"{words}."


@finding(
    "writes allowed",
    needs=("system", "wrote_to", "statements"),
    meaning="The run wrote to data that dbdyno didn't create, and left the changes there.",
    remedy="Restore the data if you need its earlier state, or measure a copy.",
)
def writes_allowed(material: Material) -> Iterator[Finding]:
    """Say it of each system for which it was allowed, with the statements that did."""
    for each in material.observed(writes_allowed.kind):
        told = "; ".join(str(statement.get("told")) for statement in each["statements"])
        left = f"with {ALLOW}, the run wrote to {each['wrote_to']}, which dbdyno did not make, and left it so"
        evidence = {"system": each["system"], "wrote_to": each["wrote_to"], "statements": each["statements"]}
        yield writes_allowed.found(f"{each['system']}: {left}: {told}.", [], evidence)
