"""What MongoDB gets of an experiment: commands in JSON, collections, and nothing that it cannot do."""

import json
from typing import Any

import pytest

from dbdyno.base.errors import InputError
from dbdyno.engines.url import parse_url
from dbdyno.experiment import load_experiment
from dbdyno.experiment.compile import compile_cell
from dbdyno.experiment.design import make_cells
from dbdyno.model.plan.serialization import as_json
from experiment_files import BUILTIN, LOAD, TABLE, compiled, plan_schema, small, steps, task_json

FIND = """{ execute = { any = "select 1", mongodb = '{"find": "user", "filter": {"name": "?"}}' }, params = ["x"] }"""
ONE = f"""
[[transactions]]
name = "t"
steps = [{FIND.replace("select 1", "select ?")}]
"""
TARGET = {"engine": "mongodb", "host": "/s", "port": 1, "database": "d"}


# LIKE is SQL's own: the dictionary has no commands for MongoDB. `cpu-cost` says itself that it is for SQL only.
SQL_ONLY = (
    "dictionary-search",
    "cpu-cost",
    "key-order",
    "linkbench",
    "orders-entry",
    "smallbank",
    "star-schema",
    "sysbench-oltp",
    "tatp",
    "voter",
    "wide-table",
)


@pytest.mark.parametrize("path", [path for path in BUILTIN if not any(name in path for name in SQL_ONLY)])
def test_the_built_in_experiments_can_be_measured(path: str) -> None:
    for cell in compiled(load_experiment(path), "mongodb:"):
        for plan in (cell.load_plan(TARGET).json, cell.plan(TARGET, 1).json):
            assert [error.message for error in plan_schema().iter_errors(plan)] == []
        for text in [*cell.before, *cell.after, *(each["sql"] for each in task_json(cell)["statements"])]:
            assert isinstance(json.loads(text), dict)


def test_a_key_is_the_documents_own() -> None:
    table = """
[tables.user]
rows = 3
[tables.user.columns]
id = { type = "integer", primary_key = true, autoincrement = true }
name = { type = "varchar(20)", unique = true, fill = { text = 20 } }
[[tables.user.indexes]]
columns = ["name", "id"]
unique = true
[[tables.user.parts]]
rows = 2
columns = { name = "y" }
[tables.pair]
rows = 0
primary_key = ["a", "b"]
options = { mongodb = '{"capped": true, "size": 1000}', sqlite = "strict" }
[tables.pair.columns]
a = { type = "integer" }
b = { type = "integer" }
"""
    cell = compiled(small(table=table, transactions=ONE), "mongodb:")[0]
    assert [json.loads(text) for text in cell.before] == [
        {"create": "user"},
        {"create": "pair", "capped": True, "size": 1000},
    ]

    def index(of: str, name: str, *fields: str) -> dict[str, Any]:
        one = {"key": dict.fromkeys(fields, 1), "name": name, "unique": True}
        return {"createIndexes": of, "indexes": [one]}

    assert [json.loads(text) for text in cell.after] == [
        index("user", "user_name", "name"),
        index("user", "user_name__id", "name", "_id"),
        index("pair", "pair_a_b", "a", "b"),
    ]
    # Nobody else counts it up, and a part goes on.
    columns = [[column.name for column in entry.columns] for entry in cell.tables]
    assert columns == [["_id", "name"], ["_id", "name"]]
    assert [entry["columns"][0]["fill"]["start"] for entry in as_json(cell.tables)] == [1, 4]


def test_options_of_a_collection_must_be_json() -> None:
    table = TABLE.replace("rows = 10", "rows = 10\noptions = { mongodb = 'capped' }")
    with pytest.raises(InputError, match=r"^small.toml: tables.user.options.mongodb: .*capped"):
        compiled(small(table=table, transactions=ONE), "mongodb:")


def test_sql_is_refused_before_anything_starts() -> None:
    with pytest.raises(InputError) as caught:
        compiled(small(), "mongodb:")
    assert str(caught.value) == (
        "small.toml: `select * from user where id = ?` cannot be written for mongodb: it is SQL; give it as "
        "`{ any = …, mongodb = … }` with a command in JSON"
    )


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("select 1", "is not JSON"),
        ("[]", "is not a command"),
        ("{}", "is not a command"),
        ('{"find": "user", "filter": {"a": "?", "b": ["?"]}}', ": 2, number of values: 1"),
        ('{"find": "user?"}', ": 0, number of values: 1"),
    ],
)
def test_a_command_must_be_json_with_a_place_for_each_value(text: str, words: str) -> None:
    with pytest.raises(InputError) as caught:
        steps(f"{{ execute = {{ mongodb = '{text}' }}, params = [1] }}")
    assert words in str(caught.value)


@pytest.mark.parametrize("step", ['{ begin = "deferred" }', "{ rollback = true }"])
def test_there_are_no_transactions(step: str) -> None:
    made = steps(f"{FIND.replace('select 1', 'select ?')}, {step}, {{ commit = true }}")
    with pytest.raises(
        InputError, match=r"is not possible on mongodb, .* transactions on a single server; write `optional = true`"
    ):
        compiled(made, "mongodb:")


def test_steps_are_for_the_engines_they_name() -> None:
    engines = 'engines = ["sqlite", "postgresql"]'
    find = FIND.replace("select 1", "select ?")
    made = steps(f'{{ begin = "deferred", {engines} }}, {find}, {{ commit = true, {engines} }}')

    def does(url: str) -> list[str]:
        return [step["do"] for step in task_json(compiled(made, url)[0])["transactions"][0]["steps"]]

    assert does("sqlite:") == does("postgresql:") == ["begin", "execute", "commit"]
    assert does("mongodb:") == does("mysql:") == ["execute"]
    assert compiled(made, "mongodb:")[0].left_out == ("begin", "commit")
    assert compiled(made)[0].left_out == ()
    with pytest.raises(InputError, match=r"unknown engine `sqlit`; did you mean `sqlite`\?"):
        steps('{ begin = "deferred", engines = ["sqlit"] }, { commit = true }')


def test_optional_transactions_are_left_out_where_there_are_none() -> None:
    find = FIND.replace("select 1", "select ?")
    made = steps(f'{{ begin = "deferred", optional = true }}, {find}, {{ commit = true, optional = true }}')

    def does(url: str) -> list[str]:
        return [step["do"] for step in task_json(compiled(made, url)[0])["transactions"][0]["steps"]]

    assert does("sqlite:") == does("mysql:") == ["begin", "execute", "commit"]
    assert does("mongodb:") == ["execute"]
    assert compiled(made, "mongodb:")[0].left_out == ("begin", "commit")


def test_a_setup_for_other_engines_is_left_out() -> None:
    made = small('setup = [{ sqlite = "analyze" }]\n', load=LOAD, transactions=ONE)
    cell = make_cells(made, systems=[parse_url("mongodb:")]).cells[0]
    assert compile_cell(made, cell).after == []
