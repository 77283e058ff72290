"""Sample values of an existing column, for the parameters of a user's statements."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

from dbdyno.base.errors import InputError, SystemFailed
from dbdyno.engines import engine_of
from dbdyno.experiment.distil.parameters import ColumnFacts
from dbdyno.experiment.samples import MAX_VALUES
from dbdyno.model.plan.system import SystemSpec
from dbdyno.run.questions import questions

_NAME = re.compile(r"[\w.$]+|\"[^\"]+\"|`[^`]+`|[\w.$\"`]+")
_HINT = 'name an existing table and column, quoted as in SQL: `@"e mail" of "order"`'


def sample_column(
    system: SystemSpec, table: str, column: str, most: int, directory: str | None = None
) -> list[int | float | str]:
    """Draw up to ``most`` values of a column, with equal probability for each row. Nulls are left out.

    ``directory``: where trials work. Raises InputError if the column doesn't exist or the engine cannot return its
    values at once, and DbdynoError if the system is unavailable.
    """
    location = f"@{column} of {table}"
    if not (_NAME.fullmatch(table) and _NAME.fullmatch(column)):
        raise InputError(location, "this is not a column and a table", _HINT)
    engine = engine_of(system.engine)
    question = engine.sample(table, column, most)
    if question is None:
        raise InputError(location, f"{engine.title} does not give values of a column", "give a range or a list")
    with questions(system, directory) as answer_to:
        try:
            answer = answer_to(question)
        except SystemFailed as error:
            raise InputError(f"{system.name}: {location}", str(error), _HINT) from error
    values: list[Any] = json.loads(answer) if answer else []
    drawn = [value for value in values if isinstance(value, int | float | str) and not isinstance(value, bool)]
    if not drawn:
        raise InputError(location, "the column is empty", "name another column")
    return drawn


def column_facts(answer: Callable[[str], str | None], engine: str, table: str, column: str) -> ColumnFacts | None:
    """Describe a column; ``None`` if it doesn't exist or the engine doesn't return its values.

    ``answer``: runs a query for one value.
    """
    question = engine_of(engine).sample(table, column, MAX_VALUES)
    if question is None or not (_NAME.fullmatch(table) and _NAME.fullmatch(column)):
        return None
    try:
        sample = json.loads(answer(question) or "[]")
        if not sample:
            return None
        ends: list[int | None] = [None, None]
        if all(isinstance(each, int) and not isinstance(each, bool) for each in sample):
            ends = [int(answer(f"select {end}({column}) from {table}") or 0) for end in ("min", "max")]  # noqa: S608
        rows = int(answer(f"select count(*) from {table}") or 0)  # noqa: S608
    except (SystemFailed, ValueError):
        return None
    keys = column_keys(answer, engine, table, column)
    unique, foreign = (None, None) if keys is None else (bool(keys.get("unique")), bool(keys.get("foreign")))
    return ColumnFacts(rows, ends[0], ends[1], sample, unique, foreign)


def column_keys(answer: Callable[[str], str | None], engine: str, table: str, column: str) -> dict[str, Any] | None:
    """Return the answer to the engine's question for keys, see :attr:`Engine.column_keys`; ``None``: unknown."""
    question = engine_of(engine).column_keys
    if question is None:
        return None
    names = (each.strip('`"').replace("'", "''") for each in (table, column))
    table_name, column_name = (f"'{name}'" for name in names)
    try:
        found: dict[str, Any] = json.loads(answer(question.format(table=table_name, column=column_name)) or "{}")
        if isinstance(found.get("foreign"), str):
            # Some engines return nested arrays as strings.
            found["foreign"] = json.loads(found["foreign"])
    except (SystemFailed, ValueError):
        return None
    return found
