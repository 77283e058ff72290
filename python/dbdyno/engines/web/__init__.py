"""A web tier before a database: requests go to web servers, which ask the database."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from dbdyno.engines.engine import Engine
from dbdyno.model.plan.settings import Scalar, Settings

if TYPE_CHECKING:
    from typer import Typer

    from dbdyno.engines.dialect import Dialect
    from dbdyno.engines.limits import Limit
    from dbdyno.engines.provisioner import Place, Provisioner
    from dbdyno.engines.web.settings import WebSettings
    from dbdyno.model.experiment.definition import Definition
    from dbdyno.model.plan.system import SystemSpec


class Web(Engine):
    """Web servers that dbdyno starts before a database that it starts."""

    name = "web"
    title = "a web tier"
    message_calls = True
    has_checks = False
    shows_changes = False

    def places(self, text: str) -> int:
        """Find none: a request is no text."""
        return 0

    def check_statement(self, text: str) -> tuple[str, str] | None:
        """Refuse each: there is a step of its own for requests."""
        return "is not a request", 'write a step such as `{ request = "GET /login" }`'

    def dialect(self, definition: "Definition", place: str, settings: Settings) -> "Dialect":
        """Give the database's for tables, and requests in the place of statements."""
        from dbdyno.engines.web.dialect import web_dialect

        return web_dialect(definition, place, settings)

    def read_settings(self, settings: Mapping[str, Scalar], place: str, *, named: bool) -> "WebSettings":
        """Check those of the web tier, and those of the database. Raises InputError."""
        from dbdyno.engines.web.settings import read_web_settings

        return read_web_settings(settings, place)

    def unused(self, system: "SystemSpec", definition: "Definition") -> tuple[str, str] | None:
        """Name a host, and processors of a tier that the URL rules out."""
        if system.host:
            return system.host, f"dbdyno starts these web servers; for your own, write `http://{system.host}/`"
        tiers = self.tiers(system.settings)
        placed = (name for name in system.settings if name.startswith("processors."))
        return next(((name, "it has no such tier") for name in placed if name.partition(".")[2] not in tiers), None)

    def tiers(self, settings: Mapping[str, str]) -> tuple[str, ...]:
        """Name the load, web servers, a proxy that the settings name, and a database with processes of its own."""
        from dbdyno.engines.web.settings import tiers_of

        return tiers_of(settings)

    def behind(self, settings: Mapping[str, str]) -> "tuple[str, SystemSpec] | None":
        """Give the database that the web servers ask. Raises InputError for one that they cannot."""
        from dbdyno.engines.web.settings import behind_of

        return behind_of(settings)

    def keeps_connections(self, settings: Mapping[str, str]) -> bool | None:
        """Tell by the setting, which all web tiers have."""
        return {"on": True, "off": False}.get(settings.get("persistent", ""))

    def provisioner(self, system: "SystemSpec", place: "Place") -> "Provisioner":
        """Give what starts web servers before a database. Raises InputError for one that is named."""
        from dbdyno.base.errors import InputError
        from dbdyno.engines.web.provisioner import WebProvisioner

        if system.host:
            problem = "a web tier is started by dbdyno, and one that runs already is an HTTP service"
            raise InputError(system.name, problem, f"write `http://{system.host}/`")
        return WebProvisioner(place)

    def listen_setting(self, part: str) -> str | None:
        """Name that of the web servers and of the proxy."""
        return "`backlog` of the web tier" if part.startswith(("web", "proxy")) else None

    def limit(self, code: str) -> "Limit | None":
        """Give the limit of which a reply tells in its body, as web servers of dbdyno's do, or one of the load's."""
        from dbdyno.engines.http.limits import limit_of_reply

        return limit_of_reply(code) or super().limit(code)

    def found_here(self) -> Iterator[tuple[str, str, str, str]]:
        """Say whether the application is built, or can be."""
        from dbdyno.engines.web.application import find_application

        found = find_application()
        note = "" if found else "built when it is first measured, or by `dbdyno web get`: it takes cargo some minutes"
        yield "web:?database=ENGINE", "", str(found or ""), note

    def commands(self) -> "Typer":
        """Give the command that builds the application."""
        from dbdyno.engines.web.commands import commands

        return commands
