"""Why SQLite told clients that its file is locked, and what cures it."""

import json
from collections.abc import Iterable, Sequence
from typing import Any

from dbdyno.compile import CompiledCell
from dbdyno.document import Cell, Document
from dbdyno.document.finding import finding
from dbdyno.document.reading import text
from dbdyno.document.shape import Finding
from dbdyno.plan.steps import flat
from dbdyno.results.metrics import done

# A cell as it was planned and as it was measured.
_Measured = tuple[CompiledCell, Cell]


def lock_findings(document: Document, compiled: Iterable[CompiledCell]) -> list[Finding]:
    """Say why transactions failed because the file was locked, and what cures it; ``compiled``: the cells on SQLite.

    That a cure helped is said where a cell was measured that differs in the cure alone.
    """
    cells = {cell["id"]: cell for cell in document["cells"] if done(cell)}
    measured = [(each, cells[each.cell.id]) for each in compiled if each.cell.id in cells]
    locked = [each for each in measured if each[1]["failed"].get("locked", 0) > 0]
    waits = {cell["id"]: ms for _, cell in locked if (ms := text(cell["system"]["settings"], "busy_timeout"))}
    upgrading = [each for each in locked if _upgrades(each[0]) and each[1]["id"] in waits]
    impatient = [cell for _, cell in locked if waits.get(cell["id"]) == "0"]
    found = []
    if upgrading:
        words = (
            "A plain BEGIN takes no lock. A transaction that reads first and then writes cannot wait for the others: "
            "once another has written, SQLite refuses it at once, whatever busy_timeout says. BEGIN IMMEDIATE takes "
            "the lock at the start, and waits for it"
        )
        ids = [cell["id"] for _, cell in upgrading]
        cured = {cell["id"]: other["id"] for one, cell in upgrading if (other := _cured(one, measured)) is not None}
        pairs = "; ".join(f"{after} beside {before}" for before, after in cured.items())
        words += f", and with it alone changed no transaction failed: {pairs}." if cured else "."
        observed = {
            "failed": _failed(cell for _, cell in upgrading),
            "statements": {cell["id"]: _upgrades(one) for one, cell in upgrading},
            "busy_timeout": {each: waits[each] for each in ids},
            "cured": cured,
        }
        found.append(finding("locked while upgrading", words, ids, observed))
    if impatient:
        words = "No busy_timeout is set: a client that finds the file locked gives up at once; busy_timeout=5000 waits."
        observed = {"failed": _failed(impatient), "busy_timeout": 0}
        found.append(finding("locked without waiting", words, [cell["id"] for cell in impatient], observed))
    return found


def _failed(cells: Iterable[Cell]) -> dict[str, int]:
    return {cell["id"]: cell["failed"]["locked"] for cell in cells}


def _cured(one: CompiledCell, measured: Sequence[_Measured]) -> Cell | None:
    """Find a cell in which all transactions begin with the lock, nothing else is other, and none failed."""
    alike = _but_for_begin(one)
    for other, cell in measured:
        fails = any(each["failed"] for each in done(cell))
        if other.begins == {"immediate"} and not fails and _but_for_begin(other) == alike:
            return cell
    return None


def _but_for_begin(compiled: CompiledCell) -> str:
    """Give all of what a cell's trials do, but for how their transactions begin."""
    parts = [compiled.trial, compiled.before, compiled.tables, compiled.after, repr(compiled.settings)]
    return json.dumps([_without_modes(parts), compiled.cell.system.name], sort_keys=True, default=repr)


def _without_modes(source: Any) -> Any:
    if isinstance(source, dict):
        mode = "mode" if source.get("do") == "begin" else ""
        return {key: _without_modes(value) for key, value in source.items() if key != mode}
    return [_without_modes(each) for each in source] if isinstance(source, list | tuple) else source


def _upgrades(compiled: CompiledCell) -> list[str]:
    """Give a statement that reads, and one that writes after it, in a transaction that begins without a lock."""
    statements = [str(each["sql"]) for each in compiled.trial["statements"]]
    for each in compiled.trial["transactions"]:
        inside, read = False, ""
        for step in flat(each["steps"]):
            if step["do"] == "begin":
                inside, read = step["mode"] == "deferred", ""
            elif step["do"] in ("commit", "rollback"):
                inside = False
            elif inside and step["do"] == "execute":
                statement = statements[step["statement"]]
                if statement.lstrip().lower().startswith("select"):
                    read = read or statement
                elif read:
                    return [read, statement]
    return []
