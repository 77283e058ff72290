"""A service has no SQL: what needs some is refused, with the reason."""

from dbdyno.base.errors import InputError
from dbdyno.base.text import shortened
from dbdyno.engines.dialect import StandardDialect
from dbdyno.model.experiment.sql import ANY, Sql


class HttpDialect(StandardDialect):
    """Requests are steps of their own. Tables are those that the service has: they are named, and not made."""

    engine = "http"
    counts_up = False
    has_transactions = False
    has_tables = False
    has_requests = True

    def __init__(self, place: str) -> None:
        """``place``: the experiment's file, for errors."""
        self._place = place

    def statement(self, sql: Sql) -> str | None:
        """Refuse a statement for all engines; one for others is none for a service."""
        texts = dict(sql.texts)
        if ANY in texts:
            hint = 'write a step such as `{ request = "GET /users/{id}" }`, or give the statement `engines`'
            raise InputError(self._place, f"`{shortened(texts[ANY], 60)}` cannot be sent to a service: it is SQL", hint)
        return None
