"""MongoDB, and what speaks its protocol. It has commands in JSON in the place of SQL."""

import json
from typing import TYPE_CHECKING, Any

from dbdyno.engines.engine import Json
from dbdyno.engines.server.databases import Databases
from dbdyno.engines.server.engine import ServerEngine
from dbdyno.model.plan.settings import Scalar, Settings

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dbdyno.engines.dialect import Dialect
    from dbdyno.engines.index import Index
    from dbdyno.engines.plans import PlanRead
    from dbdyno.engines.server.family import Family
    from dbdyno.engines.server.settings import ServerSettings
    from dbdyno.model.experiment.definition import Definition

_COMMAND = 'write one such as `{"find": "user", "filter": {"name": "?"}}`'


class Mongodb(ServerEngine):
    """MongoDB."""

    name = "mongodb"
    title = "MongoDB"
    message_calls = True
    products = ("MongoDB", "FerretDB")
    original = "MongoDB"
    databases = Databases(
        port=27017,
        always="admin",
        create=None,
        drop='{"dropDatabase": 1}',
        drop_within=True,
        needs_user=False,
        tls=False,
    )

    def places(self, text: str) -> int:
        """Count the texts that are ``?``."""
        return _places_in(json.loads(text))

    def check_statement(self, text: str) -> tuple[str, str] | None:
        """See that a text is a JSON object."""
        try:
            command = json.loads(text)
        except ValueError as error:
            return f"is not JSON: {str(error)[:1].lower()}{str(error)[1:]}", _COMMAND
        return None if isinstance(command, dict) and command else ("is not a command", _COMMAND)

    def dialect(self, definition: "Definition", place: str, settings: Settings) -> "Dialect":
        """Give MongoDB's."""
        from dbdyno.engines.mongodb.dialect import MongodbDialect

        return MongodbDialect(definition.tables, place)

    def read_settings(self, settings: "Mapping[str, Scalar]", place: str, *, named: bool) -> "ServerSettings":
        """Check what is dbdyno's. There is no TLS to MongoDB yet."""
        from dbdyno.engines.server.settings import read_server_settings

        return read_server_settings(settings, place, named=named, truth=("true", "false"), tls_options=None)

    def read_plan(self, plan: "Sequence[str]") -> "PlanRead | None":
        """Tell what is scanned and sorted."""
        from dbdyno.engines.plans import of_mongodb

        return of_mongodb(plan) if plan else None

    def index_for(self, sql: str, table: str, catalog: Json, *, inner: bool = False) -> "Index | None":
        """Give one on the fields of a command's filter, or of the order that it asks for."""
        from dbdyno.engines.mongodb.indexing import index_for

        return index_for(sql)

    def family(self) -> "Family":
        """Say how MongoDB and FerretDB are started."""
        from dbdyno.engines.mongodb import family

        return family


def _places_in(value: Any) -> int:
    if isinstance(value, dict | list):
        return sum(map(_places_in, value.values() if isinstance(value, dict) else value))
    return int(value == "?")
