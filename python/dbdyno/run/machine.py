"""Facts about the machine, the speed of its storage, and the rate of the worker without a database."""

import os
import platform
import sys
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from dbdyno.base.errors import InputError, SystemFailed
from dbdyno.engines.null import TARGET
from dbdyno.model.events.answers import Device
from dbdyno.model.events.reading import ReceivedEvent
from dbdyno.model.events.trial import TrialResult
from dbdyno.model.plan.cell import CompiledCell
from dbdyno.model.plan.steps import without_pauses
from dbdyno.model.plan.tasks import Closed, DeviceTask, Warmup, Window
from dbdyno.model.plan.worker_plan import WorkerPlan
from dbdyno.runtime.cluster.machines import LoadMachines
from dbdyno.runtime.worker import Worker, ask
from dbdyno.runtime.workspace.interruption import Interruption

# Seconds of one measurement of the device, and of the worker's ceiling. Shorter device measurements use a smaller file.
_USUAL_SECONDS = 0.4
# Largest share of a run's budget for one measurement; there are about ten.
_SHARE_OF_BUDGET = 0.01
_MIN_SECONDS, _MAX_SECONDS = 0.001, 60.0
_VARIABLE = "DBDYNO_PROBE_SECONDS"

_DEVICE_BYTES = 64 << 20
_MIN_BYTES = 4 << 20
_DEVICE_DEPTHS = (1, 4, 16)

# The window of the worker's ceiling is at least this long, since other threads may hold the CPU for some milliseconds.
# The warm-up is a share of it.
_MIN_CEILING_S = 0.01
_WARMUP = 0.25

# Upper limit in seconds for all device measurements; slow devices take long to write the file.
_TIMEOUT_S = 600.0


def busy_seconds(times: Any) -> float:
    """Return the CPU seconds of ``psutil.cpu_times()`` that were not idle."""
    return float(sum(times) - times.idle - getattr(times, "iowait", 0.0) - getattr(times, "guest", 0.0))


def check_processes() -> None:
    """Raise SystemFailed if /proc cannot be read, which every run needs."""
    if sys.platform == "linux" and not Path("/proc/self/stat").exists():
        raise SystemFailed("/proc: not mounted; dbdyno reads there what processes use: `mount -t proc proc /proc`")


def host_facts(directory: Path) -> dict[str, Any]:
    """Describe this machine and the file system of ``directory``."""
    import psutil

    mount = _mount(directory)
    return {
        "cpu": _cpu_name(),
        "cores": len(os.sched_getaffinity(0)),
        "memory_bytes": psutil.virtual_memory().total,
        "system": f"{platform.system()} {platform.release()}",
        "machine": platform.machine(),
        "libc": " ".join(platform.libc_ver()),
        "file_system": mount[1],
        "device": mount[0],
        "clock_source": _line("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
        "governor": _line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        "python": platform.python_version(),
    }


def probe_seconds(budget_s: float | None = None) -> float:
    """Return the length of one measurement of the machine, in seconds: 0.4, or less if the run has a short budget.

    ``DBDYNO_PROBE_SECONDS`` sets another length. Raises InputError if it is not a length.
    """
    text = os.environ.get(_VARIABLE)
    if not text:
        share = _USUAL_SECONDS if budget_s is None else _SHARE_OF_BUDGET * budget_s
        return max(min(_USUAL_SECONDS, share), _MIN_SECONDS)
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not _MIN_SECONDS <= seconds <= _MAX_SECONDS:
        problem = f"`{text}` is not a time from {_MIN_SECONDS:g} to {_MAX_SECONDS:g} s"
        raise InputError(_VARIABLE, problem, f"give seconds, as {_USUAL_SECONDS:g}")
    return seconds


def device_facts(directory: Path, interrupted: Interruption, seconds: float) -> dict[str, Any]:
    """Measure the device of a directory: syncs and random reads per second. ``seconds``: length of each measurement.

    Raises SystemFailed and RunInterrupted.
    """
    task = DeviceTask(
        directory=str(directory),
        seconds=seconds,
        bytes=max(_MIN_BYTES, round(_DEVICE_BYTES * min(1.0, seconds / _USUAL_SECONDS))),
        depths=_DEVICE_DEPTHS,
    )
    facts = ask(WorkerPlan(task=task), Device, _TIMEOUT_S, interrupted).device
    return facts.model_dump(mode="json") | {"probe_s": seconds}


def ceiling(compiled: CompiledCell, seconds: float, machines: LoadMachines | None = None) -> dict[str, Any]:
    """Measure one client's rate for the cell's transactions with the null engine, in statements per second.

    ``seconds``: length of the window. If ``machines`` generate the load, the slowest one counts.

    The window ends by time only, because a transaction that repeats a statement many thousand times is one long
    operation of the null engine, too. Think times are left out, because the ceiling is the rate that clients could
    reach. Raises TrialFailed.
    """
    seconds = max(seconds, _MIN_CEILING_S)
    task = replace(
        compiled.task,
        transactions=[without_pauses(transaction) for transaction in compiled.task.transactions],
        target=TARGET,
        clients=1,
        arrival=Closed(),
        connect="once",
        beside=(),
        warmup=Warmup(seconds=_WARMUP * seconds),
        window=Window(seconds=seconds),
        # Leave out changes: they add delays, and there are no calls to count.
        changes=None,
    )
    plan = WorkerPlan(task=task)
    if machines is None:
        return _ceiling(Worker(plan, _TIMEOUT_S))
    machines.ready()
    # A single worker can start at any time.
    each = [_ceiling(machines.worker(number, plan, _TIMEOUT_S, 0)) for number in range(len(machines))]
    return min(each, key=lambda found: float(found.get("operations_per_s", 0.0)))


def _ceiling(worker: Iterable[ReceivedEvent]) -> dict[str, Any]:
    for received in worker:
        result = received.event
        if isinstance(result, TrialResult) and result.elapsed_s > 0:
            return {"operations_per_s": result.work.statements / result.elapsed_s, "clock": result.clock}
    return {}


def _cpu_name() -> str:
    for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        key, _, value = line.partition(":")
        if key.strip() == "model name":
            return value.strip()
    return platform.processor()


def _mount(directory: Path) -> tuple[str, str]:
    """Return device and type of the file system that holds a directory."""
    best = ("", "", "")
    for line in Path("/proc/mounts").read_text(encoding="utf-8").splitlines():
        device, point, kind = line.split()[:3]
        inside = directory.is_relative_to(point)
        if inside and len(point) >= len(best[0]):
            best = (point, device, kind)
    return best[1], best[2]


def in_memory(path: Path) -> str | None:
    """Return the type of a path's file system if it is in memory; ``None`` if it is on a device."""
    kind = _mount(path)[1]
    return kind if kind in ("tmpfs", "ramfs") else None


def _line(path: str) -> str | None:
    try:
        return Path(path).read_text(encoding="utf-8").strip()
    except OSError:
        return None
