"""Options of a run: the command line sets them, the store keeps them, and `--resume` reads them back."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Literal, Self

Design = Literal["full", "screening"]

#: Length of a time slice in seconds, or "none" for no interleaving. With None, dbdyno decides.
Interleaving = float | Literal["none"] | None


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """Options of a run besides its experiment. Each value is a JSON value; None means that the option isn't given.

    ``set``: levels as `factor=level,…`; ``systems``: URLs, empty for the experiment's own systems. Stored URLs have no
    passwords. ``margin`` and ``target``: shares; ``interleaving``: seconds of a slice; ``cluster``: an address such as
    `local:3`; ``slo``: an objective such as `p99 < 50 ms`; ``cell``: the cell that `dbdyno why` changes; ``fix``: then
    measure fixes, too; ``tune``: measure fixes only; ``try_indexes``: build and measure candidate indexes for
    statements; ``index_budget_bytes``: the largest size of the chosen ones.
    """

    set: list[str] = field(default_factory=list)
    systems: list[str] = field(default_factory=list)
    rounds: int | Literal["auto"] | None = None
    seed: int | None = None
    directory: str | None = None
    margin: float | None = None
    target: float | None = None
    min_rounds: int | None = None
    max_rounds: int | None = None
    budget_s: float | None = None
    wait_idle: bool = False
    instructions: bool = False
    try_recommendations: bool = False
    interleaving: Interleaving = None
    allow_writes: bool = False
    design: Design = "full"
    cluster: str | None = None
    slo: str | None = None
    cell: str | None = None
    fix: bool = False
    tune: bool = False
    try_indexes: bool = False
    index_budget_bytes: int | None = None

    def stored(self) -> dict[str, Any]:
        """Return the options that have a value, as the store keeps them."""
        return {name: value for name, value in asdict(self).items() if value is not None}

    @classmethod
    def from_stored(cls, stored: Mapping[str, Any]) -> Self:
        """Read stored options. Unknown keys are ignored; missing options get their defaults."""
        return cls(**{each.name: stored[each.name] for each in fields(cls) if stored.get(each.name) is not None})
