"""The roles of factors: a load is given, a choice is the user's to make.

Choices are ranked at equal load, never across loads.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from dbdyno.experiment.factors import SYSTEM
from dbdyno.experiment.substitute import references

Role = Literal["load", "choice"]

# Keys of `load` for how clients work, not how much they request.
_WAYS = frozenset({"connect", "prepare", "retry", "give_way", "clients_as", "os_cache"})
# Keys for the length of a trial and its warm-up, which don't determine the role of a factor.
_LENGTHS = frozenset({"stop", "warmup"})
# Keys for the size of a table.
_AMOUNTS = frozenset({"rows", "file", "per", "count"})


def roles_of(
    definition: str, factors: Mapping[str, Sequence[object]], report: Mapping[str, Any], grows_by: str | None = None
) -> dict[str, Role]:
    """Return the role of each factor.

    ``definition``: the experiment file. ``factors``: levels by factor. ``report``: the experiment's table ``report``.
    ``grows_by``: the factor of a growing table.

    The roles in ``report`` have priority. Otherwise the system is a choice. Factors in the report's ``questions`` and
    the factor of a growing table are loads, as are all factors that set the number of clients, their request rate, the
    parameters or weights of their transactions, or the size of the data. All other factors are choices. For a factor
    that the file doesn't refer to, numeric levels mean a load.
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
    numbers = all(isinstance(level, int | float) and not isinstance(level, bool) for level in levels)
    return "load" if numbers else "choice"


def read_definition(definition: str) -> dict[str, Any]:
    """Parse the experiment file of a stored run; return an empty dictionary if it is not TOML."""
    try:
        return tomllib.loads(definition)
    except (tomllib.TOMLDecodeError, RecursionError):
        return {}


def _role(location: tuple[str | int, ...]) -> Role | None:
    """Return the role of a factor that a key of the file refers to; None if the key doesn't determine it."""
    match location:
        case ("load", key, *_):
            return None if key in _LENGTHS else "choice" if key in _WAYS else "load"
        case ("tables", _, key, *_):
            return "load" if key in _AMOUNTS else "choice"
        case ("transactions" | "beside", *rest):
            return "load" if "params" in rest or "weight" in rest or rest[1:] == ["clients"] else "choice"
        case ("system" | "setup" | "prepare" | "timed", *_):
            return "choice"
        case _:
            return None
