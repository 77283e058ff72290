"""What connecting anew for each transaction took of the clients' time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dbdyno.analysis.findings.rule import Material, Rule
from dbdyno.base.numbers import rough
from dbdyno.model.result.cell import Cell
from dbdyno.model.result.finding import Kind
from dbdyno.model.result.reading import JsonObject
from dbdyno.model.result.shape import Finding

CONNECTING = Kind("connecting", ("connecting",))


@dataclass(frozen=True, slots=True)
class _Connecting:
    """A cell whose clients connect for each transaction: of their time in all rounds, and ms each."""

    cell: Cell
    share: float
    each_ms: float


def connect_findings(
    cells: Sequence[Cell], factors: Mapping[str, Sequence[object]], tasks: Mapping[str, JsonObject]
) -> list[Finding]:
    """Say what connecting took where clients connect for each transaction, of the systems of a level together.

    ``tasks``: of the plans, by cell. Of a lone system all levels are told together. Where cells that keep their
    connections have another number of clients, the two do not differ in connecting alone, and that is said too.
    """
    all_of_them = [
        connecting
        for cell in cells
        if _connects_anew(tasks.get(cell["id"])) and (connecting := _connecting(cell)) is not None
    ]
    systems = len({cell["system"]["name"] for cell in cells})
    several = [name for name, levels in factors.items() if name != "system" and len(levels) > 1]
    groups: dict[str, list[_Connecting]] = {}
    for each in all_of_them:
        groups.setdefault(_where(each, several) if systems > 1 else "", []).append(each)
    found = []
    for where, group in groups.items():
        parts = []
        for each in sorted(group, key=lambda each: -each.share):
            share = f"{each.share * 100:.{1 if each.share < 0.0995 else 0}f} % ({rough(each.each_ms)} ms each)"
            name = each.cell["system"]["name"] if systems > 1 else _where(each, several)
            parts.append(share + (f" with {name}" if name and len(all_of_them) > 1 else ""))
        begin = f"With {where}, connecting" if len(groups) > 1 else "Connecting"
        text = f"{begin} anew for each transaction took, of the clients' time, {', '.join(parts)}."
        text += _differing_clients([each.cell for each in group], cells, tasks)
        shares = {each.cell["id"]: {"share": each.share, "each_ms": each.each_ms} for each in group}
        found.append(CONNECTING.found(text, shares, {"connecting": shares}))
    return found


def _connects_anew(task: JsonObject | None) -> bool:
    return task is not None and task.get("connect") == "per-transaction"


def _connecting(cell: Cell) -> _Connecting | None:
    """Give what connecting took; None where it is not known."""
    latency, client_s = cell["latency_ms"].get("connect"), cell["time"] and cell["time"]["client_s"]
    if latency is None or not latency["count"] or latency["mean"] is None or not client_s:
        return None
    return _Connecting(cell, latency["count"] * latency["mean"] / 1000 / client_s, latency["mean"])


def _where(connecting: _Connecting, factors: Sequence[str]) -> str:
    """Give the levels of some factors."""
    levels = connecting.cell["factors"]
    return ", ".join(f"{name}={levels[name]}" for name in factors if name in levels)


def _differing_clients(anew: Sequence[Cell], cells: Sequence[Cell], tasks: Mapping[str, JsonObject]) -> str:
    """Warn of comparing cells with those that keep their connections, where that is not all they differ in."""
    pairs = sorted(
        {
            (tasks[one["id"]].get("clients"), tasks[other["id"]].get("clients"))
            for one in anew
            for other in cells
            if other["id"] in tasks
            and not _connects_anew(tasks[other["id"]])
            and sum(level != other["factors"].get(name) for name, level in one["factors"].items()) == 1
        }
    )
    differing = [f"{one} and {other}" for one, other in pairs if one != other]
    if not differing:
        return ""
    return (
        f" Cells that keep their connections also differ in the number of clients ({'; '.join(differing)}): "
        "their ratio is not the cost of connecting alone."
    )


def _of_run(material: Material) -> list[Finding]:
    return connect_findings(material.cells, material.factors, material.tasks)


RULE = Rule(_of_run, (CONNECTING,))
