"""Statements against each other, as an experiment."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import tomli_w

from dbdyno.errors import InputError
from dbdyno.experiment.document import parse
from dbdyno.experiment.experiment import Experiment, make_experiment

NAMES = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth")
"""What statements are called, in the order in which they are given."""

_WARMUP_S, _WINDOW_S = 0.1, 0.5


def statements_experiment(statements: Sequence[str]) -> Experiment:
    """Make an experiment of statements that one client runs, each by itself, on a database that is there.

    Raises InputError for too many, and for one that is empty.
    """
    if len(statements) > len(NAMES):
        raise InputError("try", f"{len(statements)} statements are given", f"give {len(NAMES)} at most")
    levels: dict[str, Any] = {}
    for name, text in zip(NAMES, statements, strict=False):
        sql = text.strip().rstrip(";").strip()
        if not sql:
            raise InputError("try", f"the {name} statement is empty", "write one such as 'select count(*) from orders'")
        levels[name] = {"sql": sql}
    several = len(levels) > 1
    data = {
        "name": "try",
        "title": "Statements against each other" if several else "A statement",
        "question": "; ".join(f"{name}: {_short(level['sql'])}" for name, level in levels.items()),
        "rounds": "auto",
        "factors": {"statement": levels},
        "load": {"warmup": {"seconds": _WARMUP_S}, "stop": {"seconds": _WINDOW_S}},
        "measure": {"label": "executions"},
        "transactions": [{"name": "statement", "steps": [{"execute": "${statement.sql}"}]}],
    }
    return make_experiment(parse(tomli_w.dumps(data), "try", Path()))


def _short(sql: str, most: int = 60) -> str:
    words = " ".join(sql.split())
    return words if len(words) <= most else words[: most - 2] + " …"
