"""Facts about PostgreSQL servers for advice: commits and cache."""

import re
from collections.abc import Iterator, Mapping

from dbdyno.engines.server.facts import Server


class PostgresqlServer(Server):
    """Facts read back from a PostgreSQL server."""

    @property
    def buffer(self) -> str:
        """The setting for the size of its page cache."""
        return "shared_buffers"

    @property
    def flushes_commits(self) -> bool | None:
        """Whether a commit waits until the log is on the device."""
        commit, fsync = self.setting("synchronous_commit"), self.setting("fsync")
        return None if not commit or not fsync else commit != "off" and fsync == "on"

    def without_flush(self) -> str:
        """Return the setting with which commits don't wait for a flush."""
        return "synchronous_commit=off saves it, and loses the last commits in a crash"

    def against_table_locks(self) -> Iterator[str]:
        """Yield advice for PostgreSQL's table locks, some of which don't conflict."""
        yield "shorter transactions, or statements whose table locks don't conflict"


_UNITS = {"B": 1, "kB": 2**10, "MB": 2**20, "GB": 2**30, "TB": 2**40}


def cache_bytes(settings: Mapping[str, str]) -> float | None:
    """Return the size of ``shared_buffers`` in bytes; ``None`` if unknown."""
    return size_bytes(settings.get("shared_buffers", ""))


def size_bytes(text: str) -> float | None:
    """Parse a size as the server prints it, such as ``16MB`` or ``128kB``; ``None`` if it isn't a size."""
    match = re.fullmatch(r"(\d+)([kMGT]?B)", text)
    return None if match is None else float(match[1]) * _UNITS[match[2]]
