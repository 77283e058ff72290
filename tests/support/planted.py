"""Stored runs with planted, SYNTHETIC figures: the right answer is known, and no noise can turn it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from hdrh.histogram import HdrHistogram

from conftest import Cli
from dbdyno.model.events.latency import Times
from dbdyno.model.events.observations import Segments
from dbdyno.store import RunRecord, TrialRecord, open_store
from synthetic_events import as_stored, rate_of, result_of

# Noise of each round, other for each cell: too small to turn a verdict.
NOISE = (1.0, 1.01, 0.99, 1.005, 0.995)
LINES = 12


@dataclass(frozen=True)
class Planted:
    """A cell with its figures. ``rate`` per second; times in ms; ``failed``, ``writes`` and ``time``: shares.

    ``offered``: arrivals per second of an open loop; ``time``: where the clients' time went.
    """

    factors: Mapping[str, Any]
    rate: float
    p99: float = 5.0
    slowest: float = 20.0
    failed: float = 0.0
    message: str = "database is locked"
    writes: float = 0.2
    durability: str = "power-safe"
    rows: float = 1.0
    offered: float | None = None
    clients: int = 8
    time: Mapping[str, float] = field(default_factory=dict)
    cpu_percent: float = 50.0
    rates: Iterable[float] = ()
    asked: Mapping[str, Any] = field(default_factory=dict)

    @property
    def system(self) -> str:
        return str(self.factors.get("system", "sqlite:"))

    @property
    def id(self) -> str:
        return ",".join(f"{name}={level}" for name, level in self.factors.items()) or "cell"


def first_lines(
    cli: Cli,
    cells: list[Planted],
    *,
    factors: Mapping[str, list[Any]],
    load: str = "clients = 8",
    definition: str = "",
    **design: Any,
) -> str:
    """Store a run of these cells and return the first twelve lines that `dbdyno show last` writes, as one line."""
    planned = [
        {
            "id": cell.id,
            "factors": dict(cell.factors),
            "system": {"name": cell.system, "engine": cell.system.partition(":")[0]},
            "asked": dict(cell.asked),
        }
        for cell in cells
    ]
    run = RunRecord(
        id="20260314-pla1",
        experiment="mine",
        seed=1,
        design={"cells": planned, "factors": dict(factors), "rounds": len(NOISE), "margin": 0.02, **design},
        definition=_definition(factors, load, definition),
        command=["dbdyno", "run", "mine.toml"],
        options={"place": "mine.toml", "folder": "."},
        host={"cpu": "synthetic", "cores": 4},
        version="1",
        started=datetime.now(UTC).isoformat(),
        ceiling={"operations_per_s": 1_000_000.0},
    )
    with closing(open_store(str(cli.directory / "runs.db"))) as store:
        run_id = store.begin_run(run)
        for place, cell in enumerate(cells):
            noises = [1.0] * len(list(cell.rates)) or [*NOISE[place % 5 :], *NOISE[: place % 5]]
            for block, noise in enumerate(noises):
                store.add_trial(run_id, _trial(cell, place, block, noise))
        store.finish_run(run_id, "done")
    cli.environment["COLUMNS"] = "80"
    lines = cli("show", "last", "--store", "runs.db").splitlines()
    return " ".join(" ".join(lines[:LINES]).split())


def _definition(factors: Mapping[str, list[Any]], load: str, rest: str) -> str:
    """An experiment of these factors; ``rest``: its other keys."""
    levels = "".join(f"{name} = {json.dumps(own)}\n" for name, own in factors.items())
    steps = '[[transactions]]\nname = "t"\nsteps = [{ execute = "select 1" }]\n'
    work = f"[load]\n{load}\nstop = {{ seconds = 10 }}\n"
    return f'name = "mine"\ntitle = "Planted"\n[factors]\n{levels}{work}{rest}\n{steps}'


def _trial(cell: Planted, place: int, block: int, noise: float) -> TrialRecord:
    rates = list(cell.rates)
    rate = rates[block] if rates else cell.rate * (1.0 if cell.offered else noise)
    seconds = 10.0
    ok = int(rate * seconds)
    failed = int(ok * cell.failed / (1 - cell.failed))
    offered = int((cell.offered or 0) * seconds)
    skipped = max(offered - ok - failed, 0)
    ms = 1e3 * cell.clients / rate
    times = Times(
        p50=ms,
        p90=cell.p99 / 2,
        p99=cell.p99 * noise,
        p99_9=cell.p99 * 2,
        max=cell.slowest * noise,
        mean=ms,
        count=ok,
        at_least=["p99", "p99_9", "max"] if skipped else [],
    )
    client_s = cell.clients * seconds
    segments = dict.fromkeys(Segments.model_fields, 0.0) | {
        name: share * client_s for name, share in (cell.time or {"engine": 0.9, "unknown": 0.1}).items()
    }
    result = result_of(
        accounting={
            "issued": ok + failed + skipped,
            "ok": ok,
            "failed": {"locked": failed} if failed else {},
            "skipped": skipped,
        },
        failures={"locked": cell.message} if failed else {},
        **rate_of(ok, cell.clients, seconds),
        elapsed_s=seconds,
        watched_s=seconds,
        work={
            "transactions": ok,
            "statements": ok,
            "rows_returned": int(ok * cell.rows),
            "rows_returned_squared": ok * cell.rows**2,
            "rows_changed": int(ok * cell.writes),
            "transactions_changing": int(ok * cell.writes),
        },
        latency_ms=dict.fromkeys(_times(cell), times),
        histograms=dict.fromkeys(_times(cell), _histogram(ms, cell.p99 * noise, cell.slowest * noise)),
        cpu={"process_percent": cell.cpu_percent, "hottest_thread_percent": cell.cpu_percent, "cores": 4},
        io={"syncs": ok},
        engine={
            "engine": _PRODUCTS.get(cell.system.partition(":")[0], "sqlite"),
            "durability": {"class": cell.durability, "because": "planted"},
        },
        time={"client_s": client_s, "cpu_s": seconds, "segments": segments},
    )
    return TrialRecord(
        cell=cell.id,
        block=block,
        position=place,
        status="done",
        plan={"schema": "dbdyno.plan/1", "task": {"load": {"clients": cell.clients}}},
        result=as_stored(result),
        started="2026-03-14T10:00:00.000+00:00",
        durations={"total_s": seconds + 1},
    )


def _times(cell: Planted) -> tuple[str, ...]:
    return ("service", "response") if cell.offered else ("service",)


def _histogram(usual_ms: float, p99_ms: float, slowest_ms: float) -> str:
    """Times of which 1.5 % are at the p99, and one is the slowest."""
    made = HdrHistogram(1, 3_600_000_000_000, 3)
    made.record_value(max(int(min(usual_ms, p99_ms) * 1e6), 1), 9850)
    made.record_value(int(p99_ms * 1e6), 149)
    made.record_value(int(slowest_ms * 1e6), 1)
    encoded: str = made.encode().decode()
    return encoded


_PRODUCTS = {"sqlite": "sqlite", "postgresql": "PostgreSQL", "mysql": "MariaDB"}
