"""Isolation levels of transactions."""

from __future__ import annotations

import pytest

from conftest import Cli
from dbdyno.base.errors import InputError
from experiment_files import compiled, steps
from installed_servers import needs_mysql, needs_postgresql

EXPERIMENT = """
name = "levels"
title = "Isolation levels"
rounds = 1
factors = { level = ["read committed", "repeatable read", "serializable", "deferred"] }

[tables.seen]
rows = 0
columns.level = { type = "varchar(40)" }

[load]
stop = { transactions = 20 }

[[transactions]]
name = "look"
steps = [
    { begin = "${level}" },
    { execute = "select current_setting('transaction_isolation')", engines = ["postgresql"], into = ["found"] },
    { execute = "SHOWN", engines = ["mysql"], into = ["found"] },
    { execute = "insert into seen values (?)", params = [{ variable = "found" }] },
    { commit = true },
]
"""
# MariaDB and MySQL show the level of a running transaction here.
SHOWN = "select trx_isolation_level from information_schema.innodb_trx where trx_mysql_thread_id = connection_id()"


def run(cli: Cli, system: str, default: str) -> None:
    text = EXPERIMENT.replace("SHOWN", SHOWN)
    if system == "mysql:":
        # InnoDB lists a transaction after its first access to a table.
        text = text.replace(
            '{ begin = "${level}" },', '{ begin = "${level}" }, { execute = "insert into seen values (null)" },'
        )
    for level in ("read committed", "repeatable read", "serializable", "deferred"):
        expected = default if level == "deferred" else level
        shown = expected if system == "postgresql:" else expected.upper()
        # MariaDB's list of transactions may be some time old, and then lacks the transaction.
        check = (
            '\n[[check]]\nname = "level"\nequals = 1\nsql = "select count(distinct level) from seen"\n'
            f'\n[[check]]\nname = "same"\nequals = 0\nsql = "select count(*) from seen where level <> \'{shown}\'"\n'
        )
        file = cli.write("levels.toml", text + check)
        document = cli.run(file, "--system", system, "--set", f"level={level}")
        (trial,) = document["cells"][0]["rounds"]
        assert (level, trial["error"], trial["ok"]) == (level, None, 20)


@needs_postgresql
def test_postgresql_begins_with_a_level(server_cli: Cli) -> None:
    run(server_cli, "postgresql:", "read committed")


@needs_mysql
def test_mysql_begins_with_a_level(server_cli: Cli) -> None:
    run(server_cli, "mysql:", "repeatable read")


@pytest.mark.parametrize(
    ("system", "text"),
    [
        ("postgresql:", "begin isolation level serializable"),
        ("mysql:", "set transaction isolation level serializable; start transaction"),
        ("sqlserver://h/d", "set transaction isolation level serializable; begin transaction"),
    ],
)
def test_the_description_has_the_statement(cli: Cli, system: str, text: str) -> None:
    file = cli.write("levels.toml", EXPERIMENT.replace("SHOWN", SHOWN))
    assert f"\n    {text}\n" in cli("describe", file, "--system", system, "--set", "level=serializable")


@pytest.mark.parametrize(
    ("system", "level", "error"),
    [
        (
            "sqlite:",
            "serializable",
            "small.toml: the step `begin` of `t` can't choose the isolation level `serializable` on sqlite; "
            'write `"deferred"`, or limit the step to its `engines`',
        ),
        (
            "postgresql:",
            "snapshot",
            "small.toml: the step `begin` of `t` can't choose the isolation level `snapshot` on postgresql; choose "
            "`read uncommitted`, `read committed`, `repeatable read`, `serializable`, "
            "or limit the step to its `engines`",
        ),
    ],
)
def test_an_engine_without_the_level_refuses_it(system: str, level: str, error: str) -> None:
    made = steps(f'{{ begin = "{level}" }}, {{ commit = true }}')
    with pytest.raises(InputError) as caught:
        compiled(made, system)
    assert str(caught.value) == error
