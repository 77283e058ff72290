"""One change of a cell, which `dbdyno why` measures beside the cell as it is: what is made slower, or free."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, Self

#: What is changed. The first seven are what injected delays have names for in a plan, and competing programs.
Resource = Literal[
    "flush",
    "read",
    "write",
    "message",
    "connect",
    "client",
    "processors",
    "cache",
    "locks",
    "parsing",
    "thinking",
]

#: ``slower``: how sensitive is it? ``free``: what would it gain?
Kind = Literal["slower", "free"]

#: How the size of a change is known: ``delay``, microseconds that each call takes longer; ``share``, of each processor,
#: that another program takes; ``ratio``, by which something is smaller than it is; ``none``: it has no size.
Scale = Literal["delay", "share", "ratio", "none"]

UNCHANGED = "unchanged"
"""The level of the cell as it is."""

AGAIN = "unchanged again"
"""The level of the same: all changes of a block are held against it, so that it is measured twice."""

CHANGE = "change"
"""The factor whose levels are the changes."""

INJECTED: Mapping[Resource, str] = {
    "flush": "sync",
    "read": "read",
    "write": "write",
    "message": "message",
    "connect": "connect",
    "client": "transaction",
}
"""By resource, what a plan calls the kind of calls whose delay makes it slower."""


@dataclass(frozen=True)
class Change:
    """A change, and how it is made.

    ``level``: its name, as results have it; ``does``: what it does, a clause. ``size``: as ``scale`` says; ``own_us``:
    what a call takes by itself, where no counter tells.

    How it is made: ``injected``, by kind of call, as in the field ``changes`` of a plan; ``settings`` of the system, in
    the place of those it has; ``load``: keys of an experiment's ``load`` with other values; ``competitor``: the share
    of each processor that another program takes; ``processors``: those that all may use, by number; ``own_keys``: each
    client has keys that no other one has; ``own_files``: each has a copy of the database's file;
    ``no_thinking``: transactions have no pauses; ``address``: by what a plan names the system to reach it another way.
    """

    level: str
    resource: Resource
    kind: Kind
    does: str
    scale: Scale = "none"
    size: float = 0.0
    own_us: float | None = None
    injected: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    settings: Mapping[str, str] = field(default_factory=dict)
    load: Mapping[str, Any] = field(default_factory=dict)
    competitor: float = 0.0
    processors: tuple[int, ...] = ()
    own_keys: bool = False
    own_files: bool = False
    no_thinking: bool = False
    address: Mapping[str, Any] = field(default_factory=dict)

    def stored(self) -> dict[str, Any]:
        """Return it as a run's design has it."""
        return asdict(self) | {"processors": list(self.processors)}

    @classmethod
    def read(cls, stored: Mapping[str, Any]) -> Self:
        """Read it from a run's design."""
        return cls(**{**stored, "processors": tuple(stored["processors"])})
