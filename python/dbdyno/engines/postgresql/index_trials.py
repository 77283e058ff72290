"""SQL statements that measure PostgreSQL indexes."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Sequence

from dbdyno.base.errors import SystemFailed, reason
from dbdyno.engines.fixes import standard_quote as quoted
from dbdyno.engines.index_trials import NEW, ROWS, SAMPLED_FROM, Operation, WriteScript, column_names, write_script
from dbdyno.engines.postgresql.psql import QUIET, client_program, connection, variables
from dbdyno.model.plan.tasks import Target
from dbdyno.model.result.reading import JsonObject

_SPREAD = "md5(dbdyno_id::text)"


class PostgresqlIndexTrials:
    """Indexes of a database on a server."""

    def copy_tables(self, source: Target, copy: Target, tables: Sequence[JsonObject]) -> None:
        """Copy the schema of the database, and the rows of some tables, with ``pg_dump``. Raises SystemFailed.

        Objects that can't be created again, such as foreign keys to tables without their rows, are left out.
        """
        dump, psql = client_program("pg_dump"), client_program("psql")
        named = [f"--table={_name(table)}" for table in tables if "definition" not in table]
        for section, strict in (("pre-data", False), ("data", True), ("post-data", False)):
            chosen = named if section == "data" else []
            dumped = [dump, "--no-owner", "--no-privileges", f"--section={section}", *chosen, *connection(source)]
            restored = [psql, *QUIET, f"--set=ON_ERROR_STOP={int(strict)}", *connection(copy)]
            _pipe(dumped, restored, source, strict=strict)
        # Only vacuumed tables are spared when an index has all columns; autovacuum does that to the user's own.
        analyze = [psql, *QUIET, "--command=vacuum analyze", *connection(copy)]
        _pipe(None, analyze, source, strict=True)

    def leaves_copy(self, sql: str, database: str) -> bool:
        """Return False: the server refuses statements that name another database."""
        return False

    def index_bytes(self, index: str) -> str:
        """Return the query for the size of an index, in whichever schema it is."""
        name = index.replace("'", "''")
        return f"select pg_relation_size(oid) from pg_class where relkind = 'i' and relname = '{name}'"

    def refresh_statistics(self, table: JsonObject) -> Sequence[str]:
        """Return ``ANALYZE``, which also samples the expressions of indexes."""
        return (f"analyze {_name(table)}",)

    def drop(self, index: str, table: JsonObject) -> str:
        """Return the statement that removes an index."""
        schema = table.get("schema")
        return "drop index " + (f"{quoted(str(schema))}." if schema else "") + quoted(index)

    def write_script(self, table: JsonObject, columns: Sequence[str], rows: int) -> WriteScript:
        """Return a script that finds rows by their physical place."""
        name = _name(table)
        listed = ", ".join(map(quoted, column_names(table)))
        found = f"select ctid as dbdyno_id, * from {name} limit {SAMPLED_FROM}"
        moved = "".join(
            f", lead({quoted(column)}, 1, {quoted(column)}) over (order by {_SPREAD}) as {quoted(column)}"
            for column in columns
        )
        changed = ", ".join(f"{quoted(column)} = n.{quoted(column)}" for column in columns)
        update: list[tuple[Operation | None, str]] = [
            ("update", f"update {name} t set {changed} from {NEW} n where t.ctid = n.dbdyno_id")
        ]
        return write_script(
            [
                (None, f"create temp table {ROWS} as select * from ({found}) r order by {_SPREAD} limit {rows}"),
                (None, f"create temp table {NEW} as select dbdyno_id{moved} from {ROWS}"),
                # Foreign keys are neither checked nor followed: their cost does not depend on these indexes.
                (None, "set session_replication_role = replica"),
                (None, "begin"),
                *(update if columns else []),
                (None, "rollback"),
                (None, "begin"),
                ("delete", f"delete from {name} where ctid = any (array(select dbdyno_id from {ROWS}))"),
                ("insert", f"insert into {name} ({listed}) overriding system value select {listed} from {ROWS}"),
                (None, "rollback"),
            ]
        )


def _pipe(dump: list[str] | None, restore: list[str], target: Target, *, strict: bool) -> None:
    """Run a program, with the output of another one as its input. Raises SystemFailed."""
    own = variables(target)
    try:
        with tempfile.TemporaryFile() as errors, tempfile.TemporaryFile() as refused:
            first = None
            if dump is not None:
                first = subprocess.Popen(dump, env=own, stdout=subprocess.PIPE, stderr=errors)
            source = subprocess.DEVNULL if first is None else first.stdout
            ended = subprocess.run(
                restore, env=own, stdin=source, stdout=subprocess.DEVNULL, stderr=refused, check=False
            )
            failed = first is not None and first.wait() != 0
            file = errors if failed else refused
            file.seek(0)
            words = file.read().decode(errors="replace").strip().partition("\n")[0]
    except OSError as error:
        raise SystemFailed(f"copying the tables: {reason(error)}") from error
    if failed or (strict and ended.returncode != 0):
        raise SystemFailed(f"copying the tables: {words}")


def _name(table: JsonObject) -> str:
    schema = table.get("schema")
    return (f"{quoted(str(schema))}." if schema else "") + quoted(str(table["name"]))
