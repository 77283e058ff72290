"""Factors that set the number of clients."""

from collections.abc import Mapping
from typing import Any

from dbdyno.experiment.substitute import references

# Keys of `load` that may depend on the number of clients without changing what a client does.
_BESIDE = frozenset({"clients", "stop", "warmup"})


def factors_of_clients(document: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return the factors that ``load.clients`` refers to, each with the other keys of the file that it sets.

    ``document``: the parsed file. Keys for the length of a trial are omitted, because rates don't depend on it.
    """
    places = [(location, name.partition(".")[0]) for location, name in references(dict(document))]
    found: dict[str, list[str]] = {name: [] for location, name in places if location == ("load", "clients")}
    for location, name in places:
        if name in found and not (location[0] == "load" and location[1] in _BESIDE):
            found[name].append(".".join(str(each) for each in location))
    return {name: list(dict.fromkeys(others)) for name, others in found.items()}
