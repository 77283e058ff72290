"""DuckDB's SQL."""

from dbdyno.engines.dialect import spell
from dbdyno.engines.transpile.dialect import TranspiledDialect
from dbdyno.engines.transpile.sql_target import SqlTarget
from dbdyno.model.experiment.tables import Column, Table

SQL = SqlTarget(
    engine="duckdb",
    grammar="duckdb",
    lacks=frozenset(
        (
            # Its function of this name has other signs for places.
            "Format",
            "JSONArrayAgg",
            "JSONRemove",
            "JSONSet",
            "json_insert",
            "json_replace",
        )
    ),
    nulls="last",
    savepoints=False,
    on_conflict=True,
    log_is_of_ten=True,
    partial_index=False,
    analyze=True,
    filter_clause=True,
    substr_from_end=True,
    default_values=True,
    returning=True,
)


class DuckdbDialect(TranspiledDialect):
    """DuckDB."""

    engine = "duckdb"
    target = SQL
    # A sequence counts a key up behind the rows that are loaded with keys of their own.
    counts_up = False

    def column_type(self, column: Column) -> str:
        """Write the type as the experiment does; bytes of one length are no type of DuckDB's."""
        return "blob" if column.type.name == "binary" else spell(column.type)

    def create_table(self, name: str, table: Table) -> str:
        """Write the definition of a table, after those of what counts its keys up."""
        first = table.rows + sum(part.rows for part in table.parts) + 1
        counted = [key for key, column in table.columns.items() if column.autoincrement]
        sequences = [f"create sequence {self._sequence(name, key)} start {first}; " for key in counted]
        return "".join(sequences) + super().create_table(name, table)

    def autoincrement(self, table: str, column: str) -> str:
        """Take the next of a sequence."""
        name = self._sequence(table, column).replace("'", "''")
        return f" default nextval('{name}')"

    def _sequence(self, table: str, key: str) -> str:
        return self.quote(f"{table}_{key}_counted")
