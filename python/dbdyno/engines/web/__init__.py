"""A web tier in front of a database: clients send requests to web servers, which query the database."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from dbdyno.engines.engine import Engine
from dbdyno.model.plan.settings import Scalar, Settings

if TYPE_CHECKING:
    from typer import Typer

    from dbdyno.engines.dialect import Dialect
    from dbdyno.engines.limits import Limit
    from dbdyno.engines.provisioner import Provisioner, ProvisioningContext
    from dbdyno.engines.web.settings import WebSettings
    from dbdyno.model.experiment.definition import Definition
    from dbdyno.model.plan.system import SystemSpec


class Web(Engine):
    """Web servers in front of a database, both started by dbdyno."""

    name = "web"
    title = "a web tier"
    message_calls = True
    has_checks = False
    shows_changes = False

    def places(self, text: str) -> int:
        """Return 0, because requests have no placeholders."""
        return 0

    def check_statement(self, text: str) -> tuple[str, str] | None:
        """Reject every statement, because requests have their own kind of step."""
        return "is not a request", 'write a step such as `{ request = "GET /login" }`'

    def dialect(self, definition: "Definition", location: str, settings: Settings) -> "Dialect":
        """Return a dialect with the database's tables, and with requests instead of statements."""
        from dbdyno.engines.web.dialect import web_dialect

        return web_dialect(definition, location, settings)

    def read_settings(self, settings: Mapping[str, Scalar], location: str, *, named: bool) -> "WebSettings":
        """Check the settings of the web tier and of the database. Raises InputError."""
        from dbdyno.engines.web.settings import read_web_settings

        return read_web_settings(settings, location)

    def unused(self, system: "SystemSpec", definition: "Definition") -> tuple[str, str] | None:
        """Return a host, or a CPU setting for a tier that the URL excludes."""
        if system.host:
            return system.host, f"dbdyno starts these web servers; for your own, write `http://{system.host}/`"
        tiers = self.tiers(system.settings)
        placed = (name for name in system.settings if name.startswith("processors."))
        return next(
            ((name, "the system doesn't have this tier") for name in placed if name.partition(".")[2] not in tiers),
            None,
        )

    def tiers(self, settings: Mapping[str, str]) -> tuple[str, ...]:
        """Return the load, the web servers, the proxy if there may be one, and the database if it is a server."""
        from dbdyno.engines.web.settings import tiers_of

        return tiers_of(settings)

    def behind(self, settings: Mapping[str, str]) -> "tuple[str, SystemSpec] | None":
        """Return the database behind the web servers. Raises InputError if they don't support it."""
        from dbdyno.engines.web.settings import behind_of

        return behind_of(settings)

    def keeps_connections(self, settings: Mapping[str, str]) -> bool | None:
        """Return the value of the setting ``persistent``."""
        return {"on": True, "off": False}.get(settings.get("persistent", ""))

    def provisioner(self, system: "SystemSpec", context: "ProvisioningContext") -> "Provisioner":
        """Return the provisioner of web tiers. Raises InputError if the URL names a host."""
        from dbdyno.base.errors import InputError
        from dbdyno.engines.web.provisioner import WebProvisioner

        if system.host:
            problem = "dbdyno starts web tiers itself; measure a running one as an HTTP service"
            raise InputError(system.name, problem, f"write `http://{system.host}/`")
        return WebProvisioner(context)

    def listen_setting(self, part: str) -> str | None:
        """Return the setting of the web servers and the proxy."""
        return "`backlog` of the web tier" if part.startswith(("web", "proxy")) else None

    def limit(self, code: str) -> "Limit | None":
        """Return the limit that a reply's body names, as dbdyno's web servers do, or one of the load generator's."""
        from dbdyno.engines.http.limits import limit_of_reply

        return limit_of_reply(code) or super().limit(code)

    def found_here(self) -> Iterator[tuple[str, str, str, str]]:
        """Yield the web application's path if it is built, or how to build it."""
        from dbdyno.engines.web.application import find_application

        path = find_application()
        note = "" if path else "built on first use, or by `dbdyno web get`; cargo takes some minutes"
        yield "web:?database=ENGINE", "", str(path or ""), note

    def commands(self) -> "Typer":
        """Return the command that builds the application."""
        from dbdyno.engines.web.commands import commands

        return commands
