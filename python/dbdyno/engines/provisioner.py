"""The interface of provisioners, which prepare systems for trials."""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, runtime_checkable

from dbdyno.model.events.trial import TrialResult
from dbdyno.model.plan.cell import CompiledCell
from dbdyno.model.plan.injections import Changes, PreloadedServer
from dbdyno.model.plan.tasks import Target, Tier
from dbdyno.model.plan.worker_plan import TrialPlan
from dbdyno.model.result.reading import JsonObject
from dbdyno.runtime.workspace.interruption import Interruption
from dbdyno.runtime.workspace.workspace import Workspace


@dataclass
class Ready:
    """A system in its initial state. ``durations``: seconds that the preparation steps took, by name.

    ``target``: the system as in a plan. ``loaded``: when its tables were loaded and how long that took
    (:class:`dbdyno.runtime.workspace.templates.Template`). ``tiers``: the process ids of each tier, if it has several;
    ``processors``: the CPUs that each tier may use. ``behind``: the database behind the system that clients connect to,
    stored like ``Facts``. ``preload``: the file through which the worker delays a server's file calls. ``load``: the
    CPUs that the load generator may use; ``None``: all.
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
        """The path of its data; ``None``: unknown."""
        place: str | None = self.target.get("path") or self.target.get("process", {}).get("data")
        return place

    def watched(self, request: TrialPlan) -> TrialPlan:
        """Return a trial's plan with the tiers' process ids, so that the worker measures the CPU time of each tier.

        If the trial delays a server's calls, the plan also names the file that worker and server share.
        """
        if self.preload is not None:
            server = PreloadedServer(file=self.preload)
            changes = replace(request.task.changes or Changes(), server=server)
            request = request.with_task(replace(request.task, changes=changes))
        if not self.tiers:
            return request
        tiers = [Tier(name=name, pids=pids) for name, pids in self.tiers.items()]
        return request.with_task(replace(request.task, tiers=tiers))

    def trouble(self, lost: bool) -> str | None:
        """Return what happened to the system if that explains why a trial failed; ``None`` otherwise.

        ``lost``: the trial failed or lost a connection, so this method may wait a moment for the system to end.
        """
        return None

    def check(self, result: TrialResult) -> None:
        """Raise InputError if a trial's result shows that its statements cannot run on this system."""


@dataclass(frozen=True)
class ProvisioningContext:
    """What the provisioners of a run share.

    ``workspace``: the directory for their files. ``interrupted``: ends loading and copying. ``allow_writes``:
    statements may write to databases that dbdyno didn't create.
    """

    workspace: Workspace
    interrupted: Interruption
    allow_writes: bool = False


class Provisioner(Protocol):
    """Prepares one kind of system for the trials of a run."""

    # Observations for the user, each with its ``kind`` of finding: databases written to that dbdyno didn't create,
    # which of several servers was started, how the host name is resolved.
    observations: list[dict[str, Any]]

    def check(self, compiled: CompiledCell) -> None:
        """Check before the first trial that a cell's system is available. Raises DbdynoError."""

    def ready(self, compiled: CompiledCell, block: int) -> AbstractContextManager[Ready]:
        """Prepare a cell's system with freshly loaded tables, and keep it available inside the context.

        Raises DbdynoError; RunInterrupted if Ctrl-C was pressed before the system was ready.
        """

    def bytes_of_copy(self, compiled: CompiledCell) -> int:
        """Return the bytes that a trial of the cell copies. Loads the tables if they weren't loaded yet.

        Raises DbdynoError.
        """

    def close(self) -> None:
        """Remove the files and databases kept between trials."""


@runtime_checkable
class CopyingProvisioner(Protocol):
    """Makes copies of the user's data on which indexes are built."""

    def copies(
        self, compiled: CompiledCell, tables: Sequence[JsonObject]
    ) -> AbstractContextManager[tuple[Target, Target]]:
        """Provide two equal copies of a system's data inside the context. Statements may write to them.

        ``tables``: the catalog's entries of the tables that have to be in the copies. Raises DbdynoError.
        """


class Provisioning(Protocol):
    """Assigns a provisioner to each cell."""

    def of(self, compiled: CompiledCell) -> Provisioner:
        """Return the provisioner of a cell's system."""
