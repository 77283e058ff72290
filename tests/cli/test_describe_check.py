"""`dbdyno describe --check`: opens every system and prepares every statement, and runs none of them."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from conftest import Cli
from dbdyno.engines.server.installations import find_installations
from dbdyno.engines.server.managed import target
from dbdyno.engines.server.server import start_server
from dbdyno.model.events.answers import Answer, Loaded
from dbdyno.model.plan.worker_plan import PLAN
from dbdyno.runtime.worker import ask
from fresh_data import fresh_data
from installed_servers import needs_mysql, needs_postgresql

HEAD = 'name = "own"\ntitle = "own"\n[load]\nstop = { transactions = 5 }\n'


def own(cli: Cli, *statements: str, head: str = HEAD) -> str:
    steps = ", ".join(f'{{ execute = "{each}" }}' for each in statements)
    return cli.write("own.toml", f'{head}[[transactions]]\nname = "t"\nsteps = [{steps}]\n')


@pytest.fixture
def shop(cli: Cli) -> Path:
    path = cli.directory / "shop.db"
    with closing(sqlite3.connect(path)) as made:
        made.execute("create table orders (id integer primary key)")
        made.execute("insert into orders values (1)")
        made.commit()
    return path


def test_each_system_has_a_line(cli: Cli, small: Callable[..., str]) -> None:
    said = cli("describe", cli.write("small.toml", small()), "--check", "--system", "sqlite:", "--system", "null:")
    first, second = said.splitlines()
    assert first.startswith("sqlite:  sqlite 3.")
    assert first.endswith(", 2 statements prepared")
    assert second.startswith("null:  null ")
    assert second.endswith(", nothing to prepare")
    assert cli.left_behind() == []


def test_checks_are_prepared_but_timed_statements_are_not(cli: Cli, shop: Path) -> None:
    check = '[[check]]\nname = "rows"\nsql = "select count(*) from {}"\nequals = 1\n'
    timed = '[[timed]]\nname = "index"\nrun = "drop index made_by_another"\n'
    beside = '[[beside]]\nname = "own"\nat = "1ms"\nsteps = [{ execute = "drop table made_by_another" }]\n'
    file = own(cli, "select 1")
    path = cli.directory / file
    text = path.read_text()
    path.write_text(text + check.format("orders") + timed + beside)
    system = f"sqlite:{shop.name}"
    said = cli("describe", file, "--check", "--system", system, "--allow-writes")
    assert said.endswith(", 2 statements prepared; not those of `[[beside]]` and `[[timed]]`\n")
    path.write_text(text + check.format("ordres"))
    errors = cli("describe", file, "--check", "--system", system, code=2)
    assert "`select count(*) from ordres`: no such table: ordres (SQLITE_ERROR)" in errors


def test_a_named_file_is_opened_and_stays_as_it_is(cli: Cli, shop: Path) -> None:
    before = shop.read_bytes()
    said = cli("describe", own(cli, "delete from orders"), "--check", "--system", f"sqlite:{shop.name}")
    assert said.endswith(", 1 statement prepared\n")
    assert shop.read_bytes() == before


def test_levels_that_change_a_statement_are_all_prepared(cli: Cli) -> None:
    head = HEAD.replace("[load]", 'factors = { which = ["orders", "nowhere", "gone"] }\n[load]')
    file = own(cli, "select count(*) from ${which}", head=head)
    with closing(sqlite3.connect(cli.directory / "shop.db")) as made:
        made.execute("create table orders (id integer primary key)")
    errors = cli("describe", file, "--check", "--system", "sqlite:shop.db", code=2)
    assert errors.splitlines() == [
        "dbdyno: sqlite:shop.db: `select count(*) from nowhere`: no such table: nowhere (SQLITE_ERROR)",
        "sqlite:shop.db: `select count(*) from gone`: no such table: gone (SQLITE_ERROR)",
    ]
    said = cli("describe", file, "--check", "--system", "sqlite:shop.db", "--set", "which=orders")
    assert said.endswith(", 1 statement prepared\n")


@pytest.mark.parametrize(
    ("system", "sql", "words"),
    [
        ("sqlite:", "select * from orders", ("no such table: orders", "--system sqlite:FILE")),
        ("sqlite:shop.db", "selct 1", ("`selct 1`", "syntax error")),
        ("sqlite:shop.db", "select cuont(*) from orders", ("no such function: cuont",)),
        ("sqlite:garbage.db", "select 1", ("sqlite:garbage.db: file is not a database",)),
        ("sqlite:nowhere.db", "select 1", ("no such file",)),
        ("sqlite:?library=./no.so", "select 1", ("no such file",)),
        ("postgresql://me@127.0.0.1:1/shop", "select 1", ("postgresql://me@127.0.0.1:1/shop: ", "connecting to")),
        ("mysql://me@127.0.0.1:1/shop", "select 1", ("mysql://me@127.0.0.1:1/shop: ", "connecting to")),
    ],
)
def test_what_is_wrong_is_one_message(cli: Cli, shop: Path, system: str, sql: str, words: tuple[str, ...]) -> None:
    del shop
    (cli.directory / "garbage.db").write_text("this is no database, and long enough to be one " * 20)
    errors = cli("describe", own(cli, sql), "--check", "--system", system, code=2)
    assert errors.startswith("dbdyno: ")
    assert all(each in errors for each in words), errors
    assert errors.count("\n") == 1
    assert cli.left_behind() == []


def test_an_error_in_the_setup_is_found_and_tables_stay_empty(cli: Cli, small: Callable[..., str]) -> None:
    # Made as it is, it would take minutes.
    large = small(("rows = 2000", "rows = 1_000_000_000"), ('title = "A small table"', 'title = "Large"'))
    assert "2 statements prepared" in cli("describe", cli.write("large.toml", large), "--check")
    broken = small(("[factors]", 'setup = ["create index i on t (nothing)"]\n[factors]'))
    errors = cli("describe", cli.write("broken.toml", broken), "--check", code=2)
    assert "nothing" in errors


@needs_postgresql
def test_postgresql_prepares_and_runs_nothing(server_cli: Cli, small: Callable[..., str]) -> None:
    file = server_cli.write("small.toml", small())
    said = server_cli("describe", file, "--check", "--system", "postgresql:")
    assert said.startswith("postgresql:  PostgreSQL ")
    assert said.endswith(", 2 statements prepared\n")
    errors = server_cli(
        "describe", own(server_cli, "select * from nowhere"), "--check", "--system", "postgresql:", code=2
    )
    assert 'relation "nowhere" does not exist' in errors


@needs_mysql
def test_mysql_prepares_and_runs_nothing(server_cli: Cli, small: Callable[..., str]) -> None:
    file = server_cli.write("small.toml", small())
    assert ", 2 statements prepared" in server_cli("describe", file, "--check", "--system", "mysql:")
    errors = server_cli("describe", own(server_cli, "select * from nowhere"), "--check", "--system", "mysql:", code=2)
    assert "nowhere" in errors
    assert "doesn't exist" in errors


@needs_postgresql
def test_on_a_named_server_nothing_is_written_and_what_a_run_refuses_is_refused(server_cli: Cli) -> None:
    data = server_cli.directory / "data"
    installation = find_installations("postgresql")[0]
    fresh_data(installation, data)
    with start_server(installation, data, server_cli.directory, {}) as server:
        make = ["create table orders (id integer primary key)", "insert into orders values (1)"]
        load = {"kind": "load", "target": target(server), "before": make, "tables": [], "after": []}
        ask({"schema": PLAN, "seed": 1, "task": load}, Loaded)
        url = f"postgresql://{server.user}@{str(server.socket).replace('/', '%2F')}:{server.port}/{server.database}"

        writing = own(server_cli, "delete from orders")
        errors = server_cli("describe", writing, "--check", "--system", url, code=2)
        assert "--allow-writes" in errors
        said = server_cli("describe", writing, "--check", "--allow-writes", "--system", url)
        assert said.endswith(", 1 statement prepared\n")
        # That it cannot be prepared is told, and not that it may write.
        errors = server_cli("describe", own(server_cli, "select * from nowhere"), "--check", "--system", url, code=2)
        assert 'relation "nowhere" does not exist' in errors
        assert "known to be a read" not in errors

        count = {"kind": "ask", "target": target(server), "sql": "select count(*) from orders"}
        assert ask({"schema": PLAN, "seed": 1, "task": count}, Answer).answer == "1"


LONG = (
    HEAD
    + """
