"""A store whose JSON is JSON still, but not what dbdyno wrote: one clear error, or what can be read of it."""

import contextlib
import json
import re
import shutil
import sqlite3
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from conftest import SMALL, Cli
from damaged_stores import damage
from dbdyno.analysis.document.run import read_run, stored_experiment
from dbdyno.analysis.history.build import build_history
from dbdyno.analysis.history.metrics import metric
from dbdyno.analysis.history.stored_runs import read_history
from dbdyno.base.errors import DbdynoError, StoreError
from dbdyno.cli.app import commands
from dbdyno.report.html import html_report
from dbdyno.report.table import show_details
from dbdyno.store import open_store

Read = Callable[[str], object]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with one run."""
    cli = Cli(tmp_path_factory.mktemp("damage"))
    text = SMALL.replace("transactions = 500", "transactions = 5")
    cli("run", cli.write("small.toml", text), "--store", "runs.db")
    return cli.directory / "runs.db"


def shown(path: str) -> str:
    store = open_store(path)
    try:
        document = read_run(store, "last")
    finally:
        store.close()
    out = StringIO()
    show_details(document, Console(file=out))
    return out.getvalue() + html_report(document)


def history(path: str) -> object:
    return build_history("small", read_history(path, "small", 10), metric("throughput"))


def listed(path: str) -> object:
    store = open_store(path)
    try:
        return store.runs()
    finally:
        store.close()


def damaged(whole: Path, tmp_path: Path, table: str, column: str, value: Any) -> str:
    path = tmp_path / "runs.db"
    shutil.copyfile(whole, path)
    with contextlib.closing(sqlite3.connect(path)) as raw, raw:
        raw.execute(f"update dbdyno_{table} set {column} = ?", [json.dumps(value)])
    return str(path)


@pytest.mark.parametrize(
    ("table", "column", "read"),
    [
        *(("runs", name, shown) for name in ("design", "command", "options", "host", "device", "ceiling")),
        ("runs", "observations", shown),
        *(("trials", name, shown) for name in ("plan", "result", "intervals", "parts", "around", "durations")),
        *(("runs", name, history) for name in ("design", "host")),
        *(("trials", name, history) for name in ("plan", "result", "parts", "around")),
    ],
)
@pytest.mark.parametrize("value", [[1, 2], "text", 3])
def test_a_column_of_another_shape_is_one_clear_error(
    whole: Path, tmp_path: Path, table: str, column: str, read: Read, value: Any
) -> None:
    path = damaged(whole, tmp_path, table, column, value)
    with pytest.raises(
        StoreError, match=rf"^store {path}: contains unreadable data \(invalid `{column}` of run 20\d+-\w+"
    ):
        read(path)


def test_a_result_that_no_worker_writes_costs_its_trial_alone(whole: Path, tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    shutil.copyfile(whole, path)
    with contextlib.closing(sqlite3.connect(path)) as raw, raw:
        raw.execute("update dbdyno_trials set result = json_remove(result, '$.cpu.cores') where id = 1")
    store = open_store(str(path))
    rounds = [each for cell in read_run(store, "last").cells for each in cell.rounds]
    store.close()
    (broken,) = [each for each in rounds if each.status != "done"]
    assert broken.error_kind == "unreadable" and "`result.cpu.cores`: field required" in (broken.error or "")
    assert len(rounds) > 1
    history(str(path))
    assert "clients=1" in shown(str(path))


def test_a_run_under_way_with_other_options_is_no_traceback(whole: Path, tmp_path: Path) -> None:
    path = damaged(whole, tmp_path, "runs", "options", [1, 2])
    with contextlib.closing(sqlite3.connect(path)) as raw, raw:
        raw.execute("update dbdyno_runs set status = 'running'")
    with pytest.raises(StoreError, match="`options`"):
        listed(path)


def test_options_without_a_place_are_told(whole: Path, tmp_path: Path) -> None:
    path = damaged(whole, tmp_path, "runs", "options", {"process": 3})
    with contextlib.closing(open_store(path)) as store:
        run = store.run("last")
        with pytest.raises(StoreError, match="do not contain the location of its experiment"):
            stored_experiment(run, store)
    # It is shown all the same: only published figures need the experiment.
    assert shown(path)


@pytest.mark.parametrize(
    "design",
    [
        {},
        *({"cells": cells} for cells in (3, [1], [{"id": 3}], [{"id": "a", "factors": 3, "system": []}])),
        *({name: 3} for name in ("factors", "measure", "report", "recommendations", "stopping", "margin", "title")),
    ],
)
def test_what_a_design_lacks_does_not_hide_the_rest(whole: Path, tmp_path: Path, design: dict[str, Any]) -> None:
    path = damaged(whole, tmp_path, "runs", "design", design)
    assert "clients=1" in shown(path)
    history(path)
    listed(path)


READING = (
    ("runs",),
    ("show", "last"),
    ("history", "small"),
    ("compare", "main", "last"),
    ("gate", "last", "--baseline", "main"),
    ("show", "last", "--json", "o.json", "--csv", "o.csv", "--markdown", "o.md"),
    ("report", "last", "--report", "o.html"),
    ("baseline",),
    ("baseline", "another", "last"),
    ("store", "copy"),
)


@pytest.fixture(scope="module")
def two_runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with two runs, of which the first is a baseline, in one file."""
    cli = Cli(tmp_path_factory.mktemp("damages"))
    file = cli.write("small.toml", SMALL.replace("transactions = 500", "transactions = 5"))
    for number in range(2):
        cli("run", file, "--store", "runs.db")
        if not number:
            cli("baseline", "main", "last", "--store", "runs.db")
    with contextlib.closing(sqlite3.connect(cli.directory / "runs.db")) as raw:
        raw.execute("PRAGMA journal_mode = delete")
    return cli.directory / "runs.db"


