"""The dialect of HTTP services, which rejects SQL."""

from dbdyno.base.errors import InputError
from dbdyno.base.text import shortened
from dbdyno.engines.dialect import StandardDialect
from dbdyno.model.experiment.sql import ANY, Sql


class HttpDialect(StandardDialect):
    """Rejects statements, because requests have their own kind of step. Tables aren't created in the service."""

    engine = "http"
    counts_up = False
    has_transactions = False
    most_parameters = 0
    has_tables = False
    has_requests = True

    def __init__(self, location: str) -> None:
        """``location``: the experiment's file, for errors."""
        self._location = location

    def statement(self, sql: Sql) -> str | None:
        """Reject a common statement; ignore statements for other engines."""
        texts = dict(sql.texts)
        if ANY in texts:
            hint = 'write a step such as `{ request = "GET /users/{id}" }`, or restrict it with `engines`'
            raise InputError(
                self._location, f"`{shortened(texts[ANY], 60)}` cannot be sent to a service: it is SQL", hint
            )
        return None
