"""Compiled plans: valid by the schema, and what the experiment says."""

import sqlite3
from pathlib import Path
from typing import Any

import pytest

from dbdyno.base.errors import InputError
from dbdyno.base.resources import package_path
from dbdyno.engines import engine_of
from dbdyno.engines.null import TARGET
from dbdyno.engines.server.settings import ServerSettings
from dbdyno.engines.sqlite.targets import load_target, trial_target
from dbdyno.experiment import load_experiment
from dbdyno.model.plan.cell import CompiledCell
from dbdyno.model.plan.serialization import as_json
from experiment_files import (
    ALL,
    BUILTIN,
    FIXTURES,
    HEAD,
    READ,
    TABLE,
    TEMPLATE,
    compiled,
    experiment,
    plan_schema,
    small,
    steps,
    task_json,
)


def plans(cell: CompiledCell) -> list[dict[str, Any]]:
    return [
        cell.load_plan(load_target(cell, "/x.db")).json,
        cell.plan(trial_target(cell, "/x.db"), 2**63).json,
        cell.plan(trial_target(cell, "/x.db", "/lib.so"), 1).json,
    ]


def one(path: str) -> CompiledCell:
    return compiled(load_experiment(path))[0]


@pytest.mark.parametrize("path", ALL)
def test_every_plan_is_valid(path: str) -> None:
    for cell in compiled(load_experiment(path)):
        for plan in plans(cell):
            assert [error.message for error in plan_schema().iter_errors(plan)] == []


@pytest.mark.parametrize("database", ["sqlite", "postgresql", "mysql"])
def test_every_plan_of_a_web_tier_is_valid(database: str) -> None:
    cells = compiled(load_experiment("web-login"), f"web:?database={database}")
    assert len(cells) > 10
    for cell in cells:
        for plan in plans(cell):
            assert [error.message for error in plan_schema().iter_errors(plan)] == []


def test_the_null_engine_takes_the_same_trial() -> None:
    cell = compiled(load_experiment(BUILTIN[1]), "null:")[0]
    assert plan_schema().is_valid(cell.plan(TARGET, 1).json)
    assert not engine_of(cell.cell.system.engine).has_data


@pytest.mark.parametrize("path", [*FIXTURES, *BUILTIN, TEMPLATE])
def test_sqlite_takes_every_definition_and_statement(path: str) -> None:
    for cell in compiled(load_experiment(path)):
        with sqlite3.connect(":memory:") as connection:
            for sql in [*cell.before, *cell.after]:
                connection.execute(sql)
            for table in cell.tables:
                names = ", ".join(f'"{column.name}"' for column in table.columns)
                connection.execute(f'select {names} from "{table.name}"')
            for statement in task_json(cell)["statements"]:
                connection.execute("explain " + statement["sql"], [None] * statement["sql"].count("?"))


def test_pk_lookup_in_full() -> None:
    cell = one("pk-lookup")
    assert cell.before[0] == (
        'create table "user" ("id" integer primary key autoincrement, "c1" integer, '
        '"c2" varchar(1000), "c3" varchar(1000))'
    )
    assert [(table.name, table.rows) for table in cell.tables] == [("user", 100_000), ("orders", 100_000)]
    trial = cell.plan(trial_target(cell, "/x.db"), 9).json
    assert trial["seed"] == 9
    task = trial["task"]
    text = "select * from user where id = ?"
    assert task["statements"] == [{"name": text, "sql": text, "places": [len(text) - 1]}]
    assert task["transactions"][0]["steps"] == [
        {
            "do": "execute",
            "statement": 0,
            "into": [],
            "params": [
                {
                    "kind": "reference",
                    "of": {"kind": "serial", "start": 1, "step": 1},
                    "stream": 1,
                    "row": {"kind": "uniform", "low": 0, "high": 99_999},
                }
            ],
        }
    ]
    assert task["target"]["cache"] == "private"
    assert task["target"]["pragmas"] == [["cache_size", "2000"]]


