"""Statements against each other, as an experiment."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from dbdyno.base.errors import InputError
from dbdyno.experiment.experiment import Experiment
from dbdyno.experiment.factors import QUERY_FACTOR
from dbdyno.experiment.parameter_values import Column
from dbdyno.experiment.queries import Query, as_query, experiment_of_levels, statement_levels
from dbdyno.model.experiment.sql import ANY

NAMES = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth")
"""What statements are called, in the order in which they are given."""


def statements_experiment(
    statements: Sequence[str],
    given: Mapping[str, str] | None = None,
    engine: str = ANY,
    sample: Callable[[Column], Sequence[Any]] = lambda _: (),
) -> Experiment:
    """Make an experiment of statements that one client runs, each by itself, on an existing database.

    ``given``: values of parameters, written as ``:name``; ``engine``: the one that gets the statements as they are
    written, or ``any`` if they are to be translated; ``sample``: draws values of a column. Raises InputError for too
    many, for one that is empty, and for a parameter without values.
    """
    if len(statements) > len(NAMES):
        raise InputError("try", f"{len(statements)} statements are given", f"give {len(NAMES)} at most")
    queries: list[Query] = []
    for name, text in zip(NAMES, statements, strict=False):
        query = as_query(text, name, engine)
        if query is None:
            raise InputError("try", f"the {name} statement is empty", "write one such as 'select count(*) from orders'")
        queries.append(query)
    levels = statement_levels(queries, given or {}, "try", sample)
    several = len(levels) > 1
    head = {
        "name": "try",
        "title": "Statements against each other" if several else "A statement",
        "question": "; ".join(f"{name}: {_short(level['sql'])}" for name, level in levels.items()),
        # Which of them is asked, whatever values it is asked with.
        "report": {"roles": {QUERY_FACTOR: "choice"}},
    }
    return experiment_of_levels(head, levels, "try", engine)


def _short(sql: str, most: int = 60) -> str:
    words = " ".join(sql.split())
    return words if len(words) <= most else words[: most - 2] + " …"
