"""A supervised process of a web tier: a web server or a proxy. It ends with dbdyno."""

import socket
import time
from pathlib import Path
from types import TracebackType
from typing import Self

from dbdyno.base.errors import SystemFailed, reason
from dbdyno.engines.server.log import last_words
from dbdyno.runtime.supervisor.process import ProcessEnd, SupervisedProcess

# Seconds between checks of a starting process. dbdyno notices its end immediately.
CHECK_S = 0.005

START_TIMEOUT_S = 30.0
"""Time limit in seconds for a web server or a proxy to listen."""

# Seconds within which a supervisor reports the end of its process.
_NOTICE_S = 2.0

# Time limit in seconds for running requests to finish: the application's own limit plus a margin.
_GRACE_S = 6.0


class WebProcess:
    """A running process of a web tier.

    ``pid``: its first process; ``address``: the host and port on which it listens; ``title``: its name in messages.
    """

    def __init__(self, kept: SupervisedProcess, log: Path, address: str, title: str) -> None:
        """``kept``: its supervised process; ``log``: its log file."""
        self._kept = kept
        self._log = log
        self.pid = kept.pid
        self.address = address
        self.title = title

    @property
    def url(self) -> str:
        """The URL that accepts requests."""
        return f"http://{self.address}/"

    def alive(self) -> bool:
        """Whether it is running."""
        return self._kept.alive()

    def ends_soon(self) -> bool:
        """Wait up to 2 s for its end; return whether it has ended."""
        return not self.alive() or self._kept.wait(_NOTICE_S) is not None

    def last_words(self) -> str:
        """Return the last errors or lines of its log, without JSON lines."""
        text = read_log(self._log) if self._kept.ended is None else self._kept.ended.output
        return last_words("\n".join(line for line in text.splitlines() if not line.startswith("{")))

    def kill(self) -> None:
        """Kill its process; call :meth:`stop` to remove its files."""
        self._kept.kill()

    def stop(self, grace_s: float = _GRACE_S) -> bool:
        """Stop it after running requests have finished, and return whether the shutdown was clean.

        A second call does nothing. Raises SystemFailed if it can't be stopped.
        """
        return self._kept.stop(grace_s)

    def __enter__(self) -> Self:
        """Return the process."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop it."""
        self.stop()


def await_port(kept: SupervisedProcess, port: int, timeout_s: float, title: str) -> ProcessEnd | None:
    """Wait until a process listens on a loopback port. Return how it ended if it ended first, otherwise ``None``.

    Raises SystemFailed after ``timeout_s`` seconds.
    """
    end = time.monotonic() + timeout_s
    while True:
        ended = kept.wait(CHECK_S)
        if ended is not None:
            return ended
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1.0).close()
        except OSError:
            if time.monotonic() > end:
                raise SystemFailed(f"{title} did not listen within {timeout_s:g} s") from None
        else:
            return None


def read_log(log: Path) -> str:
    """Return a log's content; empty if the file doesn't exist yet. Raises SystemFailed."""
    try:
        return log.read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return ""
    except OSError as error:
        raise SystemFailed(f"{log}: {reason(error)}") from error
