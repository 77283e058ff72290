"""An HTTP service, which has requests instead of statements."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from dbdyno.engines.engine import Engine
from dbdyno.model.plan.settings import Scalar, Settings

if TYPE_CHECKING:
    from dbdyno.engines.dialect import Dialect
    from dbdyno.engines.http.settings import HttpSettings
    from dbdyno.engines.limits import Limit
    from dbdyno.engines.provisioner import Provisioner, ProvisioningContext
    from dbdyno.engines.server.facts import Server
    from dbdyno.model.events.trial import TrialResult
    from dbdyno.model.experiment.definition import Definition
    from dbdyno.model.plan.system import SystemSpec


class Http(Engine):
    """An HTTP service."""

    name = "http"
    title = "HTTP"
    message_calls = True
    aliases = ("https",)
    schemes = ("https",)
    shows_user = False
    has_data = False
    has_checks = True
    durability_is_known = False

    def places(self, text: str) -> int:
        """Return 0, because requests have no placeholders."""
        return 0

    def check_statement(self, text: str) -> tuple[str, str] | None:
        """Reject every statement, because requests have their own kind of step."""
        return "is not a request", 'write a step such as `{ request = "GET /users/{id}" }`'

    def dialect(self, definition: "Definition", location: str, settings: Settings) -> "Dialect":
        """Return a dialect without SQL."""
        from dbdyno.engines.http.dialect import HttpDialect

        return HttpDialect(location)

    def read_settings(self, settings: Mapping[str, Scalar], location: str, *, named: bool) -> "HttpSettings":
        """Check all settings. Raises InputError."""
        from dbdyno.engines.http.settings import read_settings

        return read_settings(settings, location)

    def unused(self, system: "SystemSpec", definition: "Definition") -> tuple[str, str] | None:
        """Return a certificate option if certificates aren't checked."""
        if system.scheme not in self.schemes:
            found = next((name for name in ("verify", "ca") if name in system.settings), None)
            return None if found is None else (found, "`http` connections have no certificates; use `https`")
        if "ca" in system.settings and system.settings.get("verify", "on").lower() in ("off", "false", "0"):
            return "ca", "certificates are not checked with `verify=off`"
        return None

    def check_setting(self, name: str, value: Scalar) -> None:
        """Raise InputError for an unknown setting or an invalid value."""
        from dbdyno.engines.http.settings import read_settings

        read_settings({name: value}, "")

    def is_in_effect(self, name: str, asked: str, actual: str | None) -> bool | None:
        """Compare a connection option with the value read back; ``None`` for certificate options."""
        from dbdyno.engines.http.settings import is_in_effect

        return is_in_effect(name, asked, actual)

    def provisioner(self, system: "SystemSpec", context: "ProvisioningContext") -> "Provisioner":
        """Return the provisioner that checks the service. Raises InputError if the URL has no host."""
        from dbdyno.engines.http.provisioner import HttpProvisioner

        return HttpProvisioner(system, context)

    def server(self, result: "TrialResult", clients: int) -> "Server":
        """Return the facts about the service; dbdyno only knows processes that the experiment names."""
        from dbdyno.engines.http.facts import Service

        return Service.of(result, clients)

    def limit(self, code: str) -> "Limit | None":
        """Return the limit that a reply's body names, as dbdyno's web servers do, or one of the load generator's."""
        from dbdyno.engines.http.limits import limit_of_reply

        return limit_of_reply(code) or super().limit(code)

    def found_here(self) -> Iterator[tuple[str, str, str, str]]:
        """Yield one entry that represents every service."""
        yield "http://HOST/", "", "", "any HTTP/1.1 or HTTP/2 service"
