"""The step `copy`: many rows at once."""

from __future__ import annotations

import pytest

from conftest import Cli
from dbdyno.base.errors import InputError
from duckdb_library import URL, needs_duckdb
from experiment_files import compiled, steps
from installed_servers import needs_mysql, needs_postgresql

EXPERIMENT = """
name = "events"
title = "Events"
rounds = 1
factors = { batch = [1, 100] }

[tables.event]
rows = 5
columns.id = { type = "integer", primary_key = true, fill = { serial = 1 } }
columns.note = { type = "text", fill = { text = 10 } }
columns.amount = { type = "double" , fill = 1.5 }

[load]
clients = 2
stop = { transactions = 10 }

[[transactions]]
name = "copy"
steps = [{ copy = "event", rows = "${batch}", columns = { id = { next = "event.id" }, note = "tab\\t, 'quote', back\\\\slash", amount = { nullable = { share = 1, of = 2.5 } } } }]

[[check]]
name = "all rows are there as they were"
sql = "select count(*) - 20 * ${batch} from event where note = 'tab\\t, ''quote'', BACKSLASH' and amount is null"
equals = 0
"""  # noqa: E501


@pytest.mark.parametrize("prepare", ["once", "per-transaction", "never"])
def test_rows_are_inserted(cli: Cli, prepare: str) -> None:
    run(cli, "sqlite:?busy_timeout=5000", prepare)


def run(cli: Cli, system: str, prepare: str) -> None:
    # In a string of MySQL, a backslash is an escape character.
    text = EXPERIMENT.replace("BACKSLASH", "back\\\\\\\\slash" if system == "mysql:" else "back\\\\slash")
    text = text.replace("clients = 2", f'clients = 2\nprepare = "{prepare}"')
    document = cli.run(cli.write("events.toml", text), "--system", system)
    for cell in document["cells"]:
        (trial,) = cell["rounds"]
        assert trial["error"] is None, cell["id"]
        assert trial["ok"] == 20
        assert trial["rows_changed"] == 20 * cell["factors"]["batch"]
    kind = "copy" if system in ("postgresql:", URL) else "insert"
    assert [each["sql"][: len(kind)] for cell in document["cells"] for each in cell["statements"]] == [kind, kind]


COPYING = [pytest.param("postgresql:", marks=needs_postgresql), pytest.param(URL, marks=needs_duckdb)]


@pytest.mark.parametrize("system", COPYING)
@pytest.mark.parametrize("prepare", ["once", "per-transaction", "never"])
def test_engines_copy(server_cli: Cli, system: str, prepare: str) -> None:
    run(server_cli, system, prepare)


@needs_mysql
def test_other_engines_insert(server_cli: Cli) -> None:
    run(server_cli, "mysql:", "once")


@pytest.mark.parametrize("system", COPYING)
def test_a_failed_copy_is_a_failed_transaction(server_cli: Cli, system: str) -> None:
    text = EXPERIMENT.replace('{ next = "event.id" }', "7").partition("[[check]]")[0]
    file = server_cli.write("events.toml", text)
    document = server_cli.run(file, "--system", system, "--set", "batch=2", code=1)
    (trial,) = document["cells"][0]["rounds"]
    assert trial["failed"] == {"constraint": 20}
    assert "duplicate key" in trial["failures"]["constraint"].lower()


@needs_duckdb
def test_a_refused_row_leaves_none_of_a_copy(server_cli: Cli) -> None:
    # One row of two is refused in half of the copies.
    text = EXPERIMENT.replace("amount = { nullable = { share = 1, of = 2.5 } }", 'amount = { pick = ["1", "x"] }')
    text = text.replace("clients = 2\nstop = { transactions = 10 }", "clients = 1\nstop = { transactions = 100 }")
    pairs = "select id // 2 from event group by 1 having count(*) = 2"
    sql = f"select count(*) from event where id > 5 and id // 2 not in ({pairs})"
    text = f'{text.partition("[[check]]")[0]}[[check]]\nname = "rows come in pairs"\nsql = "{sql}"\nequals = 0\n'
    document = server_cli.run(server_cli.write("events.toml", text), "--system", URL, "--set", "batch=2")
    (trial,) = document["cells"][0]["rounds"]
    assert trial["error"] is None
    assert trial["failed"]["other"] > 0
    assert trial["ok"] > 0


@pytest.mark.parametrize(
    ("system", "rows", "error"),
    [
        (
            "sqlite:",
            20_000,
            "the step `copy` of `t` inserts 40,000 values at once; sqlite allows 32,766; copy fewer rows",
        ),
        ("mongodb://h/d", 5, "the step `copy` of `t` is not possible on mongodb; limit the step to its `engines`"),
    ],
)
def test_an_engine_refuses_what_it_cannot_insert(system: str, rows: int, error: str) -> None:
    made = steps(f"{{ copy = 'user', rows = {rows}, columns = {{ id = 1, name = 'x' }} }}")
    with pytest.raises(InputError) as caught:
        compiled(made, system)
    assert str(caught.value) == f"small.toml: {error}"


def test_a_step_has_a_limit() -> None:
    with pytest.raises(InputError) as caught:
        steps("{ copy = 'user', rows = 60_000, columns = { id = 1, name = 'x' } }")
    assert str(caught.value) == (
        "small.toml: transactions[0].steps[0].rows: 60,000 rows of 2 columns are 120,000 values; "
        "at most 100,000 fit into a step; copy fewer rows, and `repeat` it"
    )
