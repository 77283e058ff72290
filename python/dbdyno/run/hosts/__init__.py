"""Having a cell's system ready for a trial: a file, a server that dbdyno starts, or one that is named."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import TracebackType
from typing import Self

from dbdyno.compile import CompiledCell
from dbdyno.errors import InputError
from dbdyno.paths import cache_directory
from dbdyno.results.document import Finding
from dbdyno.run.hosts.files import FileHost
from dbdyno.run.hosts.host import Host, Note, Ready
from dbdyno.run.hosts.managed import ManagedHost
from dbdyno.run.hosts.named import NamedHost
from dbdyno.run.listening import Interrupted
from dbdyno.run.templates import remove_unfinished
from dbdyno.run.workspace import Workspace
from dbdyno.systems.url import SystemSpec

__all__ = ["Host", "Hosts", "Ready"]


class NoHost:
    """The null engine: there is nothing to be made ready."""

    notes: list[Note] | None = None

    def __init__(self) -> None:
        """Nothing is made, and nothing written to."""
        self.findings: list[Finding] = []

    def check(self, compiled: CompiledCell) -> None:
        """All is there."""

    @contextmanager
    def ready(self, compiled: CompiledCell, block: int) -> Iterator[Ready]:  # noqa: ARG002
        """Give the engine."""
        yield Ready({"engine": "null"})

    def close(self) -> None:
        """Nothing."""


class Hosts:
    """The hosts of a run, each made when it is first needed, and where they work; all go with the context.

    ``interrupted``: who listens with it ends the loading and copying of tables with the first Ctrl-C.
    """

    def __init__(self, directory: str | Path | None = None, allow_writes: bool = False) -> None:
        """``directory``: where they work, by default in the cache. Raises DbdynoError where that cannot be.

        ``allow_writes``: statements may write to what dbdyno did not make.
        """
        self._allow_writes = allow_writes
        self.workspace = Workspace(directory)
        remove_unfinished(cache_directory("templates"))
        self.interrupted = Interrupted()
        self._of: dict[str, Host] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def of(self, compiled: CompiledCell) -> Host:
        """Give the host of a cell's system."""
        system = compiled.cell.system
        # Settings are a cell's own; the server is the same.
        key = f"{system.engine} {system.host} {system.port} {system.user} {system.database}"
        if key not in self._of:
            self._of[key] = self._make(system)
        return self._of[key]

    @property
    def notes(self) -> list[Note]:
        """What the user should know of the systems."""
        return [note for host in self._of.values() for note in host.notes or []]

    @property
    def findings(self) -> list[Finding]:
        """What the systems' hosts found."""
        return [finding for host in self._of.values() for finding in host.findings]

    def close(self) -> None:
        """Close them all, and remove the directory. Raises DbdynoError where one cannot be, when all else is done."""
        with ExitStack() as stack:
            stack.callback(self.workspace.close)
            for host in self._of.values():
                stack.callback(host.close)

    def _make(self, system: SystemSpec) -> Host:
        match system.engine:
            case "null":
                return NoHost()
            case "sqlite":
                return FileHost(self.workspace, self.interrupted, self._allow_writes)
            case "sqlserver" if not system.host:
                remedy = "name one that runs: `sqlserver://user:password@host/database`"
                raise InputError(system.name, "dbdyno starts no SQL Server itself", remedy)
        if system.host:
            return NamedHost(system, self.interrupted, self._allow_writes)
        return ManagedHost(system.engine, self.workspace, self.interrupted)
