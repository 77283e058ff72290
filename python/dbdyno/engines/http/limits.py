"""Limits that a service tells of in its replies: a status, and a word in the field ``error`` of the body."""

from collections.abc import Mapping

from dbdyno.engines.limits import Limit

_TOLD = (
    Limit("pool-exhausted", "all kept connections of a web server were in use", "`pool` of the web tier"),
    Limit(
        "too-many-connections",
        "the database took no further connection",
        "`max_connections` of the database (`db.max_connections`), or a smaller `pool` of the web tier",
    ),
    Limit(
        "too-many-open-files",
        "a web server may open no further file or connection",
        "`open_files` of the web tier (`ulimit -n`)",
    ),
    Limit(
        "out-of-ports",
        "there was no local port left for a connection to the database",
        "`net.ipv4.ip_local_port_range` of the machine, or kept connections (`persistent=on`)",
    ),
    Limit(
        "backlog-full",
        "the queue of the database's listening socket was full",
        "`net.core.somaxconn` of the machine, or kept connections (`persistent=on`)",
    ),
)

_BY_WORD: Mapping[str, Limit] = {each.name: each for each in _TOLD}


def limit_of_reply(code: str) -> Limit | None:
    """Give the limit that a reply tells of; ``None`` where it tells of none. ``code``: as ``503 pool-exhausted``."""
    return _BY_WORD.get(code.partition(" ")[2])
