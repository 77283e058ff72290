"""Create new data directories."""

import hashlib
import secrets
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dbdyno.base.errors import SystemFailed, reason
from dbdyno.engines.server.account import Account, allow_traversal, change_owner, check_access, server_account
from dbdyno.engines.server.environment import environment
from dbdyno.engines.server.family import Job
from dbdyno.engines.server.launch import family_of
from dbdyno.engines.server.log import last_words
from dbdyno.engines.server.programs import Installation
from dbdyno.runtime.supervisor.process import SupervisedProcess
from dbdyno.runtime.supervisor.task import Task
from dbdyno.runtime.workspace.templates import template

# Time limit in seconds for each program that creates data.
_TIMEOUT_S = 300.0

# New data take about 40 MB for PostgreSQL and 140 MB for MariaDB, which needs more while it creates them.
_LITTLE = 300_000_000


def create_data(installation: Installation, directory: Path) -> None:
    """Create a data directory with an empty UTF-8 database, in the state of a cleanly stopped server.

    The directory must be empty or not exist yet. If the server runs as another user, the parent directory is opened for
    that user to traverse. Nothing is synced to the device. On failure, or if dbdyno ends, the directory is removed.
    Raises SystemFailed.
    """
    directory = directory.absolute()
    account = server_account(installation.engine)
    for program in installation.programs.values():
        check_access(program, account)
    try:
        if directory.exists() and (not directory.is_dir() or any(directory.iterdir())):
            raise SystemFailed(f"{directory}: not an empty directory, which new data require")
        directory.parent.mkdir(parents=True, exist_ok=True)
        allow_traversal(directory.parent, account)
        directory.mkdir(exist_ok=True)
        change_owner(directory, account)
    except OSError as error:
        raise SystemFailed(f"{directory}: can't create the directory: {reason(error)}") from error
    try:
        for job in family_of(installation.engine).jobs(installation, directory):
            run_job(installation, job, directory, account, what=f"create data in {directory}")
    except BaseException:
        shutil.rmtree(directory, ignore_errors=True)
        raise


def kept_data(installation: Installation, directory: Path) -> Path:
    """Return the path of a server's new data, to be copied. They are created once and kept in ``directory``.

    Creating them takes some seconds, copying them less than one second. Raises SystemFailed.
    """

    def make(path: Path) -> list[Any]:
        create_data(installation, path)
        return []

    name = f"fresh {installation.title} {installation.server} {family_of(installation.engine).DATABASE}"
    key = hashlib.sha256(name.encode()).hexdigest()
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
    """Run a program on a data directory as the server's user, and wait until it finishes.

    ``what``: its purpose, an infinitive, for messages. If dbdyno ends first, ``directory`` and the directories
    ``further`` are removed. Raises SystemFailed.
    """
    # Next to the data, so that the remains of a killed program are where its data are.
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
    kept = SupervisedProcess(task)
    try:
        ended = kept.wait(_TIMEOUT_S)
    finally:
        kept.stop(0.0)
    program = Path(job.command[0]).name
    if ended is None:
        raise SystemFailed(f"{installation.title}: `{program}` did not finish within {_TIMEOUT_S:g} s")
    if ended.code != 0:
        why = last_words(ended.output) or f"it ended with exit code {ended.code}"
        raise SystemFailed(
            f"{installation.title}: `{program}` could not {what}: {why}{_room((*further, directory)[0].parent)}"
        )


def _room(directory: Path) -> str:
    """Return the free disk space if it is low, because some programs don't report a full disk."""
    try:
        free = shutil.disk_usage(directory).free
    except OSError:
        return ""
    return f"; only {free / 1e6:.0f} MB are free there" if free < _LITTLE else ""
