"""Trials whose clients are processes of their own."""

import json
import re
import signal
import time
from collections.abc import Callable
from typing import Any

import psutil
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import Cli, those
from dbdyno.analysis.measured.histograms import encode_ns, merge
from dbdyno.analysis.measured.merged_results import merge_intervals, merge_results
from dbdyno.analysis.measured.rounds import transactions_per_s
from dbdyno.model.events.reading import read_result
from dbdyno.model.events.trial import Interval, TrialResult
from dbdyno.model.result.convert import to_json
from installed_servers import needs_postgresql
from synthetic_events import an_interval, as_stored, changed, result_of

Small = Callable[..., str]

APART = ('clients = "${clients}"', 'clients = "${clients}"\nclients_as = "${as}"')
BOTH = ("clients = [1, 2]", 'clients = [1, 3]\nas = ["threads", "processes"]')
LONG = (
    ("clients = [1, 2]", "clients = [2]"),
    ('clients = "${clients}"', 'clients = "${clients}"\nclients_as = "processes"'),
    ("stop = { transactions = 500 }", "stop = { seconds = 30 }"),
)


def by_kind(document: dict[str, Any]) -> dict[tuple[int, str], dict[str, Any]]:
    return {(each["factors"]["clients"], each["factors"]["as"]): each["rounds"][0] for each in document["cells"]}


def workers_at_work(process_id: int, count: int) -> list[psutil.Process]:
    """Wait until so many workers have a trial's database open."""
    end = time.monotonic() + 60
    while time.monotonic() < end:
        # Others load tables, look at the library or measure the device, and are over at once.
        # Of trials that are interleaved the first has `trial.db`, the second `trial-2.db`.
        found = those(
            psutil.Process(process_id).children(),
            lambda child: any(re.search(r"/trial(-\d+)?\.db$", file.path) for file in child.open_files()),
        )
        if len(found) == count:
            return found
        time.sleep(0.02)
    raise AssertionError("the workers were not seen")


def test_processes_do_the_work_that_threads_do(cli: Cli, small: Small) -> None:
    rounds = by_kind(cli.run(cli.write("apart.toml", small(APART, BOTH)), "--rounds", "1", "--seed", "5"))
    for clients in (1, 3):
        threads, processes = rounds[clients, "threads"], rounds[clients, "processes"]
        # The same clients with the same random streams, in one process or in as many.
        for name in ("issued", "ok", "statements", "rows", "transactions"):
            assert processes[name] == threads[name], name
        assert processes["ok"] == 500 * clients
        assert processes["latency_ms"]["service"]["count"] == 500 * clients
        assert processes["throughput"] > 0
    assert cli.left_behind() == []


@needs_postgresql
def test_processes_do_the_same_on_a_server(server_cli: Cli, small: Small) -> None:
    file = server_cli.write("apart.toml", small(APART, BOTH))
    rounds = by_kind(server_cli.run(file, "--rounds", "1", "--system", "postgresql:", "--set", "clients=3"))
    threads, processes = rounds[3, "threads"], rounds[3, "processes"]
    for name in ("issued", "ok", "statements", "rows"):
        assert processes[name] == threads[name], name
    assert processes["cpu_percent"]["server"] > 0


def test_a_failure_of_one_process_is_that_of_the_trial(cli: Cli, small: Small) -> None:
    process = cli.start("run", cli.write("long.toml", small(*LONG)), "--rounds", "1", "--store", "runs.db")
    workers = workers_at_work(process.pid, 2)
    workers[0].kill()
    out, errors = process.communicate(timeout=60)
    assert process.returncode == 1, errors
    assert "killed by signal 9" in out
    assert not any(worker.is_running() for worker in workers)
    assert cli.left_behind() == []


def test_ctrl_c_ends_all_processes_and_keeps_what_they_measured(cli: Cli, small: Small) -> None:
    file = cli.write("long.toml", small(*LONG))
    process = cli.start("run", file, "--rounds", "1", "--store", "runs.db", "--json", "out.json")
    workers = workers_at_work(process.pid, 2)
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    out, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors
    assert "trial failed" not in out
    assert not any(worker.is_running() for worker in workers)
    document = json.loads((cli.directory / "out.json").read_text())
    trial = document["cells"][0]["rounds"][0]
    assert trial["status"] == "interrupted"
    assert trial["issued"] == trial["ok"] + sum(trial["failed"].values()) + trial["skipped"] + trial["in_flight"]


def test_a_library_without_mutexes_serves_clients_in_processes_of_their_own(cli: Cli, small: Small) -> None:
    file = cli.write("apart.toml", small(APART, BOTH))
    document = cli.run(file, "--rounds", "1", "--system", "sqlite:?config_threading=single", "--set", "clients=3")
    assert [cell["factors"]["as"] for cell in document["cells"]] == ["processes"]
    assert any("would corrupt its memory" in finding["text"] for finding in document["findings"])


NUMBERS = st.integers(min_value=0, max_value=10**12)


