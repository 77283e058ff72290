"""The null engine, on which every statement succeeds at once. It shows the worker's maximum throughput."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from dbdyno.engines.engine import Engine, Location, Timed
from dbdyno.model.plan.settings import Settings

if TYPE_CHECKING:
    from dbdyno.engines.dialect import Dialect
    from dbdyno.engines.provisioner import Provisioner, ProvisioningContext, Ready
    from dbdyno.model.experiment.definition import Definition
    from dbdyno.model.plan.cell import CompiledCell
    from dbdyno.model.plan.system import SystemSpec

TARGET = {"engine": "null"}
"""The engine's target in plans."""


class Null(Engine):
    """An engine that does nothing."""

    name = "null"
    title = "the null engine"
    location: Location = "nothing"
    has_data = False
    in_worker = True
    files_per_client = 0
    timed: frozenset[Timed] = frozenset({"computing"})

    def control_text(self, verb: str, mode: str) -> str:
        """Return SQLite's statement, because the null engine uses SQLite's SQL."""
        return f"begin {mode}" if verb == "begin" and mode != "deferred" else verb

    def dialect(self, definition: "Definition", location: str, settings: Settings) -> "Dialect":
        """Return SQLite's dialect; the statements are never executed."""
        from dbdyno.engines.sqlite.dialect import SqliteDialect

        return SqliteDialect()

    def provisioner(self, system: "SystemSpec", context: "ProvisioningContext") -> "Provisioner":
        """Return a provisioner that does nothing."""
        return NoProvisioner()

    def found_here(self) -> Iterator[tuple[str, str, str, str]]:
        """Yield the null engine, which is always available."""
        yield "null:", "", "", "no database: the worker's own ceiling"


class NoProvisioner:
    """The provisioner of the null engine, which needs no preparation."""

    def __init__(self) -> None:
        """Create the provisioner, without observations."""
        self.observations: list[dict[str, Any]] = []

    def check(self, compiled: "CompiledCell") -> None:
        """Do nothing: the engine is always available."""

    @contextmanager
    def ready(self, compiled: "CompiledCell", block: int) -> "Iterator[Ready]":
        """Yield the engine's target."""
        from dbdyno.engines.provisioner import Ready

        yield Ready(dict(TARGET))

    def bytes_of_copy(self, compiled: "CompiledCell") -> int:
        """Return 0, because trials don't copy data."""
        return 0

    def close(self) -> None:
        """Do nothing."""
