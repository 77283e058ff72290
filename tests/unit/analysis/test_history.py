"""The history of an experiment. All runs are synthetic."""

from __future__ import annotations

import copy
import json
import random
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from dbdyno.analysis.document import build_document
from dbdyno.analysis.history.build import build_history
from dbdyno.analysis.history.document import History
from dbdyno.analysis.history.metrics import METRICS, metric
from dbdyno.analysis.history.stored_runs import read_history
from dbdyno.base.errors import InputError, StoreError
from dbdyno.cli.history import print_history
from dbdyno.report.history.html import html_history
from dbdyno.report.history.show import history_view
from dbdyno.store import Store, TrialRecord, open_store
from dbdyno.store.run_copy import copy_runs
from synthetic import histogram, lookup_design, lookup_result, lookup_trials, run_record
from synthetic_events import latency

HOST = {
    "cpu": "synthetic CPU",
    "cores": 4,
    "machine": "x86_64",
    "memory_bytes": 16 * 2**30,
    "system": "Linux 6.1",
    "file_system": "ext4",
    "device": "/dev/sda1",
}
PLAN = {
    "schema": "dbdyno.plan/1",
    "seed": 1,
    "task": {
        "kind": "trial",
        "clients": 1,
        "window": {"seconds": 4.0},
        "statements": [{"name": "user_by_id", "sql": "select * from user where id = ?"}],
        "target": {"engine": "sqlite", "path": "/data/1.db", "library": None, "pragmas": [["cache_size", "2000"]]},
        "data_seed": 1,
    },
}
DEFINITION = "name = 'pk-lookup'\n[tables.user]\nrows = {rows}\n"
CELL = "cache=private,threads=1"
DESIGN = lookup_design(threads=(1,), shared=())


class Made:
    """A store that runs are put into one day after another."""

    def __init__(self, path: Path) -> None:
        self.path = str(path)
        self.store: Store = open_store(self.path)
        self.day = 0

    def put(
        self,
        rate: float | None = 1.0,
        *,
        status: str = "done",
        plan: dict[str, Any] | None = None,
        engine: dict[str, Any] | None = None,
        host: dict[str, Any] | None = None,
        rows: int = 1000,
        design: dict[str, Any] | None = None,
        version: str = "0.1.0",
        change: Callable[[list[TrialRecord]], list[TrialRecord]] | None = None,
    ) -> str:
        """Store a run with two rounds at ``rate`` times the usual throughput; with None no round gives a result."""
        self.day += 1
        design = design or DESIGN
        started = f"2026-{1 + self.day // 28:02d}-{1 + self.day % 28:02d}T10:00:00.000+00:00"
        definition = DEFINITION.format(rows=rows)
        run = run_record(design, started=started, host=HOST | (host or {}), version=version, definition=definition)
        run_id = self.store.begin_run(run)
        trials = []
        for trial in lookup_trials(design, 2, seed=self.day + 100):
            own = copy.deepcopy(plan or PLAN) | {"seed": self.day * 10 + trial.block}
            own["task"]["target"]["path"] = f"/data/{self.day}-{trial.block}.db"
            result = copy.deepcopy(trial.result) or {}
            result["work"]["statements"] = int(result["work"]["statements"] * (rate or 0))
            result["engine"] |= engine or {}
            lost = {"status": "failed", "result": None, "error": "killed"} if rate is None else {}
            trials.append(replace(trial, **({"plan": own, "result": result} | lost)))
        for each in change(trials) if change else trials:
            self.store.add_trial(run_id, each)
        if status != "running":
            self.store.finish_run(run_id, status)  # type: ignore[arg-type]
        return run_id

    def history(self, name: str | None = None, limit: int = 100, cells: tuple[str, ...] = ()) -> History:
        stored = read_history(self.path, "pk-lookup", limit)
        return build_history("pk-lookup", stored, metric(name) if name else None, cells)


@pytest.fixture
def made(tmp_path: Path) -> Made:
    return Made(tmp_path / "runs.db")


def shown(history: History, width: int = 100) -> str:
    console = Console(width=width, no_color=True, highlight=False)
    with console.capture() as capture:
        console.print(history_view(history, width))
    return capture.get()


