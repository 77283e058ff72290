"""What connecting anew for each transaction took of the clients' time."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from dbdyno.compile import CompiledCell
from dbdyno.document import Cell, Document
from dbdyno.document.finding import finding
from dbdyno.document.shape import Finding
from dbdyno.report.numbers import rough


@dataclass(frozen=True, slots=True)
class _Connecting:
    """A cell whose clients connect for each transaction: of their time in all rounds, and ms each."""

    cell: Cell
    share: float
    each_ms: float


def connect_findings(document: Document, compiled: Iterable[CompiledCell]) -> list[Finding]:
    """Say what connecting took where clients connect for each transaction, of the systems of a level together.

    Of a lone system all levels are told together. Where cells that keep their connections have another number of
    clients, the two do not differ in connecting alone, and that is said too.
    """
    by_id = {each.cell.id: each for each in compiled}
    all_of_them = [
        connecting
        for cell in document["cells"]
        if _connects_anew(by_id.get(cell["id"])) and (connecting := _connecting(cell)) is not None
    ]
    systems = len({cell["system"]["name"] for cell in document["cells"]})
    several = [name for name, levels in document["factors"].items() if name != "system" and len(levels) > 1]
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
        begin = f"With {where}: connecting" if len(groups) > 1 else "Connecting"
        text = f"{begin} anew for each transaction took, of the clients' time, {', '.join(parts)}."
        text += _unlike_clients([each.cell for each in group], document["cells"], by_id)
        shares = {each.cell["id"]: {"share": each.share, "each_ms": each.each_ms} for each in group}
        found.append(finding("connecting", text, shares, {"connecting": shares}))
    return found


def _connects_anew(compiled: CompiledCell | None) -> bool:
    return compiled is not None and compiled.definition.load.connect == "per-transaction"


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


def _unlike_clients(anew: Sequence[Cell], cells: Sequence[Cell], by_id: Mapping[str, CompiledCell]) -> str:
    """Warn of comparing cells with those that keep their connections, where that is not all they differ in."""
    pairs = sorted(
        {
            (by_id[one["id"]].definition.load.clients, by_id[other["id"]].definition.load.clients)
            for one in anew
            for other in cells
            if other["id"] in by_id
            and not _connects_anew(by_id[other["id"]])
            and sum(level != other["factors"].get(name) for name, level in one["factors"].items()) == 1
        }
    )
    unlike = [f"{one} and {other}" for one, other in pairs if one != other]
    if not unlike:
        return ""
    return (
        f" Cells that keep their connections also differ in the number of clients ({'; '.join(unlike)}): "
        "their ratio is not the cost of connecting alone."
    )
