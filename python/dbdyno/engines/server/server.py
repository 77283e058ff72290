"""Starting and stopping servers."""

import os
import secrets
import signal
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType

from dbdyno.base.errors import InputError, SystemFailed, reason
from dbdyno.engines.server.account import Account, check_reach, hand_over, open_way, server_account, shut_out
from dbdyno.engines.server.environment import environment
from dbdyno.engines.server.family import Family, Places
from dbdyno.engines.server.launch import family_of
from dbdyno.engines.server.log import adjusted, last_words, refused
from dbdyno.engines.server.preload import Preload
from dbdyno.engines.server.programs import Installation
from dbdyno.runtime.supervisor.kept import Kept
from dbdyno.runtime.supervisor.task import Task

# Bytes of a Unix socket's path, without the zero at its end (sun_path of unix(7)).
_SOCKET_BYTES = 107

# Seconds between two looks at a server that comes up. Its end is noticed at once.
_LOOK_S = 0.005

# Seconds in which a keeper reports that its server has ended.
_NOTICE_S = 2.0

_LOG = "log"

# Seconds in which a server has to answer, recovery included.
_START_TIMEOUT_S = 30.0


class Server:
    """A running server. It ends with dbdyno, and leaves its data and nothing else.

    ``pid``: its main process. ``socket``: for PostgreSQL the directory of its Unix socket, for all others the
    socket itself; ``port``: the number in PostgreSQL's socket's name, and a TCP port only where one was asked for.
    ``user`` needs no password. ``log``: the file it writes its messages to, which goes with it. ``preload``: what
    it was started with, so that a trial can change what it asks of its files.
    """

    def __init__(
        self,
        installation: Installation,
        places: Places,
        kept: Kept,
        tcp_port: int | None = None,
        preload: Preload | None = None,
    ) -> None:
        """``kept``: its process."""
        family = family_of(installation.engine)
        self.installation = installation
        self.data = places.data
        self.pid = kept.pid
        self.socket = family.address(places)
        self.port = tcp_port or family.PORT
        self.user = family.USER
        self.database = family.DATABASE
        self.log = places.own / _LOG
        self.preload = preload
        self._kept = kept

    def alive(self) -> bool:
        """Whether its main process runs."""
        return self._kept.alive()

    def seems_to_end(self) -> bool:
        """Whether it has ended, or does so in a moment. Its connections close before its process is over."""
        return not self.alive() or self._kept.wait(_NOTICE_S) is not None

    def last_words(self) -> str:
        """Give the last errors of its log, or its last lines where it has none; also when it has ended."""
        if self._kept.ended is not None:
            return last_words(self._kept.ended.output)
        try:
            return last_words(self.log.read_text(encoding="utf-8", errors="replace"))
        except OSError:
            return ""

    def how_it_ended(self) -> str:
        """Say what killed it; nothing where it runs, or ended by itself."""
        ended = self._kept.wait(_NOTICE_S)
        if ended is None or ended.code >= 0:
            return ""
        return f"{signal.Signals(-ended.code).name} killed it"

    def kill(self) -> None:
        """Kill its main process; :meth:`stop` ends and removes the rest."""
        self._kept.kill()

    def stop(self, grace_s: float = 60.0) -> bool:
        """Shut it down, and say whether that was clean, so that its data are whole without recovery.

        After ``grace_s`` seconds it is ended by force. What it was given to remove stays. A second call does nothing.
        Raises SystemFailed where it cannot be ended.
        """
        return self._kept.stop(grace_s)

    def __enter__(self) -> "Server":
        """Give the server."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop it."""
        self.stop()


