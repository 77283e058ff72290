"""SQLite's SQL."""

from dbdyno.engines.dialect import StandardDialect, spell
from dbdyno.model.experiment.tables import Column


class SqliteDialect(StandardDialect):
    """A statement is run as it is written: what is measured is what the file says."""

    engine = "sqlite"

    # SQLite takes any name for a type and derives an affinity from it; these would derive the wrong one. A whole
    # number is always "integer", since only a column of that very type can be the rowid itself.
    _TYPES = {  # noqa: RUF012
        "bigint": "integer",
        "smallint": "integer",
        "binary": "blob",
        "date": "text",
        "timestamp": "text",
        "uuid": "text",
    }

    def column_type(self, column: Column) -> str:
        """Write the type as the experiment does, where that gives the right affinity."""
        return self._TYPES.get(column.type.name) or spell(column.type)

    def autoincrement(self, table: str, column: str) -> str:
        """Give SQLite's word."""
        return " autoincrement"
