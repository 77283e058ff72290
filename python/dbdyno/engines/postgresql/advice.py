"""What the settings of a PostgreSQL say of its commits and its cache."""

import re
from collections.abc import Iterator, Mapping

from dbdyno.engines.server.facts import Server


class PostgresqlServer(Server):
    """A PostgreSQL as it was read back."""

    @property
    def buffer(self) -> str:
        """The setting of its cache of pages."""
        return "shared_buffers"

    @property
    def flushes_commits(self) -> bool | None:
        """Whether a commit waits until the log is on the device."""
        commit, fsync = self.setting("synchronous_commit"), self.setting("fsync")
        return None if not commit or not fsync else commit != "off" and fsync == "on"

    def without_flush(self) -> str:
        """Name the setting that lets commits go before."""
        return "synchronous_commit=off saves it, and loses the last commits in a crash"

    def against_table_locks(self) -> Iterator[str]:
        """PostgreSQL has locks on tables that let one another pass."""
        yield "shorter transactions, or statements whose locks on the table let one another pass"


_UNITS = {"B": 1, "kB": 2**10, "MB": 2**20, "GB": 2**30, "TB": 2**40}


def cache_bytes(settings: Mapping[str, str]) -> float | None:
    """Give the size of ``shared_buffers``."""
    return size_bytes(settings.get("shared_buffers", ""))


def size_bytes(text: str) -> float | None:
    """Read a size as the server writes it: ``16MB``, ``128kB``; ``None`` for what is none."""
    found = re.fullmatch(r"(\d+)([kMGT]?B)", text)
    return None if found is None else float(found[1]) * _UNITS[found[2]]
