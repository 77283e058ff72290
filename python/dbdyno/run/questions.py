"""Ask a system for single values."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from dbdyno.experiment.compile import compile_cell
from dbdyno.experiment.design import make_cells
from dbdyno.experiment.statements import statements_experiment
from dbdyno.model.events.answers import Answer
from dbdyno.model.plan.system import SystemSpec
from dbdyno.model.plan.tasks import AskTask
from dbdyno.model.plan.worker_plan import WorkerPlan
from dbdyno.run.provisioners import Provisioners
from dbdyno.runtime.worker import ask


@contextmanager
def questions(system: SystemSpec, directory: str | None = None) -> Iterator[Callable[[str], str | None]]:
    """Provide a function that runs a query for one value; ``None`` for null. It raises SystemFailed.

    Files are copied first. ``directory``: where trials work. Raises DbdynoError if the system is unavailable.
    """
    experiment = statements_experiment(["select 1"], engine=system.engine)
    compiled = compile_cell(experiment, make_cells(experiment, {}, [system]).cells[0])
    with Provisioners(directory) as provisioners:
        provisioner = provisioners.of(compiled)
        provisioner.check(compiled)
        with provisioner.ready(compiled, 0) as ready:
            target = ready.target

            def answer(question: str) -> str | None:
                return ask(WorkerPlan(task=AskTask(target=target, sql=question)), Answer).answer

            yield answer