def series_of(history: History, cell: str = CELL) -> list[Any]:
    return next(each for each in history["cells"] if each["id"] == cell)["series"]


NEWER = {"version": "3.47.0", "source_id": "newer", "compile_options": ["THREADSAFE=1", "ENABLE_STAT4"]}


def test_a_change_is_shown_with_what_changed_there(made: Made) -> None:
    runs = [made.put() for _ in range(8)]
    runs += [made.put(0.8, engine=NEWER, version="0.2.0", host={"system": "Linux 6.6"}) for _ in range(8)]
    history = made.history()
    (series,) = series_of(history)
    (change,) = series["changes"]
    assert [each["run"] for each in series["points"]] == runs
    assert (change["previous"], change["run"]) == (runs[7], runs[8])
    assert change["change"] == pytest.approx(-0.2, abs=0.03)
    assert change["verdict"] == "worse"
    assert change["odds"] > history["odds"] * (1 + runs.index(change["seen"]))
    assert runs.index(change["seen"]) >= 10
    assert {each["name"]: (each["before"], each["after"]) for each in change["changed"]} == {
        "sqlite version": ("3.46.0", "3.47.0"),
        "sqlite source": ("synthetic", "newer"),
        "compile option ENABLE_STAT4": ("-", "set"),
        "dbdyno version": ("0.1.0", "0.2.0"),
        "host system": ("Linux 6.1", "Linux 6.6"),
    }
    text = shown(history)
    assert runs[8] in text
    assert "-20 %" in text or "-21 %" in text or "-19 %" in text
    assert "sqlite version: 3.46.0 → 3.47.0" in text


def test_runs_whose_clients_waited_for_a_cpu_are_no_regression(made: Made) -> None:
    def queued(trials: list[TrialRecord]) -> list[TrialRecord]:
        for each in trials:
            time = (each.result or {})["time"]
            time["segments"]["run_queue"] = 0.25 * time["client_s"]
        return trials

    for _ in range(8):
        made.put()
    for _ in range(8):
        made.put(0.6, change=queued)
    history = made.history()
    (change,) = series_of(history)[0]["changes"]
    assert change["verdict"] == "inconclusive"
    why = "the runs after it were disturbed: clients waited for a CPU for 25 % of their time"
    assert change["disturbed"] == [why]
    assert f"inconclusive: {why}" in " ".join(shown(history).split())
    assert why in html_history(history)
    # Where the clients of both sides waited alike, that explains nothing.
    for _ in range(8):
        made.put(0.3, change=queued)
    assert [each["verdict"] for each in series_of(made.history())[0]["changes"]] == ["inconclusive", "worse"]


def test_a_change_within_the_noise_measured_is_none(made: Made) -> None:
    for index in range(24):
        made.put(1.0 if index < 12 else 0.85)
    assert len(series_of(made.history())[0]["changes"]) == 1
    for deviation, changes in ((0.01, 1), (0.15, 0)):
        made.store.set_noise("pk-lookup", {"deviation": deviation, "runs": 10, "host": HOST})
        assert len(series_of(made.history())[0]["changes"]) == changes


def test_a_setting_that_changed_a_run_later_is_named_beside_the_change(made: Made) -> None:
    for _ in range(8):
        made.put()
    first = made.put(0.7)
    settings = {"settings": {"cache_size": "-9"}}
    later = [made.put(0.7, engine=settings) for _ in range(7)]
    (change,) = series_of(made.history())[0]["changes"]
    assert change["run"] == first
    assert change["changed"] == []
    assert [each["run"] for each in change["nearby"]] == [later[0]]
    assert "setting cache_size" in {each["name"] for each in change["nearby"][0]["changed"]}
    text = shown(made.history())
    assert "no recorded fact changed at the same time" in text
    assert f"nearby, at {later[0]}: setting cache_size: -2000 → -9" in text


def test_without_a_change_it_says_so(made: Made) -> None:
    for _ in range(6):
        made.put()
    (series,) = series_of(made.history())
    assert series["enough"]
    assert series["changes"] == []
    assert "no change found in 6 runs" in shown(made.history())


