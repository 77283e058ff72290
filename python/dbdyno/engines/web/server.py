"""Start web servers: the web application as a supervised process, which ends with dbdyno."""

import json
import secrets
import signal
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dbdyno.base.errors import SystemFailed
from dbdyno.engines.server.environment import environment
from dbdyno.engines.server.log import last_words
from dbdyno.engines.web.process import CHECK_S, START_TIMEOUT_S, WebProcess, read_log
from dbdyno.runtime.supervisor.process import SupervisedProcess
from dbdyno.runtime.supervisor.task import Task

_LOG = "log"


class WebServer(WebProcess):
    """A running web server. ``said``: the properties that it printed when it started, by name."""

    def __init__(self, kept: SupervisedProcess, log: Path, said: Mapping[str, Any]) -> None:
        """``kept``: its supervised process; ``log``: its log file."""
        super().__init__(kept, log, str(said["listening"]), "the web server")
        self.said = said


def start_web_server(
    program: Path,
    database: str,
    work: Path,
    options: Sequence[str] = (),
    *,
    held: int | None = None,
    under: Sequence[str] = (),
) -> WebServer:
    """Start a web server on a free port of the loopback interface, and return when it listens.

    ``database``: the URL of its database, passed in the environment so that process lists don't show it. ``work``: the
    directory in which its own directory is created. ``options``: its command-line options. ``held``: a file descriptor
    that stays open until the server has ended completely, even if dbdyno is killed. ``under``: a program that starts
    it, with options, such as ``taskset``. Raises SystemFailed if it doesn't start within 30 seconds.
    """
    own = work.absolute() / f"web-{secrets.token_hex(4)}"
    log = own / _LOG
    task = Task(
        command=(*under, str(program), "--listen", "127.0.0.1:0", *options),
        environment=environment() | {"DATABASE_URL": database},
        directory=str(work.absolute()),
        owner=None,
        stop=(signal.SIGTERM,),
        death_signal=signal.SIGKILL,
        log=str(log),
        make=(str(own),),
        remove=(str(own),),
    )
    kept = SupervisedProcess(task, held)
    try:
        return WebServer(kept, log, _await(kept, log))
    except BaseException:
        kept.stop(0.0)
        raise


def _await(kept: SupervisedProcess, log: Path) -> Mapping[str, Any]:
    end = time.monotonic() + START_TIMEOUT_S
    while True:
        ended = kept.wait(CHECK_S)
        if ended is not None:
            why = last_words(ended.output) or f"it ended with exit code {ended.code}"
            raise SystemFailed(f"the web server does not start: {why}")
        line, newline, _ = read_log(log).partition("\n")
        if newline and line.startswith("{"):
            said: Mapping[str, Any] = json.loads(line)
            return said
        if time.monotonic() > end:
            raise SystemFailed(
                f"the web server did not start within {START_TIMEOUT_S:g} s: {line or 'it wrote nothing'}"
            )
