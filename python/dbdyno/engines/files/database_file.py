"""A database that is a file, with what an engine writes beside it: a named one, and the one a trial works on."""

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dbdyno.errors import SystemFailed, reason
from dbdyno.workplace.copying import copy_file
from dbdyno.workplace.listening import Interrupted

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


class TrialFile:
    """A file that a trial works on, and what it is a copy of."""

    def __init__(self, path: Path, beside: SideFiles, interrupted: Interrupted) -> None:
        """``path``: where it is to be."""
        self.path = path
        self.in_use = False
        self._beside = beside
        self._interrupted = interrupted
        self._of: tuple[Path, int, str, State] | None = None

    def fresh(self, template: Path, block: int, plan: dict[str, Any] | None, run: Callable[[Any], object]) -> float:
        """Bring the file into the state of a template and return the seconds that took.

        ``plan``: what gives it the settings that it keeps, where there are any; ``run`` runs it.

        A file that was made from the same template in the same block and has not been written to since is that state
        already. Each block has a copy of its own: where the file system puts it is part of the noise between blocks,
        and not of one run's result.
        """
        start = time.monotonic()
        made_by = json.dumps(plan, sort_keys=True)
        same = self._of == (template, block, made_by, state_of(self.path))
        if same and not any(map(Path.exists, self._beside.of(self.path))):
            return 0.0
        self._of = None
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
        self._of = (template, block, made_by, state_of(self.path))
        return time.monotonic() - start

    def _remove(self) -> None:
        for path in (self.path, *self._beside.of(self.path)):
            path.unlink(missing_ok=True)
