"""The difference of two counts: functions ranked by change, with lines aligned by a diff of the sources."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from difflib import SequenceMatcher

from dbdyno.cpu.costs import EngineCosts, FunctionCost
from dbdyno.cpu.source import SourceFunction, SourceMap


@dataclass(frozen=True)
class LineChange:
    """A line of one or both sources, with its instructions including calls to other libraries.

    ``before_line``, ``after_line``: line number from 1 in each source; None if the line isn't in it.
    """

    before_line: int | None
    after_line: int | None
    text: str
    before: int
    after: int

    @property
    def difference(self) -> int:
        """The increase in instructions."""
        return self.after - self.before


@dataclass
class FunctionChange:
    """A function's cost in each count; None if it isn't in that source or has no cost."""

    name: str
    file: str
    before: FunctionCost | None
    after: FunctionCost | None
    lines: list[LineChange] = field(default_factory=list)

    @property
    def difference(self) -> int:
        """The increase in instructions."""
        return (self.after.i_refs if self.after else 0) - (self.before.i_refs if self.before else 0)


@dataclass(frozen=True)
class Side:
    """A count with its source."""

    source: SourceMap
    costs: EngineCosts


def diff(before: Side, after: Side) -> list[FunctionChange]:
    """Return the functions whose instructions differ between two counts, largest change first."""
    one, other = _by_key(before.costs), _by_key(after.costs)
    changes = [FunctionChange(key[1], key[0], one.get(key), other.get(key)) for key in dict.fromkeys([*one, *other])]
    texts = _Functions(before.source), _Functions(after.source)
    changed = [change for change in changes if change.difference or _lines_differ(change)]
    for change in changed:
        change.lines = list(_lines(change, before, after, texts))
    kept = [change for change in changed if change.difference or any(line.difference for line in change.lines)]
    return sorted(kept, key=lambda change: (-abs(change.difference), change.file, change.name))


def _by_key(costs: EngineCosts) -> dict[tuple[str, str], FunctionCost]:
    """Return functions by file and name, merging equal names within a file (branches of an `#if`)."""
    found: dict[tuple[str, str], FunctionCost] = {}
    for function in costs.functions:
        known = found.get(function.key)
        if known is None:
            found[function.key] = function
        else:
            own = [a + b for a, b in zip(known.own, function.own, strict=True)]
            below = [a + b for a, b in zip(known.below, function.below, strict=True)]
            found[function.key] = FunctionCost(known.name, known.file, known.line, own, below)
    return found


def _lines_differ(change: FunctionChange) -> bool:
    """Whether a function with equal cost can differ by line, which requires known lines."""
    return change.before is not None and change.after is not None and change.before.line > 0


class _Functions:
    """A source's functions by file and name."""

    def __init__(self, source: SourceMap) -> None:
        self._found: dict[tuple[str, str], list[SourceFunction]] = {}
        for function in source.functions:
            self._found.setdefault((function.file, function.name), []).append(function)

    def ranges(self, key: tuple[str, str]) -> list[int]:
        """Return the line numbers of a function, from 1."""
        return [line for function in self._found.get(key, []) for line in range(function.first, function.last + 1)]


def _lines(
    change: FunctionChange, before: Side, after: Side, texts: tuple[_Functions, _Functions]
) -> Iterator[LineChange]:
    """Align a function's lines and yield those with a cost in either count."""
    key = change.file, change.name
    olds, news = texts[0].ranges(key), texts[1].ranges(key)
    old_text = [before.source.lines[line - 1] for line in olds]
    new_text = [after.source.lines[line - 1] for line in news]
    for old, new in _aligned(old_text, new_text):
        old_line = None if old is None else olds[old]
        new_line = None if new is None else news[new]
        one = before.costs.lines.get(old_line or 0)
        other = after.costs.lines.get(new_line or 0)
        text = new_text[new] if new is not None else old_text[old or 0]
        if one or other:
            yield LineChange(old_line, new_line, text, one.i_refs if one else 0, other.i_refs if other else 0)


def _aligned(old: list[str], new: list[str]) -> Iterator[tuple[int | None, int | None]]:
    """Yield pairs of line indexes of two texts; None if a line exists only in the other text."""
    if old == new:
        yield from ((index, index) for index in range(len(old)))
        return
    for what, old_from, old_to, new_from, new_to in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if what == "equal":
            yield from zip(range(old_from, old_to), range(new_from, new_to), strict=True)
        else:
            yield from ((index, None) for index in range(old_from, old_to))
            yield from ((None, index) for index in range(new_from, new_to))
