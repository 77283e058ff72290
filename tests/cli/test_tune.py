"""`dbdyno tune` from the command line: a load of a .sql file, what makes it faster, and the lines to paste."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from conftest import Cli
from dbdyno.run import fix_trials
from dbdyno.run.runner import carry_out
from dbdyno.run.trial import Plan
from repeated import repeated

LOAD = """
-- name: find
-- weight: 98
-- :n = 1..30000
select * from items where n = :n;
-- transaction: add
-- weight: 2
-- :n = 1..30000
insert into items (n, v) values (:n, 0);
update counts set c = c + 1 where id = 1;
-- end
"""


def make_database(path: Path) -> None:
    with sqlite3.connect(path) as database:
        database.executescript(
            """
            create table items (id integer primary key, n int, v int);
            with recursive r(i) as (select 1 union all select i + 1 from r where i < 30000)
            insert into items select i, i, 0 from r;
            create table counts (id integer primary key, c int);
            insert into counts values (1, 0);
            """
        )


def tune(cli: Cli, *arguments: str) -> tuple[str, dict[str, Any]]:
    cli.write("load.sql", LOAD)
    make_database(cli.directory / "my.db")
    before = (cli.directory / "my.db").read_bytes()
    out = cli("tune", "load.sql", *arguments, "--system", "sqlite:my.db", "--store", "w.db", "--json", "tune.json")
    assert (cli.directory / "my.db").read_bytes() == before
    document: dict[str, Any] = json.loads((cli.directory / "tune.json").read_text())
    return out, document


@repeated
def test_the_missing_index_is_found_and_its_lines_are_printed(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    stages: list[tuple[int, set[int]]] = []

    def watched(plan: Plan, *rest: Any) -> Any:
        stages.append((plan.first, {block for _, block in plan.done}))
        return carry_out(plan, *rest)

    monkeypatch.setattr(fix_trials, "carry_out", watched)
    out, document = tune(cli, "--clients", "2", "--budget", "20s")
    fixes = document["why"]["fixes"]
    (index,) = [each for each in fixes["tried"] if each["fix"] == "index items (n)"]
    assert index["gain"] > 2
    assert "index items (n)" in (fixes["recommended"] or "")
    assert fixes["text"][0].startswith(document["answer"]["text"][0].rstrip("."))
    assert "create index on_items_n on items (n);" in out
    assert document["why"]["tests"] == 0
    # Fixes that were measured alone and then again have rounds of both stages.
    assert index["blocks"] >= 3
    # The verdicts that end a stage follow from the rounds of all stages, as in the report.
    assert all(set(range(first)) <= done for first, done in stages)
    assert len(stages) > 1
    shown = " ".join(cli("show", document["id"], "--store", "w.db").split())
    assert document["answer"]["text"][0] in shown


def test_a_load_that_pauses_is_said_to_be_limited_by_its_pauses(cli: Cli) -> None:
    cli.write("paused.sql", "-- think: 50ms\nselect v from items where id = 1;\n")
    make_database(cli.directory / "my.db")
    out = cli("tune", "paused.sql", "--system", "sqlite:my.db", "--store", "w.db", "--budget", "2s")
    shown = " ".join(out.split())
    pauses = shown.index("The clients' pauses limit the load, so no fix can raise it much: the clients were idle for")
    more = shown.index("To raise the load, use more clients, or run without pauses: remove `-- think:`")
    assert pauses < more < shown.index("`dbdyno distil TRACE -o FILE --think none`") < shown.index("None of the tried")


def test_indexes_larger_than_the_budget_are_not_recommended(cli: Cli) -> None:
    _, document = tune(cli, "--budget", "2s", "--index-budget", "50kB")
    found = {each["fix"]: each for each in document["why"]["fixes"]["tried"]}
    assert found["index items (n)"]["verdict"] == "disqualified"
    assert "exceed the index budget of" in found["index items (n)"]["reason"]


def test_tune_needs_a_file_and_a_size(cli: Cli) -> None:
    assert "missing.sql" in cli("tune", "missing.sql", "--system", "sqlite:my.db", code=2)
    cli.write("load.sql", LOAD)
    assert "not a size" in cli("tune", "load.sql", "--system", "sqlite:my.db", "--index-budget", "much", code=2)
