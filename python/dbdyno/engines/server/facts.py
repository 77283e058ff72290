"""The facts on which advice about a server is based: its settings in effect, its data and its number of clients."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Self

from dbdyno.model.events.trial import TrialResult

_SIZE = re.compile(r"(\d+)\s*([A-Za-z]*)")
_UNITS = {"": 1, "b": 1, "kb": 2**10, "mb": 2**20, "gb": 2**30, "tb": 2**40}


@dataclass(frozen=True)
class Server:
    """The facts read back from a server.

    ``data_bytes``: size of its tables and indexes, ``None`` if unknown; ``storage_engines``: storage engines of the
    tables in the statements, empty if the server doesn't have storage engines.
    """

    product: str
    settings: Mapping[str, str]
    clients: int
    data_bytes: int | None = None
    storage_engines: frozenset[str] = frozenset()

    @classmethod
    def of(cls, result: TrialResult, clients: int) -> Self:
        """Create the facts from a trial's result."""
        engine = result.engine
        kinds = frozenset(table.storage_engine.lower() for table in engine.catalog.tables if table.storage_engine)
        return cls(engine.engine, engine.settings, clients, engine.catalog.data_bytes, kinds)

    def setting(self, name: str) -> str:
        """Return a setting in lower case; empty if unknown."""
        return self.settings.get(name, "").lower()

    def is_on(self, name: str) -> bool:
        """Whether a Boolean setting is on; unknown settings are off."""
        return self.setting(name) in ("on", "1", "yes", "true")

    def bytes_of(self, name: str) -> int | None:
        """Return a size setting in bytes; ``None`` if unknown."""
        match = _SIZE.fullmatch(self.setting(name))
        unit = _UNITS.get(match[2]) if match else None
        return int(match[1]) * unit if match and unit else None

    @property
    def unread(self) -> str:
        """What to do if dbdyno can't read the server's CPU time; more rounds wouldn't help."""
        return (
            "dbdyno can't read the server's CPU usage: check it on the server's machine (top), or measure the same on "
            "a server that dbdyno starts"
        )

    @property
    def buffer(self) -> str:
        """The name of the setting for the size of the page cache; empty if unknown."""
        return ""

    @property
    def data_fit(self) -> bool | None:
        """Whether the page cache is at least as large as the data; ``None`` if unknown."""
        size = self.bytes_of(self.buffer) if self.buffer else None
        return None if size is None or self.data_bytes is None else size >= self.data_bytes

    @property
    def flushes_commits(self) -> bool | None:
        """Whether commits wait until the log is on the device, according to the settings; ``None``: unknown."""
        return None

    def without_flush(self) -> str:
        """Return which settings would let commits not wait for the device; empty if none is known.

        Called only if commits wait for the device.
        """
        return ""

    def against_table_locks(self) -> Iterator[str]:
        """Yield advice against waiting for table locks."""
        yield "fewer writers at a time"


def size(count: int) -> str:
    """Format a number of bytes as servers do, in the largest unit of which it is at least one."""
    for unit, factor in (("GB", 2**30), ("MB", 2**20), ("kB", 2**10)):
        if count >= factor:
            # 1000 to 1023 have four digits; with three, `g` would switch to a power of ten.
            return f"{count / factor:.{3 if count < 1000 * factor else 4}g} {unit}"
    return f"{count} bytes"
