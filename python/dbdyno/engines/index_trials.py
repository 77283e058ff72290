"""The interface through which candidate indexes are built and measured on copies of an engine's data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from dbdyno.model.plan.tasks import Target
from dbdyno.model.result.reading import JsonObject

Operation = Literal["insert", "update", "delete"]

ROWS = "dbdyno_rows"
"""The temporary table with the rows that are written."""

NEW = "dbdyno_new"
"""The temporary table with new values of the indexed columns."""

# Maximum number of rows from which rows are sampled.
SAMPLED_FROM = 1_000_000


@dataclass(frozen=True)
class WriteScript:
    """Statements for one session that change rows of a table and undo it. ``timed``: the place of each operation."""

    statements: Sequence[str]
    timed: Mapping[Operation, int]


class IndexTrials(Protocol):
    """The SQL with which an engine's indexes are measured."""

    def copy_tables(self, source: Target, copy: Target, tables: Sequence[JsonObject]) -> None:
        """Copy tables of a server's database, with their indexes, to an empty database there. Raises SystemFailed.

        ``tables``: their entries in the catalog; an entry of a view has a ``definition``. Engines that work on files
        copy the files.
        """

    def leaves_copy(self, sql: str, database: str) -> bool:
        """Whether a statement names its database, so that it would use the user's tables instead of the copy's."""

    def index_bytes(self, index: str) -> str | None:
        """Return the query for the size of an index in bytes; ``None``: unknown."""

    def refresh_statistics(self, table: JsonObject) -> Sequence[str]:
        """Return the statements that a user would run after creating an index; ``table``: its entry in the catalog."""

    def drop(self, index: str, table: JsonObject) -> str:
        """Return the statement that removes an index."""

    def write_script(self, table: JsonObject, columns: Sequence[str], rows: int) -> WriteScript | None:
        """Return a script that updates ``columns`` of ``rows`` rows, deletes the rows and inserts them again.

        ``None``: the rows of the table can't be identified.
        """


def write_script(steps: Sequence[tuple[Operation | None, str]]) -> WriteScript:
    """Return a script of statements, some of which are timed."""
    timed = {operation: position for position, (operation, _) in enumerate(steps) if operation is not None}
    return WriteScript([sql for _, sql in steps], timed)


def column_names(table: JsonObject) -> list[str]:
    """Return the columns of a table that take values, from its entry in the catalog."""
    return [str(column.get("name")) for column in table.get("columns", []) if not column.get("generated")]
