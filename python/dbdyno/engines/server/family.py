"""The interface of server families: what differs between them."""

import signal
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from dbdyno.base.errors import InputError
from dbdyno.engines.server.programs import Installation


@dataclass(frozen=True)
class Job:
    """A program that creates data: its command line, its input, and the signal it gets if its supervisor dies."""

    command: tuple[str, ...]
    input: str = ""
    death_signal: int = signal.SIGKILL


@dataclass(frozen=True)
class ServerPaths:
    """Private directories of one running server: for its data, its other files and its socket."""

    data: Path
    own: Path
    socket: Path


class Family(Protocol):
    """A family of servers, implemented by a module."""

    # The user that the servers' packages create, if the server refuses to run as root; None: it may run as root.
    ACCOUNT: str | None
    # How to install a server that dbdyno can start, and how to name its program; clauses.
    INSTALL: str
    PROGRAMS: str
    # Settings of a server while its tables are loaded, by product: nothing must survive a crash, and little log should
    # remain.
    LOADING: Mapping[str, Mapping[str, str]]
    # The parameter that limits the number of connections; None: file descriptors are the only limit.
    CONNECTIONS: str | None

    # The empty database in new data.
    DATABASE: str
    # The database user, who needs no password (empty: no login); the port number in the socket's name; the socket's
    # file name.
    USER: str
    PORT: int
    SOCKET: str
    # Signals that stop the server, the mildest first, and the signal that it gets if its supervisor is killed.
    STOP: tuple[int, ...]
    DEATH: int
    # Subdirectories that the server needs in its own directory.
    DIRECTORIES: tuple[str, ...]

    def servers(self) -> Iterator[Path]:
        """Find the programs on this machine that may be a server; duplicates are possible."""

    def describe(self, server: Path) -> Installation | None:
        """Return the installation that a server program belongs to; ``None``: no server, or incomplete."""

    def address(self, paths: "ServerPaths") -> Path:
        """Return the socket's address for clients: its path or its directory."""

    def jobs(self, installation: Installation, directory: Path) -> Sequence[Job]:
        """Return the programs that create new data, in order."""

    def check_settings(self, installation: Installation, settings: Mapping[str, str]) -> None:
        """Raise InputError for a setting that dbdyno sets itself, or an invalid name."""

    def command(
        self, installation: Installation, paths: ServerPaths, settings: Mapping[str, str], tcp_port: int | None = None
    ) -> Sequence[str]:
        """Return the server's command line. ``tcp_port``: an additional port on the loopback interface."""

    def is_ready(self, paths: ServerPaths, pid: int) -> bool:
        """Whether the server with this process id answers."""


def check_value(name: str, value: str) -> None:
    """Raise InputError for a value that a command line can't contain."""
    if "\0" in value:
        raise InputError(name, "the value contains a NUL character", "remove it")


def reserved(name: str) -> InputError:
    """Return the error for a setting that dbdyno sets itself."""
    return InputError(name, "dbdyno sets this itself on the servers it starts", "leave it out")
