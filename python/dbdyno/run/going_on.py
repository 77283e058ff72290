"""Whether a run can go on here and now. In a team's store the last run may be somebody else's."""

from collections.abc import Mapping
from typing import Any

from dbdyno.document.reading import part
from dbdyno.errors import InputError
from dbdyno.machines import same_machine
from dbdyno.store import RunRecord
from dbdyno.store.process import is_here


def check_can_go_on(run: RunRecord, host: Mapping[str, Any]) -> None:
    """See that nobody is carrying a run out, and that its trials were measured on a machine like this.

    ``host``: the facts of this machine. Raises InputError.
    """
    process = part(run.options, "process")
    if run.status == "running" and is_here(process):
        raise InputError(f"run {run.id}", f"it is under way in process {process['pid']}", "wait until that has ended")
    if run.host and not same_machine(run.host, dict(host)):
        problem = "it was begun on another machine, or with its data on another device"
        raise InputError(f"run {run.id}", problem, "go on with it there, or start it again here")
