"""As whom a server runs: most database servers refuse to be root, so that root starts them as another user."""

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
    """A user of the machine, by name and numbers."""

    name: str
    uid: int
    gid: int
    groups: tuple[int, ...]

    @property
    def owner(self) -> tuple[int, int, tuple[int, ...]]:
        """The numbers, as a task has them."""
        return self.uid, self.gid, self.groups


def current_user(place: str) -> str:
    """Return the name of the user who runs dbdyno. Raises InputError, at ``place``, if the system knows none."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        problem = f"no user is given, and user id {os.geteuid()} has no name here"
        raise InputError(place, problem, "write the user in the URL, as in `postgresql://me@host/database`") from None


def server_account(engine: str) -> Account | None:
    """Give the user that servers of an engine run as; ``None``: as oneself, where one is not root or they do not mind.

    Raises SystemFailed where root finds no user to run them as.
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
    problem = f"a server cannot run as root, and there is no user `{own}` or `nobody`"
    raise SystemFailed(f"{problem}: run dbdyno as another user than root")


def shut_out(directory: Path, account: Account | None) -> Path | None:
    """Give the outermost directory, of one and those it lies in, that a user may not enter; ``None``: it may all.

    Those that do not exist are passed over. Access lists beyond the permission bits are not looked at.
    """
    if account is None:
        return None
    path = directory.absolute()
    for each in (*reversed(path.parents), path):
        try:
            status = each.stat()
        except OSError:
            continue
        if not _may_enter(status, account):
            return each
    return None


def check_reach(path: Path, account: Account | None) -> None:
    """Raise SystemFailed where the server's user cannot get at a path."""
    out = shut_out(path.parent, account)
    if out is not None and account is not None:
        raise SystemFailed(
            f"{path}: the server runs as the user `{account.name}`, who may not enter `{out}`: take a directory that "
            f"every user may enter, such as one below /var/tmp, or run dbdyno as another user than root"
        )


def open_way(directory: Path, account: Account | None) -> None:
    """Let the server's user pass through a directory of dbdyno's own, to one inside that is the user's.

    It is not made readable, and those around it and home directories are left alone. Raises SystemFailed where the user
    cannot pass.
    """
    if shut_out(directory.parent, account) is None and shut_out(directory, account) is not None:
        status = directory.stat()
        if status.st_uid == os.geteuid() and directory not in {Path(each.pw_dir) for each in pwd.getpwall()}:
            directory.chmod(stat.S_IMODE(status.st_mode) | stat.S_IXGRP | stat.S_IXOTH)
    check_reach(directory / "data", account)


def hand_over(directory: Path, account: Account | None) -> None:
    """Make a directory, and all in it, the server's user's, and the directory itself closed to all others."""
    directory.chmod(0o700)
    if account is None:
        return
    _give(directory, directory.lstat(), account)
    _give_below(directory, account)


def _give_below(directory: Path | str, account: Account) -> None:
    with os.scandir(directory) as entries:
        for each in entries:
            _give(each.path, each.stat(follow_symlinks=False), account)
            if each.is_dir(follow_symlinks=False):
                _give_below(each.path, account)


def _give(path: Path | str, status: os.stat_result, account: Account) -> None:
    if (status.st_uid, status.st_gid) != (account.uid, account.gid):
        os.chown(path, account.uid, account.gid, follow_symlinks=False)


def _may_enter(status: os.stat_result, account: Account) -> bool:
    if status.st_uid == account.uid:
        return bool(status.st_mode & stat.S_IXUSR)
    if status.st_gid == account.gid or status.st_gid in account.groups:
        return bool(status.st_mode & stat.S_IXGRP)
    return bool(status.st_mode & stat.S_IXOTH)