@st.composite
def results(draw: st.DrawFn) -> TrialResult:
    times = draw(st.lists(st.integers(1, 10**10), min_size=1, max_size=20))
    failed = draw(st.dictionaries(st.sampled_from(["locked", "deadlock"]), NUMBERS))
    seconds = draw(st.floats(0.001, 100))
    return result_of(
        accounting={
            "issued": len(times) + sum(failed.values()),
            "ok": len(times),
            "failed": failed,
            "retries": draw(NUMBERS),
        },
        failures={kind: f"{kind} {draw(NUMBERS)}" for kind in failed},
        completed=len(times),
        rate={
            "many_per_s": draw(st.floats(0, 1e6)),
            "few": {"clients": draw(st.integers(0, 3)), "completed": draw(st.integers(0, 300)), "seconds": seconds},
            "whole": {"completed": 0.0, "seconds": 0.0},
            "client_s": seconds,
        },
        cycles={"count": len(times), "seconds": seconds, "squares": seconds**2},
        elapsed_s=seconds,
        watched_s=seconds,
        ended_by=draw(st.sampled_from(["transactions", "statements", "seconds", "interrupted"])),
        warmup={"seconds": draw(st.floats(0, 10))},
        transactions={"read": {"ok": len(times), "failed": sum(failed.values())}},
        statements={"read": {"executions": draw(NUMBERS), "rows": draw(NUMBERS), "changed": 0}},
        work={"transactions": len(times), "statements": draw(NUMBERS)},
        histograms={"service": encode_ns(times)},
        cpu={"process_percent": 50.0, "user_percent": 30.0, "system_percent": 20.0, "hottest_thread_percent": 40.0},
        scheduling={"voluntary_switches": draw(NUMBERS)},
        process_io={"read_bytes": draw(NUMBERS)},
        time={"client_s": seconds, "segments": {"engine": seconds}},
        io={"reads": draw(NUMBERS)},
        memory={"peak_rss_bytes": draw(NUMBERS)},
        waits=draw(st.none() | st.just({"samples": 3, "query_s": 0.1, "seen": {}})),
    )


@settings(deadline=None, max_examples=50)
@given(st.lists(results(), min_size=1, max_size=5))
def test_merged_results_balance_and_lose_nothing(parts: list[TrialResult]) -> None:
    merged = merge_results(parts)
    accounting = merged.accounting
    failed = sum(accounting.failed.values())
    assert accounting.issued == accounting.ok + failed + accounting.skipped + accounting.in_flight
    assert accounting.ok == merged.completed == sum(each.accounting.ok for each in parts)
    assert merged.latency_ms["service"].count == accounting.ok
    assert merged.cycles.count == sum(each.cycles.count for each in parts)
    together = merge(each.histograms["service"] for each in parts)
    assert together is not None
    assert merged.latency_ms["service"].model_dump() == to_json(together.latency_ms())
    assert merged.elapsed_s == max(each.elapsed_s for each in parts)
    assert merged.time.client_s == pytest.approx(sum(each.elapsed_s for each in parts))
    assert set(merged.failures) == {kind for each in parts for kind in each.failures}
    # Percent of the longest window: what was used is used, whenever each ended.
    used = sum(each.cpu.process_percent * each.elapsed_s for each in parts)
    assert merged.cpu.process_percent * merged.elapsed_s == pytest.approx(used)
    # What is put together is as one worker would have written it.
    assert read_result(as_stored(merged)) == merged


def rates(*parts: dict[str, Any]) -> float:
    return transactions_per_s(merge_results([result_of(accounting={"ok": 100}, **each) for each in parts]).rate)[0]


def test_the_rate_of_several_processes_is_that_of_all_their_clients() -> None:
    def timed(**rate: Any) -> dict[str, Any]:
        return {"elapsed_s": 2.0, "ended_by": "seconds", "rate": rate}

    few = [timed(few={"clients": 1, "completed": n, "seconds": s}) for n, s in ((2, 2.2), (3, 3.3))]
    assert rates(*few) == pytest.approx(2 / 1.1)
    assert rates(timed(many_per_s=500.0), timed(many_per_s=400.0)) == pytest.approx(900)
    # Each did its number, and the last was done after 4 s.
    counted = [
        {"elapsed_s": s, "ended_by": "transactions", "rate": {"whole": {"completed": 100.0, "seconds": s}}}
        for s in (1.0, 4.0)
    ]
    assert rates(*counted) == pytest.approx(50)
    # One had done its number when the window of the other ended.
    assert rates(counted[0], timed(many_per_s=50.0)) == pytest.approx(100)


def test_an_interval_of_several_processes_is_their_sum() -> None:
    def interval(ok: int, start: float, end: float) -> Interval:
        spans = {"index": 0, "start_s": start, "end_s": end, "failed": 1, "statements": 2 * ok, "rows": 3 * ok}
        return changed(an_interval(0, ok), spans | {"cpu_percent": 10.0, "hottest_thread_percent": float(ok)})

    one = interval(4, 0.0, 1.0)
    assert merge_intervals([one]) == one
    both = merge_intervals([one, interval(6, 0.001, 1.002)])
    assert (both.ok, both.failed, both.statements, both.rows) == (10, 2, 20, 30)
    assert (both.start_s, both.end_s) == (0.0, 1.002)
    assert (both.cpu_percent, both.hottest_thread_percent, both.service_ms) == (20.0, 6.0, None)
