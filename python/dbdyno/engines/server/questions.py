"""What servers are asked for the Unix socket by which their clients could connect."""

from dataclasses import dataclass


@dataclass(frozen=True)
class SocketQuestions:
    """What a server is asked for its Unix socket, as SQL.

    ``place``: where it is, as clients are told. ``usual``: where it is where the server does not say. ``file``: its
    name in that place, with the server's port for ``{port}``; empty: the place is the socket itself. ``identity``: what
    no two servers answer alike.
    """

    place: str
    identity: str
    usual: tuple[str, ...] = ()
    file: str = ""
