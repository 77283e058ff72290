"""Indexes in a directory of their own, which may be on another device."""

import secrets
from collections.abc import Callable
from pathlib import Path

from dbdyno.base.errors import InputError, reason
from dbdyno.engines.server.account import hand_over, open_way, server_account, shut_out
from dbdyno.engines.server.data import run_job
from dbdyno.engines.server.family import Job
from dbdyno.engines.server.programs import Installation
from dbdyno.runtime.workspace.copying import sync_files

Moving = Callable[[Installation, Path, Path], Job]


class IndexesApart:
    """Makes such directories for the servers of one engine, each inside one that the user names."""

    def __init__(self, engine: str, moving: Moving) -> None:
        """``moving``: gives the program that moves indexes from data to a directory."""
        self._engine, self._moving = engine, moving

    def check(self, named: str, system: str) -> None:
        """Raise InputError where a directory cannot serve; ``system``: whose setting it is."""
        place, path = f"{system}: index_directory", Path(named).absolute()
        if any(each in named for each in "\n\r\0'"):
            raise InputError(place, "the name holds a quotation mark or a line break", "take another directory")
        if not path.is_dir():
            raise InputError(
                place, f"there is no directory {path}", "name one that is there; dbdyno removes what it makes"
            )
        account = server_account(self._engine)
        if account is not None and shut_out(path, account) is not None:
            problem = f"the server runs as the user `{account.name}`, who may not enter {shut_out(path, account)}"
            raise InputError(place, problem, "take a directory that every user may enter")
        try:
            made = self.directory(named)
            made.mkdir()
            made.rmdir()
        except OSError as error:
            raise InputError(
                place, f"nothing can be made in {path}: {reason(error)}", "take another directory"
            ) from None

    def directory(self, named: str) -> Path:
        """Give the path of a new directory inside one that is named. Nothing is made."""
        return Path(named).absolute() / f"dbdyno-index-{secrets.token_hex(4)}"

    def move(self, installation: Installation, data: Path, directory: Path) -> None:
        """Move the indexes from data that no server runs on to a new directory. Raises SystemFailed and OSError."""
        account = server_account(self._engine)
        directory.mkdir(mode=0o700)
        hand_over(directory, account)
        open_way(data.parent, account)
        hand_over(data, account)
        job = self._moving(installation, data, directory)
        what = f"move the indexes to {directory}"
        run_job(installation, job, data, account, what=what, further=[directory])
        sync_files(directory)


def same_device(one: Path, other: Path) -> bool:
    """Whether two directories lie on one file system. Raises OSError."""
    return one.stat().st_dev == other.stat().st_dev
