"""Dialects of engines for which common statements are translated."""

from dbdyno.engines.dialect import StandardDialect
from dbdyno.engines.transpile.sql_target import SqlTarget
from dbdyno.engines.transpile.transpile import transpile
from dbdyno.engines.transpile.unsupported import Names
from dbdyno.model.experiment.definition import Definition


class TranspiledDialect(StandardDialect):
    """A dialect that translates common statements."""

    target: SqlTarget

    def __init__(self, definition: Definition, location: str) -> None:
        """``location``: the experiment's file, for errors."""
        columns = [name for table in definition.tables.values() for name in table.columns]
        self._names = Names([*columns, *definition.tables])
        self._location = location
        self._translates = definition.dialect is not None

    def transpiled(self, text: str) -> str:
        """Translate a statement if the experiment names its SQL dialect; otherwise return it. Raises InputError."""
        if not self._translates:
            return text
        return transpile(text, self.target, self._names, self._location)
