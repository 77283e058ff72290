"""Databases on a named server are dropped by the run that made them, and by others only when it has ended."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from conftest import Cli
from dbdyno.base.errors import SystemFailed
from dbdyno.engines.server.installations import find_installations
from dbdyno.engines.server.managed import target
from dbdyno.engines.server.ownership import new_token
from dbdyno.engines.server.server import start_server
from dbdyno.model.events.answers import Loaded
from dbdyno.run.provisioners import Provisioners
from dbdyno.runtime.worker import ask
from dbdyno.runtime.workspace.claims import Claim, abandoned
from fresh_data import fresh_data
from installed_servers import needs_ferretdb, needs_mysql, needs_postgresql
from parallel import python_environment
from test_provisioners import compiled
from waiting import wait_until

TEXT = """
name = "mine"
title = "A table"
[tables.t]
rows = 4
columns = { id = { type = "integer", primary_key = true, fill = { serial = 1 } } }
[load]
stop = { transactions = 1 }
[[transactions]]
name = "x"
[[transactions.steps]]
execute = { any = "select * from t", mongodb = '{"find": "t"}' }
"""

# A run that has its databases ready, with a cache of its own, and the process id that all have in their containers.
RUN = f"""
import os, sys, time
from pathlib import Path
from dbdyno.run.provisioners import Provisioners
sys.path.insert(0, {str(Path(__file__).parent)!r})
from test_provisioners import compiled
os.getpid = lambda: 7
cell = compiled(sys.argv[2], sys.argv[1])
with Provisioners() as provisioners:
    host = provisioners.of(cell)
    host.check(cell)
    with host.ready(cell, 0) as ready:
        print(ready.target["database"], flush=True)
        sys.stdin.readline()
    with host.ready(cell, 1) as ready:
        print(ready.target["database"], flush=True)
