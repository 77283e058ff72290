"""What a trial changes on purpose: calls are counted, delayed and skipped where and while the plan says so."""

import json
import subprocess
from collections.abc import Callable
from typing import Any

import pytest

from dbdyno.analysis.measured.merged_results import merge_results
from dbdyno.model.events.changes import Calls
from dbdyno.model.events.reading import read_event
from dbdyno.model.events.trial import TrialResult
from dbdyno.model.plan.worker_plan import PLAN
from dbdyno.runtime.worker import worker_path
from experiment_files import event_schema
from synthetic_events import result_of
from worker_tasks import SELECT, trial, work

INSERT = "insert into t (v) values (?)"

Tried = Callable[..., TrialResult]


@pytest.fixture(scope="module")
def sqlite(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """A table that is far larger than the cache."""
    target = {"engine": "sqlite", "path": str(tmp_path_factory.mktemp("changes") / "t.db"), "busy_timeout_ms": 5000}
    columns = [
        {"name": "id", "stream": 1, "fill": {"kind": "serial", "start": 1}},
        {"name": "v", "stream": 2, "fill": {"kind": "constant", "value": "x" * 300}},
    ]
    loaded = work(
        "load",
        target=target,
        before=["create table t (id integer primary key, v text)"],
        tables=[{"name": "t", "rows": 5000, "columns": columns}],
        after=[],
    )
    assert loaded[-1]["event"] == "loaded", loaded
    return target | {"pragmas": [["cache_size", "10"]]}


@pytest.fixture
def tried(sqlite: dict[str, Any]) -> Tried:
    def run(changes: dict[str, Any] | None, sql: str = SELECT, **task: Any) -> TrialResult:
        told = trial(sqlite, changes, sql, **task)
        assert told["event"] == "result", told
        event_schema().validate(told)
        result = read_event(told)
        assert isinstance(result, TrialResult)
        return result

    return run


def calls(result: TrialResult, kind: str) -> Calls:
    assert result.changes is not None
    found = getattr(result.changes, kind)
    assert isinstance(found, Calls)
    return found


def test_nothing_is_counted_where_nothing_is_changed(tried: Tried) -> None:
    assert tried(None).changes is None


@pytest.mark.parametrize(
    ("kind", "counted", "sql", "uncalled"),
    [
        # A transaction syncs the directory of its journal within another call, three syncs of files and one of this.
        ("sync", "syncs", INSERT, 1 / 4),
        ("write", "writes", INSERT, 0),
        ("read", "reads", SELECT, 0),
    ],
)
def test_calls_of_sqlite_are_counted_and_delayed(
    tried: Tried, kind: str, counted: str, sql: str, uncalled: float
) -> None:
    alone = tried({kind: {"delay_us": 0}}, sql)
    found = calls(alone, kind)
    assert found.calls == getattr(alone.io, counted) * (1 - uncalled) >= 20
    assert found.added_s == 0 and found.own_s is not None and found.own_s > 0
    changed = tried({kind: {"delay_us": 300}}, sql)
    delayed = calls(changed, kind)
    assert delayed.calls == getattr(changed.io, counted) * (1 - uncalled)
    assert delayed.added_s >= delayed.calls * 300e-6
    assert changed.cycles.seconds >= delayed.added_s
    others = {"sync", "read", "write", "message", "connect", "transaction"} - {kind}
    assert changed.changes is not None and all(getattr(changed.changes, each) is None for each in others)


def test_a_sync_that_is_skipped_is_not_made(tried: Tried) -> None:
    skipped = tried({"sync": {"skip": True}}, INSERT)
    assert calls(skipped, "sync").calls >= 20
    assert calls(skipped, "sync").own_s == 0 and skipped.io.syncs == 0
    assert tried({"sync": {"delay_us": 0}}, INSERT).io.syncs >= 20


@pytest.mark.parametrize("arrival", [{"loop": "closed"}, {"loop": "open", "rate": 5000, "gaps": "even"}])
def test_each_transaction_of_the_window_computes(tried: Tried, arrival: dict[str, Any]) -> None:
    result = tried({"transaction": {"delay_us": 40}}, clients=2, arrival=arrival)
    found = calls(result, "transaction")
    assert (found.calls, found.own_s) == (40, None)
    assert found.added_s >= 40 * 40e-6
    assert result.latency_ms["service"].count == 40


def test_each_opening_of_a_session_in_the_window_is_delayed(tried: Tried) -> None:
    assert calls(tried({"connect": {"delay_us": 200}}), "connect").calls == 0, "all were opened before"
    found = calls(tried({"connect": {"delay_us": 200}}, connect="per-transaction"), "connect")
    assert found.calls == 20 and found.added_s >= 20 * 200e-6
    assert found.own_s is not None and found.own_s > 0


def test_changes_are_those_of_slices(sqlite: dict[str, Any]) -> None:
    steps = [{"do": "execute", "statement": 0, "params": [{"kind": "constant", "value": 1}]}]
    task = {
        "kind": "trial",
        "target": sqlite,
        "clients": 1,
        "window": {"transactions": 20},
        "statements": [{"name": "s", "sql": INSERT, "places": [INSERT.index("?")]}],
        "transactions": [{"name": "t", "steps": steps}],
        "interleaving": {"length_ms": 5.0, "index": 0, "of": 1},
        "changes": {"sync": {"delay_us": 2000, "skip": True}},
    }
    plan = {"schema": PLAN, "seed": 1, "task": task}
    worker = subprocess.Popen([worker_path()], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert worker.stdin is not None and worker.stdout is not None
    worker.stdin.write(json.dumps(plan) + "\n")
    worker.stdin.flush()
    last: dict[str, Any] = {}
    for line in worker.stdout:
        last = json.loads(line)
        if last["event"] == "ready":
            # A moment that has passed.
            worker.stdin.write('{"start_ns": 1}\n')
            worker.stdin.flush()
    worker.stdin.close()
    assert worker.wait() == 0, last
    result = read_event(last)
    assert isinstance(result, TrialResult)
    found = calls(result, "sync")
    assert found.added_s >= found.calls * 2e-3 > 0


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"message": {"delay_us": 10}}, "task.changes.message"),
        ({"read": {"delay_us": -1}}, "task.changes.read.delay_us"),
        ({"sync": {"delay_us": 1}, "server": {"file": "/nowhere"}}, "task.changes.server"),
    ],
)
def test_what_sqlite_cannot_change_is_refused(sqlite: dict[str, Any], changes: dict[str, Any], words: str) -> None:
    told = trial(sqlite, changes)
    assert (told["event"], told["kind"]) == ("error", "plan")
    assert words in told["message"]


