"""Values of a column that is there, drawn by the system itself: what parameters of a user's statements take."""

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
from dbdyno.model.plan.cell import PLAN
from dbdyno.model.plan.system import SystemSpec
from dbdyno.run.provisioners import Provisioners
from dbdyno.runtime.worker import ask

_NAME = re.compile(r"[\w.$]+|\"[^\"]+\"|`[^`]+`|[\w.$\"`]+")
_HINT = 'name a table and a column that are there, in quotes where SQL wants them: `@"e mail" of "order"`'


def sample_column(
    system: SystemSpec, table: str, column: str, most: int, directory: str | None = None
) -> list[int | float | str]:
    """Draw at most so many values of a column, each row as likely as another. Nulls are left out.

    ``directory``: where trials work. Raises InputError where there is no such column, or the engine cannot say its
    values in one answer; DbdynoError where the system cannot be had.
    """
    place = f"@{column} of {table}"
    if not (_NAME.fullmatch(table) and _NAME.fullmatch(column)):
        raise InputError(place, "that is no name of a column and a table", _HINT)
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
            task = {"kind": "ask", "target": ready.target, "sql": question}
            answer = _ask(task, place, system)
    values: list[Any] = json.loads(answer) if answer else []
    drawn = [each for each in values if isinstance(each, int | float | str) and not isinstance(each, bool)]
    if not drawn:
        raise InputError(place, "the column has no values", "name one that has")
    return drawn


def _ask(task: dict[str, Any], place: str, system: SystemSpec) -> str | None:
    try:
        return ask({"schema": PLAN, "seed": 1, "task": task}, Answer).answer
    except SystemFailed as error:
        raise InputError(f"{system.name}: {place}", str(error), _HINT) from error
