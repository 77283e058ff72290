"""Entries of the catalogs of fixes."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Protocol

from dbdyno.model.plan.change import Resource
from dbdyno.model.plan.fix import Fix, Source


class Limited(Protocol):
    """A cell whose bottleneck is known: :class:`dbdyno.engines.fixes.Situation`."""

    @property
    def resources(self) -> tuple[Resource, ...]:
        """The bottleneck, then the other resources that limit the cell."""


@dataclass(frozen=True)
class Entry:
    """An entry of a catalog of fixes.

    ``name``: its subject; ``against``: the entry is tried if one of these resources limits the cell, and relieves the
    first one most; ``applies``: further conditions, a clause for the documentation; ``make``: yields the fixes for a
    :class:`dbdyno.engines.fixes.Situation`, the most useful one first, none if they are in effect already.
    """

    name: str
    against: tuple[Resource, ...]
    applies: str
    source: Source
    make: Callable[[Any], Iterator[Fix]]

    def fixes(self, situation: Limited) -> Iterator[Fix]:
        """Yield its fixes; none if other resources limit the cell, or the entry doesn't apply."""
        if not set(self.against) & set(situation.resources):
            return
        for fix in self.make(situation):
            yield replace(fix, against=self.against, source=self.source)
