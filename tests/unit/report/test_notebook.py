"""Runs as objects: loading, what they show, the list of runs. All results but those of a real run are synthetic."""

from __future__ import annotations

import copy
import json
import subprocess
import sys
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pandas
import polars
import pytest

import dbdyno
from conftest import SMALL, Cli
from dbdyno.base.errors import ExtraMissing, InputError, StoreError
from dbdyno.model.result.shape import Document
from dbdyno.report.export import write_json
from dbdyno.report.lines import comparison_word
from dbdyno.report.notebook.run import Run
from dbdyno.store import open_store
from synthetic import lookup_design, lookup_document, lookup_trials, run_record


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A store with two runs of a synthetic experiment, ``20260314-aaaa`` and the newer ``20260315-zzzz``."""
    letters = iter("aaaazzzz")
    monkeypatch.setattr("dbdyno.store.store.secrets.choice", lambda _: next(letters))
    place = tmp_path / "runs.db"
    kept = open_store(str(place))
    design = lookup_design()
    options = {"place": "my.toml", "folder": str(tmp_path)}
    for day in ("2026-03-14", "2026-03-15"):
        run_id = kept.begin_run(
            run_record(design, definition=SMALL, options=options, started=f"{day}T10:00:00.000+00:00")
        )
        for each in lookup_trials(design, rounds=2, seed=3):
            kept.add_trial(run_id, each)
        kept.finish_run(run_id, "done")
    kept.close()
    return str(place)


def test_a_run_is_loaded_by_any_of_its_names(store: str) -> None:
    ids = {name: dbdyno.load(name, store=store).id for name in ("last", "20260315-zzzz", "zzzz", "20260315", "aaaa")}
    assert ids == dict.fromkeys(ids, "20260315-zzzz") | {"aaaa": "20260314-aaaa"}
    assert dbdyno.load(store=Path(store)).experiment == "pk-lookup"


def test_what_no_run_or_several_are_called_is_bad_input(store: str, tmp_path: Path) -> None:
    with pytest.raises(dbdyno.InputError, match=r"run nobody: no such run in the store"):
        dbdyno.load("nobody", store=store)
    with pytest.raises(dbdyno.InputError, match="2 runs match"):
        dbdyno.load("2026031", store=store)
    with pytest.raises(dbdyno.InputError, match="no such store"):
        dbdyno.load(store=tmp_path / "none.db")
    (tmp_path / "text").write_text("this is no database at all\n" * 9)
    with pytest.raises(StoreError, match="is not a dbdyno store"):
        dbdyno.load(store=tmp_path / "text")


def test_a_file_and_the_store_say_the_same(store: str, tmp_path: Path) -> None:
    run = dbdyno.load(store=store)
    write_json(run.document, tmp_path / "run.json")
    for place in (tmp_path / "run.json", str(tmp_path / "run.json")):
        loaded = dbdyno.load(place)
        assert loaded.document == run.document
        assert loaded.answer == run.answer
        pandas.testing.assert_frame_equal(loaded.frame(), run.frame())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "this is not JSON: "),
        ("[]", "its schema is missing; give a result of `dbdyno run --json`, whose schema is `dbdyno.run/1`"),
        ('{"schema": "dbdyno.history/1"}', "its schema is `dbdyno.history/1`"),
        ('{"schema": "dbdyno.run/1", "id": "a", "experiment": "b"}', "`cells`: field required"),
        ('{"schema": "dbdyno.run/1", "id": "a", "experiment": "b", "cells": [{}]}', "`cells.0.id`: field required"),
        (
            '{"schema": "dbdyno.run/1", "id": "a", "experiment": "b", "cells": [{"id": "c", "factors": []}]}',
            "`cells.0.factors`: input should be a valid dictionary",
        ),
    ],
)
def test_a_file_that_holds_no_result_is_bad_input(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "out.json").write_text(text)
    with pytest.raises(InputError) as error:
        dbdyno.load(tmp_path / "out.json")
    assert str(error.value).startswith(f"{tmp_path / 'out.json'}: {message}")


def test_a_file_that_is_not_there_is_bad_input() -> None:
    with pytest.raises(InputError, match=r"^nowhere\.json: it cannot be read: no such file or directory"):
        dbdyno.load("nowhere.json")


def test_fields_that_an_older_version_did_not_know_are_missing(tmp_path: Path) -> None:
    document: dict[str, Any] = {"schema": "dbdyno.run/1", "id": "a", "experiment": "b", "more": 1}
    document["cells"] = [{"id": "c", "factors": {"n": 1}, "rounds": [{"block": 0, "throughput": 2.0}]}]
    (tmp_path / "old.json").write_text(json.dumps(document))
    run = dbdyno.load(tmp_path / "old.json")
    frame = run.frame()
    assert list(frame["throughput"]) == [2.0]
    assert frame["cpu_percent"].isna().all()
    assert (len(run.cells()), len(run.intervals()), len(run.effects()), len(run.comparisons())) == (1, 0, 0, 0)
    assert run.answer == ""
    assert "<td" in run._repr_html_()
    assert repr(run) == "<run a of b, of unknown status, 1 cell>"


def test_the_answer_is_that_of_the_table() -> None:
    run = Run(lookup_document())
    first, *_, last = run.answer.splitlines()
    assert first.startswith("private is faster than shared")
    assert last.startswith("skip shared: 0.338x [")
    assert repr(run) == "<run 20260314-syn7 of pk-lookup, done, 7 cells>"


def test_frames_are_of_the_library_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    document = lookup_document()
    run = Run(document)
    for make in (run.frame, run.cells, run.intervals, run.effects, run.comparisons):
        usual, other = make(), make(library="polars")
        assert isinstance(usual, pandas.DataFrame)
        assert isinstance(other, polars.DataFrame)
        assert list(usual.columns) == other.columns
        assert len(usual) == other.height > 0
    words = [comparison_word(each, advise=False) for each in document.comparisons]
    assert list(run.comparisons()["verdict"]) == words
    monkeypatch.setitem(sys.modules, "pandas", None)
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(ExtraMissing, match=r"pip install 'WHEEL\[pandas\]'.*library=\"polars\""):
        run.frame()
    with pytest.raises(ExtraMissing, match=r"pip install 'WHEEL\[polars\]'"):
        run.frame("polars")


class Page(HTMLParser):
    """The tags and the text of a part of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)

    def handle_data(self, data: str) -> None:
        self.text += data


