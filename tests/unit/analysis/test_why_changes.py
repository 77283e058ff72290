"""The changes that a `dbdyno why` makes of a cell: which, how large, and what they are in a plan."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some

from dbdyno.analysis.why.cells import Why, base_cell, why_cells
from dbdyno.analysis.why.changes import changes_of
from dbdyno.analysis.why.client_keys import can_have_own_keys, with_own_keys
from dbdyno.analysis.why.pilot import Calls, Pilot
from dbdyno.analysis.why.sizes import ADDED, delays_us, time_name, time_words
from dbdyno.base.errors import InputError
from dbdyno.engines.url import parse_url
from dbdyno.experiment import Experiment
from dbdyno.experiment.design import make_cells
from dbdyno.model.plan.cell import CompiledCell
from dbdyno.model.plan.change import AGAIN, CHANGE, UNCHANGED, Change, Resource
from dbdyno.model.plan.serialization import as_json
from experiment_files import HEAD, LOAD, TABLE, experiment, small, steps, task_json

COUNTED = ("sync", "read", "write", "transaction")
UPDATE = '{ execute = "update user set name = name where id = ?", params = [{ key = "user.id" }] }'
SETTINGS = {"cache_size": "-2000", "page_size": "4096", "mmap_size": "0"}


def pilot(calls: dict[Resource, Calls], **changed: Any) -> Pilot:
    made = Pilot(
        time_us=1000.0,
        clients=1,
        calls=calls,
        settings=SETTINGS,
        data_bytes=100e6,
        around_s=0.1,
        completed=1000,
        window_s=1.0,
        cpu_us=500.0,
    )
    return replace(made, **changed)


def base(made: Experiment, url: str = "sqlite:") -> CompiledCell:
    (cell,) = make_cells(made, systems=[parse_url(url)]).cells
    return base_cell(made, cell, window_s=0.5, warmup_s=0.1, counted=COUNTED, planted={})


def levels(changes: Any) -> list[str]:
    return [each.level for each in changes]


def test_delays_add_their_shares_to_a_transaction_that_calls_several_times() -> None:
    assert delays_us(1000.0, 4.0) == [pytest.approx(share * 250.0, rel=0.05) for share in ADDED]


@given(some.floats(1e-3, 1e9), some.floats(1e-3, 1e3))
def test_delays_are_near_what_they_are_to_add(time_us: float, each: float) -> None:
    for share, delay in zip(ADDED, delays_us(time_us, each), strict=True):
        assert delay * each == pytest.approx(share * time_us, rel=0.06)


@pytest.mark.parametrize(("busy", "room"), [(1.0, 1.0), (0.99, 1.0), (0.1, 1.0), (0.5, 0.4), (0.9, 0.2)])
def test_delays_leave_the_clients_of_an_open_loop_time_to_keep_up(busy: float, room: float) -> None:
    """A closed loop has no clock to keep up with; who never waits for it does not keep up as it is."""
    calls: dict[Resource, Calls] = {"flush": Calls(1.0, 400.0)}
    tried = changes_of(base(small()), pilot(calls, busy=busy)).changes
    delays = [each.size for each in tried if each.resource == "flush" and each.kind == "slower"]
    assert delays == [pytest.approx(share * room * 1000, rel=0.06) for share in ADDED]


@pytest.mark.parametrize(
    ("us", "name", "words"),
    [(0.25, "250ns", "250 ns"), (4.5, "4.5us", "4.5 µs"), (1500, "1.5ms", "1.5 ms"), (2e6, "2s", "2 s")],
)
def test_times_have_names(us: float, name: str, words: str) -> None:
    assert (time_name(us), time_words(us)) == (name, words)


def test_only_what_is_used_and_matters_is_tried() -> None:
    cell = base(small())
    calls: dict[Resource, Calls] = {
        "flush": Calls(2.0, 400.0),
        "read": Calls(0.0, None),
        "write": Calls(3.0, 0.5),
        "client": Calls(1.0, 0.3),
    }
    tried = changes_of(cell, pilot(calls))
    names = levels(tried.changes)
    assert names[:4] == ["flush +100us", "flush +250us", "flush +500us", "flush free"]
    assert {each.resource: each.why for each in tried.untried} == {
        "read": "not used",
        "write": "takes 0.15 % of a transaction's time",
        "client": "takes 0.03 % of a transaction's time",
    }
    assert [each for each in names if each.startswith("processors")] == [
        "processors -10%",
        "processors -25%",
        "processors -40%",
    ]
    assert {"cache /2", "cache /4", "file in memory"} <= set(names)


def test_of_many_clients_little_of_each_may_matter() -> None:
    calls: dict[Resource, Calls] = {"write": Calls(3.0, 1.0)}
    assert "write +67us" not in levels(changes_of(base(small()), pilot(calls)).changes)
    assert "write +67us" in levels(changes_of(base(small()), pilot(calls, clients=8)).changes)


def test_a_cache_that_holds_all_is_not_tried() -> None:
    tried = changes_of(base(small()), pilot({}, data_bytes=1e6))
    assert not [each for each in tried.changes if each.resource in ("cache", "read")]


def test_what_clients_do_each_time_can_be_done_once() -> None:
    load = '\n[load]\nconnect = "per-transaction"\nprepare = "never"\nstop = { seconds = 1 }\n'
    assert "connections kept" in levels(changes_of(base(small(load=load)), pilot({})).changes)
    load = '\n[load]\nprepare = "never"\nstop = { seconds = 1 }\n'
    assert "prepared once" in levels(changes_of(base(small(load=load)), pilot({})).changes)
    assert not {"prepared once", "connections kept"} & set(levels(changes_of(base(small()), pilot({})).changes))


def test_of_a_server_elsewhere_the_processors_cannot_be_had() -> None:
    cell = base(small(), "postgresql://db.example/")
    tried = changes_of(cell, pilot({}), is_local=False)
    assert not [each for each in tried.changes if each.resource == "processors"]
    (untried,) = tried.untried
    assert (untried.resource, untried.share) == ("processors", None)
    assert "db.example" in untried.why
    assert "processors -40%" in levels(changes_of(cell, pilot({})).changes)


def test_messages_are_tried_over_a_unix_socket_where_they_matter() -> None:
    cell = base(small(), "postgresql://localhost/")
    socket = {"host": "/run/postgresql"}
    (free,) = [
        each
        for each in changes_of(cell, pilot({"message": Calls(1.0, 100.0)}), socket=socket).changes
        if each.kind == "free"
    ]
    assert (free.level, free.resource, free.address) == ("Unix socket", "message", socket)
    rare = changes_of(cell, pilot({"message": Calls(1.0, 0.1)}), socket=socket)
    assert "Unix socket" not in levels(rare.changes)
    assert "Unix socket" not in levels(changes_of(cell, pilot({"message": Calls(1.0, 100.0)})).changes)


def test_shared_caches_can_be_private() -> None:
    load = "\n[load]\nclients = 2\nstop = { seconds = 1 }\n"
    shared = changes_of(base(small(load=load), "sqlite:?cache=shared"), pilot({}))
    assert "private caches" in levels(shared.changes)
    assert "private caches" not in levels(changes_of(base(small(load=load)), pilot({})).changes)


def why_of(made: Experiment, changes: list[Change], planted: dict[str, Any] | None = None) -> list[CompiledCell]:
    (cell,) = make_cells(made, systems=[parse_url("sqlite:")]).cells
    why = Why(cell.id, pilot({}), changes, [], 0.5, 0.1, COUNTED, planted or {})
    assert Why.read(json.loads(json.dumps(why.stored()))).stored() == why.stored(), "it is stored as it is"
    return why_cells(made, cell, why)


def test_the_cells_are_the_cell_as_it_is_twice_and_each_change() -> None:
    changes = [
        Change("flush +1ms", "flush", "slower", "", "delay", 1000.0, injected={"sync": {"delay_us": 1000.0}}),
        Change("flush free", "flush", "free", "", injected={"sync": {"skip": True}}),
        Change("cache /2", "cache", "slower", "", "ratio", 2.0, settings={"cache_size": "-1000"}),
        Change("prepared once", "parsing", "free", "", load={"prepare": "once"}),
    ]
    load = '\n[load]\nprepare = "never"\nstop = { seconds = 5 }\n'
    cells = why_of(small(load=load), changes, {"sync": 5000})
    assert [each.cell.factors[CHANGE] for each in cells] == [UNCHANGED, AGAIN, *levels(changes)]
    assert len({each.cell.id for each in cells}) == len(cells)
    injected = [task_json(each)["changes"]["sync"] for each in cells]
    assert injected == [{"delay_us": 5000.0}] * 2 + [{"delay_us": 6000.0}, {"skip": True}] + [{"delay_us": 5000.0}] * 2
    assert [dict(each.settings.shown()).get("cache_size") for each in cells] == [None] * 4 + ["-1000", None]
    assert [task_json(each)["prepare"] for each in cells] == ["never"] * 5 + ["once"]
    assert {task_json(each)["window"]["seconds"] for each in cells} == {0.5}
    assert len({each.template_key("") for each in cells}) == 1, "all begin with the same data"


def test_a_setting_that_a_factor_decides_can_be_changed() -> None:
    factors = '\n[factors]\ncache_size = [500]\n[system.sqlite]\ncache_size = "${cache_size}"\n'
    change = Change("cache /2", "cache", "slower", "", "ratio", 2.0, settings={"cache_size": "-1000"})
    cells = why_of(small(factors), [change])
    assert dict(cells[-1].settings.shown())["cache_size"] == "-1000"
    assert cells[-1].cell.factors["cache_size"] == 500, "its levels are those of the cell that is asked about"


def test_an_experiment_may_not_have_a_factor_of_that_name() -> None:
    with pytest.raises(InputError, match="change"):
        why_of(small("\n[factors]\nchange = [1]\n"), [])


def updates(clients: int, rows: int = 100, key: str = '{ key = "user.id" }', url: str = "postgresql:") -> CompiledCell:
    table = TABLE.replace("rows = 10", f"rows = {rows}")
    load = LOAD.replace("[load]", f"[load]\nclients = {clients}")
    step = UPDATE.replace('{ key = "user.id" }', key)
    text = f'\n[[transactions]]\nname = "t"\nsteps = [{step}]\n'
    return base(experiment(HEAD, table, load, text), url)


@pytest.mark.parametrize("key", ['{ key = "user.id" }', "{ constant = 7 }", "{ uniform = [1, 50] }"])
def test_each_client_can_have_keys_of_its_own(key: str) -> None:
    cell = updates(4, key=key)
    assert can_have_own_keys(cell)
    before = json.dumps(task_json(cell))
    (step,) = as_json(with_own_keys(cell))["transactions"][0]["steps"]
    assert ":client_id" in step["params"][0]["text"]
    assert json.dumps(task_json(cell)) == before, "the cell itself stays as it is"
    assert "own keys" in levels(changes_of(cell, pilot({}, clients=4)).changes)


@given(some.integers(2, 16), some.integers(20, 10_000))
def test_keys_of_two_clients_never_meet(clients: int, rows: int) -> None:
    cell = updates(clients, rows)
    (step,) = as_json(with_own_keys(cell))["transactions"][0]["steps"]
    text = step["params"][0]["text"]
    first, last = int(text.split(" ")[0]), int(text.rpartition(", ")[2].rstrip(")"))
    keys = [{first + client + clients * drawn for drawn in (0, last)} for client in range(clients)]
    assert sum(map(len, keys)) == len(set().union(*keys))
    assert min(set().union(*keys)) >= 1
    assert max(set().union(*keys)) <= rows


def test_clients_of_a_file_with_one_writer_can_have_files_of_their_own() -> None:
    cell = updates(4, url="sqlite:")
    changes = changes_of(cell, pilot({}, clients=4)).changes
    assert "own keys" not in levels(changes), "the lock is that of the file"
    own = next(each for each in changes if each.level == "own files")
    assert (own.resource, own.kind) == ("locks", "free")


def test_a_lone_client_gets_a_file_of_its_own_where_another_program_locks_it() -> None:
    cell = updates(1, url="sqlite:")
    assert "own files" not in levels(changes_of(cell, pilot({})).changes)
    held = changes_of(cell, pilot({}, lock_holder="process 12 (backup.sh)")).changes
    assert "own files" in levels(held)


def test_clients_that_mostly_think_are_tried_without_thinking() -> None:
    text = '\n[[transactions]]\nname = "t"\nsteps = [{ think = 10 }, { repeat = 2, steps = [{ think = 1 }] }, %s]\n'
    made = experiment(HEAD, TABLE, LOAD, text % UPDATE)
    cell = base(made)
    assert "no thinking" not in levels(changes_of(cell, pilot({}, idle=0.1)).changes)
    change = next(each for each in changes_of(cell, pilot({}, idle=0.9)).changes if each.level == "no thinking")
    assert (change.resource, change.kind) == ("thinking", "free")
    changed = next(each for each in why_of(made, [change]) if each.change == change)
    (transaction,) = task_json(changed)["transactions"]
    assert [step["do"] for step in transaction["steps"]] == ["execute"]
    # One that waits for its answers all the time has nothing to leave out.
    assert "no thinking" not in levels(changes_of(updates(1), pilot({}, idle=0.9)).changes)


@pytest.mark.parametrize(
    ("clients", "sql", "data_bytes"),
    [
        (1, "update user set name = name", 1e6),
        (4, "select name from user", 1e6),
        (4, "update user set name = name", 1e9),
        (4, "update user set name = name", None),
    ],
)
def test_files_are_not_copied_where_that_means_nothing_or_takes_long(
    clients: int, sql: str, data_bytes: float | None
) -> None:
    load = LOAD.replace("[load]", f"[load]\nclients = {clients}")
    text = f'\n[[transactions]]\nname = "t"\nsteps = [{{ execute = "{sql}" }}]\n'
    cell = base(experiment(HEAD, TABLE, load, text))
    changes = changes_of(cell, pilot({}, clients=clients, data_bytes=data_bytes)).changes
    assert "own files" not in levels(changes)


def test_a_plan_says_that_clients_have_files_of_their_own() -> None:
    change = Change("own files", "locks", "free", "", own_files=True)
    cells = why_of(small(), [change])
    assert task_json(cells[-1])["changes"]["own_files"] is True
    assert "own_files" not in task_json(cells[0])["changes"]


def test_keys_are_not_shared_out_where_that_means_nothing() -> None:
    assert not can_have_own_keys(base(small())), "nothing is written"
    assert not can_have_own_keys(base(steps("{ execute = \"update user set name = 'x'\" }"))), "there is no key"
    assert not can_have_own_keys(updates(4, rows=3)), "there are not enough"
