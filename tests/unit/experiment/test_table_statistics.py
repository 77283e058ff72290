"""Statistics of tables from samples, and the tables that are generated from them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dbdyno.experiment.distil.statistics import (
    ColumnStatistics,
    Counts,
    Declared,
    TableStatistics,
    column_statistics,
    declared_type,
    fitted_spread,
)
from dbdyno.experiment.distil.tables import SyntheticTables


@pytest.mark.parametrize(
    ("declared", "grammar", "expected"),
    [
        ("character varying(40)", "postgres", ("text", "varchar(40)", True)),
        ("timestamp with time zone", "postgres", ("timestamp", "timestamp", True)),
        ("numeric(10,2)", "postgres", ("number", "decimal(10, 2)", True)),
        ("double precision", "postgres", ("number", "double", True)),
        ("integer[]", "postgres", ("text", "text", False)),
        ("inet", "postgres", ("text", "text", False)),
        ("int(11) unsigned", "mysql", ("integer", "bigint", True)),
        ("longtext", "mysql", ("text", "text", True)),
        ("integer", "sqlite", ("integer", "integer", True)),
        ("", "sqlite", (None, "", True)),
        ("no type (at all", "sqlite", ("text", "text", False)),
    ],
)
def test_types(declared: str, grammar: str, expected: tuple[str | None, str, bool]) -> None:
    assert declared_type(declared, grammar) == expected


@pytest.mark.parametrize("exponent", [0.0, 0.8, 1.1])
@pytest.mark.parametrize("is_counted", [False, True])
def test_a_sample_shows_how_values_are_spread(exponent: float, is_counted: bool) -> None:
    random = np.random.default_rng(3)
    weights = np.arange(1, 2001, dtype=float) ** -exponent
    column = random.choice(2000, 60_000, p=weights / weights.sum())
    sample = np.bincount(random.choice(column, 4000, replace=False))
    distinct = len(np.unique(column))
    counts = [int(each) for each in sample if each]
    spread, different = fitted_spread(counts, 60_000, distinct if is_counted else None)
    assert spread is not None
    assert different == pytest.approx(distinct, rel=0.1 if is_counted else 0.2)
    assert (spread.exponent or 0) == pytest.approx(exponent, abs=0.1)
    drawn = np.arange(1, spread.values + 1, dtype=float) ** -(spread.exponent or 0)
    again = random.choice(spread.values, 60_000, p=drawn / drawn.sum())
    assert len(np.unique(again)) == pytest.approx(distinct, rel=0.1 if is_counted else 0.2)


@pytest.mark.parametrize("distinct", [20_000, 200_000])
def test_many_values_are_spread_as_few_pairs_show(distinct: int) -> None:
    random = np.random.default_rng(3)
    sample = np.unique(random.integers(0, distinct, 4000), return_counts=True)[1]
    spread, _ = fitted_spread([int(each) for each in sample], 1_000_000)
    assert spread is not None and spread.exponent is None
    assert spread.values == pytest.approx(distinct, rel=0.35)


def test_values_without_repetition_have_no_spread() -> None:
    assert fitted_spread([1] * 4000, 1_000_000) == (None, 1_000_000)


def described(kind: Any, type_: str, values: list[Any], **declared: Any) -> ColumnStatistics:
    keys = [(number,) for number in range(len(values))]
    return column_statistics(Declared("c", kind, type_, **declared), values, keys, Counts(len(values)))


def test_ranges_are_rounded_outward() -> None:
    random = np.random.default_rng(3)
    numbers = [int(each) for each in random.integers(12_345, 67_891, 500)]
    numbers[:2] = [12_345, 67_891]
    made = described("integer", "integer", numbers)
    assert (made.low, made.high) == (12_000, 68_000)
    days = described("date", "date", [f"2024-05-{day:02}" for day in range(10, 20)] * 30)
    filled = SyntheticTables([TableStatistics("t", 300, [days])]).document()["t"]["columns"]["c"]["fill"]
    assert filled["pick"][0] == {"date": {"constant": 19_844}}  # 2024-05-01
    times = described(
        None, "timestamp", [f"2024-05-10 10:{each % 60:02}:{each // 60:02}.5+02:00" for each in range(300)]
    )
    assert times.kind == "timestamp" and times.template == ".{:06}+02:00"
    assert (times.low, times.high) == (1_714_521_600, 1_717_199_999)
    assert times.order < 0.9


def test_a_column_without_values_has_nulls_only() -> None:
    kinds = ("number", "float"), ("integer", "int"), ("date", "date"), ("timestamp", "timestamp"), ("text", "text")
    for kind, declared in kinds:
        made = described(kind, declared, [None] * 100)
        assert SyntheticTables([TableStatistics("t", 100, [made])]).document()["t"]["rows"] == 100, kind


def test_few_values_become_stand_ins_of_their_lengths() -> None:
    values = [["paid", 4]] * 70 + [["cancelled", 9]] * 20 + [["", 0]] * 10 + [None] * 100
    made = described("text", "varchar(20)", values)
    fill = SyntheticTables([TableStatistics("t", 200, [made])]).document()["t"]["columns"]["c"]["fill"]
    picked = {"values": ["0xxx", "1xxxxxxxx", ""], "weights": [0.7, 0.2, 0.1]}
    assert fill == {"nullable": {"share": 0.5, "of": {"pick": picked}}}


def test_ranks_are_values_by_their_frequency() -> None:
    made = described("text", "text", ["paid"] * 150 + ["new"] * 40 + ["cancelled"] * 10)
    tables = SyntheticTables([TableStatistics("t", 200, [made, key()], ("id",))])
    frequent = tables.ranked("t", "c", [1, 3, 2, 9])["pick"]
    assert [len(each) for each in frequent] == [4, 9, 3, 9]
    assert tables.ranked("t", "id", [1, 7]) == {"key": "t.id", "row": {"pick": [0, 6]}}


def test_values_in_the_order_of_the_key_stay_so() -> None:
    made = described(None, "integer", [1000 + 7 * each for each in range(400)])
    assert made.order == pytest.approx(1)
    fill = SyntheticTables([TableStatistics("t", 400, [made])]).document()["t"]["columns"]["c"]["fill"]
    assert fill == {"expression": "1000 + :row * 2801 / 400"}


def test_values_fit_into_their_types() -> None:
    assert described("integer", "smallint", list(range(32_000, 32_700))).high == 32_767
    prices = described("number", "decimal(4, 2)", [each / 100 for each in range(9100, 9999)])
    assert (prices.low, prices.high) == (9100, 9999)
    assert described("text", "text", [["2026-02-30", 10]] * 3).kind == "text"
    codes = [[f"{each:x}", 3] for each in range(1000, 3000)]
    short = SyntheticTables([TableStatistics("t", 2000, [described("text", "varchar(3)", codes, unique=True)])])
    assert short.document()["t"]["columns"]["c"]["type"] == "varchar(4)"


def table(name: str, *columns: ColumnStatistics, rows: int = 100) -> TableStatistics:
    return TableStatistics(name, rows, columns, ["id"])


def key(name: str = "id", **options: Any) -> ColumnStatistics:
    usual = {"unique": name == "id", "distinct": 100, "low": 1, "high": 100, "order": 1.0 if name == "id" else 0.0}
    return ColumnStatistics(name, "integer", "integer", **{**usual, **options})


def test_parents_come_before_their_children() -> None:
    child = table("child", key(), key("parent_id", parent=("parent", "id"), distinct=100))
    parent = table("parent", key(), key("boss", parent=("parent", "id")))
    tables = SyntheticTables([child, parent])
    document = tables.document()
    assert list(document) == ["parent", "child"]
    assert document["child"]["columns"]["parent_id"]["fill"] == {"key": "parent.id"}
    # A table can't refer to rows of its own.
    assert document["parent"]["columns"]["boss"]["fill"] == {"uniform": [1, 100]}
    assert tables.parameter("child", "parent_id", 1.2) == {"key": "parent.id", "draw": {"zipf": 1.2}}
    assert tables.foreign_keys(lambda name: name)[0].endswith("(boss) references parent (id)")


def test_tables_that_refer_to_each_other_can_be_generated() -> None:
    first = table("first", key(), key("second_id", parent=("second", "id")))
    second = table("second", key(), key("first_id", parent=("first", "id")))
    document = SyntheticTables([first, second]).document()
    assert document["first"]["columns"]["second_id"]["fill"] == {"uniform": [1, 100]}
    assert document["second"]["columns"]["first_id"]["fill"] == {"key": "first.id"}
