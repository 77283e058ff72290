"""The SQL of MySQL and MariaDB."""

from dbdyno.engines.dialect import spell
from dbdyno.engines.transpile.dialect import TranspiledDialect
from dbdyno.engines.transpile.sql_target import SqlTarget
from dbdyno.model.experiment.definition import Definition
from dbdyno.model.experiment.tables import Column, Index, Table
from dbdyno.model.plan.steps import STANDARD_LEVELS

SQL = SqlTarget(
    engine="mysql",
    grammar="mysql",
    lacks=frozenset(("Format",)),
    nulls="small",
    # MariaDB doesn't have `->>`; the functions that replace it work on both.
    json_arrow=False,
    partial_index=False,
    limit_in_subquery=False,
    substr_from_end=True,
    substr_from_zero=False,
    full_join=False,
    returning_of="known to MariaDB, but not to MySQL",
    ordered_changes=True,
)


def quoted(name: str) -> str:
    """Return a name in backquotes."""
    return "`" + name.replace("`", "``") + "`"


class MysqlDialect(TranspiledDialect):
    """The SQL of MariaDB and MySQL."""

    engine = "mysql"
    target = SQL
    isolation_levels = STANDARD_LEVELS

    _TYPES = {  # noqa: RUF012
        "integer": "int",
        "real": "float",
        "text": "longtext",
        "blob": "longblob",
        "timestamp": "datetime(6)",
        "uuid": "char(36)",
        "jsonb": "json",
    }

    def __init__(self, definition: Definition, location: str, storage_engine: str | None = None) -> None:
        """``storage_engine``: the tables' storage engine; ``None``: the server's default."""
        super().__init__(definition, location)
        self._storage_engine = storage_engine

    def quote(self, name: str) -> str:
        """Return a name in backquotes."""
        return quoted(name)

    def column_type(self, column: Column) -> str:
        """Return the type with MySQL's name."""
        return spell(column.type, self._TYPES.get(column.type.name))

    def autoincrement(self, table: str, column: str) -> str:
        """Return MySQL's keyword."""
        return " auto_increment"

    def create_table(self, name: str, table: Table) -> str:
        """Return the statement that creates a table with its storage engine."""
        text = super().create_table(name, table)
        return f"{text} engine={self._storage_engine}" if self._storage_engine else text

    def create_index(self, table: str, index: Index) -> str:
        """Return the statement that creates an index; a prefix length applies to its last column."""
        text = super().create_index(table, index)
        return f"{text.removesuffix(')')}({index.prefix}))" if index.prefix else text
