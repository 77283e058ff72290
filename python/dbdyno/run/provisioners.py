"""Preparation of a cell's system for a trial: a file, a server that dbdyno starts, or a named server."""

from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from dbdyno.base.paths import cache_directory
from dbdyno.engines import engine_of
from dbdyno.engines.provisioner import Provisioner, ProvisioningContext, Ready
from dbdyno.model.plan.cell import CompiledCell
from dbdyno.runtime.workspace.interruption import Interruption
from dbdyno.runtime.workspace.templates import remove_unfinished
from dbdyno.runtime.workspace.workspace import Workspace

__all__ = ["Provisioner", "Provisioners", "Ready"]


class Provisioners:
    """The provisioners of a run and their directory. Each is created at its first use; the context closes them.

    ``interrupted``: while it handles signals, the first Ctrl-C ends loading and copying tables.
    """

    def __init__(self, directory: str | Path | None = None, allow_writes: bool = False) -> None:
        """``directory``: for their files, by default the cache directory. Raises DbdynoError if it is not usable.

        ``allow_writes``: statements may write to data that dbdyno did not create.
        """
        self.workspace = Workspace(directory)
        remove_unfinished(cache_directory("templates"))
        self.interrupted = Interruption()
        self._context = ProvisioningContext(self.workspace, self.interrupted, allow_writes)
        self._of: dict[str, Provisioner] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def of(self, compiled: CompiledCell) -> Provisioner:
        """Return the provisioner of a cell's system."""
        system = compiled.cell.system
        # Settings differ between cells that share a server.
        key = f"{system.engine} {system.host} {system.port} {system.user} {system.database}"
        if key not in self._of:
            self._of[key] = engine_of(system.engine).provisioner(system, self._context)
        return self._of[key]

    @property
    def observations(self) -> list[dict[str, Any]]:
        """Observations about the systems for the report."""
        return [seen for provisioner in self._of.values() for seen in provisioner.observations]

    def close(self) -> None:
        """Close all provisioners, and remove the directory. Raises DbdynoError at the end if one failed to close."""
        with ExitStack() as stack:
            stack.callback(self.workspace.close)
            for provisioner in self._of.values():
                stack.callback(provisioner.close)
