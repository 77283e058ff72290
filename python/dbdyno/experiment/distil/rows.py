"""Recognize parameters whose values belong to one row: a key of several columns, or the two ends of a range."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from dbdyno.base.numbers import figure
from dbdyno.experiment.distil.parameters import Chooser
from dbdyno.experiment.distil.units import Slot, Unit
from dbdyno.experiment.distil.uses import Parsed, Use

_NULL = "null"
# A condition on a unique column finds a row in more executions, if it has the row's other values, too.
_FOUND_SHARE = 0.5
# Statements that return other rows than the range has.
_OTHER_ROWS = re.compile(r"\b(?:distinct|group by|having|limit|fetch)\b", re.IGNORECASE)


@dataclass(frozen=True)
class Tie:
    """A parameter's value is of the row from which parameter number ``base`` of the same statement is drawn.

    ``after``: the distance in rows, 0 for the row itself. ``rows``: of the statement, on average.
    """

    base: int
    use: Use
    after: int = 0
    rows: float = 0

    def words(self, base: str) -> tuple[str, str]:
        """Return the values in the form of a .sql file, and the reason. ``base``: the name of the base parameter."""
        where = f"{self.after} rows after" if self.after > 1 else "1 row after" if self.after else "in the row of"
        because = f"the end of the range; the statement has {figure(self.rows)} rows on average"
        if not self.after:
            because = f"the statement finds rows, so it is the value in the row of `{base}`"
        return f"@{self.use.column} of {self.use.table} {where} :{base}", because


def row_ties(
    unit: Unit, texts: Sequence[str], parsed: Mapping[int, Parsed], chooser: Chooser
) -> dict[tuple[int, int], Tie]:
    """Return the parameters of a transaction with values of a row, by the number of their statement and their own.

    ``texts``: of the trace's statements.
    """
    found: dict[tuple[int, int], Tie] = {}
    for number, slot in enumerate(unit.slots):
        statement = parsed[slot.statement]
        compared: dict[str, list[int]] = defaultdict(list)
        for place, (use, counts) in enumerate(zip(statement.uses, slot.values, strict=False)):
            is_value = chooser.choose(use, counts).form == "value" and _NULL not in counts.by_value
            if is_value and not use.is_list and chooser.facts(use.table, use.column) is not None:
                compared[use.table].append(place)
        for places in compared.values():
            equals = [place for place in places if statement.uses[place].role == "equals"]
            found |= {(number, place): tie for place, tie in _of_one_row(slot, statement.uses, equals, chooser)}
            if not _OTHER_ROWS.search(texts[slot.statement]):
                ranges = [place for place in places if statement.uses[place].role == "range"]
                found |= {(number, place): tie for place, tie in _ends(slot, statement, (ranges, equals), chooser)}
    return found


def _of_one_row(slot: Slot, uses: Sequence[Use], places: Sequence[int], chooser: Chooser) -> Iterator[tuple[int, Tie]]:
    """Yield the parameters that are compared with different columns of the same rows, except for the base."""
    if slot.missed > (1 - _FOUND_SHARE) * slot.executions:
        return
    first = sorted({uses[place].column.lower(): place for place in reversed(places)}.values())
    of_column = [place for place in first if chooser.choose(uses[place], slot.values[place]).is_of_column]
    base = max(of_column, key=lambda place: len(slot.values[place].by_value), default=None)
    if base is None:
        return
    facts = chooser.facts(uses[base].table, uses[base].column)
    # A unique column determines the row. Otherwise, few different values are as frequent as recorded.
    others = first if facts is not None and facts.is_unique else of_column
    yield from ((place, Tie(base, uses[place])) for place in others if place != base)


def _ends(
    slot: Slot, statement: Parsed, places: tuple[Sequence[int], Sequence[int]], chooser: Chooser
) -> Iterator[tuple[int, Tie]]:
    """Yield the ends of ranges. ``places``: parameters of ranges, and of equalities."""
    ranges, equals = places
    is_of_rows = statement.verb in ("update", "delete") or not statement.columns or any(c for _, c in statement.columns)
    if not is_of_rows or not slot.counted or not slot.rows:
        return
    rows = slot.rows / slot.counted
    # Conditions on other columns leave a part of the range's rows.
    width = rows * math.prod(chooser.distinct(statement.uses[place]) for place in equals)
    for begin, end in pairwise(ranges):
        use = statement.uses[end]
        both = [chooser.choose(statement.uses[place], slot.values[place]).is_of_column for place in (begin, end)]
        if use.column != statement.uses[begin].column or not all(both):
            continue
        facts = chooser.facts(use.table, use.column)
        after = max(round(min(width, 0.9 * facts.rows if facts else width)), 1)
        yield end, Tie(begin, use, after, rows)
        return
