"""Dialects of engines for which common statements are translated."""

from dbdyno.base.errors import InputError
from dbdyno.engines.dialect import StandardDialect
from dbdyno.engines.transpile.sql_target import SqlTarget
from dbdyno.engines.transpile.transpile import transpile
from dbdyno.engines.transpile.unsupported import Names
from dbdyno.model.experiment.definition import Definition
from dbdyno.model.experiment.sql import ANY, Sql


class TranspiledDialect(StandardDialect):
    """A dialect that translates common statements."""

    target: SqlTarget

    def __init__(self, definition: Definition, location: str) -> None:
        """``location``: the experiment's file, for errors."""
        columns = [name for table in definition.tables.values() for name in table.columns]
        self._names = Names([*columns, *definition.tables])
        self._location = location
        self._translates = definition.dialect is not None

    def statement(self, sql: Sql) -> str | None:
        """Return the engine's own statement unchanged, or translate the common one."""
        try:
            return super().statement(sql)
        except InputError as error:
            own = [engine for engine, _ in sql.texts if engine != ANY]
            if not own:
                raise
            # SQLite is the dialect of `any`. If SQLite's SQL is given too, `any` is probably another engine's.
            common = [] if "sqlite" in own else [ANY]
            texts = ", ".join(f"{engine} = …" for engine in (*common, *own, self.engine))
            hint = f"`any` is read as SQLite's SQL, the experiment's dialect; write `{{ {texts} }}`"
            raise InputError(error.location, error.problem, hint) from None

    def transpiled(self, text: str) -> str:
        """Translate a statement if the experiment names its SQL dialect; otherwise return it. Raises InputError."""
        if not self._translates:
            return text
        return transpile(text, self.target, self._names, self._location)
