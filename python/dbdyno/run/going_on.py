"""Whether a run can go on here and now. In a team's store the last run may be somebody else's."""

from collections.abc import Mapping
from typing import Any

from dbdyno.base.errors import InputError
from dbdyno.model.result.reading import part
from dbdyno.store import RunRecord
from dbdyno.store.process import is_here
from dbdyno.store.same_machine import same_machine
from dbdyno.store.store import under_way


def check_is_free(run: RunRecord) -> None:
    """Check that no process of this machine is carrying a run out. Raises InputError."""
    if run.status == "running" and is_here(part(run.options, "process")):
        raise under_way(run)


def check_machine(run: RunRecord, host: Mapping[str, Any]) -> None:
    """Check that the trials of a run were measured on a machine like this. ``host``: its facts. Raises InputError."""
    if run.host and not same_machine(run.host, dict(host)):
        problem = "it was begun on another machine, or with its data on another device"
        raise InputError(f"run {run.id}", problem, "go on with it there, or start it again here")
