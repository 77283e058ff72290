"""Sample values of an existing column, for the parameters of a user's statements."""

from __future__ import annotations

import json
import re
from typing import Any

from dbdyno.base.errors import InputError, SystemFailed
from dbdyno.engines import engine_of
from dbdyno.experiment.compile import compile_cell
from dbdyno.experiment.design import make_cells
from dbdyno.experiment.statements import statements_experiment
from dbdyno.model.events.answers import Answer
from dbdyno.model.plan.system import SystemSpec
from dbdyno.model.plan.tasks import AskTask
from dbdyno.model.plan.worker_plan import WorkerPlan
from dbdyno.run.provisioners import Provisioners
from dbdyno.runtime.worker import ask

_NAME = re.compile(r"[\w.$]+|\"[^\"]+\"|`[^`]+`|[\w.$\"`]+")
_HINT = 'name an existing table and column, quoted as in SQL: `@"e mail" of "order"`'


def sample_column(
    system: SystemSpec, table: str, column: str, most: int, directory: str | None = None
) -> list[int | float | str]:
    """Draw up to ``most`` values of a column, with equal probability for each row. Nulls are left out.

    ``directory``: where trials work. Raises InputError if the column doesn't exist or the engine cannot return its
    values at once, and DbdynoError if the system is unavailable.
    """
    place = f"@{column} of {table}"
    if not (_NAME.fullmatch(table) and _NAME.fullmatch(column)):
        raise InputError(place, "this is not a column and a table", _HINT)
    engine = engine_of(system.engine)
    question = engine.sample(table, column, most)
    if question is None:
        raise InputError(place, f"{engine.title} does not give values of a column", "give a range or a list")
    experiment = statements_experiment(["select 1"], engine=system.engine)
    compiled = compile_cell(experiment, make_cells(experiment, {}, [system]).cells[0])
    with Provisioners(directory) as provisioners:
        provisioner = provisioners.of(compiled)
        provisioner.check(compiled)
        with provisioner.ready(compiled, 0) as ready:
            answer = _ask(AskTask(target=ready.target, sql=question), place, system)
    values: list[Any] = json.loads(answer) if answer else []
    drawn = [each for each in values if isinstance(each, int | float | str) and not isinstance(each, bool)]
    if not drawn:
        raise InputError(place, "the column is empty", "name another column")
    return drawn


def _ask(task: AskTask, place: str, system: SystemSpec) -> str | None:
    try:
        return ask(WorkerPlan(task=task), Answer).answer
    except SystemFailed as error:
        raise InputError(f"{system.name}: {place}", str(error), _HINT) from error
