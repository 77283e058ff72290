"""Derive an index from a command's filter and sort order."""

from __future__ import annotations

import json
from typing import Any

from dbdyno.engines.index import Index, IndexKey, index_name

_EQUAL = frozenset({"$eq", "$in"})
_RANGED = frozenset({"$gt", "$gte", "$lt", "$lte"})


def index_for(text: str) -> Index | None:
    """Return an index on the fields with equality conditions, followed by one with a range, or by the sort order.

    Fields in ``$or`` and with other comparisons are ignored. ``None``: an index doesn't help, or the command is
    unknown.
    """
    found = _parsed(text)
    if found is None:
        return None
    collection, wanted, order = found
    equal, ranged = _fields(wanted)
    ordered = [] if ranged or len(set(order.values())) > 1 else list(order)
    columns = list(dict.fromkeys([*equal, *(ranged[:1] or ordered)]))
    # Every collection has an index on its key.
    if not columns or columns[0] == "_id":
        return None
    name = index_name(collection, columns)
    command = {"createIndexes": collection, "indexes": [{"key": dict.fromkeys(columns, 1), "name": name}]}
    return Index(collection, tuple(map(IndexKey, columns)), sql=json.dumps(command), name=name)


def _parsed(text: str) -> tuple[str, dict[str, Any], dict[str, Any]] | None:
    """Return the collection, filter and sort order of a command."""
    try:
        command = json.loads(text)
    except ValueError:
        return None
    if not isinstance(command, dict) or not command:
        return None
    verb, collection = next(iter(command.items()))
    parts: Any = None
    match verb:
        case "find":
            parts = command.get("filter"), command.get("sort")
        case "count" | "distinct":
            parts = command.get("query"), None
        case "findAndModify":
            parts = command.get("query"), command.get("sort")
        case "update" | "delete":
            several = command.get(f"{verb}s")
            one = several[0] if isinstance(several, list) and len(several) == 1 else None
            parts = (one.get("q"), None) if isinstance(one, dict) else None
        case "aggregate":
            stages = command.get("pipeline")
            parts = _stages(stages) if isinstance(stages, list) else None
        case _:
            parts = None
    if parts is None or not isinstance(collection, str):
        return None
    wanted, order = (part if isinstance(part, dict) else {} for part in parts)
    return collection, wanted, order


def _stages(stages: list[Any]) -> tuple[Any, Any]:
    """Return the filter and the sort order at the beginning of a pipeline."""
    wanted: Any = None
    for stage in stages:
        if isinstance(stage, dict) and "$match" in stage and wanted is None:
            wanted = stage["$match"]
        elif isinstance(stage, dict) and "$sort" in stage:
            return wanted, stage["$sort"]
        else:
            break
    return wanted, None


def _fields(wanted: dict[str, Any]) -> tuple[list[str], list[str]]:
    """Return the fields with equality conditions, and those with ranges."""
    equal: list[str] = []
    ranged: list[str] = []
    for name, value in wanted.items():
        if name == "$and" and isinstance(value, list):
            for item in value:
                more = _fields(item) if isinstance(item, dict) else ([], [])
                equal += more[0]
                ranged += more[1]
        elif not name.startswith("$"):
            operators = {item for item in value if item.startswith("$")} if isinstance(value, dict) else set()
            if not operators or operators & _EQUAL:
                equal.append(name)
            elif operators <= _RANGED:
                ranged.append(name)
    return equal, [each for each in ranged if each not in equal]
