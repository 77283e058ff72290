"""The engine's cost by line, function and original file, and its annotated source."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Literal

from dbdyno.cpu.attribution import Attribution
from dbdyno.cpu.builds import SOURCE
from dbdyno.cpu.callgrind import Costs, Line
from dbdyno.cpu.source import SourceFunction, SourceMap

# For code of the engine's object without a known source line, such as inlined headers.
_ELSEWHERE = "(elsewhere)"


@dataclass
class LineCost:
    """The cost of a source line: ``own``, and ``below`` in the functions of other libraries that it calls."""

    own: Costs
    below: Costs

    @property
    def i_refs(self) -> int:
        """Instructions: own and below."""
        return self.own[0] + self.below[0]


@dataclass
class FunctionCost:
    """The cost of a function without the engine's functions that it calls. ``line``: first line, or 0."""

    name: str
    file: str
    line: int
    own: Costs
    below: Costs

    @property
    def i_refs(self) -> int:
        """Instructions, including called functions of other libraries."""
        return self.own[0] + self.below[0]

    @property
    def key(self) -> tuple[str, str]:
        """Identifies the function in any version of the source."""
        return self.file, self.name


@dataclass
class EngineCosts:
    """The engine's cost. ``lines``: by line number, from 1; ``functions``: most instructions first."""

    total: int
    lines: dict[int, LineCost] = field(default_factory=dict)
    functions: list[FunctionCost] = field(default_factory=list)

    def by_file(self) -> dict[str, int]:
        """Return the instructions by original file, most first."""
        sums: dict[str, int] = defaultdict(int)
        for function in self.functions:
            sums[function.file] += function.i_refs
        return dict(sorted(sums.items(), key=lambda item: -item[1]))


def engine_costs(attributions: Iterable[Attribution], source: SourceMap) -> EngineCosts:
    """Sum the engine's costs of several counts by line and by function."""
    costs = EngineCosts(0)
    functions: dict[tuple[str, str, int], FunctionCost] = {}
    for attribution in attributions:
        costs.total += attribution.engine[0]
        nothing = [0] * len(attribution.events)
        found: list[tuple[Line, Costs | None, Costs | None]] = []
        found += [(at_line, own, None) for at_line, own in attribution.lines.items()]
        found += [(call.line, None, below) for call, below in attribution.outgoing.items()]
        for at_line, own, below in found:
            symbol = attribution.functions[at_line.function].name
            if PurePath(at_line.file).name == SOURCE and at_line.line:
                line = costs.lines.setdefault(at_line.line, LineCost(nothing, nothing))
                line.own, line.below = _plus(line.own, own), _plus(line.below, below)
                defined = source.function_at(at_line.line)
                file = source.file_at(at_line.line)
                # A function defined by a macro has no recognizable head: use its symbol.
                name, head = (defined.name, defined.first) if defined else (symbol, 0)
            else:
                file, name, head = _ELSEWHERE, f"{symbol} ({PurePath(at_line.file).name})", 0
            function = functions.setdefault((file, name, head), FunctionCost(name, file, head, nothing, nothing))
            function.own, function.below = _plus(function.own, own), _plus(function.below, below)
    costs.functions = sorted(
        functions.values(), key=lambda function_cost: (-function_cost.i_refs, function_cost.file, function_cost.name)
    )
    return costs


def _plus(first: Costs, second: Costs | None) -> Costs:
    return first if second is None else [a + b for a, b in zip(first, second, strict=True)]


Order = Literal["hottest", "file"]

# Number of context lines before and after a line with a cost.
CONTEXT = 2


@dataclass(frozen=True)
class AnnotatedLine:
    """A source line, its number from 1, and its cost; None if nothing was counted."""

    number: int
    text: str
    cost: LineCost | None


@dataclass(frozen=True)
class AnnotatedFunction:
    """A function with its lines. ``i_refs``: their instructions; ``share``: of the engine's total."""

    function: SourceFunction
    i_refs: int
    share: float
    lines: list[AnnotatedLine]

    def trimmed(self, threshold: int) -> Iterator[AnnotatedLine | None]:
        """Yield the lines with at least ``threshold`` instructions and their context; None for a gap."""
        wanted = [line.cost is not None and line.cost.i_refs >= threshold for line in self.lines]
        last = -1
        for index, line in enumerate(self.lines):
            if any(wanted[max(0, index - CONTEXT) : index + CONTEXT + 1]):
                if last >= 0 and index > last + 1:
                    yield None
                last = index
                yield line


def annotate(source: SourceMap, costs: EngineCosts, order: Order = "hottest") -> list[AnnotatedFunction]:
    """Return the functions with a cost, ordered by cost or by position in the source."""
    functions = []
    for function in source.functions:
        lines = [
            AnnotatedLine(number, source.lines[number - 1], costs.lines.get(number))
            for number in range(function.first, function.last + 1)
        ]
        i_refs = sum(line.cost.i_refs for line in lines if line.cost is not None)
        if i_refs:
            functions.append(AnnotatedFunction(function, i_refs, i_refs / max(costs.total, 1), lines))
    if order == "hottest":
        functions.sort(key=lambda annotated_function: (-annotated_function.i_refs, annotated_function.function.first))
    return functions
