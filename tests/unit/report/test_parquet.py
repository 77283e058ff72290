"""Exports as Parquet, read with what others read it with. All results are synthetic."""

from __future__ import annotations

import sys
from pathlib import Path

import pandas
import polars
import pytest
from pyarrow import parquet

from dbdyno.base.errors import ExtraMissing, InputError
from dbdyno.report.frames.cells import rounds_frame
from dbdyno.report.frames.libraries import to_pandas
from dbdyno.report.parquet import check_parquet, write_parquet
from synthetic import lookup_document


def test_a_file_has_a_row_a_round(tmp_path: Path) -> None:
    document = lookup_document()
    write_parquet(document, tmp_path / "out.parquet")
    told = pandas.read_parquet(tmp_path / "out.parquet", dtype_backend="numpy_nullable")
    wanted = to_pandas(rounds_frame(document))
    assert list(told.columns) == list(wanted.columns)
    for name in ("cell", "threads", "throughput", "started", "outlier", "error"):
        assert told[name].astype(object).where(told[name].notna(), None).tolist() == (
            wanted[name].astype(object).where(wanted[name].notna(), None).tolist()
        )
    assert [path.name for path in tmp_path.iterdir()] == ["out.parquet"]


def test_a_directory_has_a_file_for_each_table(tmp_path: Path) -> None:
    document = lookup_document()
    check_parquet(tmp_path / "out")
    assert not (tmp_path / "out").exists()
    write_parquet(document, tmp_path / "out")
    heights = {path.stem: polars.read_parquet(path).height for path in (tmp_path / "out").iterdir()}
    assert heights.pop("intervals") > 100
    assert heights == {
        "rounds": 35,
        "cells": 7,
        "effects": len(document.effects),
        "comparisons": len(document.comparisons),
    }
    # Written again, into a directory that is there.
    check_parquet(tmp_path / "out")
    write_parquet(document, tmp_path / "out")
    assert len(list((tmp_path / "out").iterdir())) == 5


def test_a_file_says_whose_it_is(tmp_path: Path) -> None:
    write_parquet(lookup_document(), tmp_path / "out.parquet")
    metadata = parquet.read_schema(tmp_path / "out.parquet").metadata
    assert (metadata[b"dbdyno.schema"], metadata[b"dbdyno.run"]) == (b"dbdyno.run/1", b"20260314-syn7")


def test_files_are_written_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "out.parquet"
    target.write_text("before")

    def full(self: Path, target: Path) -> Path:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(InputError, match=r"out\.parquet: no space left on device"):
        write_parquet(lookup_document(), target)
    assert target.read_text() == "before"
    assert list(tmp_path.iterdir()) == [target]


def test_a_place_that_cannot_be_written_is_bad_input(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match=r"^--parquet .*/file: is a file of another kind; give a directory, or"):
        check_parquet(tmp_path / "file", "--parquet")
    with pytest.raises(InputError, match=r"^--parquet .*/no/such: the directory cannot be created"):
        check_parquet(tmp_path / "no" / "such", "--parquet")
    with pytest.raises(InputError, match=r"^--parquet .*no/out\.parquet: no such file or directory"):
        check_parquet(tmp_path / "no" / "out.parquet", "--parquet")
    (tmp_path / "out" / "cells.parquet").mkdir(parents=True)
    with pytest.raises(InputError, match=r"cells\.parquet: is a directory"):
        check_parquet(tmp_path / "out", "--parquet")
    with pytest.raises(InputError, match="the directory cannot be created: file exists"):
        write_parquet(lookup_document(), tmp_path / "file")


def test_without_its_library_nothing_is_measured_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ExtraMissing, match=r"^pyarrow: not installed; .*`pip install 'WHEEL\[parquet\]'`"):
        check_parquet(tmp_path / "out.parquet")
