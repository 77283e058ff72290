"""Registers functions that make findings from the material of a run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dbdyno.analysis.measured.rounds import Measure
from dbdyno.model.plan.tasks import TrialTask
from dbdyno.model.result.cell import Cell
from dbdyno.model.result.finding import Kind
from dbdyno.model.result.reading import JsonObject
from dbdyno.model.result.shape import Comparison, Finding, Recommendation
from dbdyno.store.records import RunRecord


@dataclass(frozen=True, kw_only=True)
class Material:
    """The input of all findings: the stored run, and the results computed so far.

    ``tasks``: the task of each cell's plans, by cell id; ``unreadable``: errors in a cell's data, by cell id.
    ``margin``: the difference that matters, as a share.
    """

    run: RunRecord
    cells: Sequence[Cell]
    measure: Measure
    tasks: Mapping[str, TrialTask]
    factors: Mapping[str, Sequence[object]]
    report: JsonObject
    comparisons: Sequence[Comparison]
    recommendations: Sequence[Recommendation]
    margin: float
    confidence: float
    unreadable: Mapping[str, Sequence[str]]

    @property
    def family(self) -> int:
        """The number of comparisons in the run's table (:func:`dbdyno.stats.decide`)."""
        return max(len(self.comparisons), 1)

    def observed(self, kind: Kind) -> Iterator[JsonObject]:
        """Yield the controller's observations of a kind during the run, if they are complete."""
        for observation in self.run.observations:
            if observation.get("kind") == kind.name and not kind.missing(observation):
                yield observation


@dataclass(frozen=True)
class Rule:
    """A function that makes findings, and their kinds: exactly one, except for the findings of engines."""

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
