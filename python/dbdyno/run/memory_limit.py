"""The memory limit of the measured processes: the worker of an embedded engine, or a server's processes."""

from contextlib import ExitStack, closing
from types import TracebackType
from typing import Any, Self

from dbdyno.engines import engine_of
from dbdyno.model.plan.cell import CompiledCell
from dbdyno.runtime.workspace.memory_limit import MemoryLimit, NoMemoryLimit

# Experiments set the limit in megabytes.
_MEGABYTE = 1_000_000


class Limiting:
    """The memory limit of a cell while the context lasts. Without a limit, it does nothing."""

    def __init__(self, compiled: CompiledCell, target: dict[str, Any]) -> None:
        """``target``: the prepared system of the cell."""
        limit_mb = compiled.definition.load.memory_limit_mb
        self._bytes = None if limit_mb is None else round(limit_mb * _MEGABYTE)
        self._embedded = engine_of(compiled.cell.system.engine).in_worker
        self._server: int | None = target.get("process", {}).get("pid")
        self._limit: MemoryLimit | None = None
        self._refused: str | None = None
        self._kills = 0
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        """Create the limit, which does not apply yet. If that fails, :attr:`told` has the reason."""
        if self._bytes is None:
            return self
        if not self._embedded and self._server is None:
            self._refused = "dbdyno did not start the server"
            return self
        try:
            self._limit = self._stack.enter_context(closing(MemoryLimit()))
            if self._server is not None:
                self._limit.add(self._server)
        except NoMemoryLimit as error:
            self._give_up(error)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Remove the limit."""
        self._stack.close()

    @property
    def told(self) -> dict[str, Any] | None:
        """The facts to store with a trial; None without a limit."""
        if self._bytes is None:
            return None
        means = None if self._limit is None else self._limit.means
        return {"bytes": self._bytes, "means": means, "refused": self._refused}

    def too_little(self) -> str | None:
        """Return a phrase if the kernel killed the system since the last call; empty otherwise."""
        kills = 0 if self._limit is None else self._limit.kills
        killed, self._kills = kills > self._kills, kills
        if not killed or self._bytes is None:
            return None
        return f"it takes more than the {self._bytes / _MEGABYTE:g} MB of memory that `memory_limit_mb` leaves it"

    def covers(self, worker: int) -> None:
        """Apply the limit to a worker if the engine runs in it. ``worker``: its process id."""
        if self._limit is not None and self._embedded:
            try:
                self._limit.add(worker)
            except NoMemoryLimit as error:
                self._give_up(error)

    def begin(self) -> None:
        """Put the limit into effect."""
        self._set(self._bytes)

    def end(self) -> None:
        """Suspend the limit."""
        self._set(None)

    def _set(self, limit: int | None) -> None:
        if self._limit is not None:
            try:
                self._limit.set(limit)
            except NoMemoryLimit as error:
                self._give_up(error)

    def _give_up(self, error: NoMemoryLimit) -> None:
        self._refused, self._limit = str(error), None
