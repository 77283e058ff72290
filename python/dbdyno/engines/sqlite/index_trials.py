"""The SQL with which indexes of SQLite are measured."""

from __future__ import annotations

from collections.abc import Sequence

from dbdyno.base.errors import SystemFailed
from dbdyno.engines.fixes import standard_quote as quoted
from dbdyno.engines.index_trials import NEW, ROWS, SAMPLED_FROM, WriteScript, column_names, write_script
from dbdyno.model.plan.cell import Target
from dbdyno.model.result.reading import JsonObject

# Spreads the sampled rows over the table, and takes the same rows on each copy.
_SPREAD = "(dbdyno_id * 7919) % 1000003"


class SqliteIndexTrials:
    """Indexes of a database file."""

    def copy_tables(self, source: Target, copy: Target, tables: Sequence[JsonObject]) -> None:
        """Raise SystemFailed: files are copied as a whole."""
        raise SystemFailed(f"{source.get('path')} is copied as a file")

    def leaves_copy(self, sql: str, database: str) -> bool:
        """Return False: the copy is the whole database."""
        return False

    def index_bytes(self, index: str) -> str:
        """Return the query for the pages of an index."""
        name = index.replace("'", "''")
        return f"select sum(pgsize) from dbstat where name = '{name}'"

    def refresh_statistics(self, table: JsonObject) -> Sequence[str]:
        """Return nothing: SQLite plans without statistics, and copies of analyzed files have those of the file."""
        return ()

    def drop(self, index: str, table: JsonObject) -> str:
        """Return the statement that removes an index."""
        return f"drop index {quoted(index)}"

    def write_script(self, table: JsonObject, columns: Sequence[str], rows: int) -> WriteScript:
        """Return a script that finds rows by their rowid."""
        name = quoted(str(table["name"]))
        listed = ", ".join(map(quoted, column_names(table)))
        found = f"select rowid as dbdyno_id, * from {name} limit {SAMPLED_FROM}"
        moved = ", ".join(
            f"lead({quoted(each)}, 1, {quoted(each)}) over (order by {_SPREAD}) as {quoted(each)}" for each in columns
        )
        changed = ", ".join(
            f"{quoted(each)} = (select {quoted(each)} from temp.{NEW} where dbdyno_id = {name}.rowid)"
            for each in columns
        )
        return write_script(
            [
                (None, "begin"),
                (None, f"create temp table {ROWS} as select * from ({found}) order by {_SPREAD} limit {rows}"),
                (None, f"create unique index temp.{ROWS}_by_id on {ROWS} (dbdyno_id)"),
                (None, f"create temp table {NEW} as select dbdyno_id, {moved} from {ROWS}"),
                (None, f"create unique index temp.{NEW}_by_id on {NEW} (dbdyno_id)"),
                ("update", f"update {name} set {changed} where rowid in (select dbdyno_id from temp.{NEW})"),
                ("delete", f"delete from {name} where rowid in (select dbdyno_id from temp.{ROWS})"),
                ("insert", f"insert into {name} ({listed}) select {listed} from temp.{ROWS}"),
                (None, "rollback"),
            ]
        )
