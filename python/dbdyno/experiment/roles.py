"""What a factor is to the one who asks: a load, which is given, or a choice, which is theirs to make.

Choices are ranked at equal load, and never across loads.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from dbdyno.experiment.factors import SYSTEM
from dbdyno.experiment.substitute import references

Role = Literal["load", "choice"]

# Keys of `load` that say how clients work and not how much they ask for.
_WAYS = frozenset({"connect", "prepare", "retry", "give_way", "clients_as", "os_cache"})
# Keys that end a trial or warm it up: what is put into them is no load of its own.
_LENGTHS = frozenset({"stop", "warmup"})
# Of a table, how much there is in it.
_AMOUNTS = frozenset({"rows", "file"})


def roles_of(
    definition: str, factors: Mapping[str, Sequence[object]], report: Mapping[str, Any], grows_by: str | None = None
) -> dict[str, Role]:
    """Say what each factor is; ``definition``: the experiment's file; ``factors``: their levels.

    What ``report`` says, the experiment's part of that name, in ``roles`` holds. Else the system is a choice; a factor
    whose levels ask different questions, or by which a table grows, is a load; and so is one that decides how many
    clients there are, how fast they ask, what for, or how large the data are, whatever it decides besides. All others
    are choices. Of a file that is no experiment, factors whose levels are numbers are loads.
    """
    said: Mapping[str, Role] = report.get("roles") or {}
    given = {*(report.get("questions") or ()), grows_by}
    bound: dict[str, set[Role]] = {}
    for location, reference in references(read_definition(definition)):
        role = _role(location)
        if role is not None:
            bound.setdefault(reference.partition(".")[0], set()).add(role)
    found: dict[str, Role] = {}
    for name in factors:
        if name in said:
            found[name] = said[name]
        elif name in (SYSTEM, "side"):
            found[name] = "choice"
        elif name in given or "load" in bound.get(name, {_guess(factors[name])}):
            found[name] = "load"
        else:
            found[name] = "choice"
    return found


def _guess(levels: Sequence[object]) -> Role:
    numbers = all(isinstance(each, int | float) and not isinstance(each, bool) for each in levels)
    return "load" if numbers else "choice"


def read_definition(definition: str) -> dict[str, Any]:
    """Parse an experiment's file as a run stored it; of one that is no TOML, nothing."""
    try:
        return tomllib.loads(definition)
    except (tomllib.TOMLDecodeError, RecursionError):
        return {}


def _role(location: tuple[str | int, ...]) -> Role | None:
    """Say what a factor is that is put into a place of the file; None where that says nothing."""
    match location:
        case ("load", key, *_):
            return None if key in _LENGTHS else "choice" if key in _WAYS else "load"
        case ("tables", _, key, *_):
            return "load" if key in _AMOUNTS else "choice"
        case ("transactions", *rest):
            return "load" if "params" in rest or "weight" in rest else "choice"
        case ("system" | "setup" | "prepare" | "timed", *_):
            return "choice"
        case _:
            return None
