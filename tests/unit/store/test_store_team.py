"""A team's store: all commands on PostgreSQL, several processes at once on either kind, passwords, what is no store."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

import dbdyno
from conftest import SMALL, Cli
from dbdyno.base.errors import ExtraMissing, InputError, StoreError
from dbdyno.store import open_store, pool
from dbdyno.store.urls import display_name, mask_passwords, store_url
from parallel import python_environment
from synthetic import run_record
from team_database import INSTALLED, PASSWORD, TeamServer

needs_server = [
    pytest.mark.slow,
    pytest.mark.skipif(not INSTALLED, reason="there is no PostgreSQL server here"),
]


def server(test: Callable[..., None]) -> Callable[..., None]:
    for mark in needs_server:
        test = mark(test)
    return test


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory, team: TeamServer) -> tuple[Cli, str, list[str]]:
    """A command line, a store in PostgreSQL that the environment names, and two runs in it."""
    cli, url = Cli(tmp_path_factory.mktemp("team")), team.empty()
    cli.environment["DBDYNO_STORE"] = url
    file = cli.write("small.toml", SMALL)
    ids = []
    for _ in range(2):
        cli("run", file, "--json", "run.json")
        ids.append(json.loads((cli.directory / "run.json").read_text())["id"])
    return cli, url, ids


@server
def test_every_command_that_reads_a_store_reads_it(filled: tuple[Cli, str, list[str]]) -> None:
    cli, url, (first, second) = filled
    listed = cli("runs")
    assert listed.index(second) < listed.index(first)
    exports = ("--json", "show.json", "--csv", "show.csv", "--markdown", "show.md", "--openmetrics", "show.txt")
    assert second in cli("show", "last", *exports)
    assert (cli.directory / "show.json").read_bytes() == (cli.directory / "run.json").read_bytes()
    for name in ("show.csv", "show.md", "show.txt"):
        assert (cli.directory / name).stat().st_size > 100
    cli("report", first, "--report", "first.html")
    assert first in (cli.directory / "first.html").read_text()
    assert "clients=1" in cli("compare", first, second)
    assert "2 runs" in cli("history", "small", "--json", "history.json")
    assert f"baseline main: {first}" in cli("baseline", "main", first)
    assert cli.start("gate", "--baseline", "main").wait(60) in (0, 3)
    assert "main" in cli("baseline")
    assert "no runs" not in cli("runs", "--store", url)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DBDYNO_STORE", url)
        assert [each.id for each in dbdyno.runs()] == [second, first]
        assert dbdyno.load(first).document == dbdyno.load(first, store=url).document


@server
def test_every_command_that_writes_a_store_writes_it(filled: tuple[Cli, str, list[str]], team: TeamServer) -> None:
    cli, _, _ = filled
    url = team.empty()
    file = "./small.toml"
    cli("noise", file, "--set", "clients=1", "--runs", "3", "--store", url)
    code = cli.start("gate", "--against", file, file, "--rounds", "4", "--set", "clients=1", "--store", url).wait(120)
    assert code in (0, 3)
    cli("try", "select 1", "--budget", "1s", "--store", url)
    with closing(open_store(url)) as store:
        assert store.noise("small") is not None
        assert [each.status for each in store.runs()] == ["done"] * 5


@server
def test_an_interrupted_run_goes_on_in_a_team_s_store(filled: tuple[Cli, str, list[str]], team: TeamServer) -> None:
    cli, _, _ = filled
    url = team.empty()
    cli("run", "./small.toml", "--store", url)
    team.execute("DELETE FROM dbdyno_trials WHERE block = 1; UPDATE dbdyno_runs SET status = 'interrupted'", url)
    cli("run", "--resume", "last", "--store", url)
    with closing(open_store(url)) as store:
        (run,) = store.runs()
        assert (run.status, run.done) == ("done", 4)
    host = json.dumps({"cpu": "another", "cores": 1})
    team.execute(f"UPDATE dbdyno_runs SET status = 'interrupted', host = '{host}'", url)
    assert "it was begun on another machine" in cli("run", "--resume", "last", "--store", url, code=2)


def test_a_run_that_is_under_way_is_not_gone_on_with(cli: Cli, small: Callable[..., str], place: str) -> None:
    with closing(open_store(place)) as store:
        from dbdyno.store.process import this_process

        cli("run", cli.write("small.toml", small()), "--store", place)
        run = store.run("last")
        store.update_run(run.id, status="running", options=run.options | {"process": this_process()})
        said = cli("run", "--resume", "last", "--store", place, code=2)
        assert f"run {run.id}: already running in process {os.getpid()}" in said


def test_several_runs_at_once_write_one_store(cli: Cli, small: Callable[..., str], place: str) -> None:
    file = cli.write("small.toml", small(("rounds = 2", "rounds = 4"), ("transactions = 500", "transactions = 50")))
    started = [cli.start("run", file, "--store", place, "--json", f"{number}.json") for number in range(4)]
    ended = [each.communicate(timeout=300) for each in started]
    assert [each.returncode for each in started] == [0] * 4, ended
    ids = [json.loads((cli.directory / f"{number}.json").read_text())["id"] for number in range(4)]
    with closing(open_store(place)) as store:
        listed = store.runs()
        assert sorted(each.id for each in listed) == sorted(ids) and len(set(ids)) == 4
        assert [(each.status, each.done, each.failed) for each in listed] == [("done", 8, 0)] * 4
    for number, each in enumerate(ids):
        cli("show", each, "--store", place, "--json", "shown.json")
        assert (cli.directory / "shown.json").read_bytes() == (cli.directory / f"{number}.json").read_bytes()


@server
@pytest.mark.parametrize("how", ["url", "variable", "pgpass", "passfile"])
def test_a_password_is_taken_from_where_libpq_looks_and_shown_nowhere(cli: Cli, team: TeamServer, how: str) -> None:
    name = team.empty().partition("?")[0].rpartition("/")[2]
    team.execute(f"CREATE ROLE {name} LOGIN PASSWORD '{PASSWORD}'; ALTER DATABASE {name} OWNER TO {name}")
    at = f"127.0.0.1:{team.port}/{name}"
    passfile = cli.directory / "passwords"
    passfile.write_text(f"127.0.0.1:{team.port}:{name}:{name}:{PASSWORD}\n")
    passfile.chmod(0o600)
    url = f"postgresql://{name}@{at}"
    match how:
        case "url":
            url = f"postgresql://{name}:{PASSWORD}@{at}"
        case "variable":
            cli.environment["PGPASSWORD"] = PASSWORD
        case "pgpass":
            cli.environment["PGPASSFILE"] = str(passfile)
        case "passfile":
            url += f"?passfile={passfile}"
    out = cli("run", cli.write("small.toml", SMALL), "--rounds", "1", "--store", url, "--json", "out.json")
    out += cli("runs", "--store", url) + cli("report", "--store", url, "--report", "out.html")
    with closing(open_store(team.url(name))) as store:
        trials = store.trials("last") + store.trials(store.run("last").id)
        assert PASSWORD not in f"{store.run('last')} {trials}"
    for file in ("out.json", "out.html"):
        assert PASSWORD not in (cli.directory / file).read_text()
    assert PASSWORD not in out
    left = [path for path in cli.directory.rglob("*") if path.is_file() and path != passfile]
    assert not any(PASSWORD.encode() in path.read_bytes() for path in left)


@server
def test_a_wrong_password_and_a_missing_one_are_told_without_it(team: TeamServer) -> None:
    name = team.empty().partition("?")[0].rpartition("/")[2]
    team.execute(f"CREATE ROLE {name} LOGIN PASSWORD '{PASSWORD}'")
    for given in (f":{PASSWORD}-not", ""):
        with pytest.raises(StoreError, match=r"put the password into ~/\.pgpass or PGPASSWORD") as caught:
            open_store(f"postgresql://{name}{given}@127.0.0.1:{team.port}/{name}?passfile=/dev/null")
        assert PASSWORD not in str(caught.value)
        assert str(caught.value).startswith(f"store postgresql://{name}@127.0.0.1:{team.port}/{name}?passfile=")


def test_a_password_is_no_part_of_a_store_s_name() -> None:
    url = store_url(f"postgres://me:{PASSWORD}@db.example:5433/runs?sslpassword={PASSWORD}&sslmode=require")
    assert display_name(url) == "postgresql://me@db.example:5433/runs?sslmode=require"
    assert mask_passwords(f"fe_sendauth: {PASSWORD}", url) == "fe_sendauth: ***"


@pytest.mark.skipif(not Path("/proc/self/cmdline").exists(), reason="there is no list of processes to look at")
def test_a_password_that_is_typed_leaves_the_list_of_processes(tmp_path: Path) -> None:
    script = """
