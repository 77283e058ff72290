"""The dialect of a web tier: the database's tables, and requests instead of statements."""

from dbdyno.base.errors import InputError
from dbdyno.base.text import shortened
from dbdyno.engines.dialect import Dialect
from dbdyno.engines.lookup import engine_of
from dbdyno.engines.web.settings import WebSettings
from dbdyno.model.experiment.definition import Definition
from dbdyno.model.experiment.sql import ANY, Sql
from dbdyno.model.experiment.tables import Column, Index, Table
from dbdyno.model.plan.settings import Settings
from dbdyno.model.plan.steps import IsolationLevel


def web_dialect(definition: Definition, location: str, settings: Settings) -> Dialect:
    """Return the dialect for a web tier's settings; ``location``: the experiment's file, for errors."""
    made = settings if isinstance(settings, WebSettings) else WebSettings()
    return WebDialect(engine_of(made.database).dialect(definition, location, made.inner), location)


class WebDialect:
    """Creates tables directly in the database; transactions only reach it through the web servers."""

    engine = "web"
    has_transactions = False
    most_parameters = 0
    copies = False
    isolation_levels: tuple[IsolationLevel, ...] = ()
    has_tables = True
    has_requests = True

    def __init__(self, behind: Dialect, location: str) -> None:
        """``behind``: the database's dialect."""
        self._behind = behind
        self._location = location
        self.counts_up = behind.counts_up

    def quote(self, name: str) -> str:
        """Quote a name for the database."""
        return self._behind.quote(name)

    def column_type(self, column: Column) -> str:
        """Return the database's type of a column."""
        return self._behind.column_type(column)

    def column_name(self, table: Table, column: str) -> str:
        """Return the database's name of a column."""
        return self._behind.column_name(table, column)

    def create_table(self, name: str, table: Table) -> str:
        """Return the database's statement that creates a table."""
        return self._behind.create_table(name, table)

    def create_index(self, table: str, index: Index) -> str:
        """Return the database's statement that creates an index."""
        return self._behind.create_index(table, index)

    def after_rows(self, name: str, table: Table) -> list[str]:
        """Return the database's statements to execute after loading a table's rows."""
        return self._behind.after_rows(name, table)

    def statement(self, sql: Sql) -> str | None:
        """Reject a common statement; ignore statements for other engines."""
        texts = dict(sql.texts)
        if ANY in texts:
            hint = 'write a step such as `{ request = "GET /login" }`, or restrict the statement with `engines`'
            problem = f"`{shortened(texts[ANY], 60)}` cannot be sent to a web server: it is SQL"
            raise InputError(self._location, problem, hint)
        return None
