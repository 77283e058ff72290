"""Apply the change of a `dbdyno why` trial: a competing program, or fewer CPUs."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

from dbdyno.run.provisioners import Ready
from dbdyno.run.trial import Trial
from dbdyno.runtime.workspace.cpu_competitor import compete_for_cpus
from dbdyno.runtime.workspace.processors import bind_all


@contextmanager
def apply_change(trial: Trial, system: Ready) -> Iterator[None]:
    """Bind a trial and its system to the CPUs of its change, and run its competitor. Raises SystemFailed."""
    trial.load = system.load
    change = trial.compiled.change
    if change is None:
        yield
        return
    processors = change.processors or tuple(sorted(os.sched_getaffinity(0)))
    if change.processors:
        trial.load = change.processors
        server = system.target.get("process", {}).get("pid")
        if server is not None:
            bind_all(server, change.processors)
    with compete_for_cpus(change.competitor, processors) as told:
        yield
    if change.competitor:
        trial.around["competed"] = {"share": change.competitor, "took": told.used_share}
