"""Work beside the clients: at a time, or again and again."""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing

import pytest

from conftest import Cli
from dbdyno.base.errors import InputError
from experiment_files import experiment
from installed_servers import needs_mysql, needs_postgresql

HEAD = """
name = "migration"
title = "A migration beside the load"
rounds = 1

[tables.product]
rows = 500
columns.id = { type = "integer", primary_key = true, fill = { serial = 1 } }
columns.price = { type = "integer", fill = { uniform = [1, 100] } }

[tables.log]
rows = 0
columns.total = { type = "bigint" }

[load]
clients = 2
stop = { seconds = 1 }

[[transactions]]
name = "read"
steps = [{ execute = "select price from product where id = ?", params = [{ key = "product.id" }] }]
"""
BESIDE = """
[[beside]]
name = "add an index"
at = "200ms"
steps = [{ execute = "create index on_price on product (price)" }]

[[beside]]
name = "sums"
every = "250ms"
steps = [
    { execute = "select sum(price) from product", into = ["total"] },
    { execute = "insert into log values (?)", params = [{ variable = "total" }] },
]

[[check]]
name = "three sums"
sql = "select count(*) from log"
equals = 3
"""


def run(cli: Cli, system: str) -> None:
    document = cli.run(cli.write("migration.toml", HEAD + BESIDE), "--system", system)
    (cell,) = document["cells"]
    (trial,) = cell["rounds"]
    assert trial["error"] is None
    index, sums = cell["beside"]
    assert (index["name"], index["executions"], index["failed"]) == ("add an index", 1, 0)
    assert (sums["name"], sums["executions"], sums["failure"]) == ("sums", 3, None)
    assert 0 < sums["mean_s"] <= sums["max_s"] < 1
    # It doesn't count.
    assert list(trial["transactions"]) == ["read"]
    assert [each["name"] for each in cell["statements"]] == ["select price from product where id = ?"]


def test_work_runs_beside_the_clients(cli: Cli) -> None:
    run(cli, "sqlite:?journal_mode=wal&busy_timeout=5000")
    shown = cli("show", "last", "--store", "runs.db", "--verbose")
    assert re.search(r"^beside the load +executions +mean s +max s +errors\n─+\nadd an index +1 ", shown, re.MULTILINE)


@pytest.mark.parametrize(
    "system", [pytest.param("postgresql:", marks=needs_postgresql), pytest.param("mysql:", marks=needs_mysql)]
)
def test_work_runs_beside_the_clients_of_a_server(server_cli: Cli, system: str) -> None:
    run(server_cli, system)


def test_processes_share_one_session(cli: Cli) -> None:
    file = cli.write("migration.toml", HEAD.replace("clients = 2", 'clients = 2\nclients_as = "processes"') + BESIDE)
    document = cli.run(file, "--system", "sqlite:?journal_mode=wal&busy_timeout=5000")
    assert [each["executions"] for each in document["cells"][0]["beside"]] == [1, 3]


WRONG = """
[[beside]]
name = "drop it"
every = "300ms"
steps = [{ execute = "drop table nowhere" }]
"""


def test_an_error_fails_the_trial(cli: Cli) -> None:
    document = cli.run(cli.write("wrong.toml", HEAD + WRONG), code=1)
    (trial,) = document["cells"][0]["rounds"]
    assert trial["error"] == "`drop it` beside the load failed: no such table: nowhere (SQLITE_ERROR)"


def test_an_error_can_be_allowed(cli: Cli) -> None:
    document = cli.run(cli.write("wrong.toml", HEAD + WRONG + "allow_errors = true\n"))
    (cell,) = document["cells"]
    (beside,) = cell["beside"]
    assert (beside["executions"], beside["failed"], beside["mean_s"]) == (0, 3, None)
    assert "no such table: nowhere" in beside["failure"]
    assert cell["rounds"][0]["error"] is None


def test_a_long_execution_delays_the_next(cli: Cli) -> None:
    text = '[[beside]]\nname = "slow"\nevery = "100ms"\nsteps = [{ execute = "select 1" }, { think = 400 }]\n'
    document = cli.run(cli.write("slow.toml", HEAD + text))
    (beside,) = document["cells"][0]["beside"]
    # At 0.1, 0.5 and 0.9 s. Think time isn't part of their length.
    assert beside["executions"] in (2, 3)
    assert beside["max_s"] < 0.3


def test_it_may_not_write_to_a_named_file(cli: Cli) -> None:
    with closing(sqlite3.connect(cli.directory / "shop.db")) as made:
        made.execute("create table product (id integer primary key, price integer)")
        made.commit()
    text = re.sub(r"\[tables.*?(?=\[load\])", "", HEAD, flags=re.DOTALL)
    text = text.replace(', params = [{ key = "product.id" }]', "").replace("id = ?", "id = 1")
    text += '[[beside]]\nname = "attach"\nat = "0s"\nsteps = [{ execute = "attach \'other.db\' as other" }]\n'
    said = cli("run", cli.write("named.toml", text), "--system", "sqlite:shop.db", code=2)
    assert "other.db" in said
    assert "--allow-writes" in said


def test_the_description_shows_the_work_and_its_times(cli: Cli) -> None:
    shown = cli("describe", cli.write("migration.toml", HEAD + BESIDE))
    assert "  beside the load: add an index, after 0.2 s\n    create index on_price on product (price)\n" in shown
    assert "  beside the load: sums, every 0.25 s\n" in shown


@pytest.mark.parametrize(
    ("beside", "error"),
    [
        ("", 'beside[0]: the time is missing; add `at = "2s"` or `every = "1s"`'),
        ("at = 2", 'beside[0].at: 2 is not a duration; write a number with its unit, such as `"500ms"` or `"2s"`'),
        ('at = "5s"', "beside[0].at: the window ends after 1 s, before the first execution"),
        ('every = "0s"', 'beside[0].every: 0 s is out of range; give at least `"1ms"`'),
    ],
)
def test_wrong_times_are_refused(beside: str, error: str) -> None:
    text = f'[[beside]]\nname = "x"\n{beside}\nsteps = [{{ execute = "select 1" }}]\n'
    with pytest.raises(InputError) as caught:
        experiment(HEAD, text)
    assert error in str(caught.value)
