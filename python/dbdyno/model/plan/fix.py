"""Fixes: changes of a cell that a user could adopt, with their prices and the lines that apply them."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, Self

from dbdyno.model.plan.change import Resource
from dbdyno.model.plan.steps import BeginMode

#: Disadvantages of a fix. ``durability``: a machine failure loses more commits. ``isolation``: transactions see more of
#: each other's changes. ``staleness``: reads return older data. ``exclusive``: other programs can't use the file.
#: ``memory``, ``space``: more bytes in memory or on the device. ``writes``: slower writes. ``recovery``: slower
#: restarts. ``latency``: a single transaction waits longer. ``use``: restrictions for the application.
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

#: Prices that weaken guarantees. If two fixes gain the same, the fix without such a price is preferred.
SERIOUS: frozenset[PriceKind] = frozenset({"durability", "isolation"})

FIX = "fix "
"""The prefix of a fix's name as a level of the factor ``change``."""


def is_fix(level: str) -> bool:
    """Whether a level of the factor ``change`` is a fix."""
    return level.startswith(FIX)


@dataclass(frozen=True)
class Price:
    """A disadvantage of a fix."""

    kind: PriceKind
    """The kind of disadvantage."""
    text: str
    """The disadvantage, a clause."""
    bytes: float | None = None
    """Additional bytes of memory if ``kind`` is ``memory``; None if unknown."""


@dataclass(frozen=True)
class Source:
    """A section of an engine's documentation."""

    title: str
    """The title of the documentation."""
    section: str
    """The title of the section."""
    url: str
    """The address of the section."""

    @property
    def text(self) -> str:
        """The title and the section, for sentences."""
        return f"{self.title}, {self.section}"


@dataclass(frozen=True)
class Fix:
    """A fix. The fields from ``settings`` to ``rows`` say how to change a cell to measure it."""

    name: str
    """The name in results."""
    does: str
    """Its effect, a clause."""
    prices: tuple[Price, ...]
    """Its disadvantages; empty if it has none."""
    source: Source
    """The documentation that describes it."""
    snippet: tuple[str, ...]
    """The lines that apply it."""
    against: tuple[Resource, ...] = ()
    """The resources that it relieves."""
    group: str = ""
    """A name shared by alternatives. Fixes with the same group can't be combined."""
    settings: Mapping[str, str] = field(default_factory=dict)
    """Settings of the system, which replace its own."""
    load: Mapping[str, Any] = field(default_factory=dict)
    """Keys of the experiment's ``load`` with other values."""
    statements: tuple[str, ...] = ()
    """Statements that run on the data before trials, such as ``create index``."""
    begins: BeginMode | Literal[""] = ""
    """The mode in which transactions begin; empty if it doesn't change."""
    batch: int = 1
    """Number of transactions that are combined into one."""
    reads: bool = False
    """Whether the reads of a transaction are combined into one transaction."""
    rows: int = 1
    """Number of rows that one statement inserts."""
    closing: tuple[str, ...] = ()
    """Lines that follow the snippets of all fixes, such as a restart."""

    @property
    def lines(self) -> list[str]:
        """All lines that apply it."""
        return [*self.snippet, *self.closing]

    @property
    def level(self) -> str:
        """Its level of the factor ``change``."""
        return FIX + self.name

    @property
    def is_index(self) -> bool:
        """Whether it only creates an index."""
        return len(self.statements) == 1 and self.statements[0].startswith("create index")

    @property
    def is_serious(self) -> bool:
        """Whether it weakens durability or isolation."""
        return any(price.kind in SERIOUS for price in self.prices)

    @property
    def work(self) -> int:
        """Number of transactions of the unchanged cell that one transaction replaces."""
        return self.batch * self.rows

    def stored(self) -> dict[str, Any]:
        """Return the JSON object that a run's design stores."""
        made = asdict(self)
        for name in _TUPLES:
            made[name] = list(made[name])
        return made | {"prices": [asdict(price) for price in self.prices]}

    @classmethod
    def read(cls, stored: Mapping[str, Any]) -> Self:
        """Read a fix from a run's design."""
        tuples = {name: tuple(stored[name]) for name in _TUPLES}
        prices = tuple(Price(**price) for price in stored["prices"])
        return cls(**{**stored, **tuples, "prices": prices, "source": Source(**stored["source"])})


_TUPLES = ("snippet", "against", "statements", "closing")


def conflict(one: Fix, other: Fix) -> bool:
    """Whether two fixes can't be combined: they are alternatives, or set a key to different values."""
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
    """Return the combination of fixes that don't conflict."""
    does = "; ".join(fix.does for fix in fixes)
    merged = _merged(fixes)
    return Fix(
        name,
        does,
        tuple(dict.fromkeys(price for fix in fixes for price in fix.prices)),
        fixes[0].source,
        tuple(dict.fromkeys(line for fix in fixes for line in fix.snippet)),
        tuple(dict.fromkeys(resource for fix in fixes for resource in fix.against)),
        **merged,
    )


def _merged(fixes: Sequence[Fix]) -> dict[str, Any]:
    settings: dict[str, str] = {}
    load: dict[str, Any] = {}
    for fix in fixes:
        settings |= fix.settings
        load |= fix.load
    return {
        "settings": settings,
        "load": load,
        "statements": tuple(dict.fromkeys(line for fix in fixes for line in fix.statements)),
        "begins": next((fix.begins for fix in fixes if fix.begins), ""),
        "batch": max(fix.batch for fix in fixes),
        "reads": any(fix.reads for fix in fixes),
        "rows": max(fix.rows for fix in fixes),
        "closing": tuple(dict.fromkeys(line for fix in fixes for line in fix.closing)),
    }
