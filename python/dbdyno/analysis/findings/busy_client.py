"""Clients that did much of what they can with an engine that does nothing."""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterator

from dbdyno.analysis.findings.rule import Material, Rule
from dbdyno.analysis.measured.client import BUSY, share_of_busy_client
from dbdyno.analysis.measured.metrics import done
from dbdyno.engines import engine_of_product
from dbdyno.model.result.cell import Cell
from dbdyno.model.result.finding import Kind
from dbdyno.model.result.reading import JsonObject, objects
from dbdyno.model.result.shape import Finding

BUSY_CLIENT = Kind("busy client", ("warning", "share"))


def _busy_client(cell: Cell, material: Material) -> tuple[str, JsonObject] | None:
    engine = engine_of_product(cell["system"]["engine"])
    share = share_of_busy_client(cell)
    if share is None:
        return None
    words = (
        f"The client did {share * 100:.0f} % of what it can with an engine that does nothing: the result is as much "
        "about the client"
    )
    if not engine.is_server:
        # Its clients are where the database is.
        return f"{words}; give it more threads.", {"share": share}
    machines = len(objects(material.run.options.get("load_machines"))) or 1
    needed = _machines(share, machines)
    clients = max((each["window"].get("clients") or 1 for each in done(cell)), default=1)
    words += f". {needed} load machines like {'this one' if machines == 1 else 'these'} would do less than half of it"
    if clients < needed:
        words += f", with {needed} clients or more"
    words += f": `{_command(material, needed)}`, of a server that they reach by its host's name."
    return words, {"share": share, "machines": machines, "needed": needed}


def _machines(share: float, machines: int) -> int:
    """Return how many machines would stay below the share at which a client is part of the result."""
    return max(machines + 1, math.floor(machines * share / BUSY) + 1)


def _command(material: Material, needed: int) -> str:
    """Write the command of a run with so many load machines."""
    words = [each for each in material.run.command if each]
    if "--cluster" in words:
        at = words.index("--cluster")
        del words[at : at + 2]
    words = [each for each in words if not each.startswith("--cluster=")]
    words = words if len(words) > 1 else ["dbdyno", "run", material.run.experiment]
    return shlex.join(words) + f" --cluster 'ray://HOST:PORT?machines={needed}'"


def busy_clients(material: Material) -> Iterator[Finding]:
    """Say of which cells the client is part of the result, and how many machines would not be."""
    for cell in material.cells:
        said = _busy_client(cell, material)
        if said is not None:
            words, observed = said
            yield BUSY_CLIENT.found(words, [cell["id"]], {"warning": BUSY_CLIENT.name, **observed})


RULE = Rule(busy_clients, (BUSY_CLIENT,))