def test_a_notebook_shows_the_answer_and_a_small_table() -> None:
    document = lookup_document()
    page = Page(Run(document)._repr_html_())
    assert Run(document).answer.splitlines()[0] in page.text
    assert page.tags.count("tr") == 1 + len(document.cells)
    for head in ("cache", "threads", "lookups/s", "95 %", "p99 ms", "bottleneck"):
        assert head in page.text


def test_a_notebook_shows_lower_bounds_as_such() -> None:
    document = copy.deepcopy(lookup_document())
    assert "≥" not in Run(document)._repr_html_()
    document.cells[0].latency_ms["service"].at_least = ["p99"]
    assert Run(document)._repr_html_().count("≥") == 1


def hostile(document: Document, text: str) -> None:
    document.id = document.experiment = text
    document.answer.text = [text]
    for number, cell in enumerate(document.cells):
        cell.id = f"{text}{number}"
        cell.factors = {text: f"{text}{number}"}
        cell.throughput.unit = text
        if cell.bottleneck:
            cell.bottleneck.resource = text


def test_words_of_others_are_no_markup_in_a_notebook() -> None:
    document = copy.deepcopy(lookup_document())
    hostile(document, "<script>alert('x')</script>\"&")
    page = Page(Run(document)._repr_html_())
    assert set(page.tags) <= {"div", "p", "strong", "table", "thead", "tbody", "tr", "th", "td"}
    assert page.text.count("<script>alert('x')</script>\"&") > 5


def test_of_many_cells_a_notebook_shows_some() -> None:
    document = copy.deepcopy(lookup_document())
    document.cells = [copy.deepcopy(document.cells[0]) for _ in range(30)]
    page = Page(Run(document)._repr_html_())
    assert page.tags.count("tr") == 13
    assert "18 more: run.cells()" in page.text


def test_runs_are_listed_newest_first(store: str) -> None:
    listed = dbdyno.runs(store=store)
    assert [each.id for each in listed] == ["20260315-zzzz", "20260314-aaaa"]
    assert (len(listed), listed[0].done, [each.id for each in listed[1:]]) == (2, 14, ["20260314-aaaa"])
    frame = listed.frame()
    assert list(frame["run"]) == ["20260315-zzzz", "20260314-aaaa"]
    assert frame["started"][0] == pandas.Timestamp("2026-03-15T10:00Z")
    assert isinstance(listed.frame("polars"), polars.DataFrame)
    assert repr(listed).splitlines()[0] == "20260315-zzzz  pk-lookup  2026-03-15T10:00:00  done"
    assert Page(listed._repr_html_()).tags.count("tr") == 3
    assert len(dbdyno.runs("pk-lookup", limit=1, store=store)) == 1
    none = dbdyno.runs("other", store=store)
    assert (len(none), repr(none), len(none.frame())) == (0, "no runs", 0)


def test_importing_imports_nothing_that_takes_time() -> None:
    script = "import sys, dbdyno; print(dbdyno.load.__doc__ is not None, *sorted(sys.modules))"
    said = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.split()
    assert said[0] == "True"
    heavy = {"pandas", "polars", "pyarrow", "numpy", "pydantic", "sqlalchemy", "rich", "typer", "jinja2"}
    assert heavy & set(said) == set()


def test_loading_without_a_frame_needs_no_library(store: str) -> None:
    script = f"import sys, dbdyno; dbdyno.load(store={store!r})._repr_html_(); print(*sys.modules)"
    said = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.split()
    assert {"pandas", "polars", "pyarrow"} & set(said) == set()


def test_a_real_run_is_exported_and_loaded(cli: Cli, small: Callable[..., str]) -> None:
    path = cli.write("small.toml", small())
    exports = ["--parquet", "tables", "--openmetrics", "out.txt"]
    document = cli.run(path, *exports)
    run = dbdyno.load(store=cli.directory / "runs.db")
    assert run.document == document
    rounds = pandas.read_parquet(cli.directory / "tables" / "rounds.parquet")
    assert list(rounds["throughput"]) == list(run.frame()["throughput"])
    assert list(rounds["clients"]) == [1, 1, 2, 2]
    assert sorted(each.name for each in (cli.directory / "tables").iterdir()) == [
        f"{name}.parquet" for name in ("cells", "comparisons", "effects", "intervals", "rounds")
    ]
    first = (cli.directory / "out.txt").read_text()
    assert first.endswith("# EOF\n")
    cli("show", run.id, "--store", "runs.db", "--openmetrics", "again.txt", "--parquet", "one.parquet")
    assert (cli.directory / "again.txt").read_text() == first
    assert len(polars.read_parquet(cli.directory / "one.parquet")) == 4