def test_an_engine_without_files_needs_a_server_that_preloads() -> None:
    told = trial({"engine": "null"}, {"sync": {"delay_us": 1}})
    assert told["kind"] == "plan" and "preloads the library" in told["message"]
    told = trial({"engine": "null"}, {"sync": {"delay_us": 1}, "server": {"file": "/nowhere/page"}})
    assert told["event"] == "error" and "/nowhere/page" in told["message"]


@pytest.mark.parametrize(
    "target",
    [
        {"engine": "http", "host": "127.0.0.1", "port": 1, "version": "2"},
        {"engine": "sqlserver", "host": "127.0.0.1", "port": 1, "user": "u", "database": "d"},
        {"engine": "null"},
    ],
)
def test_messages_that_cannot_be_delayed_are_refused(target: dict[str, Any]) -> None:
    told = trial(target, {"message": {"delay_us": 1}})
    assert (told["event"], told["kind"]) == ("error", "plan")
    assert "messages of this engine's sessions cannot be delayed" in told["message"]


def test_calls_of_several_processes_are_added() -> None:
    kinds = dict.fromkeys(("sync", "read", "write", "message", "connect", "transaction"))
    first = {
        **kinds,
        "sync": {"calls": 3, "own_s": 0.5, "added_s": 0.0},
        "transaction": {"calls": 2, "own_s": None, "added_s": 0.1},
    }
    second = {**kinds, "transaction": {"calls": 5, "own_s": None, "added_s": 0.2}}
    merged = merge_results([result_of(changes=first), result_of(changes=second)])
    assert merged.changes is not None and merged.changes.message is None
    assert calls(merged, "sync") == Calls(calls=3, own_s=0.5, added_s=0.0)
    assert calls(merged, "transaction").calls == 7 and calls(merged, "transaction").own_s is None
    assert merge_results([result_of(), result_of()]).changes is None
