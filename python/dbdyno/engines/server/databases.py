"""How to create and remove databases on a running server, and how to log in: described by each engine."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, kw_only=True)
class Databases:
    """``port``: the default port. ``always``: a database that always exists, to connect to.

    In statements, ``{name}`` represents the database's name, and ``{template}`` the name of the database to copy.
    ``create``: ``None``: inserting creates the database. ``copy``: ``None``: databases can't be copied, so each one is
    loaded. ``drop``: the statement that removes a database; ``drop_within``: it is sent to the database itself.

    ``session_lock``: whether the server has locks that end with a session, by which runs detect one another.
    ``needs_user``: whether to send a user name if the URL has none. ``tls``: whether connections can be encrypted.
    ``read_only``: when to open read-only sessions: always, or only for sessions that are opened once, because the
    engine needs a statement for it, which would be measured with each connection.
    """

    port: int
    always: str
    create: str | None = "create database {name}"
    copy: str | None = None
    drop: str = "drop database if exists {name}"
    drop_within: bool = False
    session_lock: bool = False
    needs_user: bool = True
    tls: bool = True
    read_only: Literal["always", "once", "never"] = "never"
