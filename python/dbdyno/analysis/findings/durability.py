"""Systems that are less durable than they claim."""

from __future__ import annotations

from collections.abc import Sequence

from dbdyno.analysis.findings.rule import Material, finding
from dbdyno.model.result.cell import Cell
from dbdyno.model.result.reading import count
from dbdyno.model.result.shape import Finding


@finding(
    "durability contradicted",
    needs=("durability", "observed"),
    meaning="Fewer syncs or flushes reached the device than the durability class of the system requires.",
    remedy="Look for a setting of the session, the file system or the device that drops syncs.",
)
def contradicted(material: Material) -> list[Finding]:
    """Report each system whose counts contradict its durability class: one finding for all of its cells."""
    found: dict[tuple[str, str], list[Cell]] = {}
    for cell in material.cells:
        if cell.observed.contradiction:
            found.setdefault((cell.system.name, cell.system.durability or ""), []).append(cell)
    return [_contradicted(name, durability, hit) for (name, durability), hit in found.items()]


def _contradicted(name: str, durability: str, cells: Sequence[Cell]) -> Finding:
    where = f" (in {cells[0].id}, and in {len(cells) - 1} more cells)" if len(cells) > 1 else ""
    text = (
        f"{name} is not {durability}, although its settings claim it: {cells[0].observed.contradiction}{where}. "
        "Something below the engine, or a setting of the session, drops the syncs. dbdyno does not rank it."
    )
    observed = {cell.id: cell.observed for cell in cells}
    return contradicted.found(text, [cell.id for cell in cells], {"durability": durability, "observed": observed})


@finding(
    "lost updates",
    needs=("sessions", "acknowledged", "counted"),
    meaning="A server acknowledged updates and then lost them when several sessions changed one document.",
    remedy="Don't rely on updates of this server; use another server or one session.",
)
def lost_updates(material: Material) -> list[Finding]:
    """Report servers that lost acknowledged updates in the check before each trial that updates."""
    found: dict[str, tuple[list[str], int, int, int]] = {}
    for cell in material.cells:
        tried = cell.system.lost_updates
        sessions, acknowledged, counted = (count(tried, name) for name in ("sessions", "acknowledged", "counted"))
        if sessions is None or acknowledged is None or counted is None or counted >= acknowledged:
            continue
        ids, _, done, kept = found.get(cell.system.name, ([], 0, 0, 0))
        found[cell.system.name] = ([*ids, cell.id], sessions, done + acknowledged, kept + counted)
    return [
        lost_updates.found(
            f"`{name}` loses updates that it acknowledged: before the trials, {sessions} sessions added 1 at once to "
            f"one document. The server acknowledged {acknowledged:,} updates, but the document counted {kept:,}.",
            ids,
            {"sessions": sessions, "acknowledged": acknowledged, "counted": kept},
        )
        for name, (ids, sessions, acknowledged, kept) in found.items()
    ]
