"""The working directory of a run."""

import os
import subprocess
import tempfile
from pathlib import Path

from dbdyno.base.errors import SystemFailed, reason
from dbdyno.base.paths import cache_directory, check_utf8
from dbdyno.runtime.workspace.claims import Claim, remove_abandoned

_PREFIX = "dbdyno-run-"

# Reads a line from standard input. If the input ends without one, removes the directory and then its lock file. After
# dbdyno was killed, a worker may still create files for a moment, so the removal is repeated.
_GUARD = """
read -r word && exit
tries=100
while [ -e "$1" ] && [ $tries -gt 0 ]; do
    rm -rf -- "$1"
    [ ! -e "$1" ] || sleep 0.1
    tries=$((tries - 1))
done
[ -e "$1" ] || rm -f -- "$2"
"""


class Workspace:
    """The directory in which trials work.

    :meth:`close` removes it. If dbdyno is killed, a small guard process removes it; if the guard is killed too, the
    next run in the same place does. A :class:`Claim` protects the directories of running processes.
    """

    def __init__(self, directory: str | Path | None = None) -> None:
        """Create it below ``directory``, by default below the cache. ``chosen``: whether the user named a directory."""
        self.chosen = directory is not None
        root = cache_directory("work") if directory is None else Path(directory)
        check_utf8(str(root.absolute()), str(root))
        remove_abandoned(root, _PREFIX)
        try:
            self._claim = Claim(root, _PREFIX)
        except OSError as error:
            raise SystemFailed(f"{root}: can't create the directory: {reason(error)}") from error
        self.path = self._claim.path
        try:
            self._guard = _Guard(self._claim)
        except SystemFailed:
            self._claim.release()
            raise
        try:
            self.path.mkdir(mode=0o700)
        except OSError as error:
            self.close()
            raise SystemFailed(f"{self.path}: can't create the directory: {reason(error)}") from error

    def part(self) -> Path:
        """Create a new directory in it. Raises SystemFailed."""
        try:
            return Path(tempfile.mkdtemp(prefix="part-", dir=self.path))
        except OSError as error:
            raise SystemFailed(f"{self.path}: can't create a directory in it: {reason(error)}") from error

    @property
    def guard_pipe(self) -> int | None:
        """The descriptor that keeps the directory; the guard waits for processes that inherit it. None if closed."""
        return self._guard.pipe

    def close(self) -> None:
        """Remove the directory."""
        self._claim.release()
        self._guard.dismiss()


class _Guard:
    """The process that removes a directory when all processes that hold its pipe open have ended."""

    def __init__(self, claim: Claim) -> None:
        """Start it; the directory need not exist yet. It shares the claim until it ends. Raises SystemFailed."""
        read, pipe = os.pipe()
        paths = [str(path.absolute()) for path in (claim.path, claim.lock_path)]
        try:
            self._process = subprocess.Popen(
                ["/bin/sh", "-c", _GUARD, "dbdyno-guard", *paths],
                stdin=read,
                pass_fds=() if claim.lock is None else (claim.lock,),
                # Use /dev/null so that a process that reads dbdyno's output doesn't wait for the guard.
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd="/",
                # Only dbdyno itself handles Ctrl-C.
                start_new_session=True,
            )
        except OSError as error:
            os.close(pipe)
            raise SystemFailed(f"could not start /bin/sh: {reason(error)}") from error
        finally:
            os.close(read)
        # A file descriptor that only `dismiss` and the end of this process close.
        self.pipe: int | None = pipe

    def dismiss(self) -> None:
        """End it without removing anything. A second call does nothing."""
        if self.pipe is None:
            return
        pipe, self.pipe = self.pipe, None
        try:
            os.write(pipe, b"over\n")
        except BrokenPipeError:
            pass  # It was killed.
        finally:
            os.close(pipe)
        self._process.wait()