def test_experiments_with_the_same_data_share_their_template() -> None:
    keys = {cell.template_key("lib") for path in ("pk-lookup", "pk-update") for cell in compiled(load_experiment(path))}
    assert len(keys) == 1


@pytest.mark.parametrize(
    ("old", "new", "same"),
    [
        ("rows = 10", "rows = 11", False),
        ("{ serial = 1 }", "{ serial = 2 }", False),
        ("varchar(20)", "varchar(30)", False),
        ("[load]", 'setup = ["analyze"]\n[load]', False),
        ("[load]", "data_seed = 2\n[load]", False),
        ("[load]", "[system.sqlite]\npage_size = 8192\n[load]", False),
        ("[load]", "[system.sqlite]\njournal_mode = 'wal'\n[load]", True),
        ("seconds = 1", "seconds = 2", True),
        ("where id = ?", "where id < ?", True),
    ],
)
def test_the_key_of_a_template_follows_its_content(old: str, new: str, same: bool) -> None:
    text = 'name = "a"\ntitle = "b"\n#top\n[load]\nstop = { seconds = 1 }\n' + TABLE
    text += '[[transactions]]\nname = "r"\nsteps = [{ execute = "select * from user where id = ?", params = [1] }]\n'
    first = compiled(experiment(text))[0].template_key("lib")
    if new.startswith(("setup", "data_seed")):
        old, new = "#top", new.removesuffix("\n[load]")
    changed = compiled(experiment(text.replace(old, new, 1)))[0].template_key("lib")
    assert (first == changed) is same
    assert compiled(experiment(text))[0].template_key("other") != first


def test_the_key_follows_the_content_of_a_file(tmp_path: Path) -> None:
    text = package_path("experiments", "dictionary-search.toml").read_text()
    (tmp_path / "x.toml").write_text(text.replace('dictionary = ["default"]', 'dictionary = ["words.tsv"]'))
    with pytest.raises(InputError, match=r"tables\.eijiro\.file: no such file `words\.tsv`"):
        one(str(tmp_path / "x.toml"))
    (tmp_path / "words.tsv").write_text("a\tb\n")
    cell = one(str(tmp_path / "x.toml"))
    assert [(table.rows, table.file) for table in cell.tables] == [(892_200, str(tmp_path / "words.tsv"))]
    assert plan_schema().is_valid(cell.load_plan(load_target(cell, "/x.db")).json)
    first = cell.template_key("lib")
    (tmp_path / "words.tsv").write_text("a\tc\n")
    assert cell.template_key("lib") != first


def test_promo_code_changes_one_thing_at_a_time() -> None:
    cells = compiled(load_experiment("promo-code"))
    verbs = [[step["do"] for step in task_json(cell)["transactions"][0]["steps"]] for cell in cells]
    assert verbs[0] == verbs[2] == ["set", "execute"]
    assert verbs[3] == verbs[4] == ["set", "execute", "when", "execute"]
    assert verbs[5] == verbs[6] == ["set", "begin", "execute", "when", "execute", "commit"]
    assert [
        step["mode"] for cell in cells for step in task_json(cell)["transactions"][0]["steps"] if step["do"] == "begin"
    ] == [
        "deferred",
        "immediate",
    ]
    assert [bool(cell.after) for cell in cells] == [False] * 4 + [True] * 3
    assert [task_json(cell)["clients"] for cell in cells] == [1, 1] + [10] * 5
    assert [task_json(cell)["connect"] for cell in cells] == ["once"] * 2 + ["per-transaction"] * 5
    targets = [trial_target(cell, "/x") for cell in cells]
    # The log is the file's own: ten processes that each ask for it keep one another out.
    assert [target["file_pragmas"] for target in targets] == [[]] + [[["journal_mode", "wal"]]] * 6
    assert [target["pragmas"] for target in targets] == [[]] * 7


