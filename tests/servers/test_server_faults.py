"""What goes wrong with named servers while they are measured: each ends in a stored explanation."""

import contextlib
import json
import re
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from conftest import Cli, those, workers_of
from dbdyno.engines.server.installations import find_installations
from dbdyno.engines.server.server import Server, start_server
from fresh_data import fresh_data
from installed_servers import needs_postgresql
from small_experiment import CALM, ONE, WRITE
from waiting import wait_until

Small = Callable[..., str]


def url_of(server: Server) -> str:
    return f"postgresql://{server.user}@{str(server.socket).replace('/', '%2F')}:{server.port}/"


def start(cli: Cli, settings: dict[str, str]) -> Server:
    return start_server(find_installations("postgresql")[0], cli.directory / "data", cli.directory, settings)


@pytest.fixture
def data(server_cli: Cli) -> Path:
    fresh_data(find_installations("postgresql")[0], server_cli.directory / "data")
    return server_cli.directory / "data"


def clients(server: Server) -> list[psutil.Process]:
    """The server's processes for sessions in the databases of trials."""
    return those(psutil.Process(server.pid).children(), lambda each: " dbdyno_" in " ".join(each.cmdline()))


def finish(process: "subprocess.Popen[str]", cli: Cli) -> dict[str, Any]:
    out, errors = process.communicate(timeout=180)
    assert (cli.directory / "out.json").exists(), f"{out}\n{errors}"
    document: dict[str, Any] = json.loads((cli.directory / "out.json").read_text())
    return document


@needs_postgresql
def test_a_server_that_is_full_says_what_would_help(server_cli: Cli, small: Small, data: Path) -> None:
    file = server_cli.write("many.toml", small(("clients = [1, 2]", "clients = [2, 30]")))
    with start(server_cli, {"max_connections": "10"}) as server:
        document = server_cli.run(file, "--system", url_of(server), "--rounds", "1", code=1)
    # Those that get in are measured all the same.
    states = {cell["factors"]["clients"]: cell["rounds"][0]["status"] for cell in document["cells"]}
    assert states == {2: "done", 30: "failed"}
    (failed,) = document["failed_trials"]
    assert failed["kind"] == "connect"
    assert "too many clients already (53300): raise `max_connections`" in failed["error"]
    (limit,) = [each for each in document["findings"] if each["kind"] == "limit met"]
    assert limit["evidence"] == {"limit": "max_connections", "cells": 1, "failed": 0, "trials": 1, "codes": ["53300"]}


@contextlib.contextmanager
def standing_still(server: Server) -> Iterator[None]:
    frozen = [psutil.Process(server.pid), *psutil.Process(server.pid).children(recursive=True)]
    frozen = those(frozen, lambda each: each.suspend() is None)
    yield
    for each in frozen:
        each.resume()


def start_long(cli: Cli, small: Small, server: Server, seconds: int) -> subprocess.Popen[str]:
    """Start a run of one long window, and give it when that has begun."""
    file = cli.write("long.toml", small(ONE, CALM, ("transactions = 500", f"seconds = {seconds}")))
    arguments = ("--system", url_of(server), "--rounds", "1", "--store", "runs.db", "--json", "out.json")
    process = cli.start("run", file, *arguments)
    wait_until(lambda: len(clients(server)) >= 2)
    time.sleep(1)
    return process


@needs_postgresql
def test_a_server_that_stands_still_is_told(server_cli: Cli, small: Small, data: Path) -> None:
    with start(server_cli, {"fsync": "off"}) as server:
        process = start_long(server_cli, small, server, 9)
        with standing_still(server):
            time.sleep(5)
        document = finish(process, server_cli)
    assert process.returncode == 0
    one = document["cells"][0]["rounds"][0]
    assert one["issued"] == one["ok"] + one["in_flight"]
    # Frozen for five seconds; of the second in which that began and of that in which it ended some was work.
    texts = [each["text"] for each in document["findings"]]
    assert any(re.match(r"No transaction completed for up to [3-6] s in 1 round", each) for each in texts), texts
    assert not any("had not settled" in each for each in texts), texts


@needs_postgresql
def test_ctrl_c_ends_a_run_whose_server_stands_still(server_cli: Cli, small: Small, data: Path) -> None:
    with start(server_cli, {"fsync": "off"}) as server:
        process = start_long(server_cli, small, server, 60)
        with standing_still(server):
            # The oldest holds the lock for the databases, which can be dropped only when the server answers again.
            holder, *workers = sorted(workers_of(process.pid), key=psutil.Process.create_time)
            assert workers != []
            process.send_signal(signal.SIGINT)
            wait_until(lambda: not any(each.is_running() for each in workers))
            assert holder.is_running()
        document = finish(process, server_cli)
    assert process.returncode == 130
    (failed,) = document["failed_trials"]
    assert failed["status"] == "interrupted"
    assert "it did not stop within 10 s: a statement takes long, or the server doesn't answer" in failed["error"]


@needs_postgresql
def test_a_named_server_that_is_restarted_costs_one_trial(server_cli: Cli, small: Small, data: Path) -> None:
    file = server_cli.write("long.toml", small(ONE, CALM, ("transactions = 500", "seconds = 4")) + WRITE)
    with start(server_cli, {}) as server:
        where = url_of(server)
        socket, port = server.socket, server.port
        arguments = ("--system", where, "--rounds", "2", "--store", "runs.db", "--json", "out.json")
        process = server_cli.start("run", file, *arguments)
        wait_until(lambda: len(clients(server)) >= 2)
        programs = find_installations("postgresql")[0].programs
        psql = [programs["psql"], "-h", socket, "-p", str(port), "-U", server.user, "-c"]
        end = "select count(pg_terminate_backend(pid)) from pg_stat_activity where datname like 'dbdyno%'"
        time.sleep(1)
        # What a restart means to its clients: every session ends, and new ones are let in.
        subprocess.run([*psql, end, "postgres"], check=True, capture_output=True)
        document = finish(process, server_cli)
    rounds = document["cells"][0]["rounds"]
    assert [each["status"] for each in rounds] == ["done", "done"]
    hit = next(each for each in rounds if each["failed"])
    assert set(hit["failed"]) == {"connection"}
    assert "terminating connection due to administrator command" in hit["failures"]["connection"]
    assert hit["issued"] == hit["ok"] + hit["failed"]["connection"] + hit["in_flight"]


@needs_postgresql
def test_a_name_that_leads_nowhere_is_one_clear_error(server_cli: Cli, small: Small) -> None:
    for host, words in (("no-such-host.invalid", "no-such-host.invalid"), ("%3A%3A1", "no server listens there")):
        file = server_cli.write("small.toml", small())
        process = server_cli.start("run", file, "--system", f"postgresql://nobody@{host}:9/", "--store", "runs.db")
        _, errors = process.communicate(timeout=60)
        assert process.returncode == 1
        assert errors.startswith("dbdyno: ") and words in errors, errors
        assert len(errors.splitlines()) <= 3


def test_a_system_that_is_not_there_fails_its_own_trials_only(cli: Cli, small: Small) -> None:
    nowhere = "postgresql://nobody@127.0.0.1:1/"
    file = cli.write("small.toml", small(ONE))
    document = cli.run(file, "--system", "sqlite:", "--system", nowhere, "--rounds", "1", code=1)
    states = {cell["system"]["name"]: cell["rounds"][0]["status"] for cell in document["cells"]}
    assert states == {"sqlite:": "done", nowhere: "failed"}
    (failed,) = document["failed_trials"]
    assert "no server listens there" in failed["error"]
