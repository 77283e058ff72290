"""Statements against each other, as an experiment."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import tomli_w

from dbdyno.errors import InputError
from dbdyno.experiment.document import parse
from dbdyno.experiment.experiment import Experiment, make_experiment
from dbdyno.experiment.factors import QUERY_FACTOR
from dbdyno.experiment.queries import Column, Query, as_query, statement_levels

NAMES = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth")
"""What statements are called, in the order in which they are given."""

_WARMUP_S, _WINDOW_S = 0.1, 0.5


def statements_experiment(
    statements: Sequence[str],
    given: Mapping[str, str] | None = None,
    engine: str = "sqlite",
    sample: Callable[[Column], Sequence[Any]] = lambda _: (),
) -> Experiment:
    """Make an experiment of statements that one client runs, each by itself, on a database that is there.

    ``given``: values of parameters, which stand in them as ``:name``; ``engine``: how they are read; ``sample``: draws
    values of a column. Raises InputError for too many, for one that is empty, and for a parameter without values.
    """
    if len(statements) > len(NAMES):
        raise InputError("try", f"{len(statements)} statements are given", f"give {len(NAMES)} at most")
    queries: list[Query] = []
    for name, text in zip(NAMES, statements, strict=False):
        query = as_query(text.strip().rstrip(";"), name, engine)
        if query is None:
            raise InputError("try", f"the {name} statement is empty", "write one such as 'select count(*) from orders'")
        queries.append(query)
    levels = statement_levels(queries, given or {}, "try", sample)
    several = len(levels) > 1
    data = {
        "name": "try",
        "title": "Statements against each other" if several else "A statement",
        "question": "; ".join(f"{name}: {_short(level['sql'])}" for name, level in levels.items()),
        "rounds": "auto",
        "factors": {QUERY_FACTOR: levels},
        "load": {"warmup": {"seconds": _WARMUP_S}, "stop": {"seconds": _WINDOW_S}},
        "measure": {"label": "executions", "estimates": True},
        # Which of them is asked, whatever values it is asked with.
        "report": {"roles": {QUERY_FACTOR: "choice"}},
        "transactions": [
            {
                "name": "statement",
                "steps": [{"execute": f"${{{QUERY_FACTOR}.sql}}", "params": f"${{{QUERY_FACTOR}.params}}"}],
            }
        ],
    }
    return make_experiment(parse(tomli_w.dumps(data), "try", Path()))


def _short(sql: str, most: int = 60) -> str:
    words = " ".join(sql.split())
    return words if len(words) <= most else words[: most - 2] + " …"
