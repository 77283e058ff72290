"""Facts of a run that can explain a change, and the differences between two runs."""

from __future__ import annotations

from dbdyno.analysis.history.document import Changed
from dbdyno.base.numbers import flat
from dbdyno.model.events.facts import Facts as EngineFacts
from dbdyno.model.events.program import ProgramFacts
from dbdyno.model.result.reading import JsonObject

Facts = dict[str, str]

_NONE = "-"
_OPTION = "compile option "


def facts(engine: EngineFacts | ProgramFacts | None, version: str, host: JsonObject) -> Facts:
    """Return the facts of a cell in a run by name: engine, settings read back, query plans, dbdyno, host.

    ``engine``: facts reported by the first trial with a result; ``version``: dbdyno's version.
    """
    found = {} if engine is None else _engine_facts(engine)
    found["dbdyno version"] = version or _NONE
    # Large differences in memory count as another machine; small ones don't explain changes.
    host = {key: value for key, value in host.items() if key != "memory_bytes"}
    return found | dict(flat(host, "host "))


def _engine_facts(engine: EngineFacts | ProgramFacts) -> Facts:
    settings = dict(flat(engine.settings, "setting "))
    if isinstance(engine, ProgramFacts):
        return settings
    found = {f"{engine.engine} version": engine.version, f"{engine.engine} source": engine.source_id or ""}
    found = {name: value for name, value in found.items() if value}
    for compile_option in engine.compile_options:
        option, _, value = compile_option.partition("=")
        found[_OPTION + option] = value or "set"
    found |= settings | {"durability": engine.durability.durability_class}
    return found | {f"query plan of {statement}": "; ".join(steps) for statement, steps in engine.plans.items()}


def differences(before: Facts, after: Facts) -> list[Changed]:
    """Return the differing facts in order. A fact that is missing on one side has the value ``-`` there.

    Compile options, settings and query plans are compared only if both sides reported any.
    """
    names = list(dict.fromkeys([*after, *before]))
    return [
        {"name": name, "before": before.get(name, _NONE), "after": after.get(name, _NONE)}
        for name in names
        if before.get(name) != after.get(name) and _reports_kind(name, before) and _reports_kind(name, after)
    ]


def _reports_kind(name: str, side: Facts) -> bool:
    for kind in (_OPTION, "setting ", "query plan of "):
        if name.startswith(kind):
            return any(each.startswith(kind) for each in side)
    return True
