"""Question 44, "will it take 2,000 requests per second?": planted windows, and the words of the first twelve lines."""

from __future__ import annotations

import random
from collections.abc import Mapping
from contextlib import closing

import pytest

from conftest import Cli
from dbdyno.analysis.measured.histograms import encode_ns
from dbdyno.model.events.latency import Times
from dbdyno.model.events.observations import Segments
from dbdyno.store import RunRecord, TrialRecord, open_store
from synthetic_events import as_stored, rate_of, result_of

LINES = 12
SECONDS = 2.0

DEFINITION = """
name = "mine"
title = "Planted"
[load]
clients = 4
stop = { seconds = 2 }
[[transactions]]
name = "t"
steps = [{ execute = "select 1" }]
"""


def trial(
    cell: str, block: int, rate: float, p99_ms: float, *, skipped: int = 0, waits: Mapping[str, float] | None = None
) -> TrialRecord:
    """A window of a lognormal response time."""
    draws = random.Random(f"{cell}/{block}")
    ok = int(rate * SECONDS) - skipped
    median = p99_ms / 4.0
    times_ns = [round(1e6 * median * draws.lognormvariate(0, 0.596)) for _ in range(ok)]
    summary = Times(
        p50=median, p90=2 * median, p99=p99_ms, p99_9=2 * p99_ms, max=4 * p99_ms, mean=median, count=ok, at_least=[]
    )
    segments = dict.fromkeys(Segments.model_fields, 0.0) | {
        name: share * 4 * SECONDS for name, share in (waits or {"idle": 0.9, "engine": 0.1}).items()
    }
    histograms = {"response": encode_ns(times_ns), "service": encode_ns(times_ns)}
    if skipped:
        histograms["at_least"] = encode_ns([400_000_000] * skipped)
    result = result_of(
        accounting={"issued": ok + skipped, "ok": ok, "skipped": skipped},
        **rate_of(ok, 4, SECONDS),
        elapsed_s=SECONDS,
        watched_s=SECONDS,
        ended_by="seconds",
        histograms=histograms,
        latency_ms={"response": summary, "service": summary},
        time={"client_s": 4 * SECONDS, "cpu_s": 0.5, "segments": segments},
        io={"file_lock_waits": 40},
    )
    plan = {"task": {"clients": 4, "window": {"seconds": SECONDS}}}
    return TrialRecord(cell=cell, block=block, position=0, status="done", plan=plan, result=as_stored(result))


def first_lines(cli: Cli, p99_ms: Mapping[float, float], *, skipped: int = 0, carries: float = 3000) -> str:
    """Store a search with these p99 by rate, and return the first lines that `show` writes."""
    waiting = {"file_lock_wait": 0.7, "engine": 0.3}
    names = {rate: f"offered={rate:g}" for rate in p99_ms}
    levels = {"offered=closed": "closed"} | {name: rate for rate, name in names.items()}
    cells = [
        {"id": name, "factors": {"offered": level, "system": "sqlite:"}, "system": {"name": "sqlite:"}}
        for name, level in levels.items()
    ]
    search = {"objective": "p99 < 50 ms", "budget_s": 60.0, "window_s": SECONDS, "approach": {names[min(p99_ms)]: 1}}
    run = RunRecord(
        id="20260314-slo1",
        experiment="mine",
        seed=1,
        design={"cells": cells, "factors": {"offered": list(levels.values())}, "slo": search}
        | {"slo": search | {"searches": [{"cells": list(levels)}]}},
        definition=DEFINITION,
        command=["dbdyno", "run", "mine.toml", "--slo", "p99 < 50 ms"],
        options={"place": "mine.toml", "folder": "."},
        host={"cpu": "synthetic", "cores": 4},
        version="1",
        started="2026-03-14T00:00:00Z",
    )
    with closing(open_store(str(cli.directory / "runs.db"))) as store:
        run_id = store.begin_run(run)
        store.add_trial(run_id, trial("offered=closed", 0, carries, 5.0, waits=waiting))
        for rate, p99 in p99_ms.items():
            violated = p99 >= 50
            for block in range(6):
                of = skipped if violated else 0
                store.add_trial(
                    run_id, trial(names[rate], block, rate, p99, skipped=of, waits=waiting if violated else None)
                )
        store.finish_run(run_id, "done")
    cli.environment["COLUMNS"] = "80"
    lines = cli("show", "last", "--store", "runs.db").splitlines()
    return " ".join(" ".join(lines[:LINES]).split())


@pytest.mark.slow
def test_44_will_it_take_2000_requests_per_second(cli: Cli) -> None:
    """The highest rate with its interval, and what gives way above it."""
    said = first_lines(cli, {500: 8, 1900: 20, 2100: 35, 2400: 120})
    assert "sqlite holds p99 < 50 ms up to 2,1" in said or "sqlite holds p99 < 50 ms up to 2,2" in said
    assert "requests/s [2,100, 2,400]; above it, waiting for the lock on the database file gives way first (p99" in said
    assert "at 2,400/s)" in said
    assert "serves at most 3,000 requests/s" in said
    assert "2,400/s" in said
    assert "violated" in said


@pytest.mark.slow
def test_44_an_objective_that_no_rate_meets(cli: Cli) -> None:
    said = first_lines(cli, {60: 90, 130: 95, 700: 120}, carries=3000)
    assert "sqlite does not hold p99 < 50 ms at any rate: p99" in said
    assert "at 60.00/s, where requests hardly wait for each other" in said


@pytest.mark.slow
def test_44_arrivals_that_are_not_begun_in_time(cli: Cli) -> None:
    said = first_lines(cli, {1900: 20, 2600: 60}, skipped=200)
    assert "of requests did not start in time at 2,600/s" in said