def test_few_runs_are_told_to_be_few(made: Made) -> None:
    for rate in (1, 1, 1, 2, 2):
        made.put(rate)
    (series,) = series_of(made.history())
    assert not series["enough"]
    assert series["changes"] == []
    assert "5 runs, too few to detect changes (6 needed)" in shown(made.history())
    assert "too few" in html_history(made.history())


def test_the_newest_runs_up_to_the_limit_are_shown(made: Made) -> None:
    runs = [made.put() for _ in range(7)]
    history = made.history(limit=5)
    assert [each["run"] for each in series_of(history)[0]["points"]] == runs[2:]
    assert (history["runs"], history["older"]) == (5, 2)
    assert "2 runs before that not shown" in shown(history)


def test_runs_that_do_not_count_are_named(made: Made) -> None:
    good = [made.put() for _ in range(5)]
    cut = made.put(status="interrupted")
    under_way = made.put(status="running")
    half = made.put(status="failed", change=lambda trials: [replace(trials[0], status="failed"), trials[1]])
    empty = made.put(None, status="failed")
    asked = made.put(3.0, design=DESIGN | {"why": {"cell": CELL}})
    searched = made.put(3.0, design=DESIGN | {"slo": {"objective": "p99 < 50 ms"}})
    history = made.history()
    assert [each["run"] for each in series_of(history)[0]["points"]] == [*good, half]
    assert series_of(history)[0]["points"][-1]["rounds"] == 1
    assert {each["reason"]: each["runs"] for each in history["left_out"]} == {
        "interrupted": [cut],
        "still running or killed": [under_way],
        "of `dbdyno why`": [asked],
        "that searched for the highest rate": [searched],
    }
    assert history["cells"][0]["left_out"] == [{"reason": "without a result", "runs": [empty]}]
    text = " ".join(shown(history).split())
    assert f"left out: 1 run interrupted ({cut}); 1 run still running or killed ({under_way})" in text
    assert f"1 run of `dbdyno why` ({asked})" in text
    assert "missing: 1 run without a result" in text


def test_of_a_trial_done_again_the_latest_counts(made: Made) -> None:
    def again(trials: list[TrialRecord]) -> list[TrialRecord]:
        better = copy.deepcopy(trials[0].result) or {}
        better["work"]["statements"] *= 2
        return [trials[0], trials[1], replace(trials[0], result=better)]

    run = made.put(change=again)
    value = series_of(made.history())[0]["points"][0]["value"]
    rounds = build_document(made.store.run(run), made.store.trials(run)).cells[0].rounds
    assert len(rounds) == 2
    assert value == pytest.approx(sum(each.throughput or 0 for each in rounds) / 2)


@pytest.mark.parametrize(
    ("name", "of"),
    [
        ("throughput", lambda cell: cell.throughput.mean),
        ("p50", lambda cell: cell.latency_ms["service"].p50),
        ("p99", lambda cell: cell.latency_ms["service"].p99),
        ("p99.9", lambda cell: cell.latency_ms["service"].p99_9),
    ],
)
def test_a_point_is_what_the_run_itself_shows(made: Made, name: str, of: Callable[[Any], float]) -> None:
    run = made.put()
    (cell,) = build_document(made.store.run(run), made.store.trials(run)).cells
    (point,) = series_of(made.history(name))[0]["points"]
    assert point["value"] == pytest.approx(of(cell))


def test_cpu_is_microseconds_for_each_thing_counted(made: Made) -> None:
    run = made.put()
    rounds = build_document(made.store.run(run), made.store.trials(run)).cells[0].rounds
    # 97 % of one core.
    expected = sum(0.97e6 / (each.throughput or 0) for each in rounds) / len(rounds)
    history = made.history("cpu")
    assert series_of(history)[0]["points"][0]["value"] == pytest.approx(expected)
    assert history["cells"][0]["metric"]["unit"] == "µs/statement"
    assert history["cells"][0]["metric"]["better"] == "lower"


def test_a_metric_that_was_not_recorded_leaves_the_run_out(made: Made) -> None:
    def bare(trials: list[TrialRecord]) -> list[TrialRecord]:
        return [replace(each, result={**(each.result or {}), "histograms": {}, "latency_ms": {}}) for each in trials]

    run = made.put(change=bare)
    (cell,) = made.history("p99")["cells"]
    assert cell["series"] == []
    assert [each["runs"] for each in cell["left_out"]] == [[run]]
    assert "didn't record" in cell["left_out"][0]["reason"]


