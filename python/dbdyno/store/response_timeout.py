"""A server that has stopped answering: its connections are ended here, so that who waits for it goes on.

A network that falls silent is noticed by TCP. Of a server that stands still, as where its disk does, the kernel
acknowledges all the same.
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

ANSWERS_S = 60.0
"""Seconds that a statement may take: waiting for another's lock, it takes half of it at most."""

_LOOK_S = 0.25


class Answering:
    """The connections of an engine to a server, and since when it has been asked the last."""

    def __init__(self, engine: Engine) -> None:
        """Take an engine that has not connected yet."""
        self._connections: weakref.WeakSet[Any] = weakref.WeakSet()
        self._asked = time.monotonic()
        event.listen(engine, "connect", lambda connection, _record: self._connections.add(connection))
        event.listen(engine, "before_cursor_execute", lambda *_: self._ask())

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Watch over what is asked of the server meanwhile."""
        over = threading.Event()
        self._ask()
        watching = threading.Thread(target=self._watch, args=(over,), name="store", daemon=True)
        watching.start()
        try:
            yield
        finally:
            over.set()
            watching.join()

    def _ask(self) -> None:
        self._asked = time.monotonic()

    def _watch(self, over: threading.Event) -> None:
        while not over.wait(_LOOK_S):
            if time.monotonic() - self._asked > ANSWERS_S:
                for connection in list(self._connections):
                    _end(connection)
                self._ask()


def _end(connection: Any) -> None:
    """End a connection, as a server that ends does it."""
    # One that is closed already has no number.
    with suppress(Exception), socket.socket(fileno=os.dup(connection.fileno())) as copy:
        copy.shutdown(socket.SHUT_RDWR)


_OF: weakref.WeakKeyDictionary[Engine, Answering] = weakref.WeakKeyDictionary()


def watch(engine: Engine) -> None:
    """Have :func:`answering` watch over an engine to a server."""
    _OF[engine] = Answering(engine)


@contextmanager
def answering(engine: Engine) -> Iterator[None]:
    """Have what is asked of a server meanwhile fail where it does not answer for ``ANSWERS_S``; nothing of a file."""
    watched = _OF.get(engine)
    if watched is None:
        yield
        return
    with watched.watched():
        yield