def check_settings(installation: Installation, settings: Mapping[str, str]) -> None:
    """Raise InputError for a setting that a server cannot be started with, as far as that shows without it."""
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

    The server alone may enter ``data`` then. Its own files go to a directory below ``work``, which is opened for its
    user to pass through where that is another; its socket lies there too, unless the path is too long for one. It
    listens on no TCP port, but on ``tcp_port`` of 127.0.0.1 where one is given. ``settings``: server parameters by
    name. ``remove``: directories that go where dbdyno ends
    without having stopped the server; else they stay. ``held``: a descriptor that stays open until nothing of the
    server is left, also where dbdyno is killed. ``preloaded``: it loads the library by which a trial changes what it
    asks of its files.

    Raises InputError where it does not take a setting as it is given, and SystemFailed where it does not start.
    """
    family = family_of(installation.engine)
    family.check_settings(installation, settings)
    account = server_account(installation.engine)
    places = _places(installation, family, data.absolute(), work.absolute(), account)
    own = (places.own, *(places.own / name for name in family.DIRECTORIES))
    made = own if places.socket == places.own else (*own, places.socket)
    preload = Preload.make(work.absolute(), account) if preloaded else None
    removed = (places.own, places.socket) if preload is None else (places.own, places.socket, preload.directory)
    task = Task(
        command=tuple(family.command(installation, places, settings, tcp_port)),
        environment=environment() if preload is None else preload.environment(environment()),
        directory=str(places.data),
        owner=account.owner if account is not None else None,
        stop=family.STOP,
        death_signal=family.DEATH,
        log=str(places.own / _LOG),
        make=tuple(str(path) for path in made),
        remove=tuple(str(path) for path in removed),
        abandoned=tuple(str(path.absolute()) for path in remove),
    )
    kept = Kept(task, held)
    server = Server(installation, places, kept, tcp_port, preload)
    try:
        _await(server, family, places, kept, settings)
        change = adjusted(settings, server.log.read_text(encoding="utf-8", errors="replace"))
        if change is not None:
            name, words = change
            raise InputError(name, f"{installation.title} does not take `{settings[name]}`: {words}")
        kept.note()
    except BaseException:
        # Nobody wants its data as they are now.
        kept.stop(0.0)
        raise
    return server


def _await(server: Server, family: Family, places: Places, kept: Kept, settings: Mapping[str, str]) -> None:
    title = server.installation.title
    end = time.monotonic() + _START_TIMEOUT_S
    while not family.is_ready(places, kept.pid):
        ended = kept.wait(_LOOK_S)
        if ended is not None:
            refusal = refused(settings, ended.output)
            if refusal is not None:
                name, words = refusal
                raise InputError(name, f"{title} does not take `{settings[name]}`: {words}")
            why = last_words(ended.output) or f"it ended with code {ended.code}"
            raise SystemFailed(f"{title} does not start on {places.data}: {why}")
        if time.monotonic() > end:
            said = server.last_words() or "it wrote nothing"
            raise SystemFailed(f"{title} on {places.data} did not answer within {_START_TIMEOUT_S:g} s: {said}")


def _places(installation: Installation, family: Family, data: Path, work: Path, account: Account | None) -> Places:
    for directory in (data, work):
        if not directory.is_dir():
            raise SystemFailed(f"{directory}: there is no such directory")
    for program in installation.programs.values():
        check_reach(program, account)
    try:
        open_way(work, account)
        if data.parent != work and work in data.parents:
            for path in reversed(data.parents):
                if work in path.parents:
                    open_way(path, account)
        check_reach(data, account)
        hand_over(data, account)
    except OSError as error:
        raise SystemFailed(f"{error.filename}: {reason(error)}") from error
    token = secrets.token_hex(4)
    own = work / f"server-{token}"
    sockets = own
    if not _fits(sockets / family.SOCKET):
        sockets = Path(tempfile.gettempdir()) / f"dbdyno-{token}"
        if not _fits(sockets / family.SOCKET) or shut_out(sockets.parent, account) is not None:
            problem = f"{sockets.parent}: a socket cannot lie there, nor below {work}, whose path is too long"
            raise SystemFailed(f"{problem}: set TMPDIR to a directory with a short path that every user may enter")
    return Places(data, own, sockets)


def _fits(socket: Path) -> bool:
    return len(os.fsencode(socket)) <= _SOCKET_BYTES
