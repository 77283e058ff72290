"""What is measured of the machine itself, with the real worker."""

import os
import signal
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from conftest import Cli
from dbdyno.base.errors import SystemFailed
from dbdyno.engines.url import parse_url
from dbdyno.experiment.compile import compile_cell
from dbdyno.experiment.document import parse
from dbdyno.experiment.experiment import make_experiment
from dbdyno.experiment.resolve import resolve
from dbdyno.model.events.answers import Device
from dbdyno.model.events.machine import DeviceFacts
from dbdyno.model.plan.cell import Cell, CompiledCell
from dbdyno.model.plan.tasks import DeviceTask
from dbdyno.model.plan.worker_plan import PLAN
from dbdyno.run import machine
from dbdyno.run.machine import ceiling
from dbdyno.runtime.worker import ask
from dbdyno.runtime.workspace.interruption import Interruption
from dbdyno.store import open_store
from waiting import eventually

# Whoever thinks here does so for longer than anything is measured.
THINKING = """
name = "thinking"
title = "Clients that think"

[load]
clients = 2
arrival = { rate = 1 }
stop = { transactions = 1 }

[[transactions]]
name = "t"
steps = [
    { think = 3600000 },
    { think = 3600000000, unit = "us" },
    { set = "i", value = { uniform = [1, 9] } },
    { when = "i > 0", then = [{ think = 3600000 }], else = [{ think = 3600000 }] },
    { chance = 1.0, then = [{ repeat = 2, steps = [{ think = 3600000 }, { execute = "select 1" }] }] },
    { repeat = 1000000000, steps = [{ repeat = 1000000000, steps = [{ think = 3600000 }] }] },
]
"""


def compiled(text: str) -> CompiledCell:
    experiment = make_experiment(parse(text, "test", Path()))
    return compile_cell(experiment, resolve(experiment, Cell("a", {}, parse_url("sqlite:"))))


@pytest.mark.parametrize(
    ("seconds", "size"), [(None, 64 << 20), ("0.1", 16 << 20), ("0.01", 4 << 20), ("0.001", 4 << 20), ("2", 64 << 20)]
)
def test_the_device_is_measured_for_as_long_as_was_said(
    seconds: str | None, size: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[DeviceTask] = []
    facts = DeviceFacts(
        sync_us=1.0,
        sync_per_s=1e6,
        sync_min_us=1.0,
        sync_p50_us=1.0,
        sync_p99_us=1.0,
        large_sync_us=2.0,
        large_sync_bytes=1 << 20,
        random_read=[],
        random_write=[],
        direct=True,
    )
    answer = Device(event="device", device=facts)
    monkeypatch.setattr(machine, "ask", lambda plan, *_: asked.append(plan.task) or answer)
    monkeypatch.delenv("DBDYNO_PROBE_SECONDS", raising=False)
    if seconds is not None:
        monkeypatch.setenv("DBDYNO_PROBE_SECONDS", seconds)
    expected = float(seconds or 0.4)
    assert machine.device_facts(tmp_path, Interruption(), machine.probe_seconds()) == facts.model_dump() | {
        "probe_s": expected
    }
    assert (asked[0].seconds, asked[0].bytes) == (expected, size)


@pytest.mark.parametrize("seconds", ["soon", "0", "-1", "61", "nan"])
def test_a_time_that_is_none_is_told_before_anything_runs(seconds: str, cli: Cli) -> None:
    cli.environment["DBDYNO_PROBE_SECONDS"] = seconds
    said = cli("run", "pk-lookup", "--store", "runs.db", code=2)
    assert f"DBDYNO_PROBE_SECONDS: `{seconds}` is not a time from 0.001 to 60 s; give seconds, as 0.4" in said
    assert open_store(str(cli.directory / "runs.db")).runs() == []


def test_a_run_says_how_long_the_device_was_measured(cli: Cli, small: Callable[..., str]) -> None:
    document = cli.run(cli.write("small.toml", small()), "--rounds", "1")
    assert document["device"]["probe_s"] == 0.001
    assert document["device"]["sync_us"] > 0


def test_the_ceiling_is_of_clients_that_do_not_think() -> None:
    cell = compiled(THINKING)
    assert ceiling(cell, 0.05)["operations_per_s"] > 0
    assert cell.task.transactions[0].steps[0].do == "think", "the trial itself is left as it is"


def test_a_device_measurement_that_something_else_stops_has_failed(tmp_path: Path) -> None:
    task = {"kind": "device", "directory": str(tmp_path), "seconds": 600, "bytes": 1 << 20, "depths": [1]}

    def stop(worker: int) -> None:
        def when_it_measures() -> None:
            eventually(lambda: any(tmp_path.iterdir()))
            os.kill(worker, signal.SIGTERM)

        threading.Thread(target=when_it_measures).start()

    with pytest.raises(SystemFailed, match="the worker was killed by signal 15"):
        ask({"schema": PLAN, "seed": 1, "task": task}, Device, started=stop)