import sys
from pathlib import Path
from dbdyno.cli.passwords import hide_passwords
before = list(sys.argv)
hide_passwords()
assert sys.argv == before
sys.stdout.buffer.write(Path("/proc/self/cmdline").read_bytes())
"""
    store, system = f"postgresql://me:{PASSWORD}@db.example/runs", f"mysql://me:{PASSWORD}@db.example/app?x=ä"
    words = ["run", "--store", store, "--system", system, "--rounds", "2"]
    # What follows the program's own text is an argument as those of the installed program.
    command = [sys.executable, "-c", script, *words]
    listed = subprocess.run(command, check=True, capture_output=True, env=python_environment()).stdout
    assert PASSWORD.encode() not in listed
    shown_words = [each.decode().rstrip() for each in listed.split(b"\0")[-len(words) - 1 : -1]]
    hidden = ["postgresql://***@db.example/runs", "mysql://***@db.example/app?x=ä"]
    assert shown_words == ["run", "--store", hidden[0], "--system", hidden[1], "--rounds", "2"]
    assert len(listed.split(b"\0")) == len(command) + 1


@server
def test_a_server_s_database_that_is_not_there_is_told(team: TeamServer) -> None:
    with pytest.raises(StoreError, match=r'database "nowhere" does not exist; create the database with `createdb`'):
        open_store(team.url("nowhere"))


@server
def test_who_only_reads_makes_no_tables(cli: Cli, team: TeamServer) -> None:
    url = team.empty()
    for command in (("show",), ("runs",), ("history", "small"), ("baseline", "main"), ("run", "--resume", "last")):
        assert "no such store" in cli(*command, "--store", url, code=2)
    assert team.execute("SELECT relname FROM pg_class WHERE relname LIKE 'dbdyno%'", url) == []


@server
def test_a_schema_of_its_own_beside_another_program_s_tables_holds_a_store(team: TeamServer) -> None:
    url = team.empty()
    team.execute("CREATE TABLE bookmarks (id integer); CREATE SCHEMA lab", url)
    with closing(open_store(url + "&options=-csearch_path%3Dlab")) as store:
        run_id = store.begin_run(run_record({}))
        assert store.run("last").id == run_id
    with pytest.raises(StoreError, match="the database belongs to another program"):
        open_store(url)
    with pytest.raises(StoreError, match="create the schema in the URL's search_path"):
        open_store(url + "&options=-csearch_path%3Dnone")


@server
def test_who_may_only_read_reads(team: TeamServer) -> None:
    url = team.empty()
    with closing(open_store(url)) as store:
        run_id = store.begin_run(run_record({}))
    name = url.partition("?")[0].rpartition("/")[2]
    team.execute(f"CREATE ROLE {name} LOGIN", url)
    team.execute(f"GRANT SELECT ON dbdyno_store, dbdyno_alembic, dbdyno_runs, dbdyno_trials TO {name}", url)
    with closing(open_store(url.replace("//postgres@", f"//{name}@"), make=False)) as store:
        assert store.run("last").id == run_id
        with pytest.raises(StoreError, match="permission denied for table dbdyno_store; ask the database's owner"):
            store.set_baseline("main", run_id)


@server
def test_who_may_make_no_tables_is_told_what_to_ask_for(team: TeamServer) -> None:
    url = team.empty()
    name = url.partition("?")[0].rpartition("/")[2]
    team.execute(f"CREATE ROLE {name} LOGIN", url)
    with pytest.raises(StoreError, match="permission denied for schema public; ask the database's owner to grant it"):
        open_store(url.replace("//postgres@", f"//{name}@"))


@server
@pytest.mark.parametrize(("encoding", "is_fit"), [("LATIN1", False), ("SQL_ASCII", True)])
def test_a_database_that_cannot_keep_every_text_is_refused(team: TeamServer, encoding: str, is_fit: bool) -> None:
    # Only of a database of this name are others made in another locale.
    if not team.execute("SELECT datname FROM pg_database WHERE datname = 'template0'"):
        team.execute("CREATE DATABASE template0")
    url = team.empty(f"ENCODING '{encoding}' LOCALE 'C' TEMPLATE template0")
    if is_fit:
        with closing(open_store(url)) as store:
            run_id = store.begin_run(run_record({}, definition="# 漢字"))
            assert store.run(run_id).definition == "# 漢字"
        return
    with pytest.raises(StoreError, match="the encoding LATIN1 doesn't support all characters"):
        open_store(url)


def test_a_server_that_is_none_is_told() -> None:
    with pytest.raises(
        StoreError, match=r"store postgresql://me@127\.0\.0\.1:1/db: .*refused; check that the store exists"
    ):
        open_store("postgresql://me@127.0.0.1:1/db")


def test_a_missing_driver_is_told_with_the_extra_that_brings_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "find_spec", lambda _: None)
    with pytest.raises(ExtraMissing, match=r"psycopg: not installed; .*`pip install 'WHEEL\[team\]'`"):
        open_store("postgresql://me@db.example/runs")


def test_migrations_are_read_in_only_where_a_store_is_older(tmp_path: Path) -> None:
    script = f"""
import sys
from dbdyno.cli.app import app
assert "sqlalchemy" not in sys.modules
from dbdyno.store import open_store
open_store({str(tmp_path / "runs.db")!r}).runs()
assert "alembic" not in sys.modules and "psycopg" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", script], check=True, env=python_environment())


def test_half_a_url_makes_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for each in ("postgresql:runs", "sqlite:runs.db"):
        with pytest.raises(InputError, match="two slashes are missing"):
            open_store(each)
    assert list(tmp_path.iterdir()) == []
