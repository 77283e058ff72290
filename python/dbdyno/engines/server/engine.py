"""The base class of server engines."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from dbdyno.base.errors import InputError
from dbdyno.engines.engine import Engine, Json
from dbdyno.engines.server.databases import Databases
from dbdyno.engines.server.socket_queries import SocketQueries
from dbdyno.model.plan.settings import Scalar

if TYPE_CHECKING:
    from pathlib import Path

    from dbdyno.engines.provisioner import Provisioner, ProvisioningContext
    from dbdyno.engines.server.family import Job
    from dbdyno.engines.server.programs import Installation
    from dbdyno.engines.server.settings import ServerSettings
    from dbdyno.model.experiment.definition import Definition
    from dbdyno.model.plan.system import SystemSpec


class ServerEngine(Engine):
    """An engine that runs in a server process of its own."""

    databases: Databases
    """How to create databases on a running server."""

    socket_queries: SocketQueries | None = None
    """How to find a running server's Unix socket; ``None``: its clients can't use one."""

    of_tables: tuple[str, ...] = ()
    """Settings that only affect tables created by dbdyno."""

    def read_settings(self, settings: Mapping[str, Scalar], location: str, *, named: bool) -> "ServerSettings":
        """Check dbdyno's own settings; the server checks its parameters."""
        from dbdyno.engines.server.settings import read_server_settings

        return read_server_settings(settings, location, named=named)

    def unused(self, system: "SystemSpec", definition: "Definition") -> tuple[str, str] | None:
        """Return a TLS option for a Unix socket, or a setting for tables if the experiment creates none."""
        from dbdyno.engines.server.tls import asks_for_tls

        for name, value in system.settings.items():
            if name in self.of_tables and not definition.tables:
                return name, "the experiment doesn't create tables"
            if system.host and system.host.startswith("/") and asks_for_tls(name, value):
                return name, "connections to a Unix socket are not encrypted"
        return None

    def counted_calls(self, *, managed: bool) -> tuple[str, ...]:
        """Include file calls if dbdyno starts the server and the preload library is installed."""
        from dbdyno.engines.server.preload import preload_library

        files = ("sync", "read", "write") if managed and preload_library() is not None else ()
        return (*files, *super().counted_calls(managed=managed))

    def unix_socket(self, target: Json) -> Json | None:
        """Return the Unix socket at which the same server accepts the same user; ``None`` if there is none."""
        from dbdyno.engines.server.local import unix_socket

        return None if self.socket_queries is None else unix_socket(target, self.socket_queries)

    def index_move_job(self, installation: "Installation", data: "Path", directory: "Path") -> "Job":
        """Return the program that moves the tables' indexes of a stopped server's data to an empty directory.

        Called only for engines with the setting ``index_directory``.
        """
        raise NotImplementedError

    def provisioner(self, system: "SystemSpec", context: "ProvisioningContext") -> "Provisioner":
        """Return the provisioner for a named server, or for servers that dbdyno starts. Raises InputError."""
        if system.host:
            from dbdyno.engines.server.named import NamedProvisioner

            return NamedProvisioner(system, self.databases, context)
        if self.family() is None:
            hint = f"name a running server: `{self.name}://user:password@host/database`"
            raise InputError(system.name, f"dbdyno can't start {self.title} servers", hint)
        from dbdyno.engines.server.managed import ManagedProvisioner

        return ManagedProvisioner(self.name, context, self.index_move_job)

    def found_here(self) -> Iterator[tuple[str, str, str, str]]:
        """Yield the installed servers, or how to install one."""
        from dbdyno.engines.server.installations import find_installations, how_to_install

        installations = find_installations(self.name)
        for number, installation in enumerate(installations):
            note = "" if number == 0 else f"use it with `{self.name}:?program={installation.server}`"
            yield f"{self.name}:", installation.title, str(installation.server), note
        if not installations:
            yield f"{self.name}:", "none found", "", how_to_install(self.name)
