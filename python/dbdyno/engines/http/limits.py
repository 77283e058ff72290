"""Limits that a service reports in replies: a status, and an identifier in the field ``error`` of the body."""

from collections.abc import Mapping

from dbdyno.engines.limits import Limit

_REPORTED = (
    Limit("pool-exhausted", "all pooled connections of a web server were in use", "the web tier's `pool`"),
    Limit(
        "too-many-connections",
        "the database accepted no more connections",
        "the database's `max_connections` (`db.max_connections`), or a smaller `pool` of the web tier",
    ),
    Limit(
        "too-many-open-files",
        "a web server can't open more files or connections",
        "the web tier's `open_files` (`ulimit -n`)",
    ),
    Limit(
        "out-of-ports",
        "no local port was left for a connection to the database",
        "the machine's `net.ipv4.ip_local_port_range`, or persistent connections (`persistent=on`)",
    ),
    Limit(
        "backlog-full",
        "the queue of the database's listening socket was full",
        "the machine's `net.core.somaxconn`, or persistent connections (`persistent=on`)",
    ),
)

_BY_WORD: Mapping[str, Limit] = {limit.name: limit for limit in _REPORTED}


def limit_of_reply(code: str) -> Limit | None:
    """Return the limit that a reply reports; ``None`` if it reports none. ``code``: e.g. ``503 pool-exhausted``."""
    return _BY_WORD.get(code.partition(" ")[2])
