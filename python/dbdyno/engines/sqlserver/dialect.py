"""SQL Server's SQL."""

from dbdyno.engines.dialect import spell
from dbdyno.engines.transpile.dialect import TranspiledDialect
from dbdyno.engines.transpile.sql_target import SqlTarget
from dbdyno.model.experiment.tables import Column
from dbdyno.model.plan.steps import STANDARD_LEVELS, IsolationLevel

SQL = SqlTarget(
    engine="sqlserver",
    grammar="tsql",
    plus_concatenates=True,
    lacks=frozenset(
        (
            "CurrentTime",
            "Format",
            "Hex",
            "JSONArrayAgg",
            "JSONObjectAgg",
            "JSONRemove",
            "JSONSet",
            "Unhex",
            "json_insert",
            "json_quote",
            "json_replace",
            "json_valid",
        )
    ),
    nulls="small",
    savepoints=False,
    limit_behind=False,
    natural_join=False,
    join_using=False,
)


class SqlserverDialect(TranspiledDialect):
    """SQL Server's dialect. Strings are Unicode, as on the other engines."""

    engine = "sqlserver"
    target = SQL
    most_parameters = 2_100
    isolation_levels: tuple[IsolationLevel, ...] = (*STANDARD_LEVELS, "snapshot")

    _TYPES = {  # noqa: RUF012
        "integer": "int",
        "double": "float",
        "text": "nvarchar(max)",
        "blob": "varbinary(max)",
        "boolean": "bit",
        "timestamp": "datetime2",
        "uuid": "uniqueidentifier",
        "json": "nvarchar(max)",
        "jsonb": "nvarchar(max)",
        "char": "nchar",
        "varchar": "nvarchar",
    }

    # Maximum length of nvarchar(n), in characters.
    _MAX_CHARACTERS = 4000

    def quote(self, name: str) -> str:
        """Return a name in brackets."""
        return "[" + name.replace("]", "]]") + "]"

    def column_type(self, column: Column) -> str:
        """Return the type with SQL Server's name."""
        if column.type.name in ("char", "varchar") and column.type.arguments[0] > self._MAX_CHARACTERS:
            return "nvarchar(max)"
        if column.type.name == "vector":
            return "nvarchar(max)"
        return spell(column.type, self._TYPES.get(column.type.name))

    def autoincrement(self, table: str, column: str) -> str:
        """Return SQL Server's keyword."""
        return " identity"
