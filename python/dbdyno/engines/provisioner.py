"""What a trial needs to find ready, whatever the system is."""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, Protocol

from dbdyno.model.events.trial import TrialResult
from dbdyno.model.plan.cell import CompiledCell
from dbdyno.runtime.workspace.listening import Interrupted
from dbdyno.runtime.workspace.workspace import Workspace


@dataclass
class Ready:
    """A system in its fresh state. ``durations``: what making it so took, in seconds, by name.

    ``loaded``: when its tables were loaded, and what that took (:class:`dbdyno.runtime.workspace.templates.Template`).
    ``tiers``: the first processes of each of its tiers, where it has several; ``processors``: those that each may use.
    ``behind``: what the database is that lies behind what clients speak to, as ``Facts`` are
    stored. ``preload``: the file that the worker shares with a server, by which a trial changes what the server asks of
    its files. ``load``: the processors that the load generator is kept to; ``None``: it may use all.
    """

    target: dict[str, Any]
    durations: dict[str, float] = field(default_factory=dict)
    loaded: dict[str, Any] = field(default_factory=dict)
    tiers: dict[str, list[int]] = field(default_factory=dict)
    processors: dict[str, list[int]] = field(default_factory=dict)
    behind: dict[str, Any] | None = None
    load: Sequence[int] | None = None
    preload: str | None = field(default=None, kw_only=True)

    @property
    def data(self) -> str | None:
        """Where its data lie; ``None``: that is not known."""
        place: str | None = self.target.get("path") or self.target.get("process", {}).get("data")
        return place

    def watched(self, request: dict[str, Any]) -> dict[str, Any]:
        """Give the plan of a trial with the processes of the tiers, so that the CPU of each is told apart.

        What it changes of a server's calls is changed by the file that worker and server share.
        """
        if self.preload is not None:
            changes = request["task"]["changes"] | {"server": {"file": self.preload}}
            request = request | {"task": request["task"] | {"changes": changes}}
        if not self.tiers:
            return request
        tiers = [{"name": name, "pids": pids} for name, pids in self.tiers.items()]
        return request | {"task": request["task"] | {"tiers": tiers}}

    def trouble(self, lost: bool) -> str | None:
        """Say what has become of the system since, where that explains a trial that failed.

        ``lost``: the trial failed, or lost a connection, so that it is worth a moment to see whether the system ends.
        """
        return None

    def check(self, result: TrialResult) -> None:
        """Raise InputError where what a trial told shows that its statements cannot be run on this system."""


@dataclass(frozen=True)
class Place:
    """What the provisioners of a run have in common.

    ``workspace``: where they work. ``interrupted``: what ends loading and copying. ``allow_writes``: statements may
    write to what dbdyno did not make.
    """

    workspace: Workspace
    interrupted: Interrupted
    allow_writes: bool = False


class Provisioner(Protocol):
    """Makes one kind of system ready for the trials of a run."""

    # What was seen of the system that the user should know, each with its ``kind`` of finding: what is written to that
    # dbdyno did not make, which of several servers was started, how its name is resolved.
    observations: list[dict[str, Any]]

    def check(self, compiled: CompiledCell) -> None:
        """See that a cell's system can be had, before anything is measured. Raises DbdynoError."""

    def ready(self, compiled: CompiledCell, block: int) -> AbstractContextManager[Ready]:
        """Have a cell's system ready, with its tables as they were loaded, for as long as the context lasts.

        Raises DbdynoError; RunInterrupted where Ctrl-C was heard before it was ready.
        """

    def bytes_of_copy(self, compiled: CompiledCell) -> int:
        """Return the size of what a trial of the cell starts from a copy of, which is loaded where it was not yet.

        Raises DbdynoError.
        """

    def close(self) -> None:
        """Remove what was kept between trials."""


class Provisioning(Protocol):
    """Gives each cell its provisioner."""

    def of(self, compiled: CompiledCell) -> Provisioner:
        """Give the provisioner of a cell's system."""
