"""Start and stop servers."""

import os
import secrets
import signal
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType

from dbdyno.base.errors import InputError, SystemFailed, reason
from dbdyno.engines.server.account import (
    Account,
    allow_traversal,
    change_owner,
    check_access,
    closed_directory,
    server_account,
)
from dbdyno.engines.server.environment import environment
from dbdyno.engines.server.family import Family, ServerPaths
from dbdyno.engines.server.launch import family_of
from dbdyno.engines.server.log import adjusted, last_words, refused
from dbdyno.engines.server.preload import Preload
from dbdyno.engines.server.programs import Installation
from dbdyno.runtime.supervisor.process import SupervisedProcess
from dbdyno.runtime.supervisor.task import Task

# Maximum bytes of a Unix socket's path without the terminating NUL (sun_path in unix(7)).
_SOCKET_BYTES = 107

# Seconds between checks of a starting server. dbdyno notices its end immediately.
_CHECK_S = 0.005

# Seconds within which a supervisor reports the end of its server.
_NOTICE_S = 2.0

_LOG = "log"

# Time limit in seconds for a server to answer, including recovery.
_START_TIMEOUT_S = 30.0


class Server:
    """A running server. It ends with dbdyno, and only its data remain.

    ``pid``: its main process. ``socket``: the directory of PostgreSQL's Unix socket, for other servers the socket
    itself; ``port``: the number in the name of PostgreSQL's socket, and a TCP port only if one was requested. ``user``:
    the database user, who needs no password. ``log``: its log file, removed when it stops. ``preload``: the preloaded
    library through which a trial delays its file calls.
    """

    def __init__(
        self,
        installation: Installation,
        paths: ServerPaths,
        kept: SupervisedProcess,
        tcp_port: int | None = None,
        preload: Preload | None = None,
    ) -> None:
        """``kept``: its supervised process."""
        family = family_of(installation.engine)
        self.installation = installation
        self.data = paths.data
        self.pid = kept.pid
        self.socket = family.address(paths)
        self.port = tcp_port or family.PORT
        self.user = family.USER
        self.database = family.DATABASE
        self.log = paths.own / _LOG
        self.preload = preload
        self._kept = kept

    def alive(self) -> bool:
        """Whether its main process is running."""
        return self._kept.alive()

    def ends_soon(self) -> bool:
        """Wait up to 2 s for its end; return whether it has ended. Its connections close before its process exits."""
        return not self.alive() or self._kept.wait(_NOTICE_S) is not None

    def last_words(self) -> str:
        """Return its log's last errors, or the last lines if it has none. Works after its end, too."""
        if self._kept.ended is not None:
            return last_words(self._kept.ended.output)
        try:
            return last_words(self.log.read_text(encoding="utf-8", errors="replace"))
        except OSError:
            return ""

    def how_it_ended(self) -> str:
        """Return which signal killed it; empty if it runs or exited."""
        ended = self._kept.wait(_NOTICE_S)
        if ended is None or ended.code >= 0:
            return ""
        return f"{signal.Signals(-ended.code).name} killed it"

    def kill(self) -> None:
        """Kill its main process; call :meth:`stop` to end other processes and remove files."""
        self._kept.kill()

    def stop(self, grace_s: float = 60.0) -> bool:
        """Shut it down and return whether the shutdown was clean, so that its data need no recovery.

        After ``grace_s`` seconds it is killed. The directories passed as ``remove`` are kept. A second call does
        nothing. Raises SystemFailed if it can't be stopped.
        """
        return self._kept.stop(grace_s)

    def __enter__(self) -> "Server":
        """Return the server."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop it."""
        self.stop()


def check_settings(installation: Installation, settings: Mapping[str, str]) -> None:
    """Raise InputError for a setting that is known to be invalid without starting the server."""
    family_of(installation.engine).check_settings(installation, settings)


