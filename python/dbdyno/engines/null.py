"""No database: every statement succeeds at once. It shows the worker's own ceiling."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from dbdyno.engines.engine import Engine, Location, Timed
from dbdyno.model.plan.settings import Settings

if TYPE_CHECKING:
    from dbdyno.engines.dialect import Dialect
    from dbdyno.engines.provisioner import Place, Provisioner, Ready
    from dbdyno.model.experiment.definition import Definition
    from dbdyno.model.plan.cell import CompiledCell
    from dbdyno.model.plan.system import SystemSpec

TARGET = {"engine": "null"}
"""The engine as plans name it."""


class Null(Engine):
    """The engine that does nothing."""

    name = "null"
    title = "the null engine"
    location: Location = "nothing"
    has_data = False
    in_worker = True
    files_per_client = 0
    timed: frozenset[Timed] = frozenset({"computing"})

    def control_text(self, verb: str, mode: str) -> str:
        """Write it as SQLite, whose SQL is taken."""
        return f"begin {mode}" if verb == "begin" and mode != "deferred" else verb

    def dialect(self, definition: "Definition", place: str, settings: Settings) -> "Dialect":
        """Give SQLite's: nobody reads what is written in it."""
        from dbdyno.engines.sqlite.dialect import SqliteDialect

        return SqliteDialect()

    def provisioner(self, system: "SystemSpec", place: "Place") -> "Provisioner":
        """Give what has nothing to do."""
        return NoProvisioner()

    def found_here(self) -> Iterator[tuple[str, str, str, str]]:
        """It is everywhere."""
        yield "null:", "", "", "no database: the worker's own ceiling"


class NoProvisioner:
    """The null engine: there is nothing to be made ready."""

    def __init__(self) -> None:
        """Nothing is made, and nothing written to."""
        self.observations: list[dict[str, Any]] = []

    def check(self, compiled: "CompiledCell") -> None:
        """All is there."""

    @contextmanager
    def ready(self, compiled: "CompiledCell", block: int) -> "Iterator[Ready]":
        """Give the engine."""
        from dbdyno.engines.provisioner import Ready

        yield Ready(dict(TARGET))

    def bytes_of_copy(self, compiled: "CompiledCell") -> int:
        """Nothing is copied."""
        return 0

    def close(self) -> None:
        """Nothing."""
