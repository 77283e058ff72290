"""The library that a server preloads, so that a trial can delay the server's file calls (crates/preload)."""

import os
import secrets
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from dbdyno.base.errors import SystemFailed, reason
from dbdyno.base.resources import library_path
from dbdyno.engines.server.account import Account, allow_traversal
from dbdyno.model.plan.tasks import TrialTask

# First bytes and size in bytes of the file that worker and library share (crates/delays/src/page.rs).
_MAGIC = b"dbdyno 1"
_SIZE = 4096


def preload_library() -> Path | None:
    """Find the library; ``None``: it isn't installed."""
    return library_path("preload")


def preloads(task: TrialTask) -> bool:
    """Whether a trial changes or counts a server's file calls."""
    return task.changes is not None and task.changes.in_files


@dataclass(frozen=True)
class Preload:
    """A directory with the library and the file that it shares with the worker. The server's user may use both."""

    directory: Path

    @classmethod
    def make(cls, work: Path, account: Account | None) -> "Preload":
        """Create one below the directory ``work``. ``account``: the server's user.

        Raises SystemFailed if the library is missing or a file can't be created.
        """
        library = preload_library()
        if library is None:
            problem = "the library that servers preload is not installed with dbdyno"
            raise SystemFailed(f"{problem}: reinstall the package")
        made = cls(work / f"preload-{secrets.token_hex(4)}")
        try:
            made.directory.mkdir(mode=0o711)
            allow_traversal(made.directory, account)
            # The library may be installed in a directory that the server's user can't enter.
            shutil.copyfile(library, made.library)
            made.library.chmod(0o755)
            made.page.write_bytes(_MAGIC.ljust(_SIZE, b"\0"))
            made.page.chmod(0o600)
            if account is not None:
                os.chown(made.page, account.uid, account.gid)
        except OSError as error:
            shutil.rmtree(made.directory, ignore_errors=True)
            raise SystemFailed(f"{made.directory}: {reason(error)}") from error
        return made

    @property
    def library(self) -> Path:
        """The server's copy of the library."""
        return self.directory / "libdbdyno_preload.so"

    @property
    def page(self) -> Path:
        """The file that worker and library share."""
        return self.directory / "page"

    def environment(self, given: Mapping[str, str]) -> dict[str, str]:
        """Return the environment of a server that preloads the library."""
        others = given.get("LD_PRELOAD")
        preloaded = f"{self.library}:{others}" if others else str(self.library)
        return {**given, "LD_PRELOAD": preloaded, "DBDYNO_PRELOAD_FILE": str(self.page)}