def test_more_latency_is_worse(made: Made) -> None:
    def slow(trials: list[TrialRecord]) -> list[TrialRecord]:
        rng = random.Random(made.day)
        return [
            replace(each, result=lookup_result(4, "shared", rng) | {"engine": (each.result or {})["engine"]})
            for each in trials
        ]

    for _ in range(6):
        made.put()
    for _ in range(6):
        made.put(change=slow)
    (change,) = series_of(made.history("p99"))[0]["changes"]
    assert change["after"] > change["before"]
    assert change["verdict"] == "worse"


def open_loop(ms: float, lost: float = 0.0, kept: bool = True) -> Callable[[list[TrialRecord]], list[TrialRecord]]:
    """The rounds of an open loop with this median response; a share of what was due was lost, or skipped."""

    def change(trials: list[TrialRecord]) -> list[TrialRecord]:
        made = []
        for place, each in enumerate(trials):
            result = copy.deepcopy(each.result) or {}
            times = round(1000 * ms * (1 + 0.02 * random.Random(f"{each.plan['seed']} {place}").gauss(0, 1)), 1)
            result["latency_ms"]["response"] = latency(times, 4000)
            result["histograms"] |= {"response": histogram(times)}
            if lost:
                result["histograms"]["at_least"] = histogram(50 * times, count=int(4000 * lost))
            if not kept:
                result["accounting"]["issued"] += result["accounting"]["ok"]
                result["accounting"]["skipped"] = result["accounting"]["ok"]
            made.append(replace(each, result=result))
        return made

    return change


def metrics_of(history: History) -> list[str]:
    return [each["metric"]["name"] for each in history["cells"]]


def test_open_loops_that_keep_up_are_judged_by_their_response_time(made: Made) -> None:
    for _ in range(10):
        made.put(change=open_loop(1.0))
    for _ in range(10):
        made.put(change=open_loop(2.0))
    history = made.history()
    assert metrics_of(history) == ["p99"]
    assert history["cells"][0]["metric"]["title"] == "99th percentile of response time"
    (change,) = series_of(history)[0]["changes"]
    assert (change["index"], change["verdict"]) == (10, "worse")
    assert "99th percentile of response time, ms" in shown(history)
    # The rate was what it was offered all the while.
    assert series_of(made.history("throughput"))[0]["changes"] == []


def test_of_an_open_loop_that_fell_behind_the_rate_is_shown_too(made: Made) -> None:
    for _ in range(10):
        made.put(change=open_loop(1.0))
    behind = [made.put(0.4, change=open_loop(1.0, lost=0.5, kept=False)) for _ in range(6)]
    history = made.history()
    assert metrics_of(history) == ["p99", "throughput"]
    times, rates = history["cells"]
    # What was skipped has no response time, so that p99 is a lower bound; the rate says what happened.
    assert [each["runs"] for each in times["left_out"]] == [behind]
    assert "p99 is a lower bound" in times["left_out"][0]["reason"]
    assert len(times["series"][0]["points"]) == 10
    assert [each["run"] for each in rates["series"][0]["changes"]] == [behind[0]]
    text = shown(history)
    assert "99th percentile of response time, ms" in text
    assert "missing: 6 runs whose p99 is a lower bound" in text
    assert "response time" in html_history(history)


def test_a_percentile_that_is_a_lower_bound_is_no_point(made: Made) -> None:
    for _ in range(8):
        made.put(change=open_loop(1.0))
    half = made.put(change=open_loop(1.0, lost=0.02))
    history = made.history("p99")
    assert half not in [each["run"] for each in series_of(history)[0]["points"]]
    assert history["cells"][0]["left_out"][0]["runs"] == [half]
    # Of the median it is known.
    assert half in [each["run"] for each in series_of(made.history("p50"))[0]["points"]]


def durable(name: str, work: int = 1) -> Callable[[list[TrialRecord]], list[TrialRecord]]:
    def change(trials: list[TrialRecord]) -> list[TrialRecord]:
        made = []
        for each in trials:
            result = copy.deepcopy(each.result) or {}
            result["engine"]["durability"] = {"class": name, "because": ""}
            result["work"]["rows_changed"] = work
            made.append(replace(each, result=result))
        return made

    return change


