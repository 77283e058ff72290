"""Clients that never access the same row: each client gets its own keys instead of shared ones."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from dbdyno.experiment.compile.generators import compile_expression
from dbdyno.model.experiment.definition import Definition
from dbdyno.model.experiment.expression import parse_expression
from dbdyno.model.experiment.generators import Expression
from dbdyno.model.plan.cell import CompiledCell
from dbdyno.model.plan.steps import PlanStep, flat

# Statements that select rows by their parameters. Inserts use distinct keys anyway.
_LOOKING = ("select", "update", "delete", "with")

_DRAWS = frozenset({"uniform", "zipf", "gaussian"})

# A column that is compared with a value.
_COMPARED = re.compile(r"[\"`\[]?(?P<column>\w+)[\"`\]]?\s*=\s*\?", re.IGNORECASE)


def can_have_own_keys(compiled: CompiledCell) -> bool:
    """Whether a cell's transactions write, and select rows by keys that can be partitioned among its clients."""
    texts = [str(each["sql"]).lstrip().lower() for each in compiled.trial.get("statements", [])]
    writes = any(text.startswith(("update", "delete")) or " for update" in text for text in texts)
    return writes and any(True for _ in _key_places(compiled.trial, compiled.definition))


def with_own_keys(compiled: CompiledCell) -> dict[str, Any]:
    """Return the task of a cell's trial with keys partitioned among n clients: each client uses every n-th key.

    A constant key becomes n consecutive keys that start with it.
    """
    made: dict[str, Any] = _copy(compiled.trial)
    for params, place, key in list(_key_places(made, compiled.definition)):
        params[place] = key
    # The example values no longer represent the parameters.
    for statement in made["statements"]:
        statement.pop("example", None)
    return made


def _copy(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _copy(each) for name, each in value.items()}
    return [_copy(each) for each in value] if isinstance(value, list | tuple) else value


def _key_places(trial: Mapping[str, Any], definition: Definition) -> Iterator[tuple[list[Any], int, dict[str, Any]]]:
    """Yield each parameter that is a key: the list of parameters, the index in it, and the generator to use instead."""
    statements, keys, clients = trial.get("statements", []), _key_columns(definition), definition.load.clients
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
            key = _partitioned_key(step["params"][place], clients, rows)
            if key is not None:
                yield step["params"], place, key


def _key_columns(definition: Definition) -> dict[str, int]:
    """Return the rows of the table by primary key column in lower case; the minimum if tables share a column name."""
    found: dict[str, int] = {}
    for table in definition.tables.values():
        for name, column in table.columns.items():
            if column.primary_key:
                found[name.lower()] = min(table.rows, found.get(name.lower(), table.rows))
    return found


def _steps(trial: Mapping[str, Any]) -> Iterator[PlanStep]:
    for each in trial.get("transactions", []):
        yield from flat(each["steps"])


def _partitioned_key(generator: Mapping[str, Any], clients: int, rows: int) -> dict[str, Any] | None:
    """Return an expression that draws from a client's own keys; None if the keys are not a range of integers."""
    match generator:
        case {"kind": "constant", "value": int(value)} if not isinstance(value, bool) and value + clients <= rows:
            return _partitioned_range(value, value + clients - 1, clients)
        case {"kind": kind, "low": int(low), "high": int(high)} if kind in _DRAWS and high - low >= clients:
            return _partitioned_range(low, high, clients)
        case {
            "kind": "reference",
            "of": {"kind": "serial", "start": int(start), "step": 1},
            "row": {"kind": kind, "low": int(low), "high": int(high)},
        } if kind in _DRAWS and high - low >= clients:
            return _partitioned_range(start + low, start + high, clients)
    return None


def _partitioned_range(low: int, high: int, clients: int) -> dict[str, Any]:
    """Return an expression for a client's own keys between ``low`` and ``high``."""
    each = (high - low + 1) // clients
    text = f"{low} + :client_id + {clients} * random(0, {each - 1})"
    return compile_expression(Expression(expression=parse_expression(text)))
