"""What a SQLite file keeps is made before a trial, and a named file is read and nothing else."""

import hashlib
import json
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from conftest import Cli

Small = Callable[..., str]

# As the steps of promo-code, in which ten processes open the file for each request.
SERVICE = """
name = "service"
title = "Processes that open the file for each request"
rounds = 10
[tables.foo]
rows = 0
columns = { i = { type = "integer" }, i2 = { type = "integer" } }
[[tables.foo.indexes]]
columns = ["i"]
[system.sqlite]
journal_mode = "wal"
# Who is kept out while others open it hears so at once; a lock is waited for, and a flush may take seconds.
busy_timeout = 60000
[load]
clients = 10
clients_as = "processes"
connect = "per-transaction"
prepare = "per-transaction"
stop = { transactions = 3 }
[[transactions]]
name = "request"
steps = [
    { begin = "immediate" },
    { execute = "insert into foo values (?, 1)", params = [{ uniform = [0, 1000] }] },
    { commit = true },
]
"""

COUNT = """
name = "count"
title = "Rows of a file of one's own"
[load]
stop = { transactions = 3 }
[[transactions]]
name = "count"
steps = [{ execute = "select x from t" }]
"""


def settings(document: dict[str, Any]) -> dict[str, str]:
    found: dict[str, str] = document["cells"][0]["system"]["settings"]
    return found


def test_processes_that_open_a_file_at_once_do_not_keep_one_another_out(cli: Cli) -> None:
    document = cli.run(cli.write("service.toml", SERVICE))
    rounds = document["cells"][0]["rounds"]
    assert [each["status"] for each in rounds] == ["done"] * 10
    assert all(each["ok"] == 30 and not each["failed"] for each in rounds)
    assert settings(document)["journal_mode"] == "wal"


@pytest.mark.parametrize("clients_as", ["threads", "processes"])
def test_those_that_wait_for_no_lock_begin_all_the_same(cli: Cli, clients_as: str) -> None:
    """What happens before the window is none of what is measured: closing a log keeps others out for a moment."""
    text = SERVICE.replace("busy_timeout = 60000\n", "").replace('"processes"', f'"{clients_as}"')
    text = text.replace('"per-transaction"', '"once"').replace("clients = 10", "clients = 16")
    read = '    { execute = "select count(*) from foo" },\n'
    text = text.partition("steps = [")[0] + f"steps = [\n{read}]\n"
    document = cli.run(cli.write("service.toml", text))
    rounds = document["cells"][0]["rounds"]
    assert [(each["status"], each["ok"]) for each in rounds] == [("done", 48)] * 10
    assert settings(document)["busy_timeout"] == "0"


MODES = ["delete", "truncate", "persist", "memory", "off", "wal"]
IN_EACH_MODE = f'[system.sqlite]\njournal_mode = "${{mode}}"\n[factors]\nmode = {json.dumps(["default", *MODES])}\n'


def modes(document: dict[str, Any]) -> list[str]:
    return [cell["system"]["settings"]["journal_mode"] for cell in document["cells"]]


@pytest.mark.parametrize("before", ["delete", "wal"])
def test_each_journal_mode_is_in_force_on_a_copy(cli: Cli, before: str) -> None:
    path = make(cli.directory / "mine.db", before)
    file = cli.write("count.toml", COUNT + IN_EACH_MODE)
    document = cli.run(file, "--rounds", "2", "--system", f"sqlite:{path}")
    assert modes(document) == [before, *MODES]
    assert [each["rows"] for cell in document["cells"] for each in cell["rounds"]] == [9] * 14


def test_each_journal_mode_is_in_force_on_new_files(cli: Cli) -> None:
    table = "[tables.t]\nrows = 4\ncolumns = { x = { type = 'integer', fill = 1 } }\n"
    document = cli.run(cli.write("count.toml", COUNT + table + IN_EACH_MODE), "--rounds", "1", "--interleave", "5ms")
    assert modes(document) == ["delete", *MODES]
    assert [each["rows"] for cell in document["cells"] for each in cell["rounds"]] == [12] * 7


def make(path: Path, mode: str) -> Path:
    database = sqlite3.connect(path)
    database.execute(f"pragma journal_mode = {mode}")
    database.executescript("create table t (x); insert into t values (1), (2), (3)")
    database.close()
    return path


@pytest.fixture
def left(cli: Cli) -> Iterator[Path]:
    """A database whose last rows are in its log only, since its writer goes on."""
    path = make(cli.directory / "left.db", "wal")
    writer = sqlite3.connect(path)
    writer.execute("insert into t values (4)")
    writer.commit()
    yield path
    writer.close()


def content(directory: Path) -> dict[str, str]:
    return {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in directory.glob("*.db*")
        # What readers of the log share changes with each.
        if not path.name.endswith("-shm")
    }


def test_rows_in_a_named_files_log_are_there_and_it_stays_as_it_is(cli: Cli, left: Path) -> None:
    before = content(cli.directory)
    assert set(before) == {"left.db", "left.db-wal"}
    file = cli.write("count.toml", COUNT + IN_EACH_MODE)
    cli("run", file, "--rounds", "2", "--system", f"sqlite:{left}", "--store", "runs.sqlite", "--json", "out.json")
    assert content(cli.directory) == before
    document = json.loads((cli.directory / "out.json").read_text())
    assert [each["rows"] for cell in document["cells"] for each in cell["rounds"]] == [12] * 14
    assert modes(document) == ["wal", *MODES]
    assert cli.left_behind() == []


def test_what_decides_the_bytes_of_a_file_is_given_to_the_copy_of_a_named_one(cli: Cli) -> None:
    path = make(cli.directory / "mine.db", "delete")
    before = content(cli.directory)
    given = {"page_size": "16384", "auto_vacuum": "full"}
    system = f"sqlite:{path}?" + "&".join("=".join(pair) for pair in given.items())
    file = cli.write("count.toml", COUNT)
    found = settings(cli.run(file, "--rounds", "2", "--system", system))
    assert (found["page_size"], found["auto_vacuum"]) == ("16384", "1")
    wrong = cli("run", file, "--system", f"sqlite:{path}?encoding=UTF-16", "--store", "runs.db", code=2)
    assert "pragma encoding = 'UTF-16': the file keeps encoding = UTF-8" in wrong
    assert content(cli.directory) | before == content(cli.directory)


def test_a_named_file_that_changes_between_trials_is_told(cli: Cli) -> None:
    path = make(cli.directory / "mine.db", "delete")
    text = "rounds = 3\n" + COUNT.replace("transactions = 3", "seconds = 2")
    process = cli.start("run", cli.write("count.toml", text), "--system", f"sqlite:{path}", "--store", "runs.db")
    assert process.stderr is not None
    while not process.stderr.readline().startswith("round 1/"):
        assert process.poll() is None
    with sqlite3.connect(path) as database:
        database.execute("insert into t values (5)")
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 1, errors
    assert "the file changed during the run" in errors
