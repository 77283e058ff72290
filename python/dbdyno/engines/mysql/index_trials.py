"""SQL statements that measure indexes in MariaDB and MySQL."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from dbdyno.engines.index_trials import NEW, ROWS, SAMPLED_FROM, Operation, WriteScript, column_names, write_script
from dbdyno.engines.lookup import known_engine
from dbdyno.engines.mysql.dialect import quoted
from dbdyno.engines.sql_lexer import significant, tokenize
from dbdyno.model.events.answers import Loaded
from dbdyno.model.plan.tasks import LoadTask, Target
from dbdyno.model.plan.worker_plan import WorkerPlan
from dbdyno.model.result.reading import JsonObject
from dbdyno.runtime.worker import ask


class MysqlIndexTrials:
    """Indexes of a database on a server."""

    def copy_tables(self, source: Target, copy: Target, tables: Sequence[JsonObject]) -> None:
        """Copy tables on the server, without foreign keys and triggers. Raises SystemFailed."""
        database = f"{quoted(str(source['database']))}."
        for table in tables:
            name = quoted(str(table["name"]))
            if "definition" in table:
                steps = [f"create view {name} as {str(table['definition']).replace(database, '')}"]
            else:
                columns = ", ".join(map(quoted, column_names(table)))
                steps = [
                    f"create table {name} like {database}{name}",
                    f"insert into {name} ({columns}) select {columns} from {database}{name}",
                    f"analyze table {name}",
                ]
            ask(WorkerPlan(task=LoadTask(target=copy, before=[], tables=[], after=steps)), Loaded)

    def leaves_copy(self, sql: str, database: str) -> bool:
        """Whether a name in a statement begins with the database."""
        tokens = significant(tokenize(sql, known_engine("mysql").syntax))
        names = ((name.text.strip("`").lower(), dot.text) for name, dot in pairwise(tokens))
        return (database.lower(), ".") in names

    def index_bytes(self, index: str) -> str:
        """Return the query for the pages of an index, as of InnoDB's statistics."""
        name = index.replace("'", "''")
        return (
            "select max(stat_value) * @@innodb_page_size from mysql.innodb_index_stats "
            f"where database_name = database() and index_name = '{name}' and stat_name = 'size'"
        )

    def refresh_statistics(self, table: JsonObject) -> Sequence[str]:
        """Return ``ANALYZE TABLE``."""
        return (f"analyze table {quoted(str(table['name']))}",)

    def drop(self, index: str, table: JsonObject) -> str:
        """Return the statement that removes an index."""
        return f"drop index {quoted(index)} on {quoted(str(table['name']))}"

    def write_script(self, table: JsonObject, columns: Sequence[str], rows: int) -> WriteScript | None:
        """Return a script that finds rows by the primary key."""
        keys = [str(each) for each in table.get("primary_key", [])]
        if not keys:
            return None
        name = quoted(str(table["name"]))
        names = column_names(table)
        listed = ", ".join(map(quoted, names))
        spread = f"crc32(concat_ws(',', {', '.join(map(quoted, keys))}))"
        found = f"select * from {name} limit {SAMPLED_FROM}"
        same = " and ".join(f"t.{quoted(key)} = r.{quoted(key)}" for key in keys)
        changeable = [column for column in columns if column not in keys]
        moved = ", ".join(
            f"coalesce(lead({quoted(column)}) over (order by {spread}), {quoted(column)}) as {quoted('new_' + column)}"
            for column in changeable
        )
        changed = ", ".join(f"t.{quoted(column)} = r.{quoted('new_' + column)}" for column in changeable)
        own = ", ".join(map(quoted, keys))
        steps: list[tuple[Operation | None, str]] = [
            (None, "set foreign_key_checks = 0"),
            (None, f"create temporary table {ROWS} as select * from ({found}) r order by {spread} limit {rows}"),
            (None, f"alter table {ROWS} add primary key ({own})"),
        ]
        if changeable:
            steps += [
                (None, f"create temporary table {NEW} as select {own}, {moved} from {ROWS}"),
                (None, f"alter table {NEW} add primary key ({own})"),
                (None, "begin"),
                ("update", f"update {name} t join {NEW} r on {same} set {changed}"),
                (None, "rollback"),
            ]
        steps += [
            (None, "begin"),
            ("delete", f"delete t from {name} t join {ROWS} r on {same}"),
            ("insert", f"insert into {name} ({listed}) select {listed} from {ROWS}"),
            (None, "rollback"),
        ]
        return write_script(steps)
