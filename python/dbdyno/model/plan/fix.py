"""A fix: a change of a cell that a user could keep, with its price and what to write to have it."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, Self

from dbdyno.model.plan.change import Resource

#: What a fix takes in exchange. ``durability``: which commits a failure of the machine loses; ``isolation``: what a
#: transaction sees of others; ``staleness``: how old what it reads may be; ``exclusive``: who else may use the file;
#: ``memory``, ``space``, ``writes``: bytes in memory and on the device, and the time of what writes; ``recovery``: how
#: long a restart takes; ``latency``: what a single transaction waits for; ``use``: what the application must keep to.
PriceKind = Literal[
    "durability",
    "isolation",
    "staleness",
    "exclusive",
    "memory",
    "space",
    "writes",
    "recovery",
    "latency",
    "use",
]

#: Prices that change what may be relied on. A fix without one goes first where it gains as much.
SERIOUS: frozenset[PriceKind] = frozenset({"durability", "isolation"})

FIX = "fix "
"""How a fix is named as a level of the factor ``change``: this, and its own name."""


def is_fix(level: str) -> bool:
    """Whether a level of the factor ``change`` is a fix."""
    return level.startswith(FIX)


@dataclass(frozen=True)
class Price:
    """What a fix costs; ``text``: a clause; ``bytes``: of memory, where that is its kind and known."""

    kind: PriceKind
    text: str
    bytes: float | None = None


@dataclass(frozen=True)
class Source:
    """Where the documentation of an engine says it: its title, the section in it, and an address."""

    title: str
    section: str
    url: str

    @property
    def text(self) -> str:
        """The source as a reader looks it up."""
        return f"{self.title}, {self.section}"


@dataclass(frozen=True)
class Fix:
    """A fix, and how a cell is measured with it.

    ``name``: what it is called; ``does``: a clause; ``snippet``: the lines that apply it, and ``closing`` what comes
    after those of all fixes; ``against``: the resources of which it takes less; ``group``: of fixes with one group only
    one can be had.

    How it is made: ``settings`` of the system; ``load``: keys of an experiment's ``load``; ``statements``: run on the
    data before trials, as those that make an index; ``begins``: the mode in which transactions begin; ``batch``: so
    many transactions are done in one; ``reads``: the reads of a transaction are done in one; ``rows``: so many rows are
    inserted by one statement.
    """

    name: str
    does: str
    prices: tuple[Price, ...]
    source: Source
    snippet: tuple[str, ...]
    against: tuple[Resource, ...] = ()
    group: str = ""
    settings: Mapping[str, str] = field(default_factory=dict)
    load: Mapping[str, Any] = field(default_factory=dict)
    statements: tuple[str, ...] = ()
    begins: str = ""
    batch: int = 1
    reads: bool = False
    rows: int = 1
    closing: tuple[str, ...] = ()

    @property
    def lines(self) -> list[str]:
        """All that is to be written."""
        return [*self.snippet, *self.closing]

    @property
    def level(self) -> str:
        """Its level of the factor ``change``."""
        return FIX + self.name

    @property
    def is_serious(self) -> bool:
        """Whether its price changes what may be relied on."""
        return any(each.kind in SERIOUS for each in self.prices)

    @property
    def work(self) -> int:
        """How many transactions of the cell as it is one transaction does."""
        return self.batch * self.rows

    def stored(self) -> dict[str, Any]:
        """Return it as a run's design has it."""
        made = asdict(self)
        for name in _TUPLES:
            made[name] = list(made[name])
        return made | {"prices": [asdict(each) for each in self.prices]}

    @classmethod
    def read(cls, stored: Mapping[str, Any]) -> Self:
        """Read it from a run's design."""
        tuples = {name: tuple(stored[name]) for name in _TUPLES}
        prices = tuple(Price(**each) for each in stored["prices"])
        return cls(**{**stored, **tuples, "prices": prices, "source": Source(**stored["source"])})


_TUPLES = ("snippet", "against", "statements", "closing")


def conflict(one: Fix, other: Fix) -> bool:
    """Whether two fixes cannot be had together: they set the same to different values, or are two ways to one end."""
    if one.group and one.group == other.group:
        return True
    settings = one.settings.keys() & other.settings.keys()
    load = one.load.keys() & other.load.keys()
    return (
        any(one.settings[name] != other.settings[name] for name in settings)
        or any(one.load[name] != other.load[name] for name in load)
        or (one.work > 1 and other.work > 1)
        or (one.begins != "" and other.begins not in ("", one.begins))
    )


def together(name: str, fixes: Sequence[Fix]) -> Fix:
    """Give all of some fixes that do not conflict as one."""
    does = "; ".join(each.does for each in fixes)
    merged = _merged(fixes)
    return Fix(
        name,
        does,
        tuple(dict.fromkeys(price for each in fixes for price in each.prices)),
        fixes[0].source,
        tuple(dict.fromkeys(line for each in fixes for line in each.snippet)),
        tuple(dict.fromkeys(resource for each in fixes for resource in each.against)),
        **merged,
    )


def _merged(fixes: Sequence[Fix]) -> dict[str, Any]:
    settings: dict[str, str] = {}
    load: dict[str, Any] = {}
    for each in fixes:
        settings |= each.settings
        load |= each.load
    return {
        "settings": settings,
        "load": load,
        "statements": tuple(dict.fromkeys(line for each in fixes for line in each.statements)),
        "begins": next((each.begins for each in fixes if each.begins), ""),
        "batch": max(each.batch for each in fixes),
        "reads": any(each.reads for each in fixes),
        "rows": max(each.rows for each in fixes),
        "closing": tuple(dict.fromkeys(line for each in fixes for line in each.closing)),
    }
