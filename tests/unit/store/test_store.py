"""The store of runs. The results stored here are synthetic."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import select

from conftest import Cli
from dbdyno.base.errors import InputError, StoreError
from dbdyno.base.resources import package_path
from dbdyno.store import Store, TrialRecord, open_store, pool
from dbdyno.store.masking import mask_definition, mask_text
from dbdyno.store.tables import METADATA
from parallel import python_environment, run_in_parallel
from synthetic import lookup_design, lookup_trials, run_record


@pytest.fixture
def store(place: str) -> Iterator[Store]:
    with closing(open_store(place)) as opened:
        yield opened


def trial(cell: str = "a", block: int = 0, **more: object) -> TrialRecord:
    return TrialRecord(cell=cell, block=block, position=0, status="done", **more)  # type: ignore[arg-type]


def test_a_run_and_its_trials_come_back_as_they_went_in(store: Store) -> None:
    design = lookup_design()
    run_id = store.begin_run(run_record(design))
    trials = lookup_trials(design, rounds=1, seed=3)
    for each in trials:
        store.add_trial(run_id, each)
    run = store.run(run_id)
    assert run.design == design
    assert run.seed == 42
    assert run.status == "running"
    back = store.trials(run_id)
    assert [each.cell for each in back] == [each.cell for each in trials]
    assert back[0].result == trials[0].result
    assert back[0].intervals == trials[0].intervals
    assert back[0].run_id == run_id


def test_a_seed_of_64_bits_survives(store: Store) -> None:
    run_id = store.begin_run(run_record({}, seed=2**64 - 1))
    assert store.run(run_id).seed == 2**64 - 1


def test_a_run_ends_and_goes_on(store: Store) -> None:
    run_id = store.begin_run(run_record({}))
    store.finish_run(run_id, "interrupted", [{"text": "stopped", "cells": [], "evidence": None}])
    assert store.run(run_id).status == "interrupted"
    assert store.run(run_id).ended is not None
    store.update_run(run_id, status="running", device={"sync_us": 5.0})
    run = store.run(run_id)
    assert (run.status, run.ended, run.device) == ("running", None, {"sync_us": 5.0})
    assert run.observations[0]["text"] == "stopped"


def test_runs_are_listed_newest_first_with_their_counts(store: Store) -> None:
    old = store.begin_run(run_record({}, started="2026-01-01T00:00:00.000+00:00"))
    new = store.begin_run(run_record({}, experiment="bulk-insert", started="2026-02-01T00:00:00.000+00:00"))
    store.add_trial(old, trial())
    store.add_trial(old, TrialRecord(cell="a", block=1, position=0, status="failed", error="killed"))
    listed = store.runs()
    assert [(each.id, each.done, each.failed) for each in listed] == [(new, 0, 0), (old, 1, 1)]
    assert [each.id for each in store.runs(experiment="pk-lookup")] == [old]
    assert [each.id for each in store.runs(limit=1)] == [new]


def test_a_run_is_found_by_part_of_its_id(store: Store) -> None:
    old = store.begin_run(run_record({}, started="2026-01-01T00:00:00.000+00:00"))
    new = store.begin_run(run_record({}, started="2026-02-01T00:00:00.000+00:00"))
    assert store.run("last").id == new
    assert store.run("202601").id == old
    assert store.run(old.rpartition("-")[2]).id == old
    with pytest.raises(InputError, match="2 runs match"):
        store.run("2026")
    with pytest.raises(InputError, match="no such run"):
        store.run("nonsense")


def test_an_empty_store_says_so(store: Store) -> None:
    with pytest.raises(InputError, match="contains no runs"):
        store.run("last")


def test_passwords_are_never_stored(store: Store, tmp_path: Path) -> None:
    url = "postgresql://bob:s3cr3t/@x@db.example/app?sslpassword=s3cr3t"
    run = run_record(
        {"cells": [{"id": "a", "system": url}]},
        command=["dbdyno", "run", "--system", url, "--password", "s3cr3t", "--db-password=s3cr3t"],
        definition=f'system = "{url}"\npassword = "s3cr3t"\n',
        options={"url": url, "password": "s3cr3t"},
    )
    run_id = store.begin_run(run)
    store.add_trial(run_id, trial(plan={"target": {"url": url}}, error=f"cannot connect to {url}"))
    store.finish_run(run_id, "failed", [{"text": f"{url} refused", "cells": [], "evidence": None}])
    with store.reading() as connection:
        for table in METADATA.tables.values():
            assert "s3cr3t" not in str(connection.execute(select(table)).all())
    store.close()
    for file in tmp_path.iterdir():
        assert b"s3cr3t" not in file.read_bytes()
    assert store.run(run_id).design["cells"][0]["system"].startswith("postgresql://***@db.example/app")


def test_an_experiment_is_stored_so_that_it_can_be_read_again(store: Store) -> None:
    systems = """[factors]
