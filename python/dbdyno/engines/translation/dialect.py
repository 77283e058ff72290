"""The dialect of an engine for which statements are translated."""

from dbdyno.definition.definition import Definition
from dbdyno.engines.dialect import StandardDialect
from dbdyno.engines.translation.sql_target import SqlTarget
from dbdyno.engines.translation.translate import translate
from dbdyno.engines.translation.unsupported import Names


class TranslatedDialect(StandardDialect):
    """A dialect into which statements are translated."""

    target: SqlTarget

    def __init__(self, definition: Definition, place: str) -> None:
        """``place``: the experiment's file, for errors."""
        columns = [name for table in definition.tables.values() for name in table.columns]
        self._names = Names([*columns, *definition.tables])
        self._place = place

    def translated(self, text: str) -> str:
        """Translate a statement. Raises InputError."""
        return translate(text, self.target, self._names, self._place)
