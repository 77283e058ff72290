"""A change of a cell, which `dbdyno why` compares with the unchanged cell: a resource is made slower or free."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, Self

#: The resource that is changed. Delays are injected into the first six. For ``processors`` another program competes.
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

#: ``slower`` measures the sensitivity to a resource; ``free`` the gain without its cost.
Kind = Literal["slower", "free"]

#: The meaning of a change's size. ``delay``: microseconds added to each call. ``share``: the share of each CPU that
#: another program uses. ``ratio``: how many times smaller something becomes. ``none``: the change has no size.
Scale = Literal["delay", "share", "ratio", "none"]

UNCHANGED = "unchanged"
"""The level of the unchanged cell."""

AGAIN = "unchanged again"
"""The level of a second measurement of the unchanged cell in each round, because it is the baseline of all changes."""

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
"""By resource, the kind of calls in a plan whose delay makes the resource slower."""


@dataclass(frozen=True)
class Change:
    """A change of a cell. The fields from ``injected`` on say how to make it."""

    level: str
    """Its level of the factor ``change``, which names it in results."""
    resource: Resource
    """The resource that it makes slower or free."""
    kind: Kind
    """Whether it makes the resource slower or free."""
    does: str
    """Its effect, a clause."""
    scale: Scale = "none"
    """The meaning of ``size``."""
    size: float = 0.0
    """Microseconds, a share or a ratio, depending on ``scale``."""
    own_us: float | None = None
    """Microseconds of a call without the delay, if no counter measures it during the trial."""
    injected: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Delays by kind of call, as in the field ``changes`` of a plan."""
    settings: Mapping[str, str] = field(default_factory=dict)
    """Settings of the system, which replace its own."""
    load: Mapping[str, Any] = field(default_factory=dict)
    """Keys of the experiment's ``load`` with other values."""
    competitor: float = 0.0
    """The share of each CPU that another program uses."""
    processors: tuple[int, ...] = ()
    """The numbers of the CPUs that the system and the clients may use; empty for all."""
    own_keys: bool = False
    """Whether clients use disjoint sets of keys."""
    own_files: bool = False
    """Whether each client has its own copy of the database file."""
    no_thinking: bool = False
    """Whether transactions run without pauses."""
    address: Mapping[str, Any] = field(default_factory=dict)
    """Fields of the plan's target that connect to the system in another way."""

    def stored(self) -> dict[str, Any]:
        """Return the JSON object that a run's design stores."""
        return asdict(self) | {"processors": list(self.processors)}

    @classmethod
    def read(cls, stored: Mapping[str, Any]) -> Self:
        """Read a change from a run's design."""
        return cls(**{**stored, "processors": tuple(stored["processors"])})