system = ["postgresql://bob:{0}@db.example/app?sslpassword={0}&x=1"]
[system.postgresql]
password = "{0}"
[system.mysql]
password = '{0}' # of the tests
"""
    asked = """[tables.users.columns]
password = { type = "varchar(16)", fill = { text = 12 } }
[[transactions]]
steps = [
    { request = "GET /login?password={password}", form = { password = "{password}", pwd = "fixed" } },
    { execute = "SELECT 1 FROM users WHERE password = 'x'" },
]
"""
    definition = systems.format("s3cr3t") + asked
    run = store.run(store.begin_run(run_record({}, definition=definition, options={"against": {"definition": asked}})))
    assert run.options["against"]["definition"] == asked
    assert "s3cr3t" not in run.definition
    read = tomllib.loads(run.definition)
    assert read["factors"]["system"] == ["postgresql://***@db.example/app?sslpassword=***&x=1"]
    assert read["system"] == {"postgresql": {"password": "***"}, "mysql": {"password": "***"}}
    # What is asked of a system stays as it is: it would be something else that is gone on with.
    assert run.definition.endswith(asked)


def test_built_in_experiments_are_stored_as_they_are() -> None:
    texts = {path.name: path.read_text(encoding="utf-8") for path in package_path("experiments").glob("*.toml")}
    assert len(texts) > 5
    for name, text in texts.items():
        assert mask_definition(text) == text, name


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgresql://alice@db.example:5432/app", "postgresql://alice@db.example:5432/app"),
        ("postgresql://alice:s3cr3t@db.example/app", "postgresql://***@db.example/app"),
        ("mysql://alice@db.example:3306/a@b", "mysql://***@b"),
        ("https://token@example.org/x", "https://***@example.org/x"),
    ],
)
def test_a_system_s_user_stays_where_it_stands_alone(url: str, shown: str) -> None:
    assert mask_text(f"--system {url} --rounds 2") == f"--system {shown} --rounds 2"


@pytest.mark.parametrize("value", ["?", "$2", "%s"])
def test_the_parameter_of_a_password_is_shown(value: str) -> None:
    text = f"select * from users where name = $1 and (password = {value}) and old_password={value}"
    assert mask_text(text) == text
    assert mask_text(f"password={value}x") == "password=***"


def test_what_json_cannot_say_is_stored_as_null(store: Store) -> None:
    run_id = store.begin_run(run_record({}))
    store.add_trial(run_id, trial(result={"mean": float("nan"), "max": float("inf"), "ok": 1}))
    assert store.trials(run_id)[0].result == {"mean": None, "max": None, "ok": 1}


def test_what_a_column_of_texts_cannot_hold_is_replaced_and_json_keeps_it(store: Store) -> None:
    run_id = store.begin_run(run_record({}))
    store.add_trial(run_id, trial(error="a\x00b\udcffc", result={"said": "a\x00b", "far": 10**300, "small": 5e-324}))
    (known,) = store.trials(run_id)
    assert known.error == "a\ufffdb?c"
    assert known.result == {"said": "a\x00b", "far": 10**300, "small": 5e-324}


def test_a_baseline_and_a_noise_are_replaced(store: Store) -> None:
    ids = [store.begin_run(run_record({})) for _ in range(2)]
    for each in ids:
        store.set_baseline("main", each)
        store.set_noise("pk-lookup", {"deviation": 0.01, "run": each})
    assert store.baselines() == {"main": ids[1]}
    assert store.noise("pk-lookup") == {"deviation": 0.01, "run": ids[1]}
    assert store.remove_baseline("main") and not store.remove_baseline("main")


def test_ids_do_not_clash(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    letters = iter("bbbb" + "bbbb" + "bbbc")
    monkeypatch.setattr("dbdyno.store.store.secrets.choice", lambda _: next(letters))
    day = "2026-01-01T00:00:00.000+00:00"
    assert [store.begin_run(run_record({}, started=day)) for _ in range(2)] == ["20260101-bbbb", "20260101-bbbc"]


def test_a_trial_of_an_unknown_run_is_refused(store: Store) -> None:
    with pytest.raises(StoreError, match="run nope doesn't exist"):
        store.add_trial("nope", trial())


def test_a_trial_survives_a_kill(place: str) -> None:
    script = f"""
