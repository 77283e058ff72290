"""An engine's cost by line, by function and by original file."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import PurePath

from dbdyno.cpu.attribution import Attribution
from dbdyno.cpu.builds import SOURCE
from dbdyno.cpu.callgrind import Costs, Line
from dbdyno.cpu.source import SourceMap

# For code of the engine's object that no line of its source is known of, as that of inlined headers.
_ELSEWHERE = "(elsewhere)"


@dataclass
class LineCost:
    """What a line of the source cost: ``own`` itself, ``below`` in the functions of other libraries it calls."""

    own: Costs
    below: Costs

    @property
    def i_refs(self) -> int:
        """Instructions, both together."""
        return self.own[0] + self.below[0]


@dataclass
class FunctionCost:
    """What a function of the source cost, without the engine's functions it calls. ``line``: that of its head, or 0."""

    name: str
    file: str
    line: int
    own: Costs
    below: Costs

    @property
    def i_refs(self) -> int:
        """Instructions, those of other libraries' functions that it calls included."""
        return self.own[0] + self.below[0]

    @property
    def key(self) -> tuple[str, str]:
        """What tells it from others, in any version of the source."""
        return self.file, self.name


@dataclass
class EngineCosts:
    """An engine's cost taken apart. ``lines``: by line, from 1; ``functions``: most instructions first."""

    total: int
    lines: dict[int, LineCost] = field(default_factory=dict)
    functions: list[FunctionCost] = field(default_factory=list)

    def by_file(self) -> dict[str, int]:
        """Give the instructions by original file, most first."""
        sums: dict[str, int] = defaultdict(int)
        for each in self.functions:
            sums[each.file] += each.i_refs
        return dict(sorted(sums.items(), key=lambda item: -item[1]))


def engine_costs(attributions: Iterable[Attribution], source: SourceMap) -> EngineCosts:
    """Add the engine's costs of several counts up, by line and by function of its source."""
    costs = EngineCosts(0)
    functions: dict[tuple[str, str, int], FunctionCost] = {}
    for attribution in attributions:
        costs.total += attribution.engine[0]
        nothing = [0] * len(attribution.events)
        found: list[tuple[Line, Costs | None, Costs | None]] = []
        found += [(place, own, None) for place, own in attribution.lines.items()]
        found += [(call.place, None, below) for call, below in attribution.outgoing.items()]
        for place, own, below in found:
            symbol = attribution.functions[place.function].name
            if PurePath(place.file).name == SOURCE and place.line:
                line = costs.lines.setdefault(place.line, LineCost(nothing, nothing))
                line.own, line.below = _plus(line.own, own), _plus(line.below, below)
                defined = source.function_at(place.line)
                file = source.file_at(place.line)
                # A function that a macro defines has no head that could be found, and is named by its symbol.
                name, head = (defined.name, defined.first) if defined else (symbol, 0)
            else:
                file, name, head = _ELSEWHERE, f"{symbol} ({PurePath(place.file).name})", 0
            function = functions.setdefault((file, name, head), FunctionCost(name, file, head, nothing, nothing))
            function.own, function.below = _plus(function.own, own), _plus(function.below, below)
    costs.functions = sorted(functions.values(), key=lambda each: (-each.i_refs, each.file, each.name))
    return costs


def _plus(first: Costs, second: Costs | None) -> Costs:
    return first if second is None else [a + b for a, b in zip(first, second, strict=True)]
