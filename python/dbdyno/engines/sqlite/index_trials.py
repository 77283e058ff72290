"""SQL statements that measure SQLite indexes."""

from __future__ import annotations

from collections.abc import Sequence

from dbdyno.base.errors import SystemFailed
from dbdyno.engines.fixes import standard_quote as quoted
from dbdyno.engines.index_trials import NEW, ROWS, SAMPLED_FROM, Operation, WriteScript, column_names, write_script
from dbdyno.model.plan.tasks import Target
from dbdyno.model.result.reading import JsonObject


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
        """Return nothing: SQLite plans without statistics, and a copy keeps the statistics of an analyzed file."""
        return ()

    def drop(self, index: str, table: JsonObject) -> str:
        """Return the statement that removes an index."""
        return f"drop index {quoted(index)}"

    def write_script(self, table: JsonObject, columns: Sequence[str], rows: int) -> WriteScript:
        """Return a script that finds rows by their rowid, or by the primary key of a table without rowids."""
        name = quoted(str(table["name"]))
        listed = ", ".join(map(quoted, column_names(table)))
        # The catalog lacks the number of rows only for tables without rowids.
        keys = [str(each) for each in table.get("primary_key", [])] if table.get("rows") is None else []
        own = [quoted(key) for key in keys] or ["rowid"]
        saved = [quoted(key) for key in keys] or ["dbdyno_id"]
        ids = ", ".join(saved)
        spread = f"(dbdyno_id * 7919) % 1000003, {ids}" if not keys else f"substr(hex({saved[0]}), -3), {ids}"
        found = f"select {'*' if keys else 'rowid as dbdyno_id, *'} from {name} limit {SAMPLED_FROM}"
        changeable = [quoted(column) for column in columns if column not in keys]
        moved = "".join(f", lead({column}, 1, {column}) over (order by {spread}) as {column}" for column in changeable)
        same = " and ".join(f"n.{kept} = {name}.{column}" for kept, column in zip(saved, own, strict=True))
        changed = ", ".join(f"{column} = (select n.{column} from temp.{NEW} n where {same})" for column in changeable)
        within = f"({', '.join(own)}) in (select {ids} from temp."
        steps: list[tuple[Operation | None, str]] = [
            (None, "begin"),
            (None, f"create temp table {ROWS} as select * from ({found}) order by {spread} limit {rows}"),
            (None, f"create unique index temp.{ROWS}_by_id on {ROWS} ({ids})"),
            (None, f"create temp table {NEW} as select {ids}{moved} from {ROWS}"),
            (None, f"create unique index temp.{NEW}_by_id on {NEW} ({ids})"),
        ]
        if changeable:
            steps.append(("update", f"update {name} set {changed} where {within}{NEW})"))
        steps += [
            ("delete", f"delete from {name} where {within}{ROWS})"),
            ("insert", f"insert into {name} ({listed}) select {listed} from temp.{ROWS}"),
            (None, "rollback"),
        ]
        return write_script(steps)
