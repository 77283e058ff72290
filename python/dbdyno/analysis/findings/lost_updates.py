"""Updates that a server acknowledged and lost."""

from __future__ import annotations

from collections.abc import Sequence

from dbdyno.analysis.findings.rule import Rule
from dbdyno.model.result.cell import Cell
from dbdyno.model.result.finding import Kind
from dbdyno.model.result.reading import count
from dbdyno.model.result.shape import Finding

LOST_UPDATES = Kind("lost updates", ("sessions", "acknowledged", "counted"))


def lost_updates(cells: Sequence[Cell]) -> list[Finding]:
    """Say where a server acknowledged updates that it lost, as was tried before each trial of cells that update."""
    found: dict[str, tuple[list[str], int, int, int]] = {}
    for cell in cells:
        tried = cell["system"]["lost_updates"]
        sessions, acknowledged, counted = (count(tried, name) for name in ("sessions", "acknowledged", "counted"))
        if sessions is None or acknowledged is None or counted is None or counted >= acknowledged:
            continue
        ids, _, done, kept = found.get(cell["system"]["name"], ([], 0, 0, 0))
        found[cell["system"]["name"]] = ([*ids, cell["id"]], sessions, done + acknowledged, kept + counted)
    return [
        LOST_UPDATES.found(
            f"`{name}` loses updates that it acknowledges: {sessions} sessions added 1 to one document at once, before "
            f"the trials; of {acknowledged:,} updates acknowledged the document had {kept:,}.",
            ids,
            {"sessions": sessions, "acknowledged": acknowledged, "counted": kept},
        )
        for name, (ids, sessions, acknowledged, kept) in found.items()
    ]


RULE = Rule(lambda material: lost_updates(material.cells), (LOST_UPDATES,))
