"""Going on with a run on a server whose URL has a password: none is stored."""

import sqlite3
from collections.abc import Callable
from contextlib import closing

import pytest

from authenticated import ENGINES, PASSWORD, Place
from conftest import Cli

# Servers are started.
pytestmark = pytest.mark.slow


def cut_short(cli: Cli) -> None:
    """Take the second block's trials of the one run away."""
    with closing(sqlite3.connect(cli.directory / "runs.db")) as store, store:
        assert store.execute("DELETE FROM dbdyno_trials WHERE block = 1").rowcount == 2
        store.execute("UPDATE dbdyno_runs SET status = 'interrupted'")


@pytest.mark.parametrize("engine", ENGINES)
def test_each_system_of_one_server_has_its_own_password(
    make_place: Callable[[str], Place], engine: str, small: Callable[..., str]
) -> None:
    here = make_place(engine)
    with here.start(None, demanded=False) as server:
        cli = Cli(here.work)
        text = small(("clients = [1, 2]", "clients = [1]"))
        setting = "work_mem=1MB" if engine == "postgresql" else "sort_buffer_size=65536"
        good = f"{engine}://{here.login}@localhost:{server.port}/?{setting}"
        wrong = f"{engine}://me:wrong@localhost:{server.port}/"
        for systems, statuses in (((good, wrong), ["done", "failed"]), ((wrong, good), ["failed", "done"])):
            named = [part for each in systems for part in ("--system", each)]
            document = cli.run(cli.write("small.toml", text), *named, "--rounds", "1", code=1)
            assert [cell["rounds"][0]["status"] for cell in document["cells"]] == statuses


@pytest.mark.parametrize("engine", ENGINES)
def test_a_run_goes_on_when_the_password_is_given_again(
    make_place: Callable[[str], Place], engine: str, small: Callable[..., str]
) -> None:
    here = make_place(engine)
    with here.start(None, demanded=False) as server:
        cli = Cli(here.work)
        at = f"localhost:{server.port}/"
        ran = ["--system", f"{engine}://{here.login}@{at}", "--system", "sqlite:"]
        text = small(("clients = [1, 2]", "clients = [1]"))
        before = cli.run(cli.write("small.toml", text), *ran, "--rounds", "2")
        cells = [f"system={engine}://me@{at}", "single"]
        assert [cell["id"] for cell in before["cells"]] == cells
        cut_short(cli)

        told = cli("run", "--resume", "last", "--store", "runs.db", code=2)
        assert f"--resume: the password of {engine}://me@{at} is not stored; give the system again, with it" in told
        other = f"{engine}://you:{PASSWORD}@{at}"
        told = cli("run", "--resume", "last", "--store", "runs.db", "--system", other, code=2)
        assert f"the run that goes on is not of this system; its systems: {engine}://me@{at}, sqlite:" in told
        again = ["--system", f"{engine}://{here.login}@{at}"]
        document = cli.run("--resume", "last", *again)
        assert [cell["id"] for cell in document["cells"]] == cells
        assert [[each["status"] for each in cell["rounds"]] for cell in document["cells"]] == [["done"] * 2] * 2

        cut_short(cli)
        cli.environment["PGPASSWORD" if engine == "postgresql" else "MYSQL_PWD"] = PASSWORD
        assert cli.run("--resume", "last")["status"] == "done"
        assert PASSWORD.encode() not in (cli.directory / "runs.db").read_bytes()
