"""The directories a run works in."""

import os
import shutil
from pathlib import Path

import psutil

from dbdyno.errors import SystemFailed, reason
from dbdyno.paths import cache_directory

_PREFIX = "dbdyno-run-"


class Workspace:
    """The directory in which trials work.

    It goes when it is closed; what a run that was killed left behind, the next run removes.
    """

    def __init__(self, directory: str | Path | None = None) -> None:
        """Make it below ``directory``, by default below the cache. ``chosen``: whether somebody named the place."""
        self.chosen = directory is not None
        root = cache_directory("work") if directory is None else Path(directory)
        for left in root.glob(f"{_PREFIX}*"):
            owner = left.name.removeprefix(_PREFIX)
            if owner.isdigit() and not psutil.pid_exists(int(owner)):
                shutil.rmtree(left, ignore_errors=True)
        self.path = root / f"{_PREFIX}{os.getpid()}"
        try:
            self.path.mkdir(mode=0o700, exist_ok=True)
        except OSError as error:
            raise SystemFailed(f"{self.path}: the directory cannot be made: {reason(error)}") from error

    def close(self) -> None:
        """Remove it."""
        shutil.rmtree(self.path, ignore_errors=True)
