"""MySQL itself, beside the MariaDB that `mysql:` takes where both are installed: its checks, E5 and E7 on it."""

import shutil
from pathlib import Path

import pytest

from conftest import Cli
from dbdyno.base.errors import InputError
from dbdyno.base.resources import package_path
from dbdyno.engines.server.installations import find_installations, installation_of
from dictionary import tenth
from installed_servers import needs_mysql, needs_postgresql, servers
from real_mysql import OLD, PROGRAM, URL, needs_old_mysql, needs_real_mysql
from test_check_command import CHECKS, lines_of

ONE = """
name = "one"
title = "One statement"
[load]
stop = { transactions = 1 }
[[transactions]]
name = "t"
steps = [{ execute = "select 1" }]
"""


@needs_real_mysql
def test_mysql_does_what_is_asked_of_it(server_cli: Cli) -> None:
    lines = lines_of(server_cli("check", URL))
    assert len(lines) == CHECKS["mysql"]
    assert set(lines.values()) == {"ok"}
    assert servers(server_cli) == []
    assert server_cli.left_behind() == []


@needs_old_mysql
def test_an_old_mysql_does_what_it_can_of_it(server_cli: Cli) -> None:
    # Its log must be ten times as long as a value.
    lines = lines_of(server_cli("check", f"mysql:?program={OLD}&innodb_log_file_size=256M"))
    assert len(lines) == CHECKS["mysql"]
    assert {name for name, outcome in lines.items() if outcome != "ok"} == {
        "a statement that takes too long is a timeout",
    }
    assert servers(server_cli) == []


@needs_real_mysql
def test_the_dictionary_is_searched_on_mysql(server_cli: Cli) -> None:
    text = tenth().replace("seconds = 3\n", "seconds = 0.2\n")
    searches = ["--set", "search=like_create,computer,count", "--set", "sorted=no", "--rounds", "1"]
    document = server_cli.run(server_cli.write("short.toml", text), *searches, "--system", URL)
    assert {cell["system"]["engine"] for cell in document["cells"]} == {"MySQL"}
    assert all(each["status"] == "done" for cell in document["cells"] for each in cell["rounds"])
    found = {cell["factors"]["search"]: cell["rows_per_transaction"] for cell in document["cells"]}
    assert found["count"] == 1 and found["like_create"] > 0 and found["computer"] > 0
    plans = {cell["factors"]["search"]: cell["statements"][0]["plan"] for cell in document["cells"]}
    assert plans["like_create"] and plans["computer"]


@needs_real_mysql
def test_the_small_service_runs_on_mysql(server_cli: Cli) -> None:
    text = package_path("experiments", "promo-code-engines.toml").read_text().replace("10_000", "500")
    text = text.replace("requests = 1000", "requests = 20")
    document = server_cli.run(server_cli.write("small.toml", text), "--rounds", "1", "--system", URL)
    for cell in document["cells"]:
        (each,) = cell["rounds"]
        assert (each["status"], each["failed"]) == ("done", {})
        assert each["completed"] == (200 if cell["factors"]["connection"] == "for_each_request" else 500)
        # Each commit of a request is synced to InnoDB's log and to the binary log.
        assert cell["system"]["durability"] == "power-safe"


@needs_real_mysql
@needs_mysql
def test_which_of_several_servers_is_taken_can_be_chosen_and_is_told(server_cli: Cli) -> None:
    first = find_installations("mysql")[0]
    shutil.copy(PROGRAM, server_cli.directory / "mysqld")
    server_cli.environment["PATH"] += f":{server_cli.directory}"
    listed = " ".join(server_cli("systems").split())
    assert first.title in listed
    assert "program=" in listed and "MySQL" in listed
    file = server_cli.write("one.toml", ONE)
    document = server_cli.run(file, "--rounds", "1", "--system", "mysql:", "--system", URL)
    assert [cell["system"]["engine"] for cell in document["cells"]] == [first.product, "MySQL"]
    (told,) = [each for each in document["findings"] if each["kind"] == "one of several servers"]
    assert first.title in told["text"] and "program=" in told["text"]
    assert len(told["evidence"]["installed"]) >= 2


@needs_postgresql
def test_what_is_no_such_server_is_refused(tmp_path: Path) -> None:
    server = find_installations("postgresql")[0].server
    assert installation_of("postgresql", str(server), "here").server == server
    with pytest.raises(InputError, match=r"here: program: `/nowhere/postgres`: not an executable file.*found here"):
        installation_of("postgresql", "/nowhere/postgres", "here")
    with pytest.raises(InputError, match="is not a mysql server"):
        installation_of("mysql", str(server), "here")
    (tmp_path / "quiet").write_text("#!/bin/sh\n")
    (tmp_path / "quiet").chmod(0o755)
    with pytest.raises(InputError, match="name `mongod`"):
        installation_of("mongodb", str(tmp_path / "quiet"), "here")


def test_a_server_that_runs_has_its_program(cli: Cli) -> None:
    refused = cli("run", cli.write("one.toml", ONE), "--system", "mysql://me@127.0.0.1:1/d?program=mysqld", code=2)
    assert "only servers that dbdyno starts have this setting" in refused
