"""What is known of a server when advice is given: its settings in force, its data, and how many clients it has."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Self

from dbdyno.model.events.trial import TrialResult

_SIZE = re.compile(r"(\d+)\s*([A-Za-z]*)")
_UNITS = {"": 1, "b": 1, "kb": 2**10, "mb": 2**20, "gb": 2**30, "tb": 2**40}


@dataclass(frozen=True)
class Server:
    """A server as it was read back.

    ``data_bytes``: of its tables and indexes, ``None`` where it does not tell; ``storage_engines``: of the tables that
    the statements name, none where it has no such thing.
    """

    product: str
    settings: Mapping[str, str]
    clients: int
    data_bytes: int | None = None
    storage_engines: frozenset[str] = frozenset()

    @classmethod
    def of(cls, result: TrialResult, clients: int) -> Self:
        """Read what a trial's result says of its server."""
        engine = result.engine
        kinds = frozenset(each.storage_engine.lower() for each in engine.catalog.tables if each.storage_engine)
        return cls(engine.engine, engine.settings, clients, engine.catalog.data_bytes, kinds)

    def setting(self, name: str) -> str:
        """Give a setting in small letters; empty where it is not known."""
        return self.settings.get(name, "").lower()

    def is_on(self, name: str) -> bool:
        """Whether a switch is on; one that is not known is not."""
        return self.setting(name) in ("on", "1", "yes", "true")

    def bytes_of(self, name: str) -> int | None:
        """Give a size that is set, in bytes; ``None`` where it is not known."""
        found = _SIZE.fullmatch(self.setting(name))
        unit = _UNITS.get(found[2]) if found else None
        return int(found[1]) * unit if found and unit else None

    @property
    def unread(self) -> str:
        """What to do where nobody can read how busy it is: more rounds do not tell."""
        return (
            "how busy the server is cannot be read from here: look at its machine's processors (top), or measure the "
            "same on a server that dbdyno starts"
        )

    @property
    def buffer(self) -> str:
        """The name of the setting that says how large the cache of pages is; empty where that is not known."""
        return ""

    @property
    def data_fit(self) -> bool | None:
        """Whether the cache of pages is as large as the data; ``None`` where that is not known."""
        size = self.bytes_of(self.buffer) if self.buffer else None
        return None if size is None or self.data_bytes is None else size >= self.data_bytes

    @property
    def flushes_commits(self) -> bool | None:
        """Whether a commit waits until a log is on the device, by the settings; ``None``: they do not tell."""
        return None

    def without_flush(self) -> str:
        """Say which settings would spare commits the wait for the device; empty where none is known.

        It is asked where commits wait for it.
        """
        return ""

    def against_table_locks(self) -> Iterator[str]:
        """Give what would help against waiting for locks on tables, clauses."""
        yield "fewer writers at a time"


def size(count: int) -> str:
    """Write a number of bytes as servers do, with the largest unit that it has one of at least."""
    for unit, factor in (("GB", 2**30), ("MB", 2**20), ("kB", 2**10)):
        if count >= factor:
            # Up to the next unit there are four digits, which would be written with a power of ten.
            return f"{count / factor:.{3 if count < 1000 * factor else 4}g} {unit}"
    return f"{count} bytes"