def test_runs_that_must_not_be_ranked_are_not_one_series(made: Made) -> None:
    for _ in range(8):
        made.put(change=durable("power-safe"))
    first = made.put(5.0, change=durable("none"))
    for _ in range(7):
        made.put(5.0, change=durable("none"))
    again = made.put(change=durable("power-safe"))
    history = made.history()
    safe, unsafe = series_of(history)
    assert safe["changes"] == unsafe["changes"] == []
    assert (len(safe["points"]), len(unsafe["points"])) == (9, 8)
    assert safe["points"][-1]["run"] == again
    assert unsafe["points"][0]["run"] == first
    assert unsafe["not_comparable"] == ["durability: power-safe against none"]
    text = " ".join(shown(history).split())
    assert f"not comparable with earlier runs from {first}" in text
    assert "durability: power-safe against none" in text
    assert "not comparable with earlier runs" in html_history(history)
    # Where nothing is written, there is nothing to be durable.
    for each in ("power-safe", "none"):
        made.put(rows=7, change=durable(each, work=0))
    assert len(series_of(made.history())) == 3


def test_a_mark_does_not_depend_on_how_many_runs_are_shown(made: Made) -> None:
    for index in range(40):
        made.put(1 if index < 12 else 0.9 if index < 25 else 1.0)
    all_marks = {each["run"]: each for each in series_of(made.history())[0]["changes"]}
    assert len(all_marks) == 2
    for limit in (39, 30, 20, 5):
        (series,) = series_of(made.history(limit=limit))
        runs = [each["run"] for each in series["points"]]
        assert len(runs) == limit
        marks = {each["run"]: each for each in series["changes"]}
        assert set(marks) == {each for each in all_marks if each in runs[1:]}
        assert all(runs[each["index"]] == run for run, each in marks.items())
        assert all(each["before"] == all_marks[run]["before"] for run, each in marks.items())
        shown(made.history(limit=limit))


def changed_plan(**task: Any) -> dict[str, Any]:
    plan = copy.deepcopy(PLAN)
    target = task.pop("target", {})
    plan["task"] |= task
    plan["task"]["target"] |= target
    return plan


def test_seed_and_paths_are_no_change_of_the_experiment(made: Made) -> None:
    made.put()
    made.put(plan=changed_plan(target={"library": "/cache/libraries/1/libsqlite3.so"}))
    assert len(series_of(made.history())) == 1


def test_what_only_one_version_writes_into_plans_is_no_change(made: Made) -> None:
    old = copy.deepcopy(PLAN)
    del old["task"]["data_seed"]
    made.put(plan=old)
    made.put()
    made.put(plan=changed_plan(os_cache="warm"))
    assert len(series_of(made.history())) == 1
    made.put(plan=changed_plan(data_seed=2))
    assert len(series_of(made.history())) == 2


@pytest.mark.parametrize(
    ("more", "part"),
    [
        ({"plan": changed_plan(window={"seconds": 9.0})}, "window"),
        ({"plan": changed_plan(statements=[{"name": "user_by_id", "sql": "select 1"}])}, "statements"),
        ({"plan": changed_plan(target={"pragmas": [["cache_size", "9"]]})}, "target.pragmas"),
        ({"rows": 2000}, "tables"),
        ({"design": {**DESIGN, "measure": {"unit": "row", "label": "rows"}}}, "measure.unit"),
        (
            {
                "design": {
                    **DESIGN,
                    "cells": [{"id": CELL, "system": "sqlite:", "factors": {"cache": "private", "threads": 2}}],
                }
            },
            "factor threads",
        ),
    ],
)
def test_a_changed_experiment_begins_a_new_series(made: Made, more: dict[str, Any], part: str) -> None:
    for _ in range(6):
        made.put()
    first = made.put(0.5, engine=NEWER, **more)
    for _ in range(5):
        made.put(0.5, engine=NEWER, **more)
    history = made.history()
    before, after = series_of(history)
    assert before["changes"] == []
    assert after["changes"] == []
    assert part in after["redefined"]
    assert after["points"][0]["run"] == first
    assert "sqlite version" in {each["name"] for each in after["changed"]}
    text = " ".join(shown(history).split())
    assert f"the experiment changed at {first}" in text
    assert part in text
    assert "not compared with earlier runs" in text
    assert "not compared with earlier runs" in html_history(history)


