"""Instructions that are not the same each time they are counted."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from dbdyno.analysis.findings.rule import Material, Rule
from dbdyno.model.experiment.generators import FROM_THE_CLOCK
from dbdyno.model.result.finding import Kind
from dbdyno.model.result.reading import JsonObject, count, objects, part
from dbdyno.model.result.shape import Finding

COUNTS_VARY = Kind("counts vary", ("reasons",))

# Functions of SQLite that give the time of day, or a random value.
_OF_THE_MOMENT = re.compile(
    r"\bcurrent_(?:time(?:stamp)?|date)\b|\b(?:random|randomblob)\s*\(|'now'|\bunixepoch\s*\(\s*\)", re.IGNORECASE
)


def counts_vary(tasks: Mapping[str, JsonObject]) -> Iterator[Finding]:
    """Say of which cells the counts differ from one time to the next, once for each reason. ``tasks``: by cell."""
    reasons: dict[str, list[str]] = {}
    for cell, task in tasks.items():
        why = unrepeatable(task)
        if why:
            reasons.setdefault("; ".join(why), []).append(cell)
    for words, ids in reasons.items():
        yield COUNTS_VARY.found(
            f"The instructions counted are not the same each time: {words}.", ids, {"reasons": words}
        )


def unrepeatable(task: JsonObject) -> list[str]:
    """Say what makes the counts of a plan's task differ from one time to the next, a clause each.

    Empty where nothing does. What is drawn follows from the seed, and SQLite's own work from what it is asked. What
    depends on the moment does not: values made from the clock, and functions of SQL that give the time or a random
    value.
    """
    found = []
    clients = count(task, "clients") or 1
    if clients > 1:
        found.append(f"one client is counted, and not {clients}")
    if part(task, "arrival").get("loop") == "open":
        found.append("transactions are counted one after the other, and not by the clock")
    if any(_from_the_clock(each) for each in objects(task.get("transactions"))):
        found.append("values are made from the clock")
    texts = [str(each.get("sql")) for each in objects(task.get("statements"))]
    named = {match.group(0).strip(" (").lower() for text in texts for match in _OF_THE_MOMENT.finditer(text)}
    if named:
        found.append(f"statements use {' and '.join(sorted(named))}")
    return found


def _from_the_clock(source: Any) -> bool:
    """Whether some part of a plan makes a value from the time of day."""
    if isinstance(source, dict):
        kind = source.get("kind")
        timed = kind == "now" or (kind == "uuid" and _version(source["version"]) in FROM_THE_CLOCK)
        return timed or any(_from_the_clock(each) for each in source.values())
    return isinstance(source, list) and any(_from_the_clock(each) for each in source)


def _version(of: str | JsonObject) -> str:
    """The name of a version of identifiers. One with blocks is an object under its name."""
    return of if isinstance(of, str) else next(iter(of))


def _of_run(material: Material) -> Iterator[Finding]:
    counted = {cell["id"] for cell in material.cells if cell["instructions"] is not None}
    return counts_vary({cell: task for cell, task in material.tasks.items() if cell in counted})


RULE = Rule(_of_run, (COUNTS_VARY,))
