"""Select the transactions of a workload by their time. They also stand for similar rare transactions.

An application that chooses among statements at many places has too many different transactions to write them all.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from dbdyno.experiment.distil.units import Unit
from dbdyno.experiment.distil.uses import Parsed

# Below this part of the time and of the executions, a transaction is rare.
_RARE = 0.001
# Transactions are similar if this part of their statements is equal.
_SIMILAR = 0.5
# Rare transactions are selected, too, until this part of the time is covered.
_ENOUGH = 0.9


@dataclass
class Selected:
    """A transaction to write. ``similar``: executions of transactions that it stands for, and their ``similar_ns``."""

    unit: Unit
    similar: int = 0
    similar_ns: int = 0

    @property
    def count(self) -> int:
        """How many executions it stands for, with its own."""
        return self.unit.count + self.similar

    @property
    def duration_ns(self) -> int:
        """Their time in total."""
        return self.unit.duration_ns + self.similar_ns


def select(
    units: Sequence[Unit], size: Callable[[Unit], int], parsed: Mapping[int, Parsed], most: tuple[int, int]
) -> tuple[list[Selected], int]:
    """Select transactions. Also return the number of executions without a selected or similar transaction.

    ``units``: sorted by time, the longest first. ``size``: the statements that a transaction takes in the file;
    ``most``: the transactions and statements that the file may contain.
    """
    most_units, most_statements = most
    total_ns, executed = sum(unit.duration_ns for unit in units), sum(unit.count for unit in units)
    selected: list[Selected] = []
    rest: list[Unit] = []
    statements = covered = 0
    # Tables whose rows are deleted, or inserted: without inserts, other statements would soon find none.
    deleted: set[str] = set()
    inserted: set[str] = set()

    def is_rare(unit: Unit) -> bool:
        return unit.duration_ns <= _RARE * total_ns and unit.count <= _RARE * executed

    for unit in sorted(units, key=is_rare):
        is_needed = not is_rare(unit) or (unit.has_several and covered < _ENOUGH * (total_ns or executed))
        is_needed = is_needed or not (deleted - inserted).isdisjoint(_tables(unit, parsed, "insert"))
        if is_needed and len(selected) < most_units and statements + size(unit) <= most_statements:
            selected.append(Selected(unit))
            deleted |= _tables(unit, parsed, "delete")
            inserted |= _tables(unit, parsed, "insert")
            statements += size(unit)
            covered += unit.duration_ns if total_ns else unit.count
        else:
            rest.append(unit)
    return selected, _assign(rest, selected)


def _tables(unit: Unit, parsed: Mapping[int, Parsed], verb: str) -> set[str]:
    """Return the tables of a transaction's statements with this first word."""
    return {parsed[slot.statement].table for slot in unit.slots if parsed[slot.statement].verb == verb}


def _assign(rest: Sequence[Unit], selected: Sequence[Selected]) -> int:
    """Add each unselected transaction to the most similar selected one. Return the number of executions without one."""
    kinds = [(_kind(each.unit), _statements(each.unit)) for each in selected]
    alone = 0
    for unit in rest:
        kind, own = _kind(unit), _statements(unit)
        similarities = [_similarity(own, other) if same == kind else 0.0 for same, other in kinds]
        best = max(range(len(similarities)), key=similarities.__getitem__, default=None)
        if best is None or not unit.has_several or similarities[best] < _SIMILAR:
            alone += unit.count
        else:
            selected[best].similar += unit.count
            selected[best].similar_ns += unit.duration_ns
    return alone


def _kind(unit: Unit) -> tuple[bool, bool, str, bool]:
    return unit.is_transaction, unit.rolled_back, unit.begin, unit.is_request


def _statements(unit: Unit) -> Counter[int]:
    return Counter(slot.statement for slot in unit.slots)


def _similarity(a: Counter[int], b: Counter[int]) -> float:
    """Return the part of both transactions' statements that are equal."""
    return 2 * (a & b).total() / (a.total() + b.total())
