"""A database that is a file, with what an engine writes beside it: a named one, and the one a trial works on."""

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dbdyno.base.errors import SystemFailed, reason
from dbdyno.model.plan.cell import CompiledCell
from dbdyno.runtime.workspace.copying import copy_file
from dbdyno.runtime.workspace.listening import Interrupted

# A copy is used for this many times the seconds that copying took, so that copying takes a tenth of the time at most.
_COPIES_PER_AGE = 10.0

# Inode, size and time of the last change; zeros where there is no file.
State = tuple[int, int, int]


@dataclass(frozen=True)
class SideFiles:
    """What stands behind the file's name in those beside it. ``content``: without these it is not whole, as a log."""

    content: Sequence[str]
    others: Sequence[str] = ()

    def of(self, path: Path) -> list[Path]:
        """Give the paths of all."""
        return [Path(f"{path}{ending}") for ending in (*self.content, *self.others)]

    def left(self, path: Path) -> list[Path]:
        """Give those that are there and have content of the database."""
        beside = [Path(f"{path}{ending}") for ending in self.content]
        return [each for each in beside if state_of(each)[1] > 0]


def state_of(path: Path) -> State:
    """Tell one state of a file from another."""
    try:
        stat = path.stat()
    except FileNotFoundError:
        return (0, 0, 0)
    return (stat.st_ino, stat.st_size, stat.st_mtime_ns)


class NamedFile:
    """A database of the user's, which is read and never written to."""

    def __init__(self, path: Path, beside: SideFiles) -> None:
        """``path``: of the database; a log or a journal may lie beside what it leads to."""
        self.path = path.resolve()
        self._beside = beside

    def left(self) -> list[Path]:
        """Give the files beside it without which it is not whole: a log that was not written back, a journal."""
        return self._beside.left(self.path)

    def state(self) -> tuple[State, ...]:
        """Tell one state of it from another."""
        return tuple(map(state_of, [self.path, *self.left()]))

    def copy(self, target: Path, interrupted: Interrupted) -> None:
        """Copy it, with all that lies beside it. Raises SystemFailed where it cannot be or changes meanwhile."""
        before = self.state()
        try:
            for each in [self.path, *self.left()]:
                copy_file(each, Path(f"{target}{str(each).removeprefix(str(self.path))}"), interrupted)
        except OSError as error:
            raise SystemFailed(f"copying {self.path} to {target}: {reason(error)}") from error
        if before != self.state():
            raise SystemFailed(f"{self.path}: it was written to while it was copied; end what writes to it")


@dataclass(frozen=True)
class _Copy:
    """How a trial's file was made: from what, in which round, with which settings, and what that took, in seconds."""

    template: Path
    block: int
    settings: str
    state: State
    made_at: float
    took_s: float


class TrialFile:
    """A file that trials work on, and what it is a copy of. ``users``: the cells whose trials have it at the moment."""

    def __init__(self, path: Path, beside: SideFiles, interrupted: Interrupted) -> None:
        """``path``: where it is to be."""
        self.path = path
        self.users: list[CompiledCell] = []
        self._beside = beside
        self._interrupted = interrupted
        self._copy: _Copy | None = None

    def is_copy(self, template: Path, plan: dict[str, Any] | None) -> bool:
        """Whether it is an unchanged copy of a template, with the settings that the plan sets in the file."""
        return (
            self._copy is not None
            and (self._copy.template, self._copy.settings) == (template, _settings(plan))
            and self._copy.state == state_of(self.path)
            and not any(map(Path.exists, self._beside.of(self.path)))
        )

    def fresh(self, template: Path, block: int, plan: dict[str, Any] | None, run: Callable[[Any], object]) -> float:
        """Bring the file into the state of a template and return the seconds that took.

        ``plan``: sets what the file keeps of the settings, if there are any; ``run`` runs it.

        A copy that no trial has changed serves the other cells of its round. It also serves later rounds, until it is
        ten times as old as the time that copying took. A new copy lies elsewhere on the device, so that its place is
        part of the noise between rounds.
        """
        start = time.monotonic()
        if self._copy is not None and self.is_copy(template, plan):
            age = start - self._copy.made_at
            if self._copy.block == block or age < _COPIES_PER_AGE * self._copy.took_s:
                return 0.0
        self._copy = None
        self._remove()
        try:
            before = state_of(template)
            copy_file(template, self.path, self._interrupted)
            if before != state_of(template):
                raise SystemFailed(f"{template}: it was written to while it was copied; end what writes to it")
            if plan is not None:
                run(plan)
        except OSError as error:
            self._remove()
            raise SystemFailed(f"copying the loaded tables to {self.path}: {reason(error)}") from error
        end = time.monotonic()
        self._copy = _Copy(template, block, _settings(plan), state_of(self.path), end, end - start)
        return end - start

    def _remove(self) -> None:
        for path in (self.path, *self._beside.of(self.path)):
            path.unlink(missing_ok=True)


def _settings(plan: dict[str, Any] | None) -> str:
    return json.dumps(plan, sort_keys=True)
