"""Identity of machines and cell definitions, which decides whether runs are comparable."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from dbdyno.analysis.history.document import Machine
from dbdyno.analysis.measured.rounds import Measure
from dbdyno.experiment.roles import read_definition
from dbdyno.model.result.reading import JsonObject, count, number, objects, part, text
from dbdyno.store.same_machine import same_machine

Parts = dict[str, str]

# The library is a path in a cache; the engine's version, source and options identify it.
_PATHS = ("path", "library")
# The keys of the experiment's file that define the data; the plan contains everything else.
_DATA = ("tables", "setup")

_REPORTING_OPTIONS = frozenset({"interval_ms", "operations"})


def definition_of(plan: JsonObject, design: JsonObject, definition: str, cell: str) -> JsonObject:
    """Return the parts of a cell's definition in a run, from its trial's ``plan``, its levels and its data.

    ``design`` and ``definition``: taken from the run. The result excludes values that vary between equal runs: the
    run's seed, the paths of database and library, the number of a trial's slice, and values sampled from columns. It
    also excludes the factor ``system``, because a history is meant to show new versions of a system (the plan contains
    its settings).
    """
    task = part(plan, "task")
    target = part(task, "target")
    parts: dict[str, Any] = {name: value for name, value in task.items() if name not in ("kind", "target")}
    if task:
        parts["interleaving"] = part(task, "interleaving").get("length_ms")
        # Names and example values of statements, the resolution of the timeline and the timed operations don't change
        # the work. The places of values follow from the statement and its parameters.
        parts["statements"] = [
            {name: value for name, value in statement.items() if name not in ("name", "places", "analyze")}
            for statement in objects(task.get("statements"))
        ]
        if "transactions" in parts:
            parts["transactions"] = _without_samples(parts["transactions"], _samples(definition))
        parts["record"] = {
            name: value for name, value in part(task, "record").items() if name not in _REPORTING_OPTIONS
        }
    parts |= {f"target.{name}": value for name, value in target.items() if name not in _PATHS}
    planned = next((each for each in objects(design.get("cells")) if each.get("id") == cell), {})
    parts |= {f"factor {name}": value for name, value in part(planned, "factors").items() if name != "system"}
    measure = Measure.of(design)
    parts["measure.unit"] = measure.unit
    if measure.per != "second":
        parts["measure.per"] = measure.per
    if measure.transactions:
        parts["measure.transactions"] = sorted(measure.transactions)
    if measure.statements:
        parts["measure.statements"] = sorted(measure.statements)
    parts |= _data_parts(definition)
    return parts


def definition_parts(plan: JsonObject, design: JsonObject, definition: str, cell: str) -> Parts:
    """Return the digest of each part of a cell's definition in a run; see :func:`definition_of`."""
    parts = definition_of(plan, design, definition, cell)
    return {name: _digest(value) for name, value in parts.items()}


def differing(known: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """Return the parts on both sides that differ. Parts on one side are ignored, since newer versions add parts."""
    return [name for name in new if name in known and known[name] != new[name]]


def _without_samples(steps: Any, samples: Mapping[str, str]) -> Any:
    """Return a part of a plan with the names of columns instead of values sampled from them."""
    if isinstance(steps, list):
        return [_without_samples(step, samples) for step in steps]
    if not isinstance(steps, dict):
        return steps
    if steps.get("kind") == "choice":
        column = samples.get(_digest([each.get("value") for each in steps["of"]]))
        if column is not None:
            return {**steps, "of": column}
    column = samples.get(_digest(steps.get("values"))) if steps.get("kind") == "pick" else None
    if column is not None:
        # Of the weights, the first ones are the same for any number of values.
        return {**steps, "values": column, "weights": (steps.get("weights") or [])[:2]}
    return {name: _without_samples(step, samples) for name, step in steps.items()}


@lru_cache(maxsize=64)
def _samples(definition: str) -> dict[str, str]:
    """Return the columns whose values an experiment's file contains, by the digests of these values."""
    found: dict[str, str] = {}
    for name, values in part(read_definition(definition), "samples").items():
        if isinstance(values, list):
            found |= {_digest(each): name for each in (values, list(dict.fromkeys(values)))}
    return found


@lru_cache(maxsize=64)
def _data_parts(definition: str) -> JsonObject:
    document = read_definition(definition)
    if not document:
        return {}
    # Missing keys count as empty, so adding setup steps to an experiment is detected.
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
    """The machines of runs, distinguished by the facts about their hosts."""

    known: list[Machine] = field(default_factory=list)

    def of(self, host: JsonObject, *, shown: bool = True) -> int:
        """Return the number of a host's machine, from 1; unknown hosts get a new number.

        Only runs that are ``shown`` count in the machine's ``runs``. The device and file system of the data are part of
        the machine's identity, since a run with another ``--dir`` may measure other storage.
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
    location = " on ".join(each for each in (text(host, "file_system"), text(host, "device")) if each)
    words = [
        text(host, "cpu"),
        None if cores is None else f"{cores} core" + ("" if cores == 1 else "s"),
        None if memory is None else f"{memory / 2**30:.0f} GiB",
        location,
    ]
    return ", ".join(word for word in words if word) or "unknown"