@pytest.mark.parametrize(
    "other", [{"cpu": "another CPU"}, {"cores": 8}, {"memory_bytes": 64 * 2**30}, {"device": "tmpfs"}]
)
def test_another_machine_is_another_series(made: Made, other: dict[str, Any]) -> None:
    here, there = [], []
    for _ in range(6):
        here.append(made.put())
        there.append(made.put(0.5, host=other))
    history = made.history()
    first, second = series_of(history)
    assert [each["run"] for each in first["points"]] == here
    assert [each["run"] for each in second["points"]] == there
    assert (first["machine"], second["machine"]) == (1, 2)
    assert [each["runs"] for each in history["machines"]] == [6, 6]
    assert first["changes"] == second["changes"] == []
    assert first["redefined"] == second["redefined"] == []
    text = shown(history)
    assert "2 machines, not compared with each other" in text
    assert "2 machines" in html_history(history)


def test_another_kernel_or_a_little_less_memory_is_the_same_machine(made: Made) -> None:
    made.put()
    made.put(host={"system": "Linux 6.6", "memory_bytes": 16 * 2**30 - 40_000_000})
    assert len(made.history()["machines"]) == 1


def test_cells_are_named_and_chosen_by_id(made: Made) -> None:
    design = lookup_design(threads=(1, 2), shared=(2,))
    for _ in range(5):
        made.put(design=design)
    made.put()
    history = made.history()
    assert [each["id"] for each in history["cells"]] == [CELL, "cache=private,threads=2", "cache=shared,threads=2"]
    assert [len(each["series"][0]["points"]) for each in history["cells"]] == [6, 5, 5]
    assert history["cells"][1]["left_out"][0]["reason"] == "without this cell"
    chosen = made.history(cells=("cache=shared,threads=2",))
    assert [each["id"] for each in chosen["cells"]] == ["cache=shared,threads=2"]
    assert metric("p99_9") is metric("p99.9")
    read = read_history(made.path, "pk-lookup", 100, ["cache=shared,threads=2"])
    assert {cell for run in read.runs for cell in run.trials} == {"cache=shared,threads=2"}
    with pytest.raises(InputError, match="no included run has this cell"):
        made.history(cells=("threads=9",))


