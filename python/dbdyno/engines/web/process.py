"""A process of a web tier, which ends with dbdyno: a web server, or what is before it."""

import socket
import time
from pathlib import Path
from types import TracebackType
from typing import Self

from dbdyno.base.errors import SystemFailed, reason
from dbdyno.engines.server.log import last_words
from dbdyno.runtime.supervisor.kept import Ended, Kept

# Seconds between two looks at one that comes up. Its end is noticed at once.
LOOK_S = 0.005

START_TIMEOUT_S = 30.0
"""Seconds in which a web server or a proxy has to listen."""

# Seconds in which a keeper reports that its process has ended.
_NOTICE_S = 2.0

# Seconds that requests at work have to end, as the application itself has it, and a little more.
_GRACE_S = 6.0


class WebProcess:
    """One that runs.

    ``pid``: its first process; ``address``: the host and port where it listens; ``title``: what people call it.
    """

    def __init__(self, kept: Kept, log: Path, address: str, title: str) -> None:
        """``kept``: its process; ``log``: what it writes to."""
        self._kept = kept
        self._log = log
        self.pid = kept.pid
        self.address = address
        self.title = title

    @property
    def url(self) -> str:
        """Where requests go."""
        return f"http://{self.address}/"

    def alive(self) -> bool:
        """Whether it runs."""
        return self._kept.alive()

    def seems_to_end(self) -> bool:
        """Whether it has ended, or does so in a moment."""
        return not self.alive() or self._kept.wait(_NOTICE_S) is not None

    def last_words(self) -> str:
        """Give the end of what it wrote, without what it begins with for programs."""
        text = read_log(self._log) if self._kept.ended is None else self._kept.ended.output
        return last_words("\n".join(line for line in text.splitlines() if not line.startswith("{")))

    def kill(self) -> None:
        """Kill its process; :meth:`stop` removes the rest."""
        self._kept.kill()

    def stop(self, grace_s: float = _GRACE_S) -> bool:
        """End it when the requests at work are done, and say whether that was clean. A second call does nothing.

        Raises SystemFailed where it cannot be ended.
        """
        return self._kept.stop(grace_s)

    def __enter__(self) -> Self:
        """Give it."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop it."""
        self.stop()


def await_port(kept: Kept, port: int, timeout_s: float, title: str) -> Ended | None:
    """Wait until a process listens on a port of the loopback interface; how it ended, where it did before.

    Raises SystemFailed where it does neither in time.
    """
    end = time.monotonic() + timeout_s
    while True:
        ended = kept.wait(LOOK_S)
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
    """Give what a process wrote; nothing where there is no such file yet. Raises SystemFailed."""
    try:
        return log.read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return ""
    except OSError as error:
        raise SystemFailed(f"{log}: {reason(error)}") from error
