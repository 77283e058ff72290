"""Queries that find a server's Unix socket."""

from dataclasses import dataclass


@dataclass(frozen=True)
class SocketQueries:
    """SQL queries that find a server's Unix socket.

    ``place``: returns its location for clients. ``usual``: default locations, if the server doesn't return one.
    ``file``: its file name in that directory, with ``{port}`` for the server's port; empty: the location is the socket
    itself. ``identity``: returns a value that is unique to each server.
    """

    place: str
    identity: str
    usual: tuple[str, ...] = ()
    file: str = ""
