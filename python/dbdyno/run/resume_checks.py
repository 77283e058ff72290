"""Checks before a run is resumed. A shared store also contains runs of other people and machines."""

from collections.abc import Mapping
from typing import Any

from dbdyno.base.errors import InputError
from dbdyno.model.result.reading import part
from dbdyno.runtime.cluster.machines import LoadMachines
from dbdyno.store import RunRecord
from dbdyno.store.process import is_running
from dbdyno.store.same_machine import same_machine
from dbdyno.store.store import running_error


def check_is_free(run: RunRecord) -> None:
    """Raise InputError if a process of this machine is carrying out the run."""
    if run.status == "running" and is_running(part(run.options, "process")):
        raise running_error(run)


def check_machine(run: RunRecord, host: Mapping[str, Any]) -> None:
    """Raise InputError if a run was begun on another machine. ``host``: the facts of this one."""
    if run.host and not same_machine(run.host, dict(host)):
        problem = "it was begun on another machine, or with its data on another device"
        raise InputError(f"run {run.id}", problem, "go on with it there, or start it again here")


def check_resumable(run: RunRecord) -> None:
    """Raise InputError for a gate and for a search, whose state is not stored."""
    if part(run.design, "against"):
        raise InputError(f"run {run.id}", "a gate's run is not gone on with: its baseline is gone", "start it again")
    if part(run.design, "slo"):
        raise InputError(f"run {run.id}", "a search for the highest rate cannot be resumed", "start it again")


def check_load_machines(run: RunRecord, machines: LoadMachines | None) -> None:
    """Raise InputError if a run was begun with another number of load machines."""
    before = len(run.options.get("load_machines", []))
    if machines is not None and len(machines) != before:
        problem = f"it was begun with {before} load machines, and there are {len(machines)}"
        raise InputError("--resume", problem, "bring the cluster to as many, or start the run again")
