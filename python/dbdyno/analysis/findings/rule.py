"""What a finding is made by: a function of the material of a run, and the kind that the function is registered with."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dbdyno.analysis.measured.rounds import Measure
from dbdyno.model.result.cell import Cell
from dbdyno.model.result.finding import Kind
from dbdyno.model.result.reading import JsonObject
from dbdyno.model.result.shape import Comparison, Finding, Recommendation
from dbdyno.store.records import RunRecord


@dataclass(frozen=True, kw_only=True)
class Material:
    """All that a finding can be made from: what is stored of a run, and what follows from it so far.

    ``tasks``: what the trials of a cell were to do, as the task of their plan, by the cell's id; ``unreadable``: what
    is wrong with the data of a cell, by its id. ``margin``: the difference that matters, as a share.
    """

    run: RunRecord
    cells: Sequence[Cell]
    measure: Measure
    tasks: Mapping[str, JsonObject]
    factors: Mapping[str, Sequence[object]]
    report: JsonObject
    comparisons: Sequence[Comparison]
    recommendations: Sequence[Recommendation]
    margin: float
    confidence: float
    unreadable: Mapping[str, Sequence[str]]

    @property
    def family(self) -> int:
        """The number of comparisons of the run's table (:func:`dbdyno.stats.decide`)."""
        return max(len(self.comparisons), 1)

    def observed(self, kind: Kind) -> Iterator[JsonObject]:
        """Give what the laboratory saw of a kind while the run went on; what lacks an observation was not seen."""
        for each in self.run.observations:
            if each.get("kind") == kind.name and not kind.missing(each):
                yield each


@dataclass(frozen=True)
class Rule:
    """A function that makes findings, and the kinds of them: one, except for the findings of engines."""

    find: Callable[[Material], Iterable[Finding]]
    kinds: tuple[Kind, ...]

    @property
    def kind(self) -> Kind:
        """The only kind of its findings."""
        (kind,) = self.kinds
        return kind

    @property
    def name(self) -> str:
        """The name of that kind."""
        return self.kind.name

    def found(self, words: str, cells: Iterable[str], evidence: Mapping[str, Any]) -> Finding:
        """Make a finding of that kind (:meth:`Kind.found`)."""
        return self.kind.found(words, cells, evidence)


def finding(
    name: str, *, needs: tuple[str, ...], meaning: str, remedy: str
) -> Callable[[Callable[[Material], Iterable[Finding]]], Rule]:
    """Register a function as the rule for a kind of finding; the function makes them with :meth:`Rule.found`.

    The parameters are those of :class:`Kind`. The registry collects the rules of all modules of the package.
    """
    kind = Kind(name, needs, meaning, remedy)
    return lambda find: Rule(find, (kind,))
