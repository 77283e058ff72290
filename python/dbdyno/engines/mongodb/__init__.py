"""MongoDB and other servers with its protocol. Statements are JSON commands instead of SQL."""

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
        """Count the strings ``?`` in a command."""
        return _places_in(json.loads(text))

    def check_statement(self, text: str) -> tuple[str, str] | None:
        """Return why a string is not a JSON command, and a hint; ``None`` if it is one."""
        try:
            command = json.loads(text)
        except ValueError as error:
            return f"is not JSON: {str(error)[:1].lower()}{str(error)[1:]}", _COMMAND
        return None if isinstance(command, dict) and command else ("is not a command", _COMMAND)

    def dialect(self, definition: "Definition", location: str, settings: Settings) -> "Dialect":
        """Return MongoDB's dialect."""
        from dbdyno.engines.mongodb.dialect import MongodbDialect

        return MongodbDialect(definition.tables, location)

    def read_settings(self, settings: "Mapping[str, Scalar]", location: str, *, named: bool) -> "ServerSettings":
        """Check dbdyno's own settings. TLS isn't supported yet."""
        from dbdyno.engines.server.settings import read_server_settings

        return read_server_settings(settings, location, named=named, truth=("true", "false"), tls_options=None)

    def read_plan(self, plan: "Sequence[str]") -> "PlanRead | None":
        """Parse MongoDB's or FerretDB's plan."""
        from dbdyno.engines.plans import of_mongodb

        return of_mongodb(plan) if plan else None

    def index_for(self, sql: str, table: str, catalog: Json, *, inner: bool = False) -> "Index | None":
        """Derive an index from a command's filter and sort order."""
        from dbdyno.engines.mongodb.index_advice import index_for

        return index_for(sql)

    def family(self) -> "Family":
        """Return how MongoDB and FerretDB are started."""
        from dbdyno.engines.mongodb import family

        return family


def _places_in(value: Any) -> int:
    if isinstance(value, dict | list):
        return sum(map(_places_in, value.values() if isinstance(value, dict) else value))
    return int(value == "?")