def ended(*arguments: str) -> tuple[int, str]:
    """How a command ends in this process: its exit code, and its error."""
    with contextlib.redirect_stdout(StringIO()), contextlib.redirect_stderr(StringIO()):
        try:
            commands()(args=list(arguments), standalone_mode=False)
        except DbdynoError as error:
            return error.exit_code, str(error)
        except SystemExit as end:
            return int(end.code or 0), ""
    return 0, ""


@pytest.mark.slow
def test_random_damage_is_one_clear_error_or_none(
    two_runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "home"))
    errors: list[str] = []
    for seed in range(200):
        done = damage(two_runs, tmp_path / "d.db", seed)
        # Each command meets each kind of damage sooner or later.
        for arguments in (READING[seed % 10], READING[(seed // 10) % 10]):
            where = ("d.db", f"{seed}.copy") if arguments[0] == "store" else ("--store", "d.db")
            try:
                code, error = ended(*arguments, *where)
            except Exception as unexpected:
                raise AssertionError(f"{done}: {arguments}") from unexpected
            # 3 is the gate's.
            assert code in (0, 1, 2, 3), (done, arguments, error)
            assert not code or len(error.splitlines()) <= 1, (done, arguments, error)
            errors += [error] if error else []
    # Damage that nothing noticed would prove nothing.
    assert len(errors) > 80 and len({each.partition("d.db")[2][:40] for each in errors}) > 10
    assert all("d.db" in each or "main" in each or "run" in each for each in errors), errors


@pytest.mark.parametrize(
    ("column", "document"),
    [
        *(("options", {**each, "place": "./small.toml", "folder": "/"}) for each in ({}, {"systems": 3, "set": []})),
        ("design", {"stopping": 3, "rounds": "many", "cells": []}),
        ("design", {}),
    ],
)
def test_a_damaged_run_is_not_gone_on_with(
    two_runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, column: str, document: dict[str, Any]
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "home"))
    path = damaged(two_runs, tmp_path, "runs", column, document)
    code, error = ended("run", "--resume", "last", "--store", path)
    assert code == 1 and re.match(rf"store {path}: contains unreadable data \(run 20\d+-\w+: ", error), error
