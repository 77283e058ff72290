"""How databases are made and removed on a server that runs already, and who is let in: what each engine says of it."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, kw_only=True)
class Databases:
    """``port``: of a server whose URL names none. ``always``: the database that is always there to connect to.

    In statements ``{name}`` stands for a database's name, and ``{template}`` for that of one to copy. ``create``:
    ``None``: one is there as soon as something is in it. ``copy``: ``None``: none can be copied, and each is filled.
    ``drop``: where ``drop_within``, it is sent to the database itself.

    ``session_lock``: whether the server has locks that go with a session, by which runs know of one another.
    ``needs_user``: whether a name is sent where the URL has none. ``tls``: whether connections can be encrypted.
    ``read_only``: when the server is told that a session only reads: always, or where it is opened once, because it is
    told by a statement, which would be a part of what is measured.
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
