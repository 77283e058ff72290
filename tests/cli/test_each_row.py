"""Steps for each row of a result, on each kind of engine that passes all rows on."""

from __future__ import annotations

import pytest

from conftest import Cli
from dbdyno.base.errors import InputError
from experiment_files import steps
from installed_servers import needs_mysql, needs_postgresql

EACH = """
name = "each"
title = "A query per row of a result"
rounds = 1

[tables.author]
rows = 20
[tables.author.columns]
id = { type = "integer", primary_key = true, fill = { serial = 1 } }
name = { type = "varchar(20)", fill = { text = 10 } }

[tables.book]
per = "author"
count = 3
[tables.book.columns]
id = { type = "integer", primary_key = true, fill = { expression = ":row + 1" } }
author = { type = "integer", fill = { key = "author.id", row = { variable = "parent" } } }

[tables.log]
rows = 0
[tables.log.columns]
author = { type = "integer" }
name = { type = "varchar(20)" }
books = { type = "integer" }

[load]
stop = { transactions = 5 }

[[transactions]]
name = "n plus one"
steps = [
    { execute = "select id, name from author where id <= ? order by id", params = [{ pick = { values = [4, 0], index = { serial = 0 } } }], into = ["id", "name"], each = [
        { execute = "select id from book where author = ?", params = [{ variable = "id" }], into = ["book"], each = [
            { execute = "insert into log values (?, ?, ?)", params = [{ variable = "id" }, { variable = "name" }, { variable = "book" }] },
        ] },
    ] },
]

[[check]]
name = "a row per book of the first authors, three times"
sql = "select count(*) from log join book on book.author = log.author and book.id = log.books join author on author.id = log.author and author.name = log.name where author.id <= 4"
equals = 36

[[check]]
name = "no other rows"
sql = "select count(*) from log"
equals = 36
"""  # noqa: E501


def run(cli: Cli, system: str) -> None:
    document = cli.run(cli.write("each.toml", EACH), "--system", system)
    (trial,) = document["cells"][0]["rounds"]
    assert trial["error"] is None
    # Per transaction one query, four more if authors were found, and an insert per book.
    assert trial["statements"] == 5 + 3 * (4 + 12)


def test_steps_run_for_each_row(cli: Cli) -> None:
    run(cli, "sqlite:")


@pytest.mark.parametrize(
    "system", [pytest.param("postgresql:", marks=needs_postgresql), pytest.param("mysql:", marks=needs_mysql)]
)
def test_steps_run_for_each_row_of_a_server(server_cli: Cli, system: str) -> None:
    run(server_cli, system)


def test_the_description_shows_the_loop(cli: Cli) -> None:
    shown = cli("describe", cli.write("each.toml", EACH))
    assert "-> id, name\n    for each row\n        select id from book" in shown


def test_a_row_needs_variables() -> None:
    with pytest.raises(InputError) as caught:
        steps('{ execute = "select 1", each = [{ think = 1 }] }')
    assert str(caught.value) == (
        "small.toml: transactions[0].steps[0].each: the steps need variables for the columns of a row; "
        'add `into = ["id"]`'
    )
