"""pgbench's transactions carried out by the worker: what they leave in the database, and what a failure leaves."""

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from conftest import Cli
from dbdyno.engines.server.installations import find_installations
from dbdyno.engines.sqlite.targets import load_target, trial_target
from dbdyno.engines.url import parse_url
from dbdyno.experiment.compile import compile_cell, describe
from dbdyno.experiment.design import make_cells, parse_set
from dbdyno.experiment.pgbench.experiment import pgbench_experiment
from dbdyno.model.events.answers import Loaded
from dbdyno.model.run_options import RunOptions
from dbdyno.run.execute import execute
from dbdyno.run.request import Request
from dbdyno.runtime.worker import Worker, ask
from dbdyno.store import open_store
from experiment_files import plan_schema

CHANGES = "select count(*), coalesce(sum(delta), 0) from pgbench_history"


def carry_out(
    directory: Path, script: str, transactions: int, *, sets: tuple[str, ...] = (), **defines: str
) -> tuple[dict[str, Any], sqlite3.Connection]:
    """Run a script so many times in each client; give the worker's result and the database."""
    if not script.startswith("pgbench:"):
        (directory / "s.sql").write_text(script, encoding="utf-8")
    name = script.removeprefix("pgbench:") if script.startswith("pgbench:") else str(directory / "s.sql")
    experiment = pgbench_experiment([name], 2, defines)
    cell = compile_cell(experiment, make_cells(experiment, parse_set(sets, experiment)).cells[0])
    database = str(directory / "trial.db")
    ask(cell.load_plan(load_target(cell, database)), Loaded)
    plan = cell.plan(trial_target(cell, database), 11).json
    plan_schema().validate(plan)
    plan["task"] |= {
        "warmup": {"seconds": 0, "transactions": 0},
        "window": {"seconds": None, "transactions": transactions, "statements": None},
    }
    results = [heard.raw for heard in Worker(plan, 60.0) if heard.raw["event"] == "result"]
    return results[0], sqlite3.connect(database)


def one(database: sqlite3.Connection, sql: str) -> Any:
    row = database.execute(sql).fetchone()
    return row[0] if len(row) == 1 else row


@pytest.mark.parametrize("clients", [1, 3])
def test_tpcb_like_keeps_its_balances(tmp_path: Path, clients: int) -> None:
    result, database = carry_out(tmp_path, "pgbench:tpcb-like", 60, sets=(f"clients={clients}",))
    assert result["accounting"]["ok"] == 60 * clients and not result["accounting"]["failed"]
    changes, total = one(database, CHANGES)
    assert changes == 60 * clients
    assert one(database, "select sum(abalance) from pgbench_accounts") == total
    assert one(database, "select sum(tbalance) from pgbench_tellers") == total
    assert one(database, "select sum(bbalance) from pgbench_branches") == total
    assert one(database, "select count(distinct aid) from pgbench_history") > 50 * clients
    assert one(database, "select count(*) from pgbench_history where bid not in (1, 2) or tid > 20") == 0


def test_the_tables_are_those_of_pgbench(tmp_path: Path) -> None:
    _, database = carry_out(tmp_path, "pgbench:select-only", 1)
    assert one(database, "select count(*), min(aid), max(aid) from pgbench_accounts") == (200_000, 1, 200_000)
    assert one(database, "select count(*) from pgbench_accounts where bid <> (aid - 1) / 100000 + 1") == 0
    assert one(database, "select count(*), sum(bid), max(tid) from pgbench_tellers") == (20, 30, 20)
    assert one(database, "select count(*) from pgbench_tellers where bid <> (tid - 1) / 10 + 1") == 0
    assert one(database, "select count(*), sum(bid) from pgbench_branches") == (2, 3)
    assert one(database, "select count(*) from pgbench_accounts where length(filler) <> 84 or abalance <> 0") == 0


def test_variables_conditions_and_results(tmp_path: Path) -> None:
    script = r"""
        \set n :n + 1
        \set hashed hash_fnv1a(:n, 5432)
        \set even :n % 2 = 0
        select aid as a, bid, null as absent from pgbench_accounts where aid = 150000 + :n \gset g_
        \if :even and :g_absent is null
            \sleep 5 us
            insert into pgbench_history (tid, bid, aid, delta) values (:n, :g_bid, :g_a, :hashed);
        \elif :n = 3
            insert into pgbench_history (tid, bid, aid, delta) values (:n, :client_id, :even, :hashed);
        \else
            \set hashed 1
        \endif
    """
    result, database = carry_out(tmp_path, script, 4, n="0")
    assert result["accounting"]["ok"] == 4, result["failures"]
    rows = database.execute("select tid, bid, aid, delta from pgbench_history order by tid").fetchall()
    assert [row[:3] for row in rows] == [(2, 2, 150_002), (3, 0, 0), (4, 2, 150_004)]
    hashes = [row[3] for row in rows]
    assert len(set(hashes)) == 3 and all(isinstance(each, int) for each in hashes)


