"""SQLite's SQL."""

from dbdyno.engines.dialect import StandardDialect, spell
from dbdyno.model.experiment.tables import Column


class SqliteDialect(StandardDialect):
    """SQLite's dialect. It doesn't translate statements, because common statements are written in SQLite's SQL."""

    engine = "sqlite"
    most_parameters = 32_766

    # SQLite accepts any type name and derives an affinity from it; for these names it would be wrong. All integer types
    # become "integer", since only a column of exactly that type can be the rowid.
    _TYPES = {  # noqa: RUF012
        "bigint": "integer",
        "smallint": "integer",
        "binary": "blob",
        "date": "text",
        "timestamp": "text",
        "uuid": "text",
        "json": "text",
        "jsonb": "text",
        "vector": "text",
    }

    def column_type(self, column: Column) -> str:
        """Return the experiment's type, or another one if its name has the wrong affinity."""
        return self._TYPES.get(column.type.name) or spell(column.type)

    def autoincrement(self, table: str, column: str) -> str:
        """Return SQLite's keyword."""
        return " autoincrement"
