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
            # DuckDB's function of this name has other format specifiers.
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


_TYPES = {"binary": "blob", "jsonb": "json"}


class DuckdbDialect(TranspiledDialect):
    """DuckDB."""

    engine = "duckdb"
    target = SQL
    copies = True
    # Loaded rows bring their own keys; a sequence provides the keys of later rows.
    counts_up = False

    def column_type(self, column: Column) -> str:
        """Return DuckDB's name of a type: ``blob`` for bytes of a fixed length, an array for a vector."""
        if column.type.name == "vector":
            return f"float[{column.type.arguments[0]}]"
        return _TYPES.get(column.type.name) or spell(column.type)

    def create_table(self, name: str, table: Table) -> str:
        """Return the statements that create a table's sequences, then the table."""
        first = table.rows + sum(part.rows for part in table.parts) + 1
        counted = [key for key, column in table.columns.items() if column.autoincrement]
        sequences = [f"create sequence {self._sequence(name, key)} start {first}; " for key in counted]
        return "".join(sequences) + super().create_table(name, table)

    def autoincrement(self, table: str, column: str) -> str:
        """Return a default that takes the next value of a sequence."""
        name = self._sequence(table, column).replace("'", "''")
        return f" default nextval('{name}')"

    def _sequence(self, table: str, key: str) -> str:
        return self.quote(f"{table}_{key}_counted")
