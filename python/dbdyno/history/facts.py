"""What is known of a run that can explain a change, and what of it differs between two runs."""

from __future__ import annotations

from dbdyno.document.reading import JsonObject, part, text
from dbdyno.history.document import Changed
from dbdyno.history.reading import StoredRun
from dbdyno.report.sections import flat

Facts = dict[str, str]

_NONE = "-"
_OPTION = "compile option "


def facts(run: StoredRun, cell: str) -> Facts:
    """Return the facts of a cell in a run by name: engine, settings read back, query plans, dbdyno, host."""
    results = (each.result or {} for each in run.trials.get(cell, []) if each.status == "done")
    engine: JsonObject = next((part(each, "engine") for each in results if part(each, "engine")), {})
    name = text(engine, "engine") or "engine"
    found: Facts = {}
    for key, title in (("version", f"{name} version"), ("source_id", f"{name} source")):
        found |= {title: value} if (value := text(engine, key)) else {}
    options = engine.get("compile_options")
    for each in options if isinstance(options, list) else []:
        option, _, value = str(each).partition("=")
        found[_OPTION + option] = value or "set"
    found |= dict(flat(part(engine, "settings"), "setting "))
    found |= {"durability": value} if (value := text(part(engine, "durability"), "class")) else {}
    for statement, steps in part(engine, "plans").items():
        if isinstance(steps, list):
            found[f"query plan of {statement}"] = "; ".join(str(step) for step in steps)
    found["dbdyno version"] = run.version or _NONE
    # Whether the memory is another machine's was decided before; a little more or less explains nothing.
    host = {key: value for key, value in run.host.items() if key != "memory_bytes"}
    return found | dict(flat(host, "host "))


def differences(before: Facts, after: Facts) -> list[Changed]:
    """Return what differs, in the order of the facts; one that only one side has is ``-`` on the other.

    Compile options, settings and query plans are compared only where both sides told any.
    """
    names = list(dict.fromkeys([*after, *before]))
    return [
        {"name": name, "before": before.get(name, _NONE), "after": after.get(name, _NONE)}
        for name in names
        if before.get(name) != after.get(name) and _told(name, before) and _told(name, after)
    ]


def _told(name: str, side: Facts) -> bool:
    for kind in (_OPTION, "setting ", "query plan of "):
        if name.startswith(kind):
            return any(each.startswith(kind) for each in side)
    return True