def test_bulk_insert_has_no_loop_and_no_begin_for_single_rows() -> None:
    single, text, _ = compiled(load_experiment("bulk-insert"))
    assert [step["do"] for step in task_json(single)["transactions"][0]["steps"]] == ["execute"]
    assert [step["do"] for step in task_json(text)["transactions"][0]["steps"]] == ["begin", "repeat", "commit"]


def test_streams_are_the_columns_own() -> None:
    tables = one("dictionary-search").tables
    streams = [column.stream for table in tables for column in table.columns]
    assert streams == list(range(1, len(streams) + 1))


def test_a_reference_repeats_the_column_it_refers_to() -> None:
    cell = compiled(steps('{ execute = "select ?", params = [{ key = "user.name", draw = { zipf = 1.2 } }] }'))[0]
    made = task_json(cell)["transactions"][0]["steps"][0]["params"][0]
    column = as_json(cell.tables)[0]["columns"][1]
    assert (made["of"], made["stream"]) == (column["fill"], column["stream"])
    assert made["row"] == {"kind": "zipf", "low": 0, "high": 9, "exponent": 1.2, "scattered": True}


def test_a_trial_knows_the_seed_of_the_data_beside_its_own() -> None:
    cell = compiled(steps('{ execute = "select ?", params = [{ key = "user.name" }] }'))[0]
    plan = cell.plan(trial_target(cell, "/x"), 99).json
    assert (plan["seed"], plan["task"]["data_seed"]) == (99, cell.load_plan(load_target(cell, "/x")).json["seed"])


def test_a_part_goes_on_where_the_table_ends() -> None:
    parts = '[[tables.user.parts]]\nrows = 3\ncolumns = { name = "x" }\n[[tables.user.parts]]\nrows = 2\ncolumns = {}\n'
    tables = as_json(compiled(small(table=TABLE + parts))[0].tables)
    assert [table["columns"][0]["fill"]["start"] for table in tables] == [1, 11, 14]
    assert [table["columns"][1]["fill"]["kind"] for table in tables] == ["text", "constant", "text"]


def test_a_column_that_the_engine_counts_up_is_not_given() -> None:
    table = (
        '[tables.t]\nrows = 3\n[tables.t.columns]\nid = { type = "int", primary_key = true, autoincrement = true }\n'
    )
    table += "n = { type = 'int', fill = 0 }\n"
    cell = compiled(steps('{ execute = "select ?, ?", params = [{ key = "t.id" }, { next = "t.id" }] }', table=table))[
        0
    ]
    assert [column.name for column in cell.tables[0].columns] == ["n"]
    key, following = task_json(cell)["transactions"][0]["steps"][0]["params"]
    assert key["of"] == {"kind": "serial", "start": 1, "step": 1}
    assert following == {"kind": "serial", "start": 4, "step": 1, "counter": "t.id"}


def test_definitions_quote_and_keep_what_the_file_says() -> None:
    table = """
[tables.order]
rows = 0
primary_key = ["a", "b"]
options = { sqlite = "without rowid", mysql = "engine=innodb" }
[tables.order.columns]
a = { type = "bigint", not_null = true }
b = { type = "timestamp", unique = true }
[[tables.order.indexes]]
columns = ["b", "a"]
unique = true
build = "before"
[[tables.order.indexes]]
columns = ["a"]
name = "x"
include = false
"""
    cell = compiled(steps('{ execute = "select 1" }', table=table))[0]
    assert cell.before == [
        'create table "order" ("a" integer not null, "b" text unique, primary key ("a", "b")) without rowid',
        'create unique index "order_b_a" on "order" ("b", "a")',
    ]
    assert cell.after == []


