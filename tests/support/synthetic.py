"""SYNTHETIC results for tests of the store and of everything shown.

No number made here was measured anywhere. The shapes are those the worker emits; the values follow simple formulas with
noise from a fixed seed, so that a report has something to draw.
"""

from __future__ import annotations

import copy
import pickle
import random
from functools import cache
from typing import Any

from hdrh.histogram import HdrHistogram

from dbdyno.analysis.document import build_document
from dbdyno.model.events.latency import Times
from dbdyno.model.events.observations import Contention, ContentionSite, Segments
from dbdyno.model.events.trial import TrialResult
from dbdyno.model.result import Document
from dbdyno.store import RunRecord, TrialRecord
from synthetic_events import an_interval, as_stored, changed, disk, rate_of, result_of, times

NS = 1e9
LOOKUP = "select * from user where id = ?"


@cache
def histogram(median_us: float, count: int = 4000, seed: int = 1, highest: int = 3_600_000_000_000) -> str:
    """An encoded histogram with a log-normal latency around ``median_us``."""
    rng = random.Random(f"{seed} {median_us}")
    made = HdrHistogram(1, highest, 3)
    for _ in range(200):
        made.record_value(max(1, int(median_us * 1000 * rng.lognormvariate(0, 0.5))), max(1, count // 200))
    return made.encode().decode()


def lookup_result(clients: int, cache_mode: str, rng: random.Random, seconds: float = 4.0) -> dict[str, Any]:
    """The result event of a trial of a lookup with private or shared cache on four cores."""
    wait_share = 0.0 if cache_mode == "private" else min(0.75, 0.32 * (clients - 1))
    rate = 34_000 * min(clients, 4) ** 0.93 if cache_mode == "private" else 33_000 / (1 + 0.45 * (clients - 1))
    ok = int(rate * rng.gauss(1, 0.015) * seconds)
    client_s = clients * seconds
    service_us = client_s / ok * 1e6
    wait_s = wait_share * client_s
    cpu = 100 * min(clients, 4) * (0.97 if cache_mode == "private" else 0.5)
    sites = [
        ContentionSite(
            function="sqlite3BtreeEnter",
            mutex="BtShared.mutex",
            waits=int(ok * wait_share),
            wait_s=0.93 * wait_s,
            stack=["sqlite3BtreeEnter", "sqlite3BtreeBeginTrans", "sqlite3VdbeExec", "sqlite3Step", "sqlite3_step"],
        ),
        ContentionSite(
            function="pcache1Fetch",
            mutex="PGroup.mutex",
            waits=int(ok * wait_share / 9),
            wait_s=0.07 * wait_s,
            stack=["pcache1Fetch", "sqlite3PcacheFetch", "getPageNormal", "sqlite3BtreeMovetoUnpacked"],
        ),
    ]
    contention = Contention(contended=int(ok * wait_share), wait_s=wait_s, sites=sites)
    made = result_of(
        accounting={"issued": ok, "ok": ok},
        **rate_of(ok, clients, seconds),
        elapsed_s=seconds,
        watched_s=seconds,
        warmup={"seconds": 1.0},
        transactions={"lookup": {"ok": ok, "failed": 0}},
        statements={"user_by_id": {"executions": ok, "rows": ok, "changed": 0}},
        work={"transactions": ok, "statements": ok, "rows_returned": ok, "rows_returned_squared": float(ok)},
        histograms={
            "service": histogram(round(service_us, 1), ok),
            "execute": histogram(round(service_us * 0.8, 1), ok),
        },
        latency_ms={"service": times(service_us, ok)},
        cpu={
            "process_percent": cpu,
            "user_percent": cpu * 0.6,
            "system_percent": cpu * 0.4,
            "hottest_thread_percent": min(100, cpu),
            "machine_percent": cpu / 4,
            "cores": 4,
        },
        scheduling={
            "voluntary_switches": int(ok * wait_share),
            "involuntary_switches": 210,
            "run_queue_wait_s": 0.1,
        },
        disk=disk(writes=12, write_bytes=49152, write_ms=0.4, flushes=1, flush_ms=0.8),
        process_io={"read_bytes": ok * 4096},
        engine={
            "compile_options": ["THREADSAFE=1"],
            "settings": {"journal_mode": "delete", "synchronous": "2", "cache_size": "-2000", "page_size": "4096"},
            "durability": {"class": "power-safe", "because": "synchronous=FULL with a rollback journal"},
        },
        time={
            "client_s": client_s,
            "cpu_s": cpu / 100 * seconds,
            "segments": {
                "read": 0.22 * client_s,
                "mutex_wait": wait_s,
                "file_lock_wait": 0.01 * client_s,
                "run_queue": 0.02 * client_s,
                "engine": (0.7 - wait_share * 0.9) * client_s,
                "unknown": 0.05 * client_s,
            },
        },
        io={"reads": ok, "read_bytes": ok * 4096, "cache_hits": 2 * ok, "cache_misses": ok},
        mutex=contention if wait_share else None,
    )
    return as_stored(made)


def intervals(result: dict[str, Any], rng: random.Random) -> list[dict[str, Any]]:
    """One interval event for each second of the window."""
    seconds = int(result["elapsed_s"])
    made = []
    for index in range(seconds):
        ok = int(result["accounting"]["ok"] / seconds * rng.gauss(1, 0.05))
        cpu = result["cpu"]["process_percent"] * rng.gauss(1, 0.03)
        made.append(an_interval(index, ok, cpu, rng.uniform(1e5, 9e6)))
    return [as_stored(each) for each in made]


def lookup_trials(design: dict[str, Any], rounds: int, seed: int, seconds: float = 4.0) -> list[TrialRecord]:
    rng = random.Random(seed)
    made = []
    for block in range(rounds):
        order = list(design["cells"])
        rng.shuffle(order)
        for position, cell in enumerate(order):
            clients, cache_mode = cell["factors"]["threads"], cell["factors"]["cache"]
            result = lookup_result(clients, cache_mode, rng, seconds)
            made.append(
                TrialRecord(
                    cell=cell["id"],
                    block=block,
                    position=position,
                    status="done",
                    plan={"schema": "dbdyno.plan/1", "seed": seed},
                    result=result,
                    intervals=intervals(result, rng),
                    started="2026-03-14T10:00:00.000+00:00",
                    durations={"load_s": 0.0, "copy_s": 0.21, "total_s": seconds + 1.4},
                )
            )
    return made


def lookup_design(threads: tuple[int, ...] = (1, 2, 4, 8), shared: tuple[int, ...] = (1, 2, 4)) -> dict[str, Any]:
    cells = [("private", n) for n in threads] + [("shared", n) for n in shared]
    return {
        "question": "How does a primary-key lookup scale with threads, with private and with shared page caches?",
        "factors": {"cache": ["private", "shared"], "threads": list(threads)},
        "cells": [
            {"id": f"cache={mode},threads={n}", "system": "sqlite:", "factors": {"cache": mode, "threads": n}}
            for mode, n in cells
        ],
        "rounds": 5,
        "measure": {"unit": "statement", "label": "lookups"},
        "report": {"x": "threads", "by": "cache"},
        "margin": 0.02,
    }


def run_record(design: dict[str, Any], **changes: Any) -> RunRecord:
    values: dict[str, Any] = {
        "id": "20260314-syn7",
        "experiment": "pk-lookup",
        "seed": 42,
        "design": design,
        "definition": '[experiment]\nname = "pk-lookup"\n',
        "command": ["dbdyno", "run", "pk-lookup", "--rounds", "5"],
        "host": {"os": "Linux 6.1 (synthetic)", "cpu": "synthetic CPU", "cores": 4, "memory_bytes": 16 * 2**30},
        "device": {
            "sync_us": 820.0,
            "sync_per_s": 1219.5,
            "random_read": [
                {"depth": 1, "per_s": 9000.0, "mean_us": 111.0},
                {"depth": 8, "per_s": 61000.0, "mean_us": 131.0},
            ],
        },
        "ceiling": {"operations_per_s": 16_000_000.0},
        "version": "0.0.0",
        "status": "done",
        "started": "2026-03-14T10:00:00.000+00:00",
        "ended": "2026-03-14T10:03:10.000+00:00",
    }
    return RunRecord(**(values | changes))


PUBLISHED: dict[str, Any] = {
    f"cache={mode},threads={n}": {
        "value": value,
        "unit": "lookups/s",
        "source": "SYNTHETIC figures",
        "machine": "a machine of the past",
        "year": 2015,
    }
    for mode, n, value in (
        ("private", 1, 34000.0),
        ("private", 2, 50000.0),
        ("private", 4, 50000.0),
        ("shared", 1, 33000.0),
    )
}


def lookup_document(rounds: int = 5, seed: int = 42) -> Document:
    """A whole document of a synthetic lookup run with one failed trial, of which the caller may change anything."""
    # Working one out takes longer than most of the tests that ask for one.
    made: Document = pickle.loads(_lookup_document(rounds, seed))
    return made


@cache
def _lookup_document(rounds: int, seed: int) -> bytes:
    design = lookup_design()
    trials = lookup_trials(design, rounds, seed)
    last = trials[-1]
    trials[-1] = TrialRecord(
        cell=last.cell,
        block=last.block,
        position=last.position,
        status="failed",
        error="the worker was killed by signal 9",
        error_kind="killed",
        started=last.started,
    )
    return pickle.dumps(build_document(run_record(design), trials, published=copy.deepcopy(PUBLISHED)))


UPDATE_RATES = {1: 61.0, 1000: 640.0, 10_000: 560.0}


def update_result(rows: int, rng: random.Random, *, system: str = "sqlite:", busy: int = 0) -> dict[str, Any]:
    """The result event of a trial of random updates in transactions of some rows; ``busy`` of them failed."""
    seconds = 5.0
    rate = UPDATE_RATES[rows] * rng.gauss(1, 0.02) * (3 if "wal" in system else 1)
    ok = max(1, int(rate * seconds / rows))
    sync = 0.9 if rows == 1 else 0.25
    us = seconds / ok * 1e6
    durability = (
        {"class": "process-safe", "because": "synchronous=NORMAL with a write-ahead log"}
        if "wal" in system
        else {"class": "power-safe", "because": "synchronous=FULL with a rollback journal"}
    )
    changes = {
        "accounting": {"issued": ok + busy, "ok": ok, "failed": {"locked": busy} if busy else {}},
        "failures": {"locked": "database is locked"} if busy else {},
        **rate_of(ok, 1, seconds),
        "work": {
            "transactions": ok,
            "statements": ok * rows,
            "rows_returned": 0,
            "rows_returned_squared": 0.0,
            "rows_changed": ok * rows,
            "transactions_changing": ok,
        },
        "histograms": {"service": histogram(round(us), ok), "commit": histogram(round(us * sync), ok)},
        "cpu": {"process_percent": 6.0, "hottest_thread_percent": 6.0},
        "disk": {"writes": ok * 6, "write_bytes": ok * 20480, "flushes": ok * 3, "flush_ms": 1.9},
        "io": {"syncs": ok * 3, "writes": ok * 5},
        "engine": {"durability": durability},
        "time": {
            "segments": dict.fromkeys(Segments.model_fields, 0.0)
            | {
                "sync": sync * seconds,
                "read": 0.04 * seconds,
                "write": 0.02 * seconds,
                "engine": 0.03 * seconds,
                "unknown": 0.01 * seconds,
            }
        },
    }
    base = TrialResult.model_validate(lookup_result(1, "private", rng, seconds))
    return as_stored(changed(base, changes))


def update_document(rounds: int = 5, systems: tuple[str, ...] = ("sqlite:",)) -> Document:
    """A whole document of a synthetic update run; of two systems the second is less durable. It may be changed."""
    made: Document = pickle.loads(_update_document(rounds, systems))
    return made


@cache
def _update_document(rounds: int, systems: tuple[str, ...]) -> bytes:
    rng = random.Random(7)
    design = {
        "question": "How does the size of the transaction change random updates?",
        "factors": {"system": list(systems), "rows_per_transaction": list(UPDATE_RATES)},
        "cells": [
            {
                "id": f"system={system},rows_per_transaction={rows}",
                "system": {"name": system},
                "factors": {"system": system, "rows_per_transaction": rows},
            }
            for system in systems
            for rows in UPDATE_RATES
        ],
        "rounds": rounds,
        "measure": {"unit": "row", "label": "updates"},
        "report": {"x": "rows_per_transaction", "by": None},
    }
    trials = []
    for block in range(rounds):
        for position, cell in enumerate(design["cells"]):
            rows = cell["factors"]["rows_per_transaction"]
            result = update_result(rows, rng, system=cell["factors"]["system"], busy=3 if rows == 1000 else 0)
            trials.append(
                TrialRecord(
                    cell=cell["id"],
                    block=block,
                    position=position,
                    status="done",
                    result=result,
                    intervals=intervals(result, rng),
                )
            )
    return pickle.dumps(build_document(run_record(design, experiment="pk-update"), trials))


def run_of(
    run_id: str, levels: dict[str, list[float]], *, host: dict[str, Any] | None = None, **engine: Any
) -> tuple[RunRecord, list[TrialRecord]]:
    """A run whose cells have these throughputs, a round each."""
    cells = [{"id": f"threads={name}", "factors": {"threads": name}, "system": {"name": "sqlite:"}} for name in levels]
    run = RunRecord(
        id=run_id,
        experiment="small",
        seed=1,
        design={"cells": cells},
        definition="",
        command=["dbdyno"],
        options={},
        host=host or {"cpu": "a", "cores": 2},
        version="1",
        started="2026-01-01T00:00:00Z",
    )
    trials = [
        TrialRecord(cell=f"threads={name}", block=block, position=0, status="done", result=_trial_of(value, engine))
        for name, values in levels.items()
        for block, value in enumerate(values)
    ]
    return run, trials


def _trial_of(throughput: float, engine: dict[str, Any]) -> dict[str, Any]:
    """A trial of a thousand transactions."""
    ms, seconds = 1000 / throughput, 1000 / throughput
    times = Times(p50=ms, p90=ms, p99=ms, p99_9=ms, max=ms, mean=ms, count=1000, at_least=[])
    made = result_of(
        accounting={"issued": 1000, "ok": 1000},
        **rate_of(1000, 1, seconds),
        elapsed_s=seconds,
        watched_s=seconds,
        work={
            "transactions": 1000,
            "statements": 1000,
            "rows_returned": 1000,
            "rows_returned_squared": 1000.0,
            "rows_changed": 1000,
            "transactions_changing": 1000,
        },
        io={"syncs": 1000},
        latency_ms={"service": times},
        engine=engine,
    )
    return as_stored(made)
