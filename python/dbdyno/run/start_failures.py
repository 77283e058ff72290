"""Report once that a run cannot begin, because statements cannot be prepared or the database cannot be opened."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from dbdyno.base.errors import InputError
from dbdyno.engines import engine_of
from dbdyno.model.plan.cell import CompiledCell
from dbdyno.model.plan.serialization import as_json
from dbdyno.store import TrialRecord

# Prefixes of the first client's messages, and of its message if the server rejected it.
FIRST, _NOT_LET_IN = "client 0: ", "connecting to "

_HINT = "the run did not start; `dbdyno describe` shows the statements"
_CONNECT_HINT = "the run did not start; name a database file or a server that dbdyno can open"


class StartFailures:
    """Watches the first trials of each system.

    If every distinct set of a system's statements has failed before its first transaction, and no trial of the system
    succeeded, all remaining trials would fail in the same way. The order of trials doesn't matter.
    """

    def __init__(self, cells: Sequence[CompiledCell]) -> None:
        """``cells``: all cells of the run."""
        self._cells = {cell.cell.id: cell for cell in cells}
        self._left: dict[str, set[str]] = {}
        for cell in cells:
            self._left.setdefault(cell.cell.system.name, set()).add(work_key(cell))
        self._begun: set[str] = set()

    def observe(self, record: TrialRecord) -> None:
        """Record a trial. Raises InputError if no trial of its system can succeed.

        A rejected login is a result, because a connection limit or another password may be the cause.
        """
        compiled = self._cells[record.cell]
        system = compiled.cell.system
        if record.status == "done":
            self._begun.add(system.name)
        if system.name in self._begun or record.error is None or record.status != "failed":
            return
        words = record.error.removeprefix(FIRST)
        first = record.error_kind == "engine" or words != record.error
        if record.error_kind in ("engine", "connect") and first and not words.startswith(_NOT_LET_IN):
            left = self._left[system.name]
            left.discard(work_key(compiled))
            if not left:
                hint = _CONNECT_HINT if record.error_kind == "connect" or _NO_DATABASE in words else _HINT
                raise InputError(f"{system.name}: cell {record.cell}", words, missing_database(compiled, words) or hint)


def work_key(compiled: CompiledCell) -> str:
    """Return a key of a cell's statements and tables."""
    return json.dumps(
        as_json([compiled.task.statements, compiled.tables, compiled.before]), sort_keys=True, default=str
    )


# SQLite notices only at the first statement that a file isn't a database.
_NO_DATABASE = "SQLITE_NOTADB"

# Messages about a missing table. A syntax error needs another statement, not another database.
_NO_TABLE = re.compile(r"no such table|does(?: not|n't) exist|Unknown table|Invalid object name", re.IGNORECASE)


def missing_database(compiled: CompiledCell, message: str) -> str:
    """Return a hint to name a database, if a table is missing and neither the experiment nor the URL has one.

    ``message``: the engine's message.
    """
    system = compiled.cell.system
    if not _NO_TABLE.search(message):
        return ""
    if not compiled.tables and not compiled.before and system.host is None and system.database is None:
        url = "//user@host/database" if engine_of(system.engine).is_server else "FILE"
        return (
            f"the experiment doesn't create tables: name a database that has them, as `--system {system.engine}:{url}`"
        )
    return ""
