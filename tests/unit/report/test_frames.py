"""Results as rows and columns, in pandas, Polars and Arrow. All results are synthetic."""

from __future__ import annotations

import copy
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pandas
import polars
import pyarrow
import pytest

from dbdyno.base.errors import ExtraMissing, InputError
from dbdyno.model.result.shape import Document
from dbdyno.report.frames.cells import cells_frame, intervals_frame, rounds_frame
from dbdyno.report.frames.comparisons import comparisons_frame, effects_frame
from dbdyno.report.frames.frame import Field, Frame, make_frame
from dbdyno.report.frames.libraries import data_frame, to_arrow, to_pandas, to_polars
from synthetic import lookup_document, update_document
from synthetic_cells import some

FRAMES = (rounds_frame, cells_frame, intervals_frame, effects_frame, comparisons_frame)


def column(frame: Frame, name: str) -> list[Any]:
    return next(each.values for each in frame.columns if each.name == name)


def test_a_row_a_round_has_factors_system_and_figures() -> None:
    document = lookup_document()
    frame = to_pandas(rounds_frame(document))
    assert len(frame) == sum(len(cell.rounds) for cell in document.cells) == 35
    first, cell = frame.iloc[0], document.cells[0]
    told = cell.rounds[0]
    assert (first["cache"], first["threads"], first["system"]) == ("private", 1, "sqlite:")
    assert first["throughput"] == told.throughput
    assert first["service_p99_ms"] == told.latency_ms["service"].p99
    assert first["cpu_percent"] == told.cpu_percent.client
    assert first["started"] == datetime(2026, 3, 14, 10, tzinfo=UTC)
    assert list(frame["block"].unique()) == [0, 1, 2, 3, 4]


def test_what_is_not_known_is_missing_and_never_0() -> None:
    frame = to_pandas(rounds_frame(lookup_document()))
    lost = frame[frame["status"] == "failed"]
    assert list(lost["error"]) == ["the worker was killed by signal 9"]
    assert lost["throughput"].isna().all()
    assert frame["server_cpu_percent"].isna().all()
    done = frame[frame["status"] == "done"]
    assert not done["throughput"].isna().any()
    assert done["error"].isna().all()


def test_a_cell_has_its_interval_and_its_failures() -> None:
    document = update_document()
    frame = to_pandas(cells_frame(document)).set_index("cell")
    for cell in document.cells:
        row, throughput = frame.loc[cell.id], cell.throughput
        assert [row["throughput_low"], row["throughput_high"]] == throughput.ci95
        assert row["throughput_low"] < row["throughput"] < row["throughput_high"]
        assert (row["unit"], row["rounds"]) == (throughput.unit, len(cell.rounds))
        assert row["failed"] == sum(cell.failed.values())


def test_lower_bounds_are_named() -> None:
    document = copy.deepcopy(lookup_document())
    document.cells[1].latency_ms["service"].at_least = ["p99", "p99_9"]
    assert column(cells_frame(document), "service_at_least")[:2] == [None, "p99 p99_9"]


def test_a_row_an_interval_goes_through_the_timeline() -> None:
    document = lookup_document()
    frame = to_pandas(intervals_frame(document))
    told = [len(each.intervals) for cell in document.cells for each in cell.rounds]
    assert len(frame) == sum(told) > 100
    of_first = frame[(frame["cell"] == document.cells[0].id) & (frame["block"] == 0)]
    assert list(of_first["index"]) == list(range(told[0]))
    assert list(of_first["ok"]) == [each["ok"] for each in document.cells[0].rounds[0].intervals]


def test_effects_and_comparisons_are_those_of_the_document() -> None:
    document = lookup_document()
    effects, comparisons = to_pandas(effects_frame(document)), to_pandas(comparisons_frame(document))
    assert list(effects["ratio"]) == [each.ratio for each in document.effects]
    assert list(effects["level"]) == [str(each.level) for each in document.effects]
    assert list(comparisons["verdict"]) == [each.verdict for each in document.comparisons]
    assert list(comparisons["ratio_low"]) == [each.ci95[0] for each in document.comparisons if each.ci95]


def test_what_is_not_comparable_has_no_verdict_and_says_why() -> None:
    document = update_document(systems=("sqlite:", "sqlite:?journal_mode=wal"))
    frame = to_pandas(comparisons_frame(document))
    apart = frame[frame["not_comparable"].notna()]
    assert len(apart) == sum(bool(each.not_comparable) for each in document.comparisons) > 0
    assert apart["verdict"].isna().all()


