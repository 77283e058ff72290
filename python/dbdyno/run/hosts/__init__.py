"""Having a cell's system ready for a trial: a file, a server that dbdyno starts, or one that is named."""

from collections.abc import Iterator
from contextlib import contextmanager

from dbdyno.compile import CompiledCell
from dbdyno.errors import InputError
from dbdyno.run.hosts.files import FileHost
from dbdyno.run.hosts.host import Host, Ready
from dbdyno.run.hosts.managed import ManagedHost
from dbdyno.run.workspace import Workspace

__all__ = ["Host", "Hosts", "Ready"]


class NoHost:
    """The null engine: there is nothing to be made ready."""

    def check(self, compiled: CompiledCell) -> None:
        """All is there."""

    @contextmanager
    def ready(self, compiled: CompiledCell, block: int) -> Iterator[Ready]:  # noqa: ARG002
        """Give the engine."""
        yield Ready({"engine": "null"})

    def close(self) -> None:
        """Nothing."""


class Hosts:
    """The hosts of a run, each made when it is first needed."""

    def __init__(self, workspace: Workspace) -> None:
        """``workspace``: where they work."""
        self.workspace = workspace
        self._of: dict[str, Host] = {}

    def of(self, compiled: CompiledCell) -> Host:
        """Give the host of a cell's system. Raises InputError where there can be none."""
        system = compiled.cell.system
        if system.engine not in self._of:
            self._of[system.engine] = self._make(system.engine)
        if system.host is not None:
            problem = "a server named by its URL cannot be measured yet"
            raise InputError(system.name, problem, f"use `{system.engine}:`, which starts one")
        return self._of[system.engine]

    def close(self) -> None:
        """Close them all."""
        for host in self._of.values():
            host.close()

    def _make(self, engine: str) -> Host:
        match engine:
            case "null":
                return NoHost()
            case "sqlite":
                return FileHost(self.workspace)
        return ManagedHost(engine, self.workspace)
