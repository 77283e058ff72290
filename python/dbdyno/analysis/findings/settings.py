"""Settings, server versions and steps that are not what the user may expect."""

from __future__ import annotations

from collections.abc import Iterator

from dbdyno.analysis.findings.rule import Material, finding
from dbdyno.engines import known_engine
from dbdyno.engines.writes import ALLOW
from dbdyno.model.result.reading import objects, part, text, texts
from dbdyno.model.result.shape import Finding

# Stands for the value of a setting that the system doesn't know.
_NOTHING = "nothing"


@finding(
    "setting not in force",
    needs=("asked", "in_force"),
    meaning="A requested setting is not in effect, or the system doesn't know it.",
    remedy="Correct the value or the name of the setting in the URL of the system.",
)
def setting_not_in_force(material: Material) -> Iterator[Finding]:
    """Report settings that differ from the requested value or that the system doesn't know: one finding each.

    The engine decides which settings can be compared. Skips systems whose settings could not be read.
    """
    planned = {str(each.get("id", "")): each for each in objects(material.run.design.get("cells"))}
    found: dict[tuple[str, str, str, str], list[str]] = {}
    for cell in material.cells:
        own = planned.get(cell.id, {})
        engine, settings = known_engine(text(part(own, "system"), "engine") or ""), cell.system.settings
        for name, asked in part(own, "asked").items():
            read = settings.get(name)
            if settings and engine.is_in_effect(name, str(asked), None if read is None else str(read)) is False:
                key = (cell.system.name, name, str(asked), _NOTHING if read is None else str(read))
                found.setdefault(key, []).append(cell.id)
    for (system, name, asked, read), ids in found.items():
        words = f"{system}: `{name}={asked}` was requested, but "
        words += "the system doesn't know this setting." if read == _NOTHING else f"`{name}={read}` is in effect."
        yield setting_not_in_force.found(words, ids, {"asked": {name: asked}, "in_force": {name: read}})


@finding(
    "one of several servers",
    needs=("engine", "installed"),
    meaning="Several servers of this kind are installed, and dbdyno started the newest.",
    remedy="Choose another one with `program=` in the URL of the system.",
)
def several_servers(material: Material) -> Iterator[Finding]:
    """Report which of several installed servers was started by default, and how to choose another one."""
    for each in material.observed(several_servers.kind):
        (taken, title), *others = each["installed"].items()
        names = ", ".join(f"{other} ({server})" for server, other in others)
        words = f"`{each['engine']}:` is {title} ({taken}), the newest installed version. "
        words += f"Use `program=` to choose another one: {names}."
        evidence = {"engine": each["engine"], "installed": each["installed"]}
        yield several_servers.found(words, [], evidence)


@finding(
    "steps left out",
    needs=("steps",),
    meaning="Some steps of the experiment are for other engines, so they did not run on this one.",
    remedy="Compare engines only if the steps that are left out don't matter to you.",
)
def steps_left_out(material: Material) -> Iterator[Finding]:
    """Report the transaction steps that a design omits: one finding per engine and list of steps."""
    for engine, steps, ids in _omitted(material, "left_out"):
        yield steps_left_out.found(_without(engine, steps), ids, {"steps": list(steps)})


@finding(
    "checks left out",
    needs=("checks",),
    meaning="A check gives its SQL for other engines only, so it did not run on this one.",
    remedy="Add SQL for this engine, or for `any`, to the check.",
)
def checks_left_out(material: Material) -> Iterator[Finding]:
    """Report the checks without SQL for an engine: one finding per engine."""
    for engine, names, ids in _omitted(material, "unchecked"):
        named, verb = " and ".join(f"`{name}`" for name in names), "check" if len(names) == 1 else "checks"
        words = f"The {verb} {named} did not run on {engine}: the experiment gives SQL for other engines only."
        yield checks_left_out.found(words, ids, {"checks": list(names)})


def _omitted(material: Material, key: str) -> Iterator[tuple[str, tuple[str, ...], list[str]]]:
    """Yield each engine and list of names under a key of the design's cells, with the cells' ids."""
    found: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for cell in objects(material.run.design.get("cells")):
        names, engine = tuple(texts(cell.get(key))), text(part(cell, "system"), "engine")
        if names and engine is not None:
            found.setdefault((engine, names), []).append(str(cell.get("id", "")))
    for (engine, names), ids in found.items():
        yield engine, names, ids


def _without(engine: str, steps: tuple[str, ...]) -> str:
    named = " and ".join(f"`{step}`" for step in steps)
    words = f"On {engine} the steps {named} were omitted: the experiment has them for other engines only"
    return f"{words}. Each statement was a separate transaction." if "begin" in steps else f"{words}."


@finding(
    "writes allowed",
    needs=("system", "wrote_to", "statements"),
    meaning="The run wrote to data that dbdyno didn't create, and left the changes there.",
    remedy="Restore the data if you need its earlier state, or measure a copy.",
)
def writes_allowed(material: Material) -> Iterator[Finding]:
    """Report systems whose own data the run changed, with the statements."""
    for each in material.observed(writes_allowed.kind):
        statements = "; ".join(str(statement.get("told")) for statement in each["statements"])
        left = f"with {ALLOW}, the run changed {each['wrote_to']}, which dbdyno didn't create, and kept the changes"
        evidence = {"system": each["system"], "wrote_to": each["wrote_to"], "statements": each["statements"]}
        yield writes_allowed.found(f"{each['system']}: {left}: {statements}.", [], evidence)