def test_a_factor_has_the_kind_of_its_levels() -> None:
    document = copy.deepcopy(lookup_document())
    for number, cell in enumerate(document.cells):
        cell.factors |= {"mixed": 1 if number else "auto", "share": 1 if number else 0.5, "on": number > 2}
    kinds = {each.name: each.kind for each in cells_frame(document).columns}
    assert [kinds[name] for name in ("threads", "cache", "mixed", "share", "on")] == [
        "whole",
        "text",
        "text",
        "number",
        "truth",
    ]
    assert column(cells_frame(document), "mixed")[:2] == ["auto", "1"]


def test_factors_called_like_columns_have_names_of_their_own() -> None:
    document = copy.deepcopy(lookup_document())
    for cell in document.cells:
        cell.factors |= {"status": "x", "factor_status": "y", "system": "sqlite:", "run": 3}
    names = [each.name for each in rounds_frame(document).columns]
    assert len(set(names)) == len(names)
    assert column(rounds_frame(document), "factor_status")[0] == "x"
    assert column(rounds_frame(document), "factor_factor_status")[0] == "y"
    assert column(rounds_frame(document), "factor_run")[0] == 3
    assert names.count("system") == 1


@pytest.mark.parametrize("make", FRAMES)
def test_the_libraries_agree(make: Callable[[Document], Frame]) -> None:
    frame = make(lookup_document())
    pandas_frame, polars_frame, table = to_pandas(frame), to_polars(frame), to_arrow(frame)
    assert isinstance(pandas_frame, pandas.DataFrame)
    assert isinstance(polars_frame, polars.DataFrame)
    assert isinstance(table, pyarrow.Table)
    names = [each.name for each in frame.columns]
    assert list(pandas_frame.columns) == polars_frame.columns == table.column_names == names
    assert polars_frame.rows() == [tuple(row.values()) for row in table.to_pylist()] == list(frame.rows())
    known = pandas_frame.astype(object).where(pandas_frame.notna(), None)
    assert list(known.itertuples(index=False, name=None)) == list(frame.rows())


@pytest.mark.parametrize("make", FRAMES)
def test_no_rows_have_the_same_columns_of_the_same_kinds(make: Callable[[Document], Frame]) -> None:
    full, empty = make(lookup_document()), make(some(Document))
    factors = {"cache", "threads"}
    kinds = [(each.name, each.kind) for each in full.columns if each.name not in factors]
    assert [(each.name, each.kind) for each in empty.columns] == kinds
    types = {name: to_pandas(full).dtypes[name] for name, _ in kinds}
    assert dict(to_pandas(empty).dtypes) == types
    assert to_polars(empty).schema == to_polars(full).drop(factors, strict=False).schema


def test_a_value_of_another_kind_is_not_known() -> None:
    values: list[Any] = ["1", True, float("nan"), float("inf"), 2**63, 7]
    rows = [{"x": value} for value in values]
    frame = make_frame(
        rows, [Field("whole", "whole", lambda row: row["x"]), Field("text", "text", lambda row: row["x"])]
    )
    assert column(frame, "whole") == [None, None, None, None, None, 7]
    assert column(frame, "text") == ["1", None, None, None, None, None]
    assert to_polars(frame).height == to_arrow(frame).num_rows == len(to_pandas(frame)) == 6


def test_halves_of_characters_are_no_trouble() -> None:
    frame = make_frame(["a\ud800b"], [Field("text", "text", lambda row: row)])
    assert to_arrow(frame).to_pylist() == [{"text": "a?b"}]
    assert to_polars(frame).rows() == [("a?b",)]


def test_times_are_in_utc() -> None:
    rows = ["2026-03-14T12:00:00.250+02:00", "2026-03-14T10:00:00", "yesterday"]
    frame = make_frame(rows, [Field("at", "time", lambda row: row)])
    assert column(frame, "at") == [
        datetime(2026, 3, 14, 10, 0, 0, 250_000, tzinfo=UTC),
        datetime(2026, 3, 14, 10, tzinfo=UTC),
        None,
    ]
    assert to_pandas(frame)["at"].isna().tolist() == [False, False, True]


@pytest.mark.parametrize(
    ("library", "make", "extra"),
    [("pandas", to_pandas, "pandas"), ("polars", to_polars, "polars"), ("pyarrow", to_arrow, "parquet")],
)
def test_a_library_that_is_not_installed_is_one_error(
    library: str, make: Callable[[Frame], Any], extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(ExtraMissing, match=rf"^{library}: not installed; .*`pip install 'WHEEL\[{extra}\]'`") as it:
        make(cells_frame(lookup_document()))
    assert isinstance(it.value, InputError)
    assert it.value.extra == extra


def test_an_unknown_library_is_bad_input() -> None:
    with pytest.raises(InputError, match="give `pandas` or `polars`"):
        data_frame(cells_frame(lookup_document()), "numpy")
