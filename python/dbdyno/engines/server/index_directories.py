"""Store indexes in a separate directory, which may be on another device."""

import secrets
from collections.abc import Callable
from pathlib import Path

from dbdyno.base.errors import InputError, reason
from dbdyno.engines.server.account import allow_traversal, change_owner, closed_directory, server_account
from dbdyno.engines.server.data import run_job
from dbdyno.engines.server.family import Job
from dbdyno.engines.server.programs import Installation
from dbdyno.runtime.workspace.file_copies import sync_files

Moving = Callable[[Installation, Path, Path], Job]


class IndexDirectories:
    """Creates index directories for the servers of one engine, inside a directory that the user names."""

    def __init__(self, engine: str, moving: Moving) -> None:
        """``moving``: returns the program that moves indexes from a data directory to another directory."""
        self._engine, self._moving = engine, moving

    def check(self, named: str, system: str) -> None:
        """Raise InputError if a directory can't be used; ``system``: the name of the system whose setting it is."""
        directory, path = f"{system}: index_directory", Path(named).absolute()
        if any(each in named for each in "\n\r\0'"):
            raise InputError(directory, "the name contains a quotation mark or a line break", "use another directory")
        if not path.is_dir():
            raise InputError(
                directory,
                f"no such directory: {path}",
                "name an existing directory; dbdyno removes the files it creates",
            )
        account = server_account(self._engine)
        if account is not None and closed_directory(path, account) is not None:
            problem = (
                f"the server runs as the user `{account.name}`, who may not enter {closed_directory(path, account)}"
            )
            raise InputError(directory, problem, "use a directory that every user may enter")
        try:
            made = self.directory(named)
            made.mkdir()
            made.rmdir()
        except OSError as error:
            raise InputError(
                directory, f"can't create files in {path}: {reason(error)}", "use another directory"
            ) from None

    def directory(self, named: str) -> Path:
        """Return the path of a new directory inside the named one, without creating it."""
        return Path(named).absolute() / f"dbdyno-index-{secrets.token_hex(4)}"

    def move(self, installation: Installation, data: Path, directory: Path) -> None:
        """Move the indexes of a stopped server's data to a new directory. Raises SystemFailed and OSError."""
        account = server_account(self._engine)
        directory.mkdir(mode=0o700)
        change_owner(directory, account)
        allow_traversal(data.parent, account)
        change_owner(data, account)
        job = self._moving(installation, data, directory)
        what = f"move the indexes to {directory}"
        run_job(installation, job, data, account, what=what, further=[directory])
        sync_files(directory)


def same_device(one: Path, other: Path) -> bool:
    """Whether two directories are on the same file system. Raises OSError."""
    return one.stat().st_dev == other.stat().st_dev
