"""Recognize parameters whose values are results of an earlier statement of the transaction.

A trace doesn't contain results. Two kinds can be recognized by the parameters' values alone:

- **A generated key.** After an insert, a statement uses integers that increase with each transaction. They are in a
  column of the same table, or in a foreign key.
- **A selected value.** Whenever a select of one row has the same parameters, later statements use the same value, and
  compare it with a column that the select returns. Or the select returns only a key, and an insert writes it to a
  foreign key. A worker's select returns the next task, whatever its parameters: the key of a row that is then changed
  or deleted. These keys increase. In a table that is emptied again and again, they may be equal.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from dbdyno.experiment.distil.parameters import ColumnFacts
from dbdyno.experiment.distil.units import Unit
from dbdyno.experiment.distil.uses import Parsed, Use
from dbdyno.trace.values import UNKNOWN

# Transactions that show an order, and repeated parameters that show a dependency.
_FEWEST_KEYS = 10
_FEWEST_REPEATS = 5
_FEWEST_DIFFERENT = 3
_NO_KEYS = frozenset((UNKNOWN, "null"))
# Concurrent transactions may use their keys in another order.
_INCREASING = 0.9

Integers = Callable[[Use, Sequence[str]], Sequence[int] | None]
"""Returns the integers that values of a column are; ``None`` if they can't be known."""

Place = tuple[int, int]
"""A value of a transaction: the number of its statement, and its number in the statement."""


@dataclass(frozen=True)
class Result:
    """A value that the statement ``slot`` returns in a column; ``None``: the key that an insert generates."""

    slot: int
    column: int | None


@dataclass(frozen=True)
class Finder:
    """Finds results. ``parsed``: statements by number; ``describe``: describes a column, if that is known."""

    parsed: Mapping[int, Parsed]
    integers: Integers
    describe: Callable[[str, str], ColumnFacts | None]

    def find(self, unit: Unit) -> dict[Place, Result]:
        """Return the parameters of a transaction that are results; if several are equal, only the first."""
        found: dict[Place, Result] = {}
        if not unit.has_several or len(unit.samples) < _FEWEST_KEYS:
            return found
        for values, uses in self._equal_parameters(unit).items():
            place = next(iter(uses))
            result = self._selected(unit, place[0], uses, values)
            result = result or self._generated(unit, place[0], uses.values(), values)
            if result is not None:
                found[place] = result
        return found

    def _equal_parameters(self, unit: Unit) -> dict[tuple[str, ...], dict[Place, Use]]:
        """Return the uses of parameters by their values in all samples."""
        found: dict[tuple[str, ...], dict[Place, Use]] = {}
        for number, slot in enumerate(unit.slots):
            for place, use in enumerate(self.parsed[slot.statement].uses):
                values = [sample[number][place] for sample in unit.samples if place < len(sample[number])]
                known = tuple(each for each in values if each is not None and each not in _NO_KEYS)
                if len(known) == len(unit.samples):
                    found.setdefault(known, {})[number, place] = use
        return found

    def _earlier(self, unit: Unit, number: int) -> Iterator[int]:
        """Yield the statements before one, the nearest first, without loops."""
        looped = [max(item.repeats, default=1) > 1 for item in unit.items for _ in item.slots]
        return (each for each in range(number - 1, -1, -1) if not looped[each])

    def _selected(self, unit: Unit, number: int, uses: Mapping[Place, Use], values: Sequence[str]) -> Result | None:
        compared = {(use.table, use.column) for use in uses.values() if use.role == "equals" and use.table}
        for earlier in self._earlier(unit, number):
            slot = unit.slots[earlier]
            parsed = self.parsed[slot.statement]
            column = next((at for at, each in enumerate(parsed.columns) if each in compared), None)
            if (
                column is None
                and len(parsed.columns) == 1
                and self._is_key(parsed)
                and any(map(self._is_foreign, uses.values()))
            ):
                column = 0
            if parsed.verb != "select" or slot.most_rows != 1 or column is None:
                continue
            depends = _depends(values, [sample[earlier] for sample in unit.samples])
            if depends or self._is_next(unit, parsed.columns[column], uses, values):
                return Result(earlier, column)
        return None

    def _is_next(self, unit: Unit, column: tuple[str, str], uses: Mapping[Place, Use], values: Sequence[str]) -> bool:
        """Whether values are the keys of the next rows of a queue. ``column``: what the select returns."""
        facts = self.describe(*column)
        changing = (use for (number, _), use in uses.items() if self._parsed(unit, number).verb in ("delete", "update"))
        use = next((use for use in changing if use.role == "equals" and (use.table, use.column) == column), None)
        if use is None or facts is None or not facts.is_unique:
            return False
        numbers = self.integers(use, values)
        return len(set(values)) == 1 or (numbers is not None and _increase(numbers))

    def _is_key(self, select: Parsed) -> bool:
        facts = self.describe(*select.columns[0])
        return facts is not None and facts.is_unique

    def _is_foreign(self, use: Use) -> bool:
        facts = self.describe(use.table, use.column)
        return facts is not None and bool(facts.foreign)

    def _is_parent(self, table: str, use: Use) -> bool:
        """Whether a column refers to a table, by a foreign key or by its name, such as `order_id`."""
        facts = self.describe(use.table, use.column)
        name = table.rpartition(".")[2].strip('`"').lower()
        by_key = facts is not None and bool(facts.parent) and facts.parent.rpartition(".")[2].lower() == name
        return by_key or use.column.strip('`"').lower() == f"{name}_id"

    def _generated(self, unit: Unit, number: int, uses: Collection[Use], values: Sequence[str]) -> Result | None:
        if len(set(values)) < len(values):
            return None
        inserts = [each for each in self._earlier(unit, number) if self._parsed(unit, each).verb == "insert"]
        for use in uses:
            own = [each for each in inserts if self._parsed(unit, each).table == use.table and use.role == "equals"]
            parents = [each for each in inserts if self._is_parent(self._parsed(unit, each).table, use)]
            if not own and not parents and (len(inserts) != 1 or not self._is_foreign(use)):
                continue
            source = (own or parents or inserts)[0]
            insert = self._parsed(unit, source)
            numbers = self.integers(use, values)
            if numbers is None or (own and use.column in insert.inserted) or not _increase(numbers):
                continue
            new = [at for at, (_, name) in enumerate(insert.columns) if name and name not in insert.inserted]
            if own:
                new = [at for at in new if insert.columns[at][1] == use.column]
            if not insert.columns or len(new) == 1:
                return Result(source, new[0] if new else None)
        return None

    def _parsed(self, unit: Unit, number: int) -> Parsed:
        return self.parsed[unit.slots[number].statement]


def _depends(values: Sequence[str], keys: Sequence[tuple[str | None, ...]]) -> bool:
    """Whether values are the same whenever the parameters ``keys`` are, with enough repetitions to show it."""
    if any(not each or None in each or UNKNOWN in each for each in keys):
        return False
    by_key = dict(zip(keys, values, strict=True))
    is_shown = len(values) - len(by_key) >= _FEWEST_REPEATS and len(set(values)) >= _FEWEST_DIFFERENT
    return is_shown and all(by_key[key] == value for key, value in zip(keys, values, strict=True))


def _increase(numbers: Sequence[int]) -> bool:
    """Whether nearly all numbers are greater than the one before."""
    return sum(before < after for before, after in pairwise(numbers)) >= _INCREASING * (len(numbers) - 1)
