"""Create an experiment that compares statements (``dbdyno try``)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dbdyno.base.errors import InputError
from dbdyno.experiment.experiment import Experiment
from dbdyno.experiment.factors import QUERY_FACTOR
from dbdyno.experiment.queries import Query, as_query, experiment_of_levels, statement_levels
from dbdyno.model.experiment.sql import ANY

NAMES = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth")
"""Names of the statements, in their order on the command line."""


def statements_experiment(
    statements: Sequence[str],
    given: Mapping[str, str] | None = None,
    engine: str = ANY,
    *,
    keeps_data: bool = False,
) -> Experiment:
    """Create an experiment that measures each statement with one client on an existing database.

    ``given``: values of parameters, which are written as ``:name`` in statements. ``engine``: the engine the statements
    are written for, or ``any`` to translate them. ``keeps_data``: roll back what changes rows. Raises InputError for
    too many statements, an empty statement, and a parameter without values.
    """
    if len(statements) > len(NAMES):
        raise InputError("try", f"{len(statements)} statements; the limit is {len(NAMES)}", "give fewer")
    queries: list[Query] = []
    for name, text in zip(NAMES, statements, strict=False):
        query = as_query(text, name, engine)
        if query is None:
            raise InputError("try", f"the {name} statement is empty", "give one, such as 'select count(*) from orders'")
        queries.append(query)
    levels = statement_levels(queries, given or {}, "try")
    several = len(levels) > 1
    head = {
        "name": "try",
        "title": "Statements against each other" if several else "A statement",
        "question": "; ".join(f"{name}: {_short(level['sql'])}" for name, level in levels.items()),
        # The user chooses between the statements.
        "report": {"roles": {QUERY_FACTOR: "choice"}},
    }
    return experiment_of_levels(head, levels, "try", engine, keeps_data=keeps_data)


def _short(sql: str, most: int = 60) -> str:
    words = " ".join(sql.split())
    return words if len(words) <= most else words[: most - 2] + " …"
