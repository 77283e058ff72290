"""Columns that are computed, rows per parent, drawn repetitions and checks of the data: runs of the real worker."""

from __future__ import annotations

import pytest

from conftest import Cli

DATA = """
name = "computed"
title = "Computed data"
rounds = 1

[tables.district]
rows = 10
primary_key = ["w", "id"]
[tables.district.columns]
w = { type = "integer", fill = { expression = ":row / 5 + 1" } }
id = { type = "integer", fill = { expression = ":row % 5 + 1" } }
zip = { type = "char(9)", fill = { format = { template = "{}11111", parts = [{ text = { length = 4, characters = "0-9" } }] } } }

[tables.orders]
per = "district"
count = 8
primary_key = ["w", "d", "id"]
[tables.orders.columns]
w = { type = "integer", fill = { key = "district.w", row = { variable = "parent" } } }
d = { type = "integer", fill = { key = "district.id", row = { variable = "parent" } } }
id = { type = "integer", fill = { expression = ":child + 1" } }
lines = { type = "integer", fill = { uniform = [0, 3] } }
code = { type = "varchar(9)", fill = { format = { template = "{}-{:04}", parts = [{ pick = { values = ["A", "B"], index = { variable = "row" } } }, { variable = "id" }] } } }
placed = { type = "date", fill = { date = ["2024-01-01", "2024-02-29"] } }
sent = { type = "date", fill = { date = { expression = ":placed + random(1, 9)" } } }

[tables.line]
per = "orders"
count = { variable = "lines" }
primary_key = ["w", "d", "o", "number"]
[tables.line.columns]
w = { type = "integer", fill = { key = "orders.w", row = { variable = "parent" } } }
d = { type = "integer", fill = { key = "orders.d", row = { variable = "parent" } } }
o = { type = "integer", fill = { key = "orders.id", row = { variable = "parent" } } }
number = { type = "integer", fill = { expression = ":child + 1" } }

[tables.log]
rows = 0
[tables.log.columns]
wanted = { type = "integer" }

[load]
stop = { transactions = 50 }

[[transactions]]
name = "t"
steps = [
    { set = "order", value = { row_of = "orders" } },
    { set = "n", value = { uniform = [0, 3] } },
    { repeat = { variable = "n" }, steps = [
        { execute = "select lines from orders where w = ? and d = ? and id = ?", params = [{ key = "orders.w", row = { variable = "order" } }, { key = "orders.d", row = { variable = "order" } }, { key = "orders.id", row = { variable = "order" } }], into = ["lines"] },
        { when = "lines is null", then = [{ execute = "insert into log values (1)" }] },
    ] },
]
"""  # noqa: E501

CHECKS = {
    "each order has its lines": (
        "select count(*) from orders o "
        "where lines <> (select count(*) from line where w = o.w and d = o.d and line.o = o.id)",
        0,
    ),
    "lines are numbered": (
        "select count(*) from (select 1 from line group by w, d, o having max(number) <> count(*)) x",
        0,
    ),
    "orders": ("select count(*) from orders", 80),
    "orders of a district": ("select count(distinct id) from orders where w = 2 and d = 5", 8),
    "districts": ("select max(w * 10 + id) from district", 25),
    "zip": ("select count(*) from district where zip like '____11111'", 10),
    "code": ("select code from orders where w = 1 and d = 1 and id = 2", "B-0002"),
    "dates": ("select count(*) from orders where sent > placed and placed <= '2024-02-29' and sent < '2024-03-10'", 80),
    "composite keys were found": ("select count(*) from log", 0),
}  # fmt: skip


def checks(expected: dict[str, tuple[str, int | str]]) -> str:
    tables = (
        f'[[check]]\nname = "{name}"\nsql = "{sql}"\nequals = {value!r}\n' for name, (sql, value) in expected.items()
    )
    return "\n" + "\n".join(tables)


def test_computed_data_are_consistent(cli: Cli) -> None:
    document = cli.run(cli.write("computed.toml", DATA + checks(CHECKS)), "--system", "sqlite:")
    (trial,) = document["cells"][0]["rounds"]
    assert trial["error"] is None
    assert trial["ok"] == 50
    # Between no and three selects per transaction.
    assert 30 < trial["statements"] < 120


@pytest.mark.parametrize(
    ("sql", "equals", "found"),
    [
        ("select count(*) from orders", 81, "expected 81, found 80: select count(*) from orders"),
        ("select code from orders where id = 99", 1, "expected 1, found null, or no row: select code"),
        ("select code from orders where w = 1 and d = 1 and id = 2", "'x'", "expected x, found B-0002: select code"),
        ("select 1 from nosuch", 1, "no such table: nosuch"),
    ],
)
def test_a_violated_check_fails_the_trial(cli: Cli, sql: str, equals: str, found: str) -> None:
    check = f'\n[[check]]\nname = "orders"\nsql = "{sql}"\nequals = {equals}\n'
    document = cli.run(cli.write("wrong.toml", DATA + check), "--system", "sqlite:", code=1)
    (trial,) = document["cells"][0]["rounds"]
    assert trial["error"].startswith("the check `orders` failed: ")
    assert found in trial["error"]
    assert trial["error_kind"] == "check"


def test_each_violated_check_is_reported(cli: Cli) -> None:
    queries = {"a": '"select 2"', "b": '"select 1"', "c": '"select 3"', "d": '{ mysql = "select 4" }'}
    checks = "".join(f'\n[[check]]\nname = "{name}"\nsql = {sql}\nequals = 1\n' for name, sql in queries.items())
    document = cli.run(cli.write("wrong.toml", DATA + checks), "--system", "sqlite:", code=1)
    assert document["cells"][0]["rounds"][0]["error"] == (
        "the check `a` failed: expected 1, found 2: select 2; the check `c` failed: expected 1, found 3: select 3"
    )
    told = "The check `d` did not run on sqlite: the experiment gives SQL for other engines only."
    assert told in [each["text"] for each in document["findings"]]


def test_a_failing_expression_names_its_column(cli: Cli) -> None:
    text = DATA.replace('":row % 5 + 1"', '":row + 10 / (5 - :row)"')
    cli.write("failing.toml", text)
    said = cli("run", "./failing.toml", "--system", "sqlite:", "--store", "runs.db", code=1)
    assert "column `district.id`, row 5: `:row + 10 / (5 - :row)`: division by zero" in " ".join(said.split())
