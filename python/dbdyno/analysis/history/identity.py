"""Which runs may be compared: the same machine, and the same definition of the cell."""

from __future__ import annotations

import hashlib
import json
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from dbdyno.analysis.history.document import Machine
from dbdyno.analysis.measured.rounds import Measure
from dbdyno.model.result.reading import JsonObject, count, number, objects, part, text
from dbdyno.store.same_machine import same_machine

Parts = dict[str, str]

# The library is a path in a cache; which one it is, the engine says when asked for version, source and options.
_PATHS = ("path", "library")
# Of the experiment's file what decides the data; all else of it is in the plan.
_DATA = ("tables", "setup")

_HOW_IT_IS_TOLD = frozenset({"interval_ms", "operations"})


def definition_of(plan: JsonObject, design: JsonObject, definition: str, cell: str) -> JsonObject:
    """Return the parts of what a cell was in a run: its trial's ``plan``, its levels, its data.

    ``design`` and ``definition``: the run's. Left out are what differs between runs that ask the same: the run's seed,
    the paths of database and library, and which of the slices a trial had; and the factor ``system``, since another
    version of it is what a history is to show (its settings are in the plan).
    """
    task = part(plan, "task")
    target = part(task, "target")
    parts: dict[str, Any] = {name: value for name, value in task.items() if name not in ("kind", "target")}
    if task:
        parts["interleaving"] = part(task, "interleaving").get("length_ms")
        # What a statement is called, what it is run with before the load, how finely the timeline is drawn and what is
        # timed is no part of the work. Where its values go follows from the text and the parameters.
        parts["statements"] = [
            {name: value for name, value in each.items() if name not in ("name", "places", "analyze")}
            for each in objects(task.get("statements"))
        ]
        parts["record"] = {name: value for name, value in part(task, "record").items() if name not in _HOW_IT_IS_TOLD}
    parts |= {f"target.{name}": value for name, value in target.items() if name not in _PATHS}
    planned = next((each for each in objects(design.get("cells")) if each.get("id") == cell), {})
    parts |= {f"factor {name}": value for name, value in part(planned, "factors").items() if name != "system"}
    parts["measure.unit"] = Measure.of(design).unit
    parts |= _data_of(definition)
    return parts


def definition_parts(plan: JsonObject, design: JsonObject, definition: str, cell: str) -> Parts:
    """Return the digest of each part of what a cell was in a run; see :func:`definition_of`."""
    parts = definition_of(plan, design, definition, cell)
    return {name: _digest(value) for name, value in parts.items()}


def differing(known: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """Return the parts that differ. One that only one side has does not: plans grow with dbdyno's versions."""
    return [name for name in new if name in known and known[name] != new[name]]


@lru_cache(maxsize=64)
def _data_of(definition: str) -> JsonObject:
    try:
        document = tomllib.loads(definition)
    except (tomllib.TOMLDecodeError, RecursionError):
        return {}
    if not document:
        return {}
    # An experiment without setup steps has none, and then gets some: both are known.
    data = {name: document.get(name, {}) for name in _DATA}
    tables = part(data, "tables")
    indexes = {name: table.get("indexes", []) for name, table in tables.items() if isinstance(table, dict)}
    data["tables"] = {
        name: {key: value for key, value in table.items() if key != "indexes"} if isinstance(table, dict) else table
        for name, table in tables.items()
    }
    return data | {"indexes": indexes}


def _digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True, default=str).encode()).hexdigest()


@dataclass(slots=True)
class Machines:
    """The machines that runs were on, as far as the facts of a host tell them apart."""

    known: list[Machine] = field(default_factory=list)

    def of(self, host: JsonObject, *, shown: bool = True) -> int:
        """Return the number of a host's machine, from 1; a new one for a host unlike all before.

        A run that is not ``shown`` is none of the machine's ``runs``. The data's device and file system count as the
        machine's: a run with ``--dir`` elsewhere measures other storage.
        """
        machine = next(
            (each for each in self.known if each["facts"] is host or same_machine(each["facts"], host)), None
        )
        if machine is None:
            machine = Machine(number=len(self.known) + 1, name="", runs=0, facts={})
            self.known.append(machine)
        machine["runs"] += shown
        if machine["facts"] is not host:
            machine["facts"] = host
            machine["name"] = _name(host)
        return machine["number"]


def _name(host: JsonObject) -> str:
    memory = number(host, "memory_bytes")
    cores = count(host, "cores")
    place = " on ".join(each for each in (text(host, "file_system"), text(host, "device")) if each)
    words = [
        text(host, "cpu"),
        None if cores is None else f"{cores} core" + ("" if cores == 1 else "s"),
        None if memory is None else f"{memory / 2**30:.0f} GiB",
        place,
    ]
    return ", ".join(each for each in words if each) or "unknown"
