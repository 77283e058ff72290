"""Limits that a load can reach, by error code, and the settings that raise them."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Limit:
    """A limit. ``name``: its identifier; ``what``: what was reached, a clause; ``lifts``: what raises it, a noun."""

    name: str
    what: str
    lifts: str


_OPEN_FILES = Limit(
    "load-open-files",
    "the load generator can't open more connections",
    "`ulimit -n` of the shell that starts dbdyno",
)

LOAD_LIMITS: Mapping[str, Limit] = {
    "EMFILE": _OPEN_FILES,
    "ENFILE": Limit("load-open-files", "the machine can't open more files or connections", "`fs.file-max`"),
    "EADDRNOTAVAIL": Limit(
        "load-out-of-ports",
        "no local port was left for a connection of the load generator",
        "`net.ipv4.ip_local_port_range` of its machine, persistent connections, or a Unix socket",
    ),
    "EAGAIN": Limit(
        "load-backlog-full",
        "the accept queue of the server's listening socket was full",
        "the backlog that the server requests, and `net.core.somaxconn`",
    ),
}
"""Limits of the load generator itself, for every engine, by the name of the kernel's error."""
