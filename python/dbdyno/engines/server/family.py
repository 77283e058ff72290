"""What differs between the families of servers."""

import signal
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from dbdyno.base.errors import InputError
from dbdyno.engines.server.programs import Installation


@dataclass(frozen=True)
class Job:
    """A program that makes data: its command line, what it reads, and the signal that ends it with its keeper."""

    command: tuple[str, ...]
    input: str = ""
    death_signal: int = signal.SIGKILL


@dataclass(frozen=True)
class Places:
    """Directories of one running server, of its user alone: for its socket, for files it makes, and with its data."""

    data: Path
    own: Path
    socket: Path


class Family(Protocol):
    """A family of servers: a module."""

    # The user of the machine that the packages of the servers make, where one may not be root; None: root will do.
    ACCOUNT: str | None
    # How to get one that can be started here, and how to name one; clauses.
    INSTALL: str
    PROGRAMS: str
    # What a server is started with to be filled, by product: nothing has to survive a crash, and little log is to be
    # left behind.
    LOADING: Mapping[str, Mapping[str, str]]
    # The parameter that says how many may connect at once; None: as many as the machine has descriptors for.
    CONNECTIONS: str | None

    # The database that lies in fresh data, empty.
    DATABASE: str
    # The user of the database, who needs no password (empty: nobody logs in); the number in the socket's name, and its
    # name.
    USER: str
    PORT: int
    SOCKET: str
    # What asks the server to end, the mildest first, and what ends it when its keeper is killed.
    STOP: tuple[int, ...]
    DEATH: int
    # The directories it needs in its own.
    DIRECTORIES: tuple[str, ...]

    def servers(self) -> Iterator[Path]:
        """Find the programs on this machine that may be a server; one may come twice."""

    def describe(self, server: Path) -> Installation | None:
        """Give the installation of which a program is the server; ``None``: of none, or it lacks what it needs."""

    def address(self, places: "Places") -> Path:
        """Give what clients are told of the server's socket: itself, or its directory."""

    def jobs(self, installation: Installation, directory: Path) -> Sequence[Job]:
        """Give the programs that make fresh data, in order."""

    def check_settings(self, installation: Installation, settings: Mapping[str, str]) -> None:
        """Raise InputError for a setting that is dbdyno's to make, or no name at all."""

    def command(
        self, installation: Installation, places: Places, settings: Mapping[str, str], tcp_port: int | None = None
    ) -> Sequence[str]:
        """Give the server's command line. ``tcp_port``: a port of the loopback interface to listen on as well."""

    def is_ready(self, places: Places, pid: int) -> bool:
        """Whether the server with this process id answers."""


def check_value(name: str, value: str) -> None:
    """Raise InputError for a value that no command line can hold."""
    if "\0" in value:
        raise InputError(name, "the value holds a character of code 0", "take it away")


def reserved(name: str) -> InputError:
    """Make the error of a setting that is dbdyno's to make."""
    return InputError(name, "dbdyno itself sets this on the servers it starts", "leave it out")