[tables.orders]
rows = 200_000
[tables.orders.columns]
id = { type = "integer", primary_key = true, fill = { serial = 1 } }
"""
)


@pytest.mark.parametrize("system", ["sqlite:", pytest.param("postgresql:", marks=needs_postgresql)])
def test_a_run_with_a_long_load_does_not_begin_it_for_statements_that_are_refused(cli: Cli, system: str) -> None:
    file = own(cli, "select nothing from orders", head=LONG)
    errors = cli("run", file, "--system", system, "--store", "runs.db", code=2)
    assert "select nothing from orders" in errors and "nothing" in errors
    assert errors.count("dbdyno: ") == 1
    # No run was begun, nor was anything loaded.
    assert cli("runs", "--store", "runs.db").startswith("no runs in ")
    assert not list((cli.directory / "cache").rglob("*.json"))
    assert cli.left_behind() == []


def test_a_statement_that_is_refused_among_others_fails_its_own_trials(cli: Cli) -> None:
    head = LONG.replace("[load]", 'factors = { column = ["id", "nothing"] }\nrounds = 1\n[load]')
    document = cli.run(own(cli, "select ${column} from orders", head=head), code=1)
    assert [[each["status"] for each in cell["rounds"]] for cell in document["cells"]] == [["done"], ["failed"]]
