"""The entries that catalogues of fixes are made of."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Protocol

from dbdyno.model.plan.change import Resource
from dbdyno.model.plan.fix import Fix, Source


class Limited(Protocol):
    """A cell of which it is known what limits it: :class:`dbdyno.engines.fixes.Situation`."""

    @property
    def resources(self) -> tuple[Resource, ...]:
        """The bottleneck, then the parts."""


@dataclass(frozen=True)
class Entry:
    """An entry of a catalogue.

    ``name``: of what it is about; ``against``: it is tried where one of these resources is the bottleneck or a part;
    ``applies``: what else must hold, a clause for the documentation; ``make``: gives the fixes that it then is, of a
    :class:`dbdyno.engines.fixes.Situation`, and none where it is in force already.
    """

    name: str
    against: tuple[Resource, ...]
    applies: str
    source: Source
    make: Callable[[Any], Iterator[Fix]]

    def fixes(self, situation: Limited) -> Iterator[Fix]:
        """Give its fixes; none where its resources are not those that limit the cell, or it does not apply."""
        if not set(self.against) & set(situation.resources):
            return
        for each in self.make(situation):
            yield replace(each, against=self.against, source=self.source)
