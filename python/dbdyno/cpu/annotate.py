"""The source with what each line cost: hottest functions first, or in the file's order, without the noise."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from dbdyno.cpu.costs import EngineCosts, LineCost
from dbdyno.cpu.source import SourceFunction, SourceMap

Order = Literal["hottest", "file"]

# Lines about one that cost something are shown with it.
CONTEXT = 2


@dataclass(frozen=True)
class AnnotatedLine:
    """A line of the source, from 1, and what it cost; None: nothing that was counted."""

    number: int
    text: str
    cost: LineCost | None


@dataclass(frozen=True)
class AnnotatedFunction:
    """A function with its lines. ``i_refs``: of those lines; ``share``: of all that the engine spent."""

    function: SourceFunction
    i_refs: int
    share: float
    lines: list[AnnotatedLine]

    def trimmed(self, threshold: int) -> Iterator[AnnotatedLine | None]:
        """Give the lines that cost at least ``threshold`` instructions, with those about them; None for a gap."""
        wanted = [line.cost is not None and line.cost.i_refs >= threshold for line in self.lines]
        last = -1
        for index, line in enumerate(self.lines):
            if any(wanted[max(0, index - CONTEXT) : index + CONTEXT + 1]):
                if last >= 0 and index > last + 1:
                    yield None
                last = index
                yield line


def annotate(source: SourceMap, costs: EngineCosts, order: Order = "hottest") -> list[AnnotatedFunction]:
    """Give the functions of which a line cost something, by their cost or in the order of the source."""
    found = []
    for function in source.functions:
        lines = [
            AnnotatedLine(number, source.lines[number - 1], costs.lines.get(number))
            for number in range(function.first, function.last + 1)
        ]
        i_refs = sum(line.cost.i_refs for line in lines if line.cost is not None)
        if i_refs:
            found.append(AnnotatedFunction(function, i_refs, i_refs / max(costs.total, 1), lines))
    if order == "hottest":
        found.sort(key=lambda each: (-each.i_refs, each.function.first))
    return found
