"""Compare the rows that two statements, or one statement on two systems, returned for the same values."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from dbdyno.base.sql_tree import sql_tree
from dbdyno.model.events.answers import ExecutionRows

ROWS_COMPARED = "rows compared"
"""The kind of the observation that says whether the rows of two cells differ."""

# Floating-point numbers that differ by at most this share are equal: plans add them up in different orders.
_ROUNDING = 1e-9
# Longest example of a row, in characters.
_SHOWN = 120

ResultRow = Sequence[Any]


@dataclass(frozen=True)
class RowVerdict:
    """Whether two statements return the same rows.

    ``words``: how the rows differ, or why that is unknown; empty if they are equal. ``example``: the values of the
    first rows that differ; may be empty.
    """

    verdict: Literal["equal", "differ", "unknown"]
    words: str = ""
    example: str = ""


EQUAL = RowVerdict("equal")


@dataclass(frozen=True)
class Ordering:
    """The top-level ORDER BY and LIMIT of a statement.

    ``keys``: the columns of the result that it sorts by, as far as they are known from the left; ``is_whole``: whether
    these are all sort keys.
    """

    is_ordered: bool = False
    keys: tuple[int, ...] = ()
    is_whole: bool = False
    is_limited: bool = False


def ordering_of(sql: str, grammar: str | None) -> Ordering:
    """Return the ORDER BY and LIMIT of a statement. ``grammar``: the engine's dialect in sqlglot."""
    from sqlglot import exp

    tree = None if grammar is None else sql_tree(sql, grammar)
    if not isinstance(tree, exp.Query):
        return Ordering()
    order = tree.args.get("order")
    is_limited = any(tree.args.get(each) is not None for each in ("limit", "offset", "fetch"))
    if order is None:
        return Ordering(is_limited=is_limited)
    places = [_position(expression.this, tree) for expression in order.expressions]
    known = places.index(None) if None in places else len(places)
    keys = tuple(position for position in places[:known] if position is not None)
    return Ordering(True, keys, known == len(places), is_limited)


def _position(key: Any, tree: Any) -> int | None:
    """Return the number of the result's column that a sort key names; None if it is not in the result."""
    from sqlglot import exp

    if isinstance(key, exp.Literal) and key.is_int:
        return int(key.name) - 1
    selected = list(tree.selects)
    if any(column.is_star for column in selected):
        return None
    for position, column in enumerate(selected):
        own = column.unalias()
        if own == key or (isinstance(key, exp.Column) and not key.table and column.alias_or_name == key.name):
            return position
    return None


def compare_rows(a: Sequence[ExecutionRows], b: Sequence[ExecutionRows], of_a: Ordering, of_b: Ordering) -> RowVerdict:
    """Compare the executions of two statements in pairs; return the first verdict that isn't equal.

    The order of rows matters only if both statements have an ORDER BY, and only for rows whose sort keys differ.
    Floating-point numbers may differ by rounding. Rows that an ORDER BY or LIMIT leaves open may differ.
    """
    if not a or not b:
        return RowVerdict("unknown", "the statement failed, or dbdyno can't read its values")
    found = EQUAL
    for one, other in zip(a, b, strict=False):
        verdict = _compare(one, other, of_a, of_b)
        if verdict.verdict == "differ":
            return verdict
        found = verdict if found is EQUAL else found
    return found


def _compare(a: ExecutionRows, b: ExecutionRows, of_a: Ordering, of_b: Ordering) -> RowVerdict:
    rows_a, rows_b = _read(a), _read(b)
    if a.returned != b.returned:
        words = f"{a.returned:,} row{'s' * (a.returned != 1)} against {b.returned:,}"
        return RowVerdict("differ", words, "" if rows_a is None or rows_b is None else _example(rows_a, rows_b))
    if rows_a is None or rows_b is None:
        return _compare_digests(a, b, limited=of_a.is_limited or of_b.is_limited)
    orders = of_a.is_ordered and of_b.is_ordered
    keys = of_a.keys if orders and of_a.keys == of_b.keys else ()
    lost, new = _unmatched(rows_a, rows_b)
    if not lost:
        if keys and not _same_sequence(rows_a, rows_b, keys):
            first = next(position for position, pair in enumerate(zip(rows_a, rows_b, strict=True)) if not _same(*pair))
            words = f"the rows are in another order from row {first + 1:,} on"
            return RowVerdict("differ", words, f"was {_shown(rows_a[first])}; is {_shown(rows_b[first])}")
        return EQUAL
    if (of_a.is_limited or of_b.is_limited) and _are_ties(rows_a, rows_b, lost, new, keys, of_a):
        return RowVerdict("unknown", "ORDER BY and LIMIT leave open which rows are returned")
    words = f"{len(lost):,} of {a.returned:,} row{'s' * (a.returned != 1)} differ{'s' * (len(lost) == 1)}"
    return RowVerdict("differ", words, f"was {_shown(lost[0])}; is {_shown(new[0])}")


