"""Having a cell's system ready for a trial: a file, a server that dbdyno starts, or one that is named."""

from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from dbdyno.base.paths import cache_directory
from dbdyno.engines import engine_of
from dbdyno.engines.provisioner import Place, Provisioner, Ready
from dbdyno.model.plan.cell import CompiledCell
from dbdyno.runtime.workspace.listening import Interrupted
from dbdyno.runtime.workspace.templates import remove_unfinished
from dbdyno.runtime.workspace.workspace import Workspace

__all__ = ["Provisioner", "Provisioners", "Ready"]


class Provisioners:
    """The provisioners of a run, each made when it is first needed, and where they work; all go with the context.

    ``interrupted``: who listens with it ends the loading and copying of tables with the first Ctrl-C.
    """

    def __init__(self, directory: str | Path | None = None, allow_writes: bool = False) -> None:
        """``directory``: where they work, by default in the cache. Raises DbdynoError where that cannot be.

        ``allow_writes``: statements may write to what dbdyno did not make.
        """
        self.workspace = Workspace(directory)
        remove_unfinished(cache_directory("templates"))
        self.interrupted = Interrupted()
        self._place = Place(self.workspace, self.interrupted, allow_writes)
        self._of: dict[str, Provisioner] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def of(self, compiled: CompiledCell) -> Provisioner:
        """Give the provisioner of a cell's system."""
        system = compiled.cell.system
        # Settings are a cell's own; the server is the same.
        key = f"{system.engine} {system.host} {system.port} {system.user} {system.database}"
        if key not in self._of:
            self._of[key] = engine_of(system.engine).provisioner(system, self._place)
        return self._of[key]

    @property
    def observations(self) -> list[dict[str, Any]]:
        """What was seen of the systems that the user should know."""
        return [seen for each in self._of.values() for seen in each.observations]

    def close(self) -> None:
        """Close them all, and remove the directory. Raises DbdynoError where one cannot be, when all else is done."""
        with ExitStack() as stack:
            stack.callback(self.workspace.close)
            for each in self._of.values():
                stack.callback(each.close)
