"""Why SQLite told clients that its file is locked, and what cures it."""

from collections.abc import Iterable
from typing import Any

from dbdyno.compile import CompiledCell
from dbdyno.compile.transactions import flat
from dbdyno.results import Document


def lock_findings(document: Document, compiled: Iterable[CompiledCell]) -> list[dict[str, Any]]:
    """Say why transactions on SQLite failed because the file was locked, and what cures it."""
    cells = {cell["id"]: cell for cell in document["cells"]}
    upgrading: list[str] = []
    impatient: list[str] = []
    cured: list[str] = []
    for each in compiled:
        cell = cells.get(each.cell.id)
        if each.cell.system.engine != "sqlite" or cell is None or not cell["rounds"]:
            continue
        locked = cell["failed"].get("locked", 0) > 0
        if locked and _reads_before_it_writes(each):
            upgrading.append(cell["id"])
        elif locked and not each.sqlite.busy_timeout_ms:
            impatient.append(cell["id"])
        elif not locked and each.sqlite.busy_timeout_ms and each.begins == {"immediate"}:
            cured.append(cell["id"])
    found: list[dict[str, Any]] = []
    if upgrading:
        text = (
            "A plain BEGIN takes no lock. A transaction that reads first and then writes cannot wait for the others: "
            "once another has written, SQLite refuses it at once, whatever busy_timeout says. BEGIN IMMEDIATE takes "
            "the lock at the start, and waits for it"
        )
        text += f"; with it no transaction failed ({', '.join(cured)})." if cured else "."
        found.append({"text": text, "cells": upgrading, "evidence": {"cured": cured}})
    if impatient:
        text = "No busy_timeout is set: a client that finds the file locked gives up at once; busy_timeout=5000 waits."
        found.append({"text": text, "cells": impatient, "evidence": None})
    return found


def _reads_before_it_writes(compiled: CompiledCell) -> bool:
    """Whether a transaction that begins without a lock has a statement that reads before one that writes."""
    statements = [str(each["sql"]).lstrip().lower() for each in compiled.trial["statements"]]
    for each in compiled.trial["transactions"]:
        inside = has_read = False
        for step in flat(each["steps"]):
            if step["do"] == "begin":
                inside, has_read = step["mode"] == "deferred", False
            elif step["do"] in ("commit", "rollback"):
                inside = False
            elif inside and step["do"] == "execute":
                if statements[step["statement"]].startswith("select"):
                    has_read = True
                elif has_read:
                    return True
    return False