def test_statements_by_engine() -> None:
    made = steps('{ execute = { sqlite = "select 1", any = "select 2" } }, { execute = { any = "select 3" } }')
    assert [each["sql"] for each in task_json(compiled(made)[0])["statements"]] == ["select 1", "select 3"]
    other = steps('{ execute = { mysql = "select 1" } }')
    with pytest.raises(InputError, match="a statement of `t` has no text for sqlite"):
        compiled(other)
    setup = small('setup = [{ mysql = "optimize" }, { sqlite = "analyze", any = "x" }]\n')
    assert compiled(setup)[0].after == ["analyze"]


@pytest.mark.parametrize(
    ("select", "into", "says"),
    [
        ("select id from user", ["a", "b"], "returns 1 column, but `into` has 2 variables"),
        (
            "select id, name from user union select 1, 2",
            ["a", "b", "c"],
            "returns 2 columns, but `into` has 3 variables",
        ),
        ("select id, name from user", ["a"], None),
        ("select * from user", ["a", "b"], None),
        ("select u.*, 1 from user u", ["a", "b", "c"], None),
        ("pragma table_info(user)", ["a", "b"], None),
    ],
)
def test_variables_for_columns_that_are_not_there(select: str, into: list[str], says: str | None) -> None:
    made = steps(f'{{ execute = "{select}", into = {into} }}')
    if says is None:
        compiled(made)
        return
    with pytest.raises(InputError, match=f"of `t` {says}"):
        compiled(made)


def test_statements_stand_once_and_have_names_of_their_own() -> None:
    long = "select 1 as " + "x" * 60
    made = steps(
        f'{{ execute = "{long}a" }}, {{ execute = "{long}b" }}, {{ execute = "{long}a" }}, '
        '{ execute = "select 2", name = "n" }'
    )
    statements = task_json(compiled(made)[0])["statements"]
    assert [each["name"] for each in statements] == [long[:59] + "…", long[:59] + "… (2)", "n"]


def test_sql_server_has_its_own_words() -> None:
    table = """
[tables.user]
rows = 1
[tables.user.columns]
id = { type = "integer", primary_key = true, autoincrement = true, fill = { serial = 1 } }
name = { type = "varchar(20)", fill = { text = 20 } }
long = { type = "varchar(5000)", fill = { text = 20 } }
real = { type = "double", fill = { uniform = [0.0, 1.0] } }
"""
    text = '{ execute = "select * from user where name = ? || \'x\' limit 3", params = ["a"] }'
    made = steps(text, table=table).translated()
    cell = compiled(made, "sqlserver://me@host/d?sslmode=require&lock_timeout=50")[0]
    assert cell.before == [
        "create table [user] ([id] int primary key identity, [name] nvarchar(20), [long] nvarchar(max), [real] float)"
    ]
    sql = "SELECT TOP 3 * FROM [user] WHERE [name] = ? + 'x'"
    assert [each["sql"] for each in task_json(cell)["statements"]] == [sql]
    assert isinstance(cell.settings, ServerSettings)
    assert cell.settings.parameters == {"lock_timeout": "50"}
    late = steps('{ execute = "select * from user where id = ? limit ?", params = [1, 2] }', table=table).translated()
    with pytest.raises(InputError, match=r"can't be translated for sqlserver: the target writes `limit \?` elsewhere"):
        compiled(late, "sqlserver://me@host/d")


@pytest.mark.parametrize(
    ("load", "measure", "milliseconds"),
    [
        ("stop = { seconds = 10 }", "", 500),
        ("stop = { seconds = 0.2 }", "", 50),
        ("stop = { seconds = 600 }", "", 1000),
        ("stop = { transactions = 10 }", "", 100),
        ("stop = { transactions = 10, seconds = 60 }", "", 100),
        ("stop = { seconds = 10 }", "[measure]\ninterval_ms = 7\n", 7),
    ],
)
def test_a_window_has_intervals_to_compare(load: str, measure: str, milliseconds: int) -> None:
    made = experiment(HEAD, TABLE, f"[load]\n{load}\n", READ, measure)
    assert task_json(compiled(made)[0])["record"]["interval_ms"] == milliseconds
