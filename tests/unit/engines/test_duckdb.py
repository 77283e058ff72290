"""DuckDB: its settings, its library, its files, and the experiments on it."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from dbdyno.base.errors import InputError
from dbdyno.engines import engine_of
from dbdyno.engines.duckdb import library, packages
from dbdyno.engines.duckdb.settings import read_settings
from dbdyno.engines.url import parse_url
from dbdyno.experiment import load_experiment
from dbdyno.experiment.compile import refusal
from dbdyno.experiment.design import make_cells, parse_set
from duckdb_library import URL, needs_duckdb
from experiment_files import compiled, experiment

if TYPE_CHECKING:
    from conftest import Cli

NAMED = 'name = "c"\ntitle = "C"\nrounds = 1\n'

COUNTED = """
[tables.t]
rows = 10
[tables.t.columns]
id = { type = "bigint", primary_key = true, autoincrement = true }
v = { type = "integer", fill = { uniform = [0, 9] } }
[load]
stop = { transactions = 20 }
[[transactions]]
name = "insert"
steps = [{ execute = "insert into t (v) values (?)", params = [{ uniform = [0, 9] }] }]
"""

HEAD = 'name = "n"\ntitle = "N"\nrounds = 1\n[load]\nstop = { transactions = 5 }\n'


@pytest.mark.parametrize(
    ("asked", "found", "same"),
    [
        ("512MB", "488.2 MiB", True),
        ("512MiB", "512.0 MiB", True),
        ("512MB", "512.0 MiB", False),
        ("2", "2", True),
        ("2", "1", False),
        ("on", "true", True),
        ("0", "true", False),
        ("Read_Only", "read_only", True),
        ("/tmp/a", None, False),
        ("/tmp/a", ".tmp", False),
    ],
)
def test_a_setting_is_compared_with_what_was_read_back(asked: str, found: str | None, same: bool) -> None:
    assert engine_of("duckdb").is_in_effect("some_setting", asked, found) is same


def test_settings_of_files_are_told_from_others() -> None:
    settings = read_settings({"library": "a.so", "threads": 2, "default_block_size": "16384", "x": "default"}, "u")
    assert dict(settings.shown()) == {"library": "a.so", "threads": "2", "default_block_size": "16384"}
    assert settings.file_settings == (("default_block_size", "16384"),)
    with pytest.raises(InputError, match=r"u: a b: not a setting's name"):
        read_settings({"a b": 1}, "u")


def test_several_processes_are_refused_but_those_that_only_read() -> None:
    made = load_experiment("promo-code")
    chosen = ["step=7_begin_immediate"]
    with pytest.raises(InputError, match="only one process can open a DuckDB file for writing, but 10 would"):
        make_cells(made, parse_set(chosen, made), [parse_url("duckdb:")], refusal)
    for url, more in (("duckdb:?access_mode=read_only", []), ("duckdb:", ["clients_as=threads"])):
        cells = make_cells(made, parse_set([*chosen, *more], made), [parse_url(url)], refusal)
        assert (len(cells.cells), cells.excluded) == (1, ())


def test_a_key_is_counted_up_by_a_sequence_behind_the_rows() -> None:
    (cell,) = compiled(experiment(NAMED, COUNTED), "duckdb:")
    (text,) = cell.before
    assert text == (
        'create sequence "t_id_counted" start 11; create table "t" '
        '("id" bigint primary key default nextval(\'"t_id_counted"\'), "v" integer)'
    )


def test_a_library_that_is_not_there_is_an_error() -> None:
    with pytest.raises(InputError, match=r"library: no such file: `/nowhere/libduckdb\.so`"):
        library.find_library(read_settings({"library": "/nowhere/libduckdb.so"}, ""))


def test_what_is_no_release_is_an_error() -> None:
    with pytest.raises(InputError, match=r"latest: not a DuckDB release; write e\.g\. `1\.5\.6`"):
        packages.get_library("latest")


def test_of_several_libraries_the_newest_that_was_fetched_is_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DBDYNO_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("LD_LIBRARY_PATH", str(tmp_path))
    monkeypatch.setattr(library, "_INSTALLED", ())
    (tmp_path / library.NAME).touch()
    for version in ("1.9.0-r.1", "1.10.0-r.1"):
        (library.fetched() / version).mkdir()
        (library.fetched() / version / library.NAME).touch()
    found = [str(each.relative_to(tmp_path)) for each in library.found_libraries()][:3]
    assert found == ["cache/duckdb/1.10.0-r.1/libduckdb.so", "cache/duckdb/1.9.0-r.1/libduckdb.so", "libduckdb.so"]


def test_a_package_is_fetched_once_and_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DBDYNO_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(packages, "identity", lambda path: Path(path).read_text())
    asked: list[str] = []

    def client(command: list[str], package: str, directory: Path, **_: str) -> str:
        asked.append(f"{command[1]} {package}")
        if command[1] == "pack":
            (directory / "package").mkdir()
            (directory / "package/libduckdb.so").write_text("a library")
            subprocess.run(["tar", "-czf", "p.tgz", "package"], cwd=directory, check=True)
        return json.dumps(["1.4.0-r.1", "1.5.6-r.1", "1.5.6-r.2"])

    monkeypatch.setattr(packages, "run_client", client)
    monkeypatch.setattr(shutil, "which", lambda name: name)
    path = packages.get_library("1.5.6")
    assert path == tmp_path / "cache/duckdb/1.5.6-r.2/libduckdb.so"
    assert path.read_text() == "a library"
    assert packages.get_library("1.5.6") == path
    assert len(asked) == 2
    with pytest.raises(InputError, match=r"1\.3\.0: .* doesn't have this version; known: 1\.4\.0, 1\.5\.6"):
        packages.get_library("1.3.0")
    assert [each.name for each in library.fetched().iterdir()] == ["1.5.6-r.2"]


def rounds(document: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {cell["id"]: cell["rounds"][0] for cell in document["cells"]}


@needs_duckdb
def test_a_key_goes_on_behind_those_that_were_loaded(cli: Cli) -> None:
    document = cli.run(cli.write("c.toml", NAMED + COUNTED), "--system", URL)
    (cell,) = document["cells"]
    assert cell["rounds"][0]["ok"] == 20
    assert cell["system"]["durability"] == "power-safe"
    assert cell["rounds"][0]["io"]["syncs"] == 20


@needs_duckdb
def test_settings_are_in_force_and_wrong_ones_are_told_before_a_trial(cli: Cli) -> None:
    path = cli.write("c.toml", NAMED + COUNTED)
    document = cli.run(path, "--system", f"{URL}&memory_limit=512MB&threads=1")
    settings = document["cells"][0]["system"]["settings"]
    assert (settings["memory_limit"], settings["threads"]) == ("488.2 MiB", "1")
    assert not [each for each in document["findings"] if each["kind"] == "setting-not-in-force"]
    process = cli.start("run", path, "--system", f"{URL}&memory_limits=1GB")
    assert "options were not recognized: memory_limits" in process.communicate()[1]
    assert process.returncode == 2


@needs_duckdb
def test_a_named_file_is_read_with_its_log_and_stays_as_it_is(cli: Cli) -> None:
    made = cli.directory / "made.duckdb"
    path = cli.write("c.toml", NAMED + COUNTED)
    cli.run(path, "--system", URL)
    (template,) = (cli.directory / "cache/templates").glob("*.db")
    shutil.copyfile(template, made)
    before = made.read_bytes()
    count = HEAD + '[[transactions]]\nname = "n"\nsteps = [{ execute = "select count(*) from t", into = ["n"] }]\n'
    url = URL.replace("duckdb:", f"duckdb:{made}")
    document = cli.run(cli.write("n.toml", count), "--system", url)
    assert document["cells"][0]["rounds"][0]["ok"] == 5
    assert made.read_bytes() == before


@needs_duckdb
@pytest.mark.parametrize(
    ("name", "chosen"),
    [
        ("pk-lookup", ["threads=1"]),
        ("bulk-insert", ["mode=one_transaction_prepared"]),
        ("dictionary-search", ["search=performance"]),
        ("promo-code", ["step=1_rollback_journal"]),
    ],
)
def test_experiments_run_on_it(cli: Cli, name: str, chosen: list[str]) -> None:
    text = (Path(__file__).parents[3] / f"python/dbdyno/experiments/{name}.toml").read_text()
    # Of the dictionary its own words are left, and all that is searched for.
    shorter = [("100_000", "1_000"), ("788_792", "7_792"), ("seconds = 3\n", "seconds = 0.1\n")]
    for more, fewer in (*shorter, ("transactions = 1_000 ", "transactions = 50 ")):
        text = text.replace(more, fewer)
    options = [each for choice in chosen for each in ("--set", choice)]
    document = cli.run(cli.write("e.toml", text), "--system", URL, "--rounds", "1", *options)
    assert all(not sum(each["failed"].values()) and each["ok"] > 0 for each in rounds(document).values())
