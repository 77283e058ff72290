"""Rows of two statements are compared by content: order counts only if both have one, and floats may be rounded."""

import json
from typing import Any

import pytest

from dbdyno.analysis.row_differences import Ordering, compare_rows, ordering_of
from dbdyno.model.events.answers import ExecutionRows

UNORDERED = Ordering()


def rows(*of: tuple[Any, ...], **changes: Any) -> list[ExecutionRows]:
    fields: dict[str, Any] = {
        "statement": 0,
        "returned": len(of),
        "changed": 0,
        "digest": 1,
        "sums": [],
        "magnitudes": [],
    }
    fields["rows"] = [*map(json.dumps, of)]
    return [ExecutionRows.model_validate(fields | changes)]


def verdict(a: list[ExecutionRows], b: list[ExecutionRows], order: Ordering = UNORDERED) -> tuple[str, str]:
    found = compare_rows(a, b, order, order)
    return found.verdict, found.words


def test_the_order_of_rows_does_not_matter() -> None:
    a, b = rows((1, "x"), (2, None), (2, None)), rows((2, None), (1, "x"), (2, None))
    assert verdict(a, b) == ("equal", "")


@pytest.mark.parametrize(
    ("a", "b", "words"),
    [
        (((1,), (2,)), ((1,),), "2 rows against 1"),
        ((), ((1,),), "0 rows against 1"),
        (((1, "x"), (2, "y")), ((1, "x"), (2, "z")), "1 of 2 rows differs"),
        (((1, "x"), (1, "x"), (2, "y")), ((1, "x"), (2, "y"), (2, "y")), "1 of 3 rows differs"),
        (((1,), (2,)), (("1",), ("2",)), "2 of 2 rows differ"),
        (((None,),), (("",),), "1 of 1 row differs"),
        (((1.5,),), ((1.5001,),), "1 of 1 row differs"),
    ],
)
def test_other_rows_differ(a: tuple[tuple[Any, ...], ...], b: tuple[tuple[Any, ...], ...], words: str) -> None:
    assert verdict(rows(*a), rows(*b)) == ("differ", words)


def test_the_first_rows_that_differ_are_shown() -> None:
    found = compare_rows(rows((1, "x"), (2, "y")), rows((2, "z"), (1, "x")), UNORDERED, UNORDERED)
    assert found.example == "was (2, 'y'); is (2, 'z')"
    found = compare_rows(rows((1,), (2,), (3,)), rows((1,), (3,)), UNORDERED, UNORDERED)
    assert found.example == "missing: (2)"
    found = compare_rows(rows((1,)), rows((1,), ({"bytes": "00ff"},)), UNORDERED, UNORDERED)
    assert found.example == "new: (x'00ff')"


def test_floats_within_rounding_are_equal() -> None:
    third = 1 / 3
    a = rows(("a", third), ("b", 3 * 0.1), ("b", 1e300))
    b = rows(("b", 1e300 * (1 + 1e-12)), ("a", third + 1e-16), ("b", 0.3))
    assert verdict(a, b) == ("equal", "")
    assert verdict(rows((1,)), rows((1.0,)))[0] == "equal"


def test_the_order_matters_if_both_statements_have_one() -> None:
    order = ordering_of("select id, name from t order by name desc", "sqlite")
    assert (order.is_ordered, order.keys, order.is_whole, order.is_limited) == (True, (1,), True, False)
    a = rows((1, "b"), (2, "a"))
    assert verdict(a, rows((2, "a"), (1, "b")), order) == ("differ", "the rows are in another order from row 1 on")
    assert compare_rows(a, rows((2, "a"), (1, "b")), order, UNORDERED).verdict == "equal"


def test_rows_with_equal_sort_keys_may_be_in_any_order() -> None:
    order = ordering_of("select id, name from t order by 2", "sqlite")
    assert verdict(rows((1, "a"), (2, "a"), (3, "b")), rows((2, "a"), (1, "a"), (3, "b")), order)[0] == "equal"


@pytest.mark.parametrize(
    ("sql", "a", "b", "expected"),
    [
        # Which of several rows with the last sort key are returned is open.
        ("select id, k from t order by k limit 3", ((1, 1), (2, 2), (3, 2)), ((1, 1), (3, 2), (4, 2)), "unknown"),
        ("select id, k from t order by k limit 3", ((1, 1), (2, 2), (3, 2)), ((9, 1), (2, 2), (3, 2)), "differ"),
        ("select id, k from t order by k limit 2", ((1, 1), (2, 2)), ((1, 1), (3, 3)), "differ"),
        ("select id from t limit 1", ((1,),), ((2,),), "unknown"),
        ("select id from t order by hidden limit 1", ((1,),), ((2,),), "unknown"),
        ("select id from t where k = (select k from u order by 1 limit 1)", ((1,),), ((2,),), "differ"),
    ],
)
def test_a_limit_leaves_ties_open(
    sql: str, a: tuple[tuple[Any, ...], ...], b: tuple[tuple[Any, ...], ...], expected: str
) -> None:
    assert verdict(rows(*a), rows(*b), ordering_of(sql, "sqlite"))[0] == expected


def test_many_rows_are_compared_by_digest_and_sums() -> None:
    many = {"returned": 10**6, "rows": None, "sums": [0.0, 12.5], "magnitudes": [0.0, 80.0]}
    a = rows(**many)
    assert verdict(a, rows(**many)) == ("equal", "")
    assert verdict(a, rows(**many | {"sums": [0.0, 12.5 + 1e-8]}))[0] == "equal"
    other = rows(**many | {"sums": [0.0, 12.6]})
    assert verdict(a, other) == ("differ", "some of 1,000,000 rows differ")
    assert verdict(a, rows(**many | {"digest": 2}))[0] == "differ"
    assert verdict(a, rows(**many | {"digest": None}))[0] == "unknown"
    limited = ordering_of("select a, b from t limit 1000000", "sqlite")
    assert verdict(a, rows(**many | {"digest": 2}), limited)[0] == "unknown"


def test_each_execution_is_compared_with_its_counterpart() -> None:
    same, other = rows((1,)), rows((2,))
    assert verdict([*same, *same], [*same, *other])[0] == "differ"
    assert verdict([], [])[0] == "unknown"
