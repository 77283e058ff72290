"""Clients that never meet on a row: each with keys of its own, in the place of those that it shares with others."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from dbdyno.experiment.compile.generators import compile_expression
from dbdyno.model.experiment.definition import Definition
from dbdyno.model.experiment.expression import parse_expression
from dbdyno.model.experiment.generators import Expression
from dbdyno.model.plan.cell import CompiledCell
from dbdyno.model.plan.steps import PlanStep, flat

# Statements that look for rows by their parameters. Those that make rows have keys of their own anyway.
_LOOKING = ("select", "update", "delete", "with")

_DRAWS = frozenset({"uniform", "zipf", "gaussian"})

# A column that is compared with a value.
_COMPARED = re.compile(r"[\"`\[]?(?P<column>\w+)[\"`\]]?\s*=\s*\?", re.IGNORECASE)


def can_have_own_keys(compiled: CompiledCell) -> bool:
    """Whether a cell's transactions write, and look for rows by keys that can be shared out among its clients."""
    texts = [str(each["sql"]).lstrip().lower() for each in compiled.trial.get("statements", [])]
    writes = any(text.startswith(("update", "delete")) or " for update" in text for text in texts)
    return writes and any(True for _ in _places(compiled.trial, compiled.definition))


def with_own_keys(compiled: CompiledCell) -> dict[str, Any]:
    """Give the task of a cell's trial whose clients have keys of their own: of n clients, each takes every n-th key.

    A key that was the same for all becomes as many as there are clients, counted from it.
    """
    made: dict[str, Any] = _copied(compiled.trial)
    for params, place, key in list(_places(made, compiled.definition)):
        params[place] = key
    # What stood for all values of a parameter does so no longer.
    for statement in made["statements"]:
        statement.pop("example", None)
    return made


def _copied(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _copied(each) for name, each in value.items()}
    return [_copied(each) for each in value] if isinstance(value, list | tuple) else value


def _places(trial: Mapping[str, Any], definition: Definition) -> Iterator[tuple[list[Any], int, dict[str, Any]]]:
    """Give where keys stand among parameters, and what is to stand there."""
    statements, keys, clients = trial.get("statements", []), _keys(definition), definition.load.clients
    for step in _steps(trial):
        if step["do"] != "execute":
            continue
        statement = statements[step["statement"]]
        text, starts = str(statement["sql"]), statement.get("places", [])
        if not text.lstrip().lower().startswith(_LOOKING):
            continue
        for found in _COMPARED.finditer(text):
            rows = keys.get(found["column"].lower())
            start = len(text[: found.end() - 1].encode())
            if rows is None or start not in starts:
                continue
            place = starts.index(start)
            if place >= len(step["params"]):
                continue
            key = _own(step["params"][place], clients, rows)
            if key is not None:
                yield step["params"], place, key


def _keys(definition: Definition) -> dict[str, int]:
    """Give the columns that are primary keys, in small letters, with the rows of the table; of two tables the fewer."""
    found: dict[str, int] = {}
    for table in definition.tables.values():
        for name, column in table.columns.items():
            if column.primary_key:
                found[name.lower()] = min(table.rows, found.get(name.lower(), table.rows))
    return found


def _steps(trial: Mapping[str, Any]) -> Iterator[PlanStep]:
    for each in trial.get("transactions", []):
        yield from flat(each["steps"])


def _own(generator: Mapping[str, Any], clients: int, rows: int) -> dict[str, Any] | None:
    """Give an expression that draws from a client's own keys; None where keys are none that can be counted."""
    match generator:
        case {"kind": "constant", "value": int(value)} if not isinstance(value, bool) and value + clients <= rows:
            return _drawn(value, value + clients - 1, clients)
        case {"kind": kind, "low": int(low), "high": int(high)} if kind in _DRAWS and high - low >= clients:
            return _drawn(low, high, clients)
        case {
            "kind": "reference",
            "of": {"kind": "serial", "start": int(start), "step": 1},
            "row": {"kind": kind, "low": int(low), "high": int(high)},
        } if kind in _DRAWS and high - low >= clients:
            return _drawn(start + low, start + high, clients)
    return None


def _drawn(low: int, high: int, clients: int) -> dict[str, Any]:
    """Give a key of a client's own, of those from ``low`` to ``high``."""
    each = (high - low + 1) // clients
    text = f"{low} + :client_id + {clients} * random(0, {each - 1})"
    return compile_expression(Expression(expression=parse_expression(text)))