def start_server(  # noqa: PLR0913 - each is a property of the process
    installation: Installation,
    data: Path,
    work: Path,
    settings: Mapping[str, str],
    *,
    remove: Sequence[Path] = (),
    tcp_port: int | None = None,
    held: int | None = None,
    preloaded: bool = False,
) -> Server:
    """Start a server on a data directory, and return when it answers.

    Only the server's user can enter ``data`` afterwards. The server's other files are stored below ``work``, which is
    opened for that user to traverse. Its socket is there too, unless the path is too long for a socket. The server
    doesn't listen on TCP unless ``tcp_port`` is given, a port on 127.0.0.1. ``settings``: server parameters by name.
    ``remove``: directories to remove if dbdyno ends without stopping the server. ``held``: a file descriptor that stays
    open until the server has ended completely, even if dbdyno is killed. ``preloaded``: load the library through which
    a trial delays the server's file calls.

    Raises InputError if the server rejects or changes a setting, and SystemFailed if it doesn't start.
    """
    family = family_of(installation.engine)
    family.check_settings(installation, settings)
    account = server_account(installation.engine)
    paths = _places(installation, family, data.absolute(), work.absolute(), account)
    own = (paths.own, *(paths.own / name for name in family.DIRECTORIES))
    made = own if paths.socket == paths.own else (*own, paths.socket)
    preload = Preload.make(work.absolute(), account) if preloaded else None
    removed = (paths.own, paths.socket) if preload is None else (paths.own, paths.socket, preload.directory)
    task = Task(
        command=tuple(family.command(installation, paths, settings, tcp_port)),
        environment=environment() if preload is None else preload.environment(environment()),
        directory=str(paths.data),
        owner=account.owner if account is not None else None,
        stop=family.STOP,
        death_signal=family.DEATH,
        log=str(paths.own / _LOG),
        make=tuple(str(path) for path in made),
        remove=tuple(str(path) for path in removed),
        abandoned=tuple(str(path.absolute()) for path in remove),
    )
    kept = SupervisedProcess(task, held)
    server = Server(installation, paths, kept, tcp_port, preload)
    try:
        _await(server, family, paths, kept, settings)
        change = adjusted(settings, server.log.read_text(encoding="utf-8", errors="replace"))
        if change is not None:
            name, words = change
            raise InputError(name, f"{installation.title} rejects `{settings[name]}`: {words}")
        kept.note()
    except BaseException:
        # The data are not needed, so don't wait for a clean shutdown.
        kept.stop(0.0)
        raise
    return server


def _await(
    server: Server, family: Family, paths: ServerPaths, kept: SupervisedProcess, settings: Mapping[str, str]
) -> None:
    title = server.installation.title
    end = time.monotonic() + _START_TIMEOUT_S
    while not family.is_ready(paths, kept.pid):
        ended = kept.wait(_CHECK_S)
        if ended is not None:
            refusal = refused(settings, ended.output)
            if refusal is not None:
                name, words = refusal
                raise InputError(name, f"{title} rejects `{settings[name]}`: {words}")
            why = last_words(ended.output) or f"it ended with exit code {ended.code}"
            raise SystemFailed(f"{title} does not start on {paths.data}: {why}")
        if time.monotonic() > end:
            said = server.last_words() or "it wrote nothing"
            raise SystemFailed(f"{title} on {paths.data} did not answer within {_START_TIMEOUT_S:g} s: {said}")


def _places(installation: Installation, family: Family, data: Path, work: Path, account: Account | None) -> ServerPaths:
    for directory in (data, work):
        if not directory.is_dir():
            raise SystemFailed(f"{directory}: no such directory")
    for program in installation.programs.values():
        check_access(program, account)
    try:
        allow_traversal(work, account)
        if data.parent != work and work in data.parents:
            for path in reversed(data.parents):
                if work in path.parents:
                    allow_traversal(path, account)
        check_access(data, account)
        change_owner(data, account)
    except OSError as error:
        raise SystemFailed(f"{error.filename}: {reason(error)}") from error
    token = secrets.token_hex(4)
    own = work / f"server-{token}"
    sockets = own
    if not _fits(sockets / family.SOCKET):
        sockets = Path(tempfile.gettempdir()) / f"dbdyno-{token}"
        if not _fits(sockets / family.SOCKET) or closed_directory(sockets.parent, account) is not None:
            problem = f"can't create a socket in {sockets.parent}, nor below {work}, whose path is too long"
            raise SystemFailed(f"{problem}: set TMPDIR to a directory with a short path that every user may enter")
    return ServerPaths(data, own, sockets)


def _fits(socket: Path) -> bool:
    return len(os.fsencode(socket)) <= _SOCKET_BYTES
