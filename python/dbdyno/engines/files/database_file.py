"""Database files with their side files, such as logs: the user's named file, and the copies for trials."""

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from dbdyno.base.errors import SystemFailed, reason
from dbdyno.model.plan.cell import CompiledCell
from dbdyno.model.plan.tasks import SetFileTask
from dbdyno.model.plan.worker_plan import WorkerPlan
from dbdyno.runtime.workspace.file_copies import copy_file
from dbdyno.runtime.workspace.interruption import Interruption

FilePlan = WorkerPlan[SetFileTask]
"""A plan that stores settings in a file."""

# A copy is reused for this many times its copying time, so copying takes at most about a tenth of the time.
_COPIES_PER_AGE = 10.0

# Inode, size and modification time (ns) of a file; zeros if it doesn't exist.
State = tuple[int, int, int]


@dataclass(frozen=True)
class SideFiles:
    """Suffixes of the side files' names. ``content``: files with content of the database, such as logs."""

    content: Sequence[str]
    others: Sequence[str] = ()

    def of(self, path: Path) -> list[Path]:
        """Return the paths of all side files."""
        return [Path(f"{path}{ending}") for ending in (*self.content, *self.others)]

    def left(self, path: Path) -> list[Path]:
        """Return the existing side files with content of the database."""
        beside = [Path(f"{path}{ending}") for ending in self.content]
        return [each for each in beside if state_of(each)[1] > 0]


def state_of(path: Path) -> State:
    """Return a value that changes when a file is written to."""
    try:
        stat = path.stat()
    except FileNotFoundError:
        return (0, 0, 0)
    return (stat.st_ino, stat.st_size, stat.st_mtime_ns)


class NamedFile:
    """A database file of the user's, which dbdyno reads but never writes."""

    def __init__(self, path: Path, beside: SideFiles) -> None:
        """``path``: the database, or a link to it; side files are next to the link's target."""
        self.path = path.resolve()
        self._beside = beside

    def left(self) -> list[Path]:
        """Return side files that belong to the content: a log not yet written back, or a journal."""
        return self._beside.left(self.path)

    def state(self) -> tuple[State, ...]:
        """Return a value that changes when the database is written to."""
        return tuple(map(state_of, [self.path, *self.left()]))

    def copy(self, target: Path, interrupted: Interruption) -> None:
        """Copy the database with its side files. Raises SystemFailed if copying fails or the database changes."""
        before = self.state()
        try:
            for path in [self.path, *self.left()]:
                copy_file(path, Path(f"{target}{str(path).removeprefix(str(self.path))}"), interrupted)
        except OSError as error:
            raise SystemFailed(f"copying {self.path} to {target}: {reason(error)}") from error
        if before != self.state():
            raise SystemFailed(f"{self.path}: the file changed while it was copied; stop programs that write to it")


@dataclass(frozen=True)
class _Copy:
    """How a trial's file was created: its template, round and settings, its state, and the seconds that took."""

    template: Path
    block: int
    settings: str
    state: State
    made_at: float
    took_s: float


class TrialFile:
    """A file for trials, copied from a template. ``users``: the cells whose trials currently use it."""

    def __init__(self, path: Path, beside: SideFiles, interrupted: Interruption) -> None:
        """``path``: the path of the file, which doesn't exist yet."""
        self.path = path
        self.users: list[CompiledCell] = []
        self._beside = beside
        self._interrupted = interrupted
        self._copy: _Copy | None = None

    def is_copy(self, template: Path, plan: FilePlan | None) -> bool:
        """Whether it is an unchanged copy of a template, with the settings that the plan sets in the file."""
        return (
            self._copy is not None
            and (self._copy.template, self._copy.settings) == (template, _settings(plan))
            and self._copy.state == state_of(self.path)
            and not any(map(Path.exists, self._beside.of(self.path)))
        )

    def fresh(self, template: Path, block: int, plan: FilePlan | None, run: Callable[[FilePlan], object]) -> float:
        """Bring the file into the state of a template and return the seconds that took.

        ``plan``: applies the settings that are stored in the file, if there are any; ``run``: executes it.

        Other cells of the same round reuse a copy that no trial has changed. Later rounds reuse it until it is ten
        times as old as the time that copying took. A new copy is stored elsewhere on the device, so that the location
        is part of the noise between rounds.
        """
        start = time.monotonic()
        if self._copy is not None and self.is_copy(template, plan):
            age = start - self._copy.made_at
            if self._copy.block == block or age < _COPIES_PER_AGE * self._copy.took_s:
                return 0.0
        self._copy = None
        self.remove()
        try:
            before = state_of(template)
            copy_file(template, self.path, self._interrupted)
            if before != state_of(template):
                raise SystemFailed(f"{template}: the file changed while it was copied; stop programs that write to it")
            if plan is not None:
                run(plan)
        except OSError as error:
            self.remove()
            raise SystemFailed(f"copying the loaded tables to {self.path}: {reason(error)}") from error
        end = time.monotonic()
        self._copy = _Copy(template, block, _settings(plan), state_of(self.path), end, end - start)
        return end - start

    def remove(self) -> None:
        """Remove the file with its side files."""
        for path in (self.path, *self._beside.of(self.path)):
            path.unlink(missing_ok=True)


def _settings(plan: FilePlan | None) -> str:
    return json.dumps(plan and plan.json, sort_keys=True)