"""


@contextmanager
def running(url: str, cache: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A run on a server, in a container of the same image as all others; and its database."""
    cache.mkdir(exist_ok=True)
    with subprocess.Popen(
        [sys.executable, "-c", RUN, url, TEXT],
        env=python_environment() | {"DBDYNO_CACHE": str(cache)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            assert process.stdout is not None
            yield process, process.stdout.readline().strip()
        finally:
            process.kill()


class Place:
    """A server, and what is on it."""

    def __init__(self, url: str, target: dict[str, Any]) -> None:
        self.url = url
        self._target = target

    def there(self, database: str) -> bool:
        """Whether a database is there that a table was loaded into."""
        if self._target["engine"] != "mongodb":
            return self.does(database, "select count(*) from t")
        # A collection that is there cannot be made.
        if not self.does(database, '{"create": "t"}'):
            return True
        return not self.does(database, '{"dropDatabase": 1}')

    def does(self, database: str | None, *statements: str) -> bool:
        """Run some statements; whether they are no error."""
        target = self._target if database is None else self._target | {"database": database}
        task = {"kind": "load", "target": target, "before": statements, "tables": [], "after": []}
        try:
            ask({"schema": "dbdyno.plan/1", "seed": 1, "task": task}, Loaded)
        except SystemFailed:
            return False
        return True


@pytest.fixture(
    params=[
        pytest.param("postgresql", marks=needs_postgresql),
        pytest.param("mysql", marks=needs_mysql),
    ]
)
def place(request: pytest.FixtureRequest, server_cli: Cli) -> Iterator[Place]:
    installation = find_installations(request.param)[0]
    fresh_data(installation, server_cli.directory / "data")
    with start_server(installation, server_cli.directory / "data", server_cli.directory, {}) as server:
        host = str(server.socket).replace("/", "%2F")
        yield Place(f"{request.param}://{server.user}@{host}:{server.port}/", target(server))


def test_runs_on_one_server_leave_one_another_alone_and_remove_what_was_left(place: Place, tmp_path: Path) -> None:
    with running(place.url, tmp_path / "one") as (one, first):
        with running(place.url, tmp_path / "other") as (other, second):
            assert first != second
            assert place.there(first) and place.there(second)
            other.kill()
            other.wait()
            # One that has ended leaves the lock to be seen free in a moment.
            assert place.there(second)

            def swept() -> bool:
                with running(place.url, tmp_path / "next") as (following, third):
                    assert place.there(third)
                    assert place.there(first)
                    said, _ = following.communicate("go on\n", timeout=120)
                    assert said.strip() == third
                    assert not place.there(third)
                return not place.there(second)

            wait_until(swept)
        # It goes on in its own.
        said, _ = one.communicate("go on\n", timeout=120)
        assert said.strip() == first
        assert one.returncode == 0
        assert not place.there(first)


def test_a_run_whose_lock_was_lost_makes_others(place: Place, server_cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DBDYNO_CACHE", server_cli.environment["DBDYNO_CACHE"])
    cell = compiled(TEXT, place.url)
    with Provisioners() as provisioners:
        host: Any = provisioners.of(cell)
        host.check(cell)
        with host.ready(cell, 0) as ready:
            first = ready.target["database"]
        host._ownership._worker.kill()
        wait_until(lambda: not host._ownership.alive)
        with host.ready(cell, 1) as ready:
            second = ready.target["database"]
            assert second != first
            assert place.there(second)
    assert not place.there(first) and not place.there(second)


def test_what_is_no_run_s_is_not_dropped(place: Place, tmp_path: Path) -> None:
    """Names alike are a user's own."""
    mine = "dbdyno_backup_trial"
    assert place.does(None, f"create database {mine}")
    assert place.does(mine, "create table t (id int)")
    with running(place.url, tmp_path / "one") as (one, _):
        one.communicate("go on\n", timeout=120)
    assert place.there(mine)


@needs_ferretdb
def test_without_locks_on_the_server_those_of_the_cache_tell(server_cli: Cli, tmp_path: Path) -> None:
    installation = next(each for each in find_installations("mongodb") if each.product == "FerretDB")
    fresh_data(installation, server_cli.directory / "data")
    with start_server(installation, server_cli.directory / "data", server_cli.directory, {}) as server:
        place = Place(f"mongodb://{str(server.socket).replace('/', '%2F')}/", target(server))
        with (
            running(place.url, tmp_path / "one") as (one, first),
            running(place.url, tmp_path / "two") as (two, second),
        ):
            assert first != second
            for each in (one, two):
                each.kill()
                each.wait()
            assert place.there(first) and place.there(second)
            with running(place.url, tmp_path / "one") as (third, _):
                assert not place.there(first)
                # Nobody who has the other's cache was there yet.
                assert place.there(second)
                third.communicate("go on\n", timeout=120)


def test_a_claim_is_nobodys_when_its_process_has_ended(tmp_path: Path) -> None:
    mine = Claim(tmp_path, "a-", ".x")
    mine.path.mkdir()
    (tmp_path / f"{mine.path.name}-wal").touch()
    script = "import sys; from pathlib import Path; from dbdyno.runtime.workspace.claims import Claim; "
    script += (
        "c = Claim(Path(sys.argv[1]), 'a-', '.x'); c.path.mkdir(); print(c.path, flush=True); sys.stdin.readline()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=python_environment(),
    ) as process:
        assert process.stdout is not None
        other = Path(process.stdout.readline().strip())
        assert list(abandoned(tmp_path, "a-", ".x")) == []
        process.kill()
        process.wait()
        assert list(abandoned(tmp_path, "b-", ".x")) == []
        assert list(abandoned(tmp_path, "a-", ".x")) == [other]
    assert not other.exists()
    assert mine.path.exists()
    mine.release()
    assert list(tmp_path.iterdir()) == []


def test_a_token_is_new_each_time() -> None:
    assert len({new_token() for _ in range(100)}) == 100
    assert all(len(new_token()) == 12 for _ in range(10))
