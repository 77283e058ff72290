"""What a trial changes on purpose, for `dbdyno why` (crates/protocol/src/plan/changes.rs)."""

from __future__ import annotations

from dataclasses import dataclass, field

from dbdyno.model.plan.serialization import OMITTED


@dataclass(frozen=True, kw_only=True)
class Delay:
    """A delay of each call of a kind, in microseconds. Calls with the delay 0 are only counted."""

    delay_us: float


@dataclass(frozen=True, kw_only=True)
class ChangedSync:
    """A change of each flush of the device: a delay in microseconds, or ``skip`` it and report success."""

    delay_us: float | None = field(default=None, metadata=OMITTED)
    skip: bool = field(default=False, metadata=OMITTED)


@dataclass(frozen=True, kw_only=True)
class PreloadedServer:
    """The server that makes the calls. ``file``: shared by the worker and the library that the server preloads."""

    file: str


@dataclass(frozen=True, kw_only=True)
class Changes:
    """The changes by kind of call. ``own_files``: each client opens its own copy of the database file."""

    sync: ChangedSync | None = field(default=None, metadata=OMITTED)
    read: Delay | None = field(default=None, metadata=OMITTED)
    write: Delay | None = field(default=None, metadata=OMITTED)
    message: Delay | None = field(default=None, metadata=OMITTED)
    connect: Delay | None = field(default=None, metadata=OMITTED)
    transaction: Delay | None = field(default=None, metadata=OMITTED)
    server: PreloadedServer | None = field(default=None, metadata=OMITTED)
    own_files: bool = field(default=False, metadata=OMITTED)

    @property
    def in_files(self) -> bool:
        """Whether calls to the file system are changed or counted."""
        return any(each is not None for each in (self.sync, self.read, self.write))
