"""The directories a run works in."""

import os
import subprocess
import tempfile
from pathlib import Path

from dbdyno.base.errors import SystemFailed, reason
from dbdyno.base.paths import cache_directory, check_utf8
from dbdyno.runtime.workspace.claims import Claim, remove_abandoned

_PREFIX = "dbdyno-run-"

# Waits for a word, and removes the directory, and then the file of its claim, where the input ends without one. A
# worker gets its signal from the kernel a moment after dbdyno's files were closed, and may make a file until then: so
# it is tried again.
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

    It goes when it is closed. Where dbdyno is killed, a small process removes it; what a run left behind whose guard
    was killed too, the next run in the same place removes. Its name is claimed, so that no run takes that of one that
    lives for left behind, on whatever node or in whatever container that is.
    """

    def __init__(self, directory: str | Path | None = None) -> None:
        """Make it below ``directory``, by default below the cache. ``chosen``: whether somebody named the place."""
        self.chosen = directory is not None
        root = cache_directory("work") if directory is None else Path(directory)
        check_utf8(str(root.absolute()), str(root))
        remove_abandoned(root, _PREFIX)
        try:
            self._claim = Claim(root, _PREFIX)
        except OSError as error:
            raise SystemFailed(f"{root}: the directory cannot be made: {reason(error)}") from error
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
            raise SystemFailed(f"{self.path}: the directory cannot be made: {reason(error)}") from error

    def part(self) -> Path:
        """Make a directory in it that nobody else works in. Raises SystemFailed."""
        try:
            return Path(tempfile.mkdtemp(prefix="part-", dir=self.path))
        except OSError as error:
            raise SystemFailed(f"{self.path}: a directory cannot be made in it: {reason(error)}") from error

    @property
    def held(self) -> int | None:
        """The descriptor that keeps the directory: a process that inherits it is waited for. None when it is closed."""
        return self._guard.held

    def close(self) -> None:
        """Remove it."""
        self._claim.release()
        self._guard.dismiss()


class _Guard:
    """The process that removes a directory when everybody has ended who held its pipe open."""

    def __init__(self, claim: Claim) -> None:
        """Start it; the directory need not be there yet. It shares the claim to its end. Raises SystemFailed."""
        read, held = os.pipe()
        paths = [str(path.absolute()) for path in (claim.path, claim.lock_path)]
        try:
            self._process = subprocess.Popen(
                ["/bin/sh", "-c", _GUARD, "dbdyno-guard", *paths],
                stdin=read,
                pass_fds=() if claim.lock is None else (claim.lock,),
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