def _read(execution: ExecutionRows) -> list[ResultRow] | None:
    return None if execution.rows is None else [json.loads(row) for row in execution.rows]


def _compare_digests(a: ExecutionRows, b: ExecutionRows, *, limited: bool) -> RowVerdict:
    """Compare rows that are too many to compare one by one."""
    if a.digest is None or b.digest is None:
        return RowVerdict("unknown", "the engine reports only how many rows it returns")
    sums = len(a.sums) == len(b.sums) and all(
        math.isclose(x, y, rel_tol=_ROUNDING, abs_tol=_ROUNDING * size)
        for x, y, size in zip(a.sums, b.sums, a.magnitudes, strict=True)
    )
    if a.digest == b.digest and sums:
        return EQUAL
    if limited:
        return RowVerdict("unknown", "ORDER BY and LIMIT may leave open which rows are returned")
    return RowVerdict("differ", f"some of {a.returned:,} rows differ")


def _unmatched(a: Sequence[ResultRow], b: Sequence[ResultRow]) -> tuple[list[ResultRow], list[ResultRow]]:
    """Return the rows of each side that the other side lacks, in their order."""
    if all(_same(x, y) for x, y in zip(a, b, strict=True)):
        return [], []
    order_a, order_b = (sorted(range(len(rows)), key=lambda at, rows=rows: _sort_key(rows[at])) for rows in (a, b))  # type: ignore[misc]
    if all(_same(a[x], b[y]) for x, y in zip(order_a, order_b, strict=True)):
        return [], []
    left: dict[object, list[int]] = {}
    for at, row in enumerate(b):
        left.setdefault(_exact_key(row), []).append(at)
    lost = []
    for row in a:
        alike = left.get(_exact_key(row), [])
        match = next((at for at in alike if _same(row, b[at])), None)
        if match is None:
            lost.append(row)
        else:
            alike.remove(match)
    return lost, [b[at] for at in sorted(at for places in left.values() for at in places)]


def _are_ties(
    a: Sequence[ResultRow],
    b: Sequence[ResultRow],
    lost: Sequence[ResultRow],
    new: Sequence[ResultRow],
    keys: tuple[int, ...],
    order: Ordering,
) -> bool:
    """Whether rows with the same sort keys explain which rows a LIMIT cut off."""
    if not order.is_ordered:
        return True
    if not keys:
        return not order.is_whole
    if not _same_sequence(a, b, keys):
        return False
    last = [a[-1][key] for key in keys if key < len(a[-1])]
    tied = all(_same([row[key] for key in keys], last) for row in (*lost, *new))
    return tied or not order.is_whole


def _same_sequence(a: Sequence[ResultRow], b: Sequence[ResultRow], keys: Sequence[int]) -> bool:
    """Whether the sort keys of two results have the same values in the same order."""

    def of(row: ResultRow) -> list[Any]:
        return [row[key] for key in keys if key < len(row)]

    return all(_same(of(x), of(y)) for x, y in zip(a, b, strict=True))


def _same(a: ResultRow, b: ResultRow) -> bool:
    return len(a) == len(b) and all(map(_same_value, a, b))


def _same_value(a: Any, b: Any) -> bool:
    if isinstance(a, float) or isinstance(b, float):
        numbers = isinstance(a, int | float) and isinstance(b, int | float)
        return numbers and math.isclose(a, b, rel_tol=_ROUNDING, abs_tol=1e-300)
    return bool(a == b)


def _sort_key(row: ResultRow) -> tuple[object, ...]:
    """Sort by the exact columns first, so that rounding doesn't change the order of different rows."""
    numbers = [value for value in row if isinstance(value, float)]
    return (*_exact_key(row), numbers)


def _exact_key(row: ResultRow) -> tuple[object, ...]:
    return tuple(("", "") if isinstance(each, float) else (type(each).__name__, str(each)) for each in row)


def _example(a: Sequence[ResultRow], b: Sequence[ResultRow]) -> str:
    """Show the first row that only one side returned."""
    shorter, longer, words = (a, b, "new") if len(a) < len(b) else (b, a, "missing")
    left: dict[object, int] = {}
    for row in shorter:
        left[_exact_key(row)] = left.get(_exact_key(row), 0) + 1
    for row in longer:
        if left.get(_exact_key(row), 0) == 0:
            return f"{words}: {_shown(row)}"
        left[_exact_key(row)] -= 1
    return ""


def _shown(row: ResultRow) -> str:
    text = ", ".join(_shown_value(each) for each in row)
    return f"({text if len(text) <= _SHOWN else text[: _SHOWN - 1] + '…'})"


def _shown_value(value: Any) -> str:
    if isinstance(value, Mapping):
        return f"x'{value.get('bytes', '')}'"
    if value is None:
        return "NULL"
    return repr(value)
