"""A timeout for servers that stop responding: dbdyno closes its connections, so that the waiting thread fails.

TCP detects an interrupted network. It doesn't detect a server that hangs, for example because of its disk: the
server's kernel still acknowledges all packets.
"""

from __future__ import annotations

import os
import socket
import threading
import time
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from sqlalchemy import Engine, event

RESPONSE_TIMEOUT_S = 60.0
"""Maximum time of a statement in seconds; twice the lock timeout, so waiting for a lock doesn't exceed it."""

_CHECK_INTERVAL_S = 0.25


class ResponseTimeout:
    """The connections of an engine to a server, and the start time of the last statement."""

    def __init__(self, engine: Engine) -> None:
        """``engine`` must not have connected yet."""
        self._connections: weakref.WeakSet[Any] = weakref.WeakSet()
        self._last_start = time.monotonic()
        event.listen(engine, "connect", lambda connection, _record: self._connections.add(connection))
        event.listen(engine, "before_cursor_execute", lambda *_: self._restart())

    @contextmanager
    def enforced(self) -> Iterator[None]:
        """Close all connections if a statement takes too long while the context lasts."""
        done = threading.Event()
        self._restart()
        thread = threading.Thread(target=self._watch, args=(done,), name="store", daemon=True)
        thread.start()
        try:
            yield
        finally:
            done.set()
            thread.join()

    def _restart(self) -> None:
        self._last_start = time.monotonic()

    def _watch(self, done: threading.Event) -> None:
        while not done.wait(_CHECK_INTERVAL_S):
            if time.monotonic() - self._last_start > RESPONSE_TIMEOUT_S:
                for connection in list(self._connections):
                    _shut_down(connection)
                self._restart()


def _shut_down(connection: Any) -> None:
    """Shut the socket down, so that the thread that waits for it sees the end of the connection."""
    # fileno() fails if the connection is closed already.
    with suppress(Exception), socket.socket(fileno=os.dup(connection.fileno())) as copy:
        copy.shutdown(socket.SHUT_RDWR)


_TIMEOUTS: weakref.WeakKeyDictionary[Engine, ResponseTimeout] = weakref.WeakKeyDictionary()


def enable_response_timeout(engine: Engine) -> None:
    """Make :func:`response_timeout` apply to an engine, which must be connected to a server."""
    _TIMEOUTS[engine] = ResponseTimeout(engine)


@contextmanager
def response_timeout(engine: Engine) -> Iterator[None]:
    """While the context lasts, statements on a server fail after ``RESPONSE_TIMEOUT_S``. Does nothing for a file."""
    timeout = _TIMEOUTS.get(engine)
    if timeout is None:
        yield
        return
    with timeout.enforced():
        yield