def test_a_history_reads_summaries_and_not_trials(made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    for _ in range(20):
        made.put()
    # The first time, each run is summarized.
    made.history()
    read: list[str] = []
    trials = Store.trials

    def counted(store: Store, run_id: str, **more: Any) -> list[TrialRecord]:
        read.append(run_id)
        return trials(store, run_id, **more)

    monkeypatch.setattr(Store, "trials", counted)
    before = made.history()
    # The one that says what the cell is.
    assert len(read) == 1 and len(series_of(before)[0]["points"]) == 20
    with closing(sqlite3.connect(made.path)) as raw, raw:
        raw.execute("UPDATE dbdyno_runs SET summary = '{}' WHERE id LIKE '%3-%'")
        changed = raw.execute("SELECT count(*) FROM dbdyno_runs WHERE summary = '{}'").fetchone()[0]
    read.clear()
    assert made.history() == before
    assert changed > 1 and len(read) == changed + 1
    read.clear()
    assert made.history() == before
    assert len(read) == 1


def test_a_trial_that_is_added_or_gone_on_with_is_in_the_history(made: Made) -> None:
    run = made.put()
    made.store.update_run(run, status="running")
    (trial,) = (each for each in made.store.trials(run) if each.block == 1)
    made.store.add_trial(run, replace(trial, block=2))
    made.store.finish_run(run, "done")
    assert [each["rounds"] for each in series_of(made.history())[0]["points"]] == [3]
    with closing(open_store(f"{made.path}.copy")) as copy:
        assert [each.outcome for each in copy_runs(made.store, copy)] == ["copied"]
        made.store.add_trial(run, replace(trial, block=3))
        assert [each["rounds"] for each in series_of(made.history())[0]["points"]] == [4]
        assert [each.outcome for each in copy_runs(made.store, copy)] == ["added to"]
    copied = build_history("pk-lookup", read_history(f"{made.path}.copy", "pk-lookup", 10))
    assert copied == made.history(limit=10)


def test_all_metrics_fit_a_narrow_terminal(made: Made) -> None:
    for index in range(30):
        made.put(1 if index < 15 else 1.5)
    for name in METRICS:
        lines = shown(made.history(name), width=48).splitlines()
        assert max(map(len, lines)) <= 48
    assert "│" in shown(made.history())


class Page(HTMLParser):
    """Collects tags and attributes, and checks that what opens closes in order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.attributes: list[str] = []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [name for name, _ in attrs]
        if tag != "meta":
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_the_page_is_whole_and_escapes_what_others_wrote(made: Made) -> None:
    evil = "<script>alert(1)</script>"
    for index in range(12):
        made.put(1 if index < 6 else 2, engine={"version": evil} if index > 5 else None, host={"cpu": evil})
    text = html_history(made.history())
    page = Page(text)
    assert "script" not in page.tags
    assert "link" not in page.tags
    assert not {"src", "href", "onload"} & set(page.attributes)
    assert "svg" in page.tags
    assert "&lt;script&gt;" in text
    assert 'name="viewport"' in text
    assert "3.46.0 → &lt;script&gt;" in text


def test_the_command_shows_and_writes(made: Made, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for index in range(12):
        made.put(1 if index < 6 else 1.4)
    out, page = tmp_path / "history.json", tmp_path / "history.html"
    print_history("pk-lookup", store_location=made.path, json=out, report=page)
    text = capsys.readouterr().out
    assert "12 runs from 2026-01-02 to 2026-01-13" in text
    document = json.loads(out.read_text())
    assert document["schema"] == "dbdyno.history/1"
    assert document["cells"][0]["series"][0]["changes"][0]["index"] == 6
    assert "History of pk-lookup" in page.read_text()
    # The same store gives the same document.
    again = tmp_path / "again.json"
    print_history("pk-lookup", store_location=made.path, json=again)
    assert again.read_text() == out.read_text()


def test_an_experiments_file_names_its_runs(tmp_path: Path, made: Made, capsys: pytest.CaptureFixture[str]) -> None:
    from dbdyno.experiment import package_path

    file = tmp_path / "mine.toml"
    file.write_text(package_path("experiments", "pk-lookup.toml").read_text())
    (tmp_path / "e1_pk_lookup.csv").write_text(package_path("published", "e1_pk_lookup.csv").read_text())
    made.put()
    print_history(str(file), store_location=made.path)
    assert "1 run of 2026-01-02" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"metric": "p42"}, "--metric p42: unknown metric; known: throughput, p50"),
        ({"experiment": "pk-lokup"}, "contains no runs of it; the store contains runs of `pk-lookup`"),
        ({"cells": ["threads=77"]}, "--cell threads=77: no included run has this cell"),
        ({"json": Path("/nonexistent/x.json")}, "--json /nonexistent/x.json"),
        ({"report": Path("/nonexistent/x.html")}, "--report /nonexistent/x.html"),
    ],
)
def test_bad_input_says_what_would_be_right(made: Made, arguments: dict[str, Any], message: str) -> None:
    made.put()
    with pytest.raises(InputError) as caught:
        print_history(**({"experiment": "pk-lookup", "store_location": made.path} | arguments))
    assert message in str(caught.value)


def test_an_empty_store_says_how_to_begin(tmp_path: Path) -> None:
    open_store(str(tmp_path / "new.db")).close()
    with pytest.raises(InputError, match="measure it with dbdyno run"):
        print_history("pk-lookup", store_location=str(tmp_path / "new.db"))


def test_runs_none_of_which_counts_are_no_error(made: Made, capsys: pytest.CaptureFixture[str]) -> None:
    made.put(status="interrupted")
    print_history("pk-lookup", store_location=made.path)
    assert "no usable runs" in capsys.readouterr().out


def test_a_damaged_trial_is_a_fault_of_the_store(made: Made) -> None:
    import sqlite3

    made.put()
    with sqlite3.connect(made.path) as connection:
        connection.execute("update dbdyno_trials set result = '{'")
    with pytest.raises(StoreError, match="unreadable"):
        made.history()
