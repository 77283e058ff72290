"""The user that servers run as. Most database servers refuse to run as root, so root starts them as another user."""

import getpass
import os
import pwd
import stat
from dataclasses import dataclass
from pathlib import Path

from dbdyno.base.errors import InputError, SystemFailed
from dbdyno.engines.server.launch import family_of


@dataclass(frozen=True)
class Account:
    """A user of the operating system."""

    name: str
    uid: int
    gid: int
    groups: tuple[int, ...]

    @property
    def owner(self) -> tuple[int, int, tuple[int, ...]]:
        """User id, group id and supplementary groups, as in a supervisor's task."""
        return self.uid, self.gid, self.groups


def current_user(location: str) -> str:
    """Return the name of the user who runs dbdyno. Raises InputError at ``location`` if the user's name is missing."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        problem = f"no user is given, and user id {os.geteuid()} has no name on this system"
        raise InputError(location, problem, "add the user to the URL, e.g. `postgresql://me@host/database`") from None


def server_account(engine: str) -> Account | None:
    """Return the user that an engine's servers run as; ``None``: the current user.

    Servers run as another user only if dbdyno runs as root and the engine's servers refuse to. Raises SystemFailed if
    no such user exists.
    """
    own = family_of(engine).ACCOUNT
    if os.geteuid() != 0 or own is None:
        return None
    for name in (own, "nobody"):
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            continue
        if entry.pw_uid != 0:
            return Account(name, entry.pw_uid, entry.pw_gid, tuple(os.getgrouplist(name, entry.pw_gid)))
    problem = f"the server can't run as root, and neither user `{own}` nor `nobody` exists"
    raise SystemFailed(f"{problem}: run dbdyno as a user other than root")


def closed_directory(directory: Path, account: Account | None) -> Path | None:
    """Return the outermost directory on a path that a user may not enter; ``None``: the user may enter all.

    Nonexistent directories are skipped. Access control lists are ignored; only permission bits count.
    """
    if account is None:
        return None
    path = directory.absolute()
    for parent in (*reversed(path.parents), path):
        try:
            status = parent.stat()
        except OSError:
            continue
        if not _may_enter(status, account):
            return parent
    return None


def check_access(path: Path, account: Account | None) -> None:
    """Raise SystemFailed if the server's user can't access a path."""
    out = closed_directory(path.parent, account)
    if out is not None and account is not None:
        raise SystemFailed(
            f"{path}: the server runs as the user `{account.name}`, who may not enter `{out}`: use a directory that "
            f"every user may enter, such as one below /var/tmp, or run dbdyno as a user other than root"
        )


def allow_traversal(directory: Path, account: Account | None) -> None:
    """Let the server's user traverse one of dbdyno's directories to reach a subdirectory that the user owns.

    The directory doesn't become readable. Its parent directories and home directories are not changed. Raises
    SystemFailed if the user can't traverse them.
    """
    if closed_directory(directory.parent, account) is None and closed_directory(directory, account) is not None:
        status = directory.stat()
        if status.st_uid == os.geteuid() and directory not in {Path(user.pw_dir) for user in pwd.getpwall()}:
            directory.chmod(stat.S_IMODE(status.st_mode) | stat.S_IXGRP | stat.S_IXOTH)
    check_access(directory / "data", account)


def change_owner(directory: Path, account: Account | None) -> None:
    """Make the server's user the owner of a directory and its contents, and close the directory to other users."""
    directory.chmod(0o700)
    if account is None:
        return
    _give(directory, directory.lstat(), account)
    _give_below(directory, account)


def _give_below(directory: Path | str, account: Account) -> None:
    with os.scandir(directory) as entries:
        for entry in entries:
            _give(entry.path, entry.stat(follow_symlinks=False), account)
            if entry.is_dir(follow_symlinks=False):
                _give_below(entry.path, account)


def _give(path: Path | str, status: os.stat_result, account: Account) -> None:
    if (status.st_uid, status.st_gid) != (account.uid, account.gid):
        os.chown(path, account.uid, account.gid, follow_symlinks=False)


def _may_enter(status: os.stat_result, account: Account) -> bool:
    if status.st_uid == account.uid:
        return bool(status.st_mode & stat.S_IXUSR)
    if status.st_gid == account.gid or status.st_gid in account.groups:
        return bool(status.st_mode & stat.S_IXGRP)
    return bool(status.st_mode & stat.S_IXOTH)
