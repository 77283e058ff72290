"""PostgreSQL's SQL."""

from dbdyno.engines.dialect import spell
from dbdyno.engines.transpile.dialect import TranspiledDialect
from dbdyno.engines.transpile.sql_target import SqlTarget
from dbdyno.model.experiment.tables import Column, Table
from dbdyno.model.plan.steps import STANDARD_LEVELS

SQL = SqlTarget(
    engine="postgresql",
    grammar="postgres",
    lacks=frozenset(
        (
            "CurrentTime",
            "Hex",
            "JSONRemove",
            "JSONSet",
            "Unhex",
            "json_insert",
            "json_quote",
            "json_replace",
            "json_valid",
        )
    ),
    on_conflict=True,
    log_is_of_ten=True,
    analyze=True,
    # The operators need columns of type `json`, which experiments don't create.
    json_extract=False,
    filter_clause=True,
    format_of_texts=True,
    default_values=True,
    returning=True,
)


class PostgresqlDialect(TranspiledDialect):
    """PostgreSQL's dialect."""

    engine = "postgresql"
    target = SQL
    isolation_levels = STANDARD_LEVELS
    copies = True

    _TYPES = {"double": "double precision", "blob": "bytea", "decimal": "numeric"}  # noqa: RUF012

    def column_type(self, column: Column) -> str:
        """Return the type with PostgreSQL's name."""
        # PostgreSQL has no type for bytes of a fixed length.
        return "bytea" if column.type.name == "binary" else spell(column.type, self._TYPES.get(column.type.name))

    def after_rows(self, name: str, table: Table) -> list[str]:
        """Set the sequences of autoincrement columns to continue after the loaded keys."""
        counted = [key for key, column in table.columns.items() if column.autoincrement and table.rows]
        return [self._count_on(name, key) for key in counted]

    def _count_on(self, table: str, key: str) -> str:
        column, name = self.quote(key), self.quote(table)
        behind = f"(select coalesce(max({column}), 0) + 1 from {name})"  # noqa: S608
        return f"select setval(pg_get_serial_sequence({_text(name)}, {_text(key)}), {behind}, false)"


def _text(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
