"""What the engines of servers have in common."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from dbdyno.base.errors import InputError
from dbdyno.engines.engine import Engine, Json
from dbdyno.engines.server.databases import Databases
from dbdyno.engines.server.questions import SocketQuestions
from dbdyno.model.plan.settings import Scalar

if TYPE_CHECKING:
    from pathlib import Path

    from dbdyno.engines.provisioner import Place, Provisioner
    from dbdyno.engines.server.family import Job
    from dbdyno.engines.server.programs import Installation
    from dbdyno.engines.server.settings import ServerSettings
    from dbdyno.model.experiment.definition import Definition
    from dbdyno.model.plan.system import SystemSpec


class ServerEngine(Engine):
    """An engine whose sessions wait for a process of its own."""

    databases: Databases
    """How databases are made on one that runs already."""

    socket_questions: SocketQuestions | None = None
    """What one that runs already is asked for its Unix socket; ``None``: its clients use none."""

    of_tables: tuple[str, ...] = ()
    """Settings that concern only tables which dbdyno makes."""

    def read_settings(self, settings: Mapping[str, Scalar], place: str, *, named: bool) -> "ServerSettings":
        """Check what is dbdyno's; the server checks its own parameters."""
        from dbdyno.engines.server.settings import read_server_settings

        return read_server_settings(settings, place, named=named)

    def unused(self, system: "SystemSpec", definition: "Definition") -> tuple[str, str] | None:
        """Name TLS on a Unix socket, and what concerns only tables that dbdyno makes."""
        from dbdyno.engines.server.tls import asks_for_tls

        for name, value in system.settings.items():
            if name in self.of_tables and not definition.tables:
                return name, "the experiment makes no tables"
            if system.host and system.host.startswith("/") and asks_for_tls(name, value):
                return name, "connections to a Unix socket are not encrypted"
        return None

    def counted_calls(self, *, managed: bool) -> tuple[str, ...]:
        """Give those of the files too, where a server can preload the library that counts them."""
        from dbdyno.engines.server.preload import preload_library

        files = ("sync", "read", "write") if managed and preload_library() is not None else ()
        return (*files, *super().counted_calls(managed=managed))

    def unix_socket(self, target: Json) -> Json | None:
        """Give the socket by which the same server lets the same user in, where it is reached over TCP."""
        from dbdyno.engines.server.local import unix_socket

        return None if self.socket_questions is None else unix_socket(target, self.socket_questions)

    def moving_indexes(self, installation: "Installation", data: "Path", directory: "Path") -> "Job":
        """Give the program that moves the tables' indexes from data no server runs on to an empty directory.

        Asked only of engines that take the setting ``index_directory``.
        """
        raise NotImplementedError

    def provisioner(self, system: "SystemSpec", place: "Place") -> "Provisioner":
        """Give what makes databases on a named server, or starts servers. Raises InputError where it starts none."""
        if system.host:
            from dbdyno.engines.server.named import NamedProvisioner

            return NamedProvisioner(system, self.databases, place)
        if self.family() is None:
            hint = f"name one that runs: `{self.name}://user:password@host/database`"
            raise InputError(system.name, f"dbdyno starts no {self.title} itself", hint)
        from dbdyno.engines.server.managed import ManagedProvisioner

        return ManagedProvisioner(self.name, place, self.moving_indexes)

    def found_here(self) -> Iterator[tuple[str, str, str, str]]:
        """Say which servers are installed, and how to get one where none is."""
        from dbdyno.engines.server.installations import find_installations, how_to_install

        found = find_installations(self.name)
        for number, installation in enumerate(found):
            note = "" if number == 0 else f"taken by `{self.name}:?program={installation.server}`"
            yield f"{self.name}:", installation.title, str(installation.server), note
        if not found:
            yield f"{self.name}:", "none found", "", how_to_install(self.name)
