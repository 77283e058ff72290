"""Web servers: the web application as a process of its own, which ends with dbdyno."""

import json
import os
import secrets
import signal
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from dbdyno.engines.server.kept import Kept
from dbdyno.engines.server.log import last_words
from dbdyno.engines.server.task import Task
from dbdyno.errors import SystemFailed, reason

# Seconds between two looks at one that comes up. Its end is noticed at once.
_LOOK_S = 0.005

# Seconds that requests at work have to end, as the application itself has it, and a little more.
_GRACE_S = 6.0

_LOG = "log"


@dataclass(frozen=True)
class Started:
    """What one said when it began.

    ``address``: the host and the port that it listens on; ``said``: all of it, by name.
    """

    address: str
    said: Mapping[str, Any]

    @property
    def url(self) -> str:
        """Where requests go."""
        return f"http://{self.address}/"


class WebServer:
    """A running web server. ``pid``: its process; ``started``: what it said."""

    def __init__(self, kept: Kept, log: Path, started: Started) -> None:
        """``kept``: its process; ``log``: what it writes to."""
        self._kept = kept
        self._log = log
        self.pid = kept.pid
        self.started = started

    @property
    def url(self) -> str:
        """Where requests go."""
        return self.started.url

    def alive(self) -> bool:
        """Whether it runs."""
        return self._kept.alive()

    def last_words(self) -> str:
        """Give the end of what it wrote, behind the line that it began with."""
        return _words(self._kept, self._log)

    def kill(self) -> None:
        """Kill its process; :meth:`stop` removes the rest."""
        self._kept.kill()

    def stop(self, grace_s: float = _GRACE_S) -> bool:
        """End it when the requests at work are done, and say whether that was clean. A second call does nothing.

        Raises SystemFailed where it cannot be ended.
        """
        return self._kept.stop(grace_s)

    def __enter__(self) -> "WebServer":
        """Give it."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop it."""
        self.stop()


def start_web_server(
    program: Path,
    database: str,
    work: Path,
    options: Sequence[str] = (),
    timeout_s: float = 30.0,
    held: int | None = None,
    under: Sequence[str] = (),
) -> WebServer:
    """Start a web server on a free port of the loopback interface, and return when it listens.

    ``database``: the URL of its database, which no process list shows. ``work``: where a directory of its own is made.
    ``options``: of its command line. ``held``: a descriptor that stays open until nothing of it is left, also where
    dbdyno is killed. ``under``: a program that starts it, with its options, such as ``taskset``. Raises SystemFailed
    where it does not start within ``timeout_s`` seconds.
    """
    own = work.absolute() / f"web-{secrets.token_hex(4)}"
    log = own / _LOG
    task = Task(
        command=(*under, str(program), "--listen", "127.0.0.1:0", *options),
        environment={**os.environ, "DATABASE_URL": database},
        directory=str(work.absolute()),
        owner=None,
        stop=(signal.SIGTERM,),
        death_signal=signal.SIGKILL,
        log=str(log),
        make=(str(own),),
        remove=(str(own),),
    )
    kept = Kept(task, held)
    try:
        return WebServer(kept, log, _await(kept, log, timeout_s))
    except BaseException:
        kept.stop(0.0)
        raise


def _await(kept: Kept, log: Path, timeout_s: float) -> Started:
    end = time.monotonic() + timeout_s
    while True:
        ended = kept.wait(_LOOK_S)
        if ended is not None:
            why = last_words(ended.output) or f"it ended with code {ended.code}"
            raise SystemFailed(f"the web server does not start: {why}")
        line, newline, _ = _read(log).partition("\n")
        if newline and line.startswith("{"):
            said: dict[str, Any] = json.loads(line)
            return Started(str(said["listening"]), said)
        if time.monotonic() > end:
            raise SystemFailed(f"the web server did not begin within {timeout_s:g} s: {line or 'it wrote nothing'}")


def _words(kept: Kept, log: Path) -> str:
    text = _read(log) if kept.ended is None else kept.ended.output
    return last_words("\n".join(line for line in text.splitlines() if not line.startswith("{")))


def _read(log: Path) -> str:
    try:
        return log.read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return ""
    except OSError as error:
        raise SystemFailed(f"{log}: {reason(error)}") from error
