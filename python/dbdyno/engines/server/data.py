"""Fresh data directories."""

import hashlib
import secrets
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dbdyno.base.errors import SystemFailed, reason
from dbdyno.engines.server.account import Account, check_reach, hand_over, open_way, server_account
from dbdyno.engines.server.environment import environment
from dbdyno.engines.server.family import Job
from dbdyno.engines.server.launch import family_of
from dbdyno.engines.server.log import last_words
from dbdyno.engines.server.programs import Installation
from dbdyno.runtime.supervisor.kept import Kept
from dbdyno.runtime.supervisor.task import Task
from dbdyno.runtime.workspace.templates import template

# Seconds that one of the programs which make data may take.
_LONGEST_S = 300.0

# Fresh data are some 40 MB of PostgreSQL and 140 MB of MariaDB, which takes more while it makes them.
_LITTLE = 300_000_000


def create_data(installation: Installation, directory: Path) -> None:
    """Make a data directory as of a server that was cleanly stopped, in it an empty database in UTF-8.

    The directory must be empty or not exist yet, and the one it lies in is opened for the server's user to pass through
    where that is another. Nothing is synced to the device. It goes again where dbdyno ends or fails on the way. Raises
    SystemFailed.
    """
    directory = directory.absolute()
    account = server_account(installation.engine)
    for program in installation.programs.values():
        check_reach(program, account)
    try:
        if directory.exists() and (not directory.is_dir() or any(directory.iterdir())):
            raise SystemFailed(f"{directory}: fresh data need an empty directory, and this is none")
        directory.parent.mkdir(parents=True, exist_ok=True)
        open_way(directory.parent, account)
        directory.mkdir(exist_ok=True)
        hand_over(directory, account)
    except OSError as error:
        raise SystemFailed(f"{directory}: the directory cannot be made: {reason(error)}") from error
    try:
        for job in family_of(installation.engine).jobs(installation, directory):
            run_job(installation, job, directory, account, what=f"make data in {directory}")
    except BaseException:
        shutil.rmtree(directory, ignore_errors=True)
        raise


def kept_data(installation: Installation, directory: Path) -> Path:
    """Give fresh data of a server, to be copied. They stay in a directory, and only where none are there are they made.

    Making them takes some seconds, copying them less than one. Raises SystemFailed.
    """

    def make(path: Path) -> list[Any]:
        create_data(installation, path)
        return []

    of = f"fresh {installation.title} {installation.server} {family_of(installation.engine).DATABASE}"
    key = hashlib.sha256(of.encode()).hexdigest()
    return template(directory / f"{key}.data", make, of_tables=False).path


def run_job(
    installation: Installation,
    job: Job,
    directory: Path,
    account: Account | None,
    *,
    what: str,
    further: Sequence[Path] = (),
) -> None:
    """Run a program on a data directory, as the server's user.

    ``what`` it is to do, an infinitive. The directory and ``further`` ones go where dbdyno ends before it does. Raises
    SystemFailed.
    """
    # Beside the data, so that what is left of a program that is killed lies where its data lie.
    scratch = directory.with_name(f"{directory.name}-{secrets.token_hex(4)}")
    task = Task(
        command=job.command,
        environment=environment() | {"TMPDIR": str(scratch), "HOME": str(scratch)},
        directory=str(directory),
        owner=account.owner if account is not None else None,
        stop=(),
        death_signal=job.death_signal,
        input=job.input,
        make=(str(scratch),),
        remove=(str(scratch),),
        abandoned=tuple(str(path) for path in (directory, *further)),
    )
    kept = Kept(task)
    try:
        ended = kept.wait(_LONGEST_S)
    finally:
        kept.stop(0.0)
    program = Path(job.command[0]).name
    if ended is None:
        raise SystemFailed(f"{installation.title}: `{program}` did not end within {_LONGEST_S:g} s")
    if ended.code != 0:
        why = last_words(ended.output) or f"it ended with code {ended.code}"
        raise SystemFailed(
            f"{installation.title}: `{program}` could not {what}: {why}{_room((*further, directory)[0].parent)}"
        )


def _room(directory: Path) -> str:
    """Say how much room there is, where it is little: not every program says that it had none."""
    try:
        free = shutil.disk_usage(directory).free
    except OSError:
        return ""
    return f"; there are {free / 1e6:.0f} MB left there" if free < _LITTLE else ""