import os, signal, sys
sys.path.insert(0, {str(Path(__file__).parent)!r})
from synthetic import run_record
from dbdyno.store import TrialRecord, open_store
store = open_store({place!r})
run_id = store.begin_run(run_record({{}}))
store.add_trial(run_id, TrialRecord(cell="a", block=0, position=0, status="done"))
os.kill(os.getpid(), signal.SIGKILL)
"""
    assert subprocess.run([sys.executable, "-c", script], check=False, env=python_environment()).returncode == -9
    store = open_store(place)
    assert len(store.trials(store.run("last").id)) == 1


def test_several_processes_make_and_write_one_store(place: str) -> None:
    imports = "from synthetic import run_record\nfrom dbdyno.store import TrialRecord, open_store"
    does = f"""
together()
store = open_store({place!r})
run_id = store.begin_run(run_record({{}}))
for block in range(10):
    store.add_trial(run_id, TrialRecord(cell="a", block=block, position=0, status="done"))
    store.set_baseline("main", run_id)
"""
    assert run_in_parallel(8, imports + does) == [""] * 8
    with closing(open_store(place)) as store:
        found = store.runs()
        assert [each.done for each in found] == [10] * 8
        assert store.baselines()["main"] in {each.id for each in found}
        for each in found:
            assert [trial.block for trial in store.trials(each.id)] == list(range(10))


def test_a_lock_that_is_held_is_waited_for_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "BUSY_TIMEOUT_S", 0.2)
    monkeypatch.setattr(pool, "_CREATION_TIMEOUT_S", 0.1)
    looks: list[float] = []
    monkeypatch.setattr(pool.time, "sleep", looks.append)
    with closing(sqlite3.connect(tmp_path / "runs.db", isolation_level=None)) as holder:
        holder.execute("BEGIN EXCLUSIVE")
        with pytest.raises(StoreError, match="locked; another process has locked it"):
            open_store(str(tmp_path / "runs.db"))
    assert looks == []


def test_a_file_that_is_no_store_is_refused_and_left_alone(tmp_path: Path) -> None:
    text = tmp_path / "notes.txt"
    text.write_text("shopping list, longer than a header")
    with pytest.raises(StoreError, match="is not a dbdyno store; give another path with --store"):
        open_store(str(text))
    assert text.read_text() == "shopping list, longer than a header"


def test_a_database_of_another_program_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    with sqlite3.connect(path) as other:
        other.execute("create table bookmarks (id)")
    other.close()
    before = path.read_bytes()
    with pytest.raises(StoreError, match="belongs to another program"):
        open_store(str(path))
    assert path.read_bytes() == before
    assert [each.name for each in tmp_path.iterdir()] == ["other.db"]


def test_a_damaged_store_says_what_to_do(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    open_store(str(path)).close()
    data = bytearray(path.read_bytes())
    data[100:] = b"\xff" * (len(data) - 100)
    path.write_bytes(data)
    with pytest.raises(StoreError, match=r"runs\.db: .*malformed.*; move the file away"):
        open_store(str(path))


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs a directory nobody may write to, root included")
def test_a_directory_that_cannot_be_written_is_named() -> None:
    with pytest.raises(StoreError, match=r"/proc/runs\.db: .*; give a writable path with --store"):
        open_store("/proc/runs.db")


def test_a_path_below_a_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match=r"file/runs\.db: .*; give a writable path with --store"):
        open_store(str(tmp_path / "file" / "runs.db"))


def test_a_directory_is_no_store(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="is a directory"):
        open_store(str(tmp_path))


@pytest.mark.parametrize(
    ("where", "problem"),
    [
        (" ", "--store: empty"),
        ("sqlite://", "in memory"),
        ("nosuch://me:secret@host/db", "nosuch://me@host/db: a store is a SQLite file or a PostgreSQL database"),
        ("postgresql+psycopg2://me:secret@host/db", "a store is a SQLite file or a PostgreSQL database"),
        ("postgresql://host:secret/db", "not a URL"),
        ("postgresql://me:secret@host", "postgresql://me@host: missing database name"),
        ("postgresql:host/secret", "two slashes are missing"),
    ],
)
def test_a_url_that_cannot_be_used_is_bad_input(where: str, problem: str) -> None:
    with pytest.raises(InputError, match=problem) as caught:
        open_store(where)
    assert "secret" not in str(caught.value)


NOWHERE = "there/is/none.db"


@pytest.mark.parametrize(
    ("place", "command"),
    [
        (NOWHERE, ("show",)),
        (NOWHERE, ("runs",)),
        (NOWHERE, ("report",)),
        (NOWHERE, ("history", "small")),
        (NOWHERE, ("compare", "a", "b")),
        (NOWHERE, ("gate", "--baseline", "main")),
        (NOWHERE, ("baseline", "main")),
        (NOWHERE, ("run", "--resume", "last")),
        (f"sqlite:///{NOWHERE}", ("show",)),
        ("empty.db", ("show",)),
    ],
)
def test_who_only_reads_makes_no_store(cli: Cli, place: str, command: tuple[str, ...]) -> None:
    (cli.directory / "empty.db").touch()
    path = place.removeprefix("sqlite:///")
    assert f"--store {path}: no such store; create it with `dbdyno run`" in cli(*command, "--store", place, code=2)
    assert [each.name for each in cli.directory.iterdir()] == ["empty.db"]
    assert (cli.directory / "empty.db").stat().st_size == 0


def test_the_users_own_store_has_no_runs_yet(cli: Cli) -> None:
    cli.environment["XDG_DATA_HOME"] = str(cli.directory / "data")
    assert "no runs in" in cli("runs")
    assert "contains no runs" in cli("show", code=2)


def test_a_sqlite_url_is_as_good_as_a_path(tmp_path: Path) -> None:
    run_id = open_store(f"sqlite:///{tmp_path}/runs.db").begin_run(run_record({}))
    assert open_store(str(tmp_path / "runs.db")).run("last").id == run_id


def test_the_environment_names_a_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DBDYNO_STORE", str(tmp_path / "team.db"))
    with pytest.raises(InputError, match="no such store"):
        open_store(make=False)
    run_id = open_store().begin_run(run_record({}))
    assert open_store(str(tmp_path / "team.db"), make=False).run("last").id == run_id
    assert open_store(str(tmp_path / "other.db")).location == str(tmp_path / "other.db")


def test_the_default_store_is_the_users_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.delenv("DBDYNO_STORE", raising=False)
    store = open_store()
    assert store.location == str(tmp_path / "dbdyno" / "runs.db")
    assert (tmp_path / "dbdyno").stat().st_mode & 0o777 == 0o700