def test_an_expression_without_a_value_fails_its_transaction_alone(tmp_path: Path) -> None:
    script = r"""
        \set n :n + 1
        begin;
        insert into pgbench_history (tid) values (:n);
        \set x 6 / (:n - 3)
        end;
    """
    result, database = carry_out(tmp_path, script, 5, n="0")
    assert (result["accounting"]["ok"], result["accounting"]["failed"]) == (4, {"other": 1})
    assert result["failures"] == {"other": "`6 / (:n - 3)`: division by zero"}
    assert [row[0] for row in database.execute("select tid from pgbench_history order by tid")] == [1, 2, 4, 5]


def test_a_seed_given_is_the_seed_of_hashes(tmp_path: Path) -> None:
    script = "\\set h hash(10)\ninsert into pgbench_history (tid, aid) values (:h, :default_seed);"
    _, database = carry_out(tmp_path, script, 1, default_seed="5432")
    # PostgreSQL 15 documentation, pgbench: hash(10, 5432).
    assert one(database, "select tid, aid from pgbench_history") == (-5817877081768721676, 5432)


def test_a_description_shows_expressions(tmp_path: Path) -> None:
    script = "\\set a random(1, :scale)\n\\if :a\n\\sleep 3 us\nselect :a;\n\\endif\n"
    # A byte order mark, with which some editors begin a file, is no part of it.
    (tmp_path / "s.sql").write_text(script, encoding="utf-8-sig")
    experiment = pgbench_experiment([str(tmp_path / "s.sql")])
    compiled = compile_cell(experiment, make_cells(experiment).cells[0])
    assert describe(compiled).transactions[0].lines == (
        "a = random(1, 1)",
        "when :a",
        "    think 3 us",
        "    select ?   -- a",
    )


def test_a_named_file_is_used_as_it_is_and_not_written_to(tmp_path: Path) -> None:
    file = tmp_path / "mine.db"
    with sqlite3.connect(file) as database:
        database.execute("create table t (a integer primary key, b integer)")
        database.execute("insert into t values (1, 0)")
    before = file.read_bytes()
    (tmp_path / "s.sql").write_text("update t set b = b + 1 where a = :a;")
    experiment = pgbench_experiment([str(tmp_path / "s.sql")], 1, {"a": "1"}, own_tables=False)
    store = open_store(str(tmp_path / "runs.db"))
    request = Request(
        experiment=experiment,
        systems=[parse_url(f"sqlite:{file}")],
        options=RunOptions(set=["seconds=0.2"], rounds=1, seed=3, directory=str(tmp_path)),
    )
    document, interrupted = execute(request, store, Console(quiet=True))
    store.close()
    assert not interrupted and document.status == "done"
    assert file.read_bytes() == before


@pytest.mark.skipif(not find_installations("postgresql"), reason="there is no PostgreSQL server here to start")
def test_a_transaction_begins_at_the_level_that_the_script_names(server_cli: Cli) -> None:
    level = "1 / (current_setting('transaction_isolation') = '{}')::int"
    (server_cli.directory / "s.sql").write_text(
        "\\SET n\trandom(1, \\\n 9)\n"
        "BEGIN ISOLATION LEVEL SERIALIZABLE, READ ONLY;\n"
        f"select {level.format('serializable')}, :n;\n"
        "COMMIT AND CHAIN;\n"
        f"select {level.format('serializable')} /* kept */ ;\n"
        "END;\n"
        f"select {level.format('read committed')};\n"
    )
    options = ["--set", "seconds=0.2", "--rounds", "1", "--json", "out.json", "--store", "runs.db"]
    server_cli("run", "s.sql", "--pgbench", "--system", "postgresql:", *options)
    [cell] = json.loads((server_cli.directory / "out.json").read_text())["cells"]
    assert cell["rounds"][0]["ok"] > 0 and not cell["rounds"][0]["failed"], cell["rounds"][0]["failures"]
