"""The statements of a cell: text, values, what they returned, how the engine carries them out; and loading its data."""

from __future__ import annotations

import re
from collections.abc import Sequence

from dbdyno.document.cell import CellStatement, Load, Round, System
from dbdyno.document.reading import JsonObject, count, number, objects, part, ratio, text
from dbdyno.store.records import TrialRecord

# How a statement that makes an index begins: in SQL, and as a command of MongoDB.
_INDEX = re.compile(r"""create\s+(unique\s+)?index\b|\s*\{\s*"createIndexes"\s*:""", re.IGNORECASE)


def cell_statements(trials: Sequence[TrialRecord], done: Sequence[Round], system: System) -> list[CellStatement]:
    """Return the statements of a cell in the order of its plan."""
    plan = next((trial.plan for trial in trials if part(trial.plan, "task").get("statements")), {})
    made: list[CellStatement] = []
    for each in objects(part(plan, "task").get("statements")):
        name, sql = text(each, "name"), text(each, "sql")
        if name is None or sql is None:
            continue
        counts = [part(each_round["statements_by_name"], name) for each_round in done]
        values = each.get("example")
        made.append(
            {
                "name": name,
                "sql": sql,
                "values": values if isinstance(values, list) else [],
                "rows": ratio(
                    sum(count(one, "rows") or 0 for one in counts), sum(count(one, "executions") or 0 for one in counts)
                ),
                "plan": system["plans"].get(name, []),
            }
        )
    return made


def cell_load(results: Sequence[JsonObject]) -> Load | None:
    """Return what loading the tables took, as the first trial that knows says."""
    loaded = next((part(each, "loaded") for each in results if part(each, "loaded")), {})
    steps = objects(loaded.get("tables"))
    if not steps:
        return None
    tables = {str(each) for each in loaded.get("names") or []}
    made: Load = {
        "rows": 0,
        "rows_s": 0.0,
        "indexes_s": 0.0,
        "other_s": 0.0,
        "at": text(loaded, "at") or "",
        "steps": [],
    }
    for each in steps:
        name, seconds = text(each, "table") or "", number(each, "seconds") or 0.0
        made["steps"].append({"step": name, "rows": count(each, "rows") or 0, "seconds": seconds})
        if name in tables:
            made["rows"] += count(each, "rows") or 0
            made["rows_s"] += seconds
        elif _INDEX.match(name):
            made["indexes_s"] += seconds
        else:
            made["other_s"] += seconds
    return made
