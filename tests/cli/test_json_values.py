"""JSON objects, lists and vectors as values."""

from __future__ import annotations

import pytest

from conftest import Cli
from dbdyno.base.errors import InputError
from duckdb_library import URL, needs_duckdb
from experiment_files import steps
from installed_servers import needs_mysql, needs_postgresql

EXPERIMENT = """
name = "documents"
title = "Documents"
rounds = 1

[tables.item]
rows = 20

[tables.item.columns]
id = { type = "integer", primary_key = true, fill = { serial = 1 } }
doc.type = "jsonb"
doc.fill.json.id = { expression = ":id" }
doc.fill.json.name = "a \\"name\\""
doc.fill.json.tags = { json = ["new", { uniform = [1, 9] }] }
doc.fill.json.sold = true
doc.fill.json.flags = { json = [{ pick = [true, true] }, { expression = ":id > 0" }, { variable = "new" }, { nullable = { share = 0, of = { variable = "new" } } }] }
doc.fill.json.none = { null = true }
doc.fill.json.seller = { json = { city = { text = 5 } } }
new = { type = "boolean", fill = true }
point = { type = "text", fill = { list = { of = { uniform = [-1.0, 1.0] }, count = 3 } } }

[load]
stop = { transactions = 5 }

[[transactions]]
name = "t"
steps = [
    { execute = "insert into item (id, doc, point) values (?, ?, ?)", params = [{ next = "item.id" }, { key = "item.doc" }, { json = [1, "x"] }] },
]

[[check]]
name = "documents"
equals = 25
[check.sql]
sqlite = "select count(*) from item where doc ->> '$.name' = 'a \\"name\\"' and json_type(doc, '$.sold') = 'true' and json_type(doc, '$.id') = 'integer' and doc ->> '$.tags[0]' = 'new' and json_type(doc, '$.none') = 'null' and json(doc -> '$.flags') = '[true,true,true,true]' and length(doc ->> '$.seller.city') = 5"
postgresql = "select count(*) from item where doc ->> 'name' = 'a \\"name\\"' and doc -> 'sold' = 'true' and jsonb_typeof(doc -> 'id') = 'number' and doc #>> '{tags,0}' = 'new' and doc -> 'none' = 'null' and doc -> 'flags' = '[true, true, true, true]' and length(doc #>> '{seller,city}') = 5"
mysql = "select count(*) from item where json_unquote(json_extract(doc, '$.name')) = 'a \\"name\\"' and json_type(json_extract(doc, '$.sold')) = 'BOOLEAN' and json_type(json_extract(doc, '$.id')) = 'INTEGER' and json_unquote(json_extract(doc, '$.tags[0]')) = 'new' and json_type(json_extract(doc, '$.none')) = 'NULL' and json_type(json_extract(doc, '$.flags[1]')) = 'BOOLEAN'"
duckdb = "select count(*) from item where json_extract_string(doc, '$.name') = 'a \\"name\\"' and json_type(doc, '$.sold') = 'BOOLEAN' and json_type(doc, '$.flags[1]') = 'BOOLEAN'"

[[check]]
name = "lists"
equals = 20
[check.sql]
sqlite = "select count(*) from item where id <= 20 and json_array_length(point) = 3 and point ->> 2 between -1 and 1"
postgresql = "select count(*) from item where id <= 20 and jsonb_array_length(point::jsonb) = 3"
mysql = "select count(*) from item where id <= 20 and json_length(point) = 3"
duckdb = "select count(*) from item where id <= 20 and len(point::float[3]) = 3"
"""  # noqa: E501


def run(cli: Cli, system: str) -> None:
    document = cli.run(cli.write("documents.toml", EXPERIMENT), "--system", system)
    (trial,) = document["cells"][0]["rounds"]
    assert trial["error"] is None
    assert trial["ok"] == 5


def test_values_are_json(cli: Cli) -> None:
    run(cli, "sqlite:")


@pytest.mark.parametrize(
    "system",
    [
        pytest.param("postgresql:", marks=needs_postgresql),
        pytest.param("mysql:", marks=needs_mysql),
        pytest.param("mariadb:", marks=needs_mysql),
        pytest.param(URL, marks=needs_duckdb),
    ],
)
def test_values_are_json_on_other_engines(server_cli: Cli, system: str) -> None:
    run(server_cli, system)


@pytest.mark.parametrize(
    ("system", "types"),
    [
        ("sqlite:", ("text", "text", "text")),
        ("postgresql:", ("json", "jsonb", "vector(3)")),
        ("mysql:", ("json", "json", "vector(3)")),
        ("duckdb:", ("json", "json", "float[3]")),
        ("sqlserver://h/d", ("nvarchar(max)", "nvarchar(max)", "nvarchar(max)")),
    ],
)
def test_each_engine_has_its_types(cli: Cli, system: str, types: tuple[str, ...]) -> None:
    columns = "".join(
        f'columns.c{index} = {{ type = "{each}" }}\n' for index, each in enumerate(("json", "jsonb", "vector(3)"))
    )
    text = EXPERIMENT[: EXPERIMENT.index("[tables")] + f"[tables.item]\nrows = 0\n{columns}"
    text += '[load]\nstop = { seconds = 1 }\n[[transactions]]\nname = "t"\nsteps = [{ execute = "select 1" }]\n'
    shown = cli("describe", cli.write("types.toml", text), "--system", system)
    for each in types:
        assert f" {each}" in shown


def test_the_description_shows_the_members(cli: Cli) -> None:
    shown = cli("describe", cli.write("documents.toml", EXPERIMENT))
    assert "doc = json {id: :id, name: " in shown
    assert "point = json [uniform_real(low -1.0, high 1.0), 3 times]" in shown


def test_errors_name_the_member() -> None:
    with pytest.raises(InputError) as caught:
        steps('{ execute = "select ?", params = [{ json = { a = { variable = "x" }, b = 1 } }] }')
    assert str(caught.value) == (
        "small.toml: transactions[0].steps[0].params[0].json.a.variable: no earlier step sets the variable `x`; "
        "set it first, with `set` or `into`"
    )
