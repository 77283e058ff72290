"""Limits that a load can meet: what each is, and the setting that lifts it, by the code of the failures that tell."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Limit:
    """A limit. ``name``: a word for programs; ``what``: what was met, a clause; ``lifts``: what lifts it, a noun."""

    name: str
    what: str
    lifts: str


_OPEN_FILES = Limit(
    "load-open-files",
    "the load generator may open no further connection",
    "`ulimit -n` of the shell that starts dbdyno",
)

OF_THE_LOAD: Mapping[str, Limit] = {
    "EMFILE": _OPEN_FILES,
    "ENFILE": Limit("load-open-files", "the machine may open no further file or connection", "`fs.file-max`"),
    "EADDRNOTAVAIL": Limit(
        "load-out-of-ports",
        "no local port was left for a connection of the load generator",
        "`net.ipv4.ip_local_port_range` of its machine, connections that are kept, or a Unix socket",
    ),
    "EAGAIN": Limit(
        "load-backlog-full",
        "the queue of the listening socket was full that the load generator connects to",
        "the backlog that the server asks for, and `net.core.somaxconn`",
    ),
}
"""Those that the load generator meets itself, whatever it measures, by the name of the kernel's error."""
