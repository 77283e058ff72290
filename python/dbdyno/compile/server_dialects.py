"""The SQL of PostgreSQL, of MySQL and MariaDB, and of SQL Server."""

from dbdyno.compile.dialects import Dialect, SqliteDialect, StandardDialect, spell
from dbdyno.compile.documents import MongodbDialect
from dbdyno.compile.foreign import Names
from dbdyno.compile.portable import translate
from dbdyno.errors import InputError
from dbdyno.experiment.definition import Definition
from dbdyno.experiment.tables import Column, Index, Table
from dbdyno.sql_tree import DIALECTS


class ServerDialect(StandardDialect):
    """A dialect into which statements are translated."""

    def __init__(self, definition: Definition, place: str) -> None:
        """``place``: the experiment's file, for errors."""
        columns = [name for table in definition.tables.values() for name in table.columns]
        self._names = Names([*columns, *definition.tables])
        self._place = place

    def translated(self, text: str) -> str:
        """Translate a statement. Raises InputError."""
        return translate(text, DIALECTS[self.engine], self._names, self._place)


class PostgresqlDialect(ServerDialect):
    """PostgreSQL, and what speaks its SQL."""

    engine = "postgresql"

    _TYPES = {"double": "double precision", "blob": "bytea", "decimal": "numeric"}  # noqa: RUF012

    def column_type(self, column: Column) -> str:
        """Write the type by PostgreSQL's name."""
        return spell(column.type, self._TYPES.get(column.type.name))

    def after_rows(self, name: str, table: Table) -> list[str]:
        """Let what counts up a key go on behind the keys that were loaded."""
        counted = [key for key, column in table.columns.items() if column.autoincrement and table.rows]
        return [self._count_on(name, key) for key in counted]

    def _count_on(self, table: str, key: str) -> str:
        column, name = self.quote(key), self.quote(table)
        behind = f"(select coalesce(max({column}), 0) + 1 from {name})"  # noqa: S608
        return f"select setval(pg_get_serial_sequence({_text(name)}, {_text(key)}), {behind}, false)"


class MysqlDialect(ServerDialect):
    """MariaDB and MySQL, and what speaks their SQL."""

    engine = "mysql"

    _TYPES = {  # noqa: RUF012
        "integer": "int",
        "real": "float",
        "text": "longtext",
        "blob": "longblob",
        "timestamp": "datetime(6)",
        "uuid": "char(36)",
    }

    def __init__(self, definition: Definition, place: str, storage_engine: str | None = None) -> None:
        """``storage_engine``: of the tables, where it is not the server's own default."""
        super().__init__(definition, place)
        self._storage_engine = storage_engine

    def quote(self, name: str) -> str:
        """Put a name into backquotes."""
        return "`" + name.replace("`", "``") + "`"

    def column_type(self, column: Column) -> str:
        """Write the type by MySQL's name."""
        return spell(column.type, self._TYPES.get(column.type.name))

    def autoincrement(self) -> str:
        """Give MySQL's word."""
        return " auto_increment"

    def create_table(self, name: str, table: Table) -> str:
        """Write the definition of a table and its storage engine."""
        text = super().create_table(name, table)
        return f"{text} engine={self._storage_engine}" if self._storage_engine else text

    def create_index(self, table: str, index: Index) -> str:
        """Write the definition of an index; a prefix is that of its last column."""
        text = super().create_index(table, index)
        return f"{text.removesuffix(')')}({index.prefix}))" if index.prefix else text


class SqlserverDialect(ServerDialect):
    """Microsoft SQL Server. Texts are Unicode, as they are on the other engines."""

    engine = "sqlserver"

    _TYPES = {  # noqa: RUF012
        "integer": "int",
        "double": "float",
        "text": "nvarchar(max)",
        "blob": "varbinary(max)",
        "boolean": "bit",
        "timestamp": "datetime2",
        "uuid": "uniqueidentifier",
        "char": "nchar",
        "varchar": "nvarchar",
    }

    # The longest text of Unicode that stands in its row, in characters.
    _LONGEST = 4000

    def quote(self, name: str) -> str:
        """Put a name into brackets."""
        return "[" + name.replace("]", "]]") + "]"

    def column_type(self, column: Column) -> str:
        """Write the type by SQL Server's name."""
        if column.type.name in ("char", "varchar") and column.type.arguments[0] > self._LONGEST:
            return "nvarchar(max)"
        return spell(column.type, self._TYPES.get(column.type.name))

    def autoincrement(self) -> str:
        """Give SQL Server's word."""
        return " identity"


def _text(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def dialect_for(engine: str, definition: Definition, place: str, storage_engine: str | None = None) -> Dialect:
    """Give an engine's dialect. Raises InputError for one that cannot be measured yet. The null engine reads SQLite's.

    ``place``: the experiment's file, for errors; ``storage_engine``: of tables on MySQL and MariaDB.
    """
    match engine:
        case "sqlite" | "null":
            return SqliteDialect()
        case "postgresql":
            return PostgresqlDialect(definition, place)
        case "mysql":
            return MysqlDialect(definition, place, storage_engine)
        case "sqlserver":
            return SqlserverDialect(definition, place)
        case "mongodb":
            return MongodbDialect(definition.tables, place)
    known = ", ".join(f"`{name}:`" for name in ("sqlite", "postgresql", "mysql", "mongodb", "sqlserver", "null"))
    raise InputError(engine, "this engine cannot be measured yet", f"those that can: {known}")
