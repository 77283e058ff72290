"""The directories a run works in."""

import os
import shutil
import subprocess
from pathlib import Path

import psutil

from dbdyno.errors import SystemFailed, reason
from dbdyno.paths import cache_directory

_PREFIX = "dbdyno-run-"

# Waits for a word, and removes the directory where the input ends without one. A worker gets its signal from the kernel
# a moment after dbdyno's files were closed, and may make a file until then: so it is tried again.
_GUARD = """
read -r word && exit
tries=100
while [ -e "$1" ] && [ $tries -gt 0 ]; do
    rm -rf -- "$1"
    [ ! -e "$1" ] || sleep 0.1
    tries=$((tries - 1))
done
"""


class Workspace:
    """The directory in which trials work.

    It goes when it is closed. Where dbdyno is killed, a small process removes it; what a run left behind whose guard
    was killed too, the next run in the same place removes.
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
        self._guard = _Guard(self.path.absolute())
        try:
            self.path.mkdir(mode=0o700, exist_ok=True)
        except OSError as error:
            self._guard.dismiss()
            raise SystemFailed(f"{self.path}: the directory cannot be made: {reason(error)}") from error

    @property
    def held(self) -> int | None:
        """The descriptor that keeps the directory: a process that inherits it is waited for. None when it is closed."""
        return self._guard.held

    def close(self) -> None:
        """Remove it."""
        shutil.rmtree(self.path, ignore_errors=True)
        self._guard.dismiss()


class _Guard:
    """The process that removes a directory when everybody has ended who held its pipe open."""

    def __init__(self, path: Path) -> None:
        """Start it; the directory need not be there yet. Raises SystemFailed."""
        read, held = os.pipe()
        try:
            self._process = subprocess.Popen(
                ["/bin/sh", "-c", _GUARD, "dbdyno-guard", str(path)],
                stdin=read,
                # Whoever reads what dbdyno writes does not wait for the guard.
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd="/",
                # Ctrl-C on the terminal is dbdyno's to hear.
                start_new_session=True,
            )
        except OSError as error:
            os.close(held)
            raise SystemFailed(f"/bin/sh could not be started: {reason(error)}") from error
        finally:
            os.close(read)
        # A bare number, which nothing but `dismiss` and the end of this process closes.
        self.held: int | None = held

    def dismiss(self) -> None:
        """Have it end without removing anything. A second call does nothing."""
        if self.held is None:
            return
        held, self.held = self.held, None
        try:
            os.write(held, b"over\n")
        except BrokenPipeError:
            pass  # It was killed.
        finally:
            os.close(held)
        self._process.wait()
