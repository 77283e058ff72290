"""Clients that never access the same row: each client gets its own keys instead of shared ones."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

from dbdyno.experiment.compile.generators import compile_expression
from dbdyno.model.experiment.definition import Definition
from dbdyno.model.experiment.expression import parse_expression
from dbdyno.model.experiment.generators import Expression
from dbdyno.model.plan.cell import CompiledCell
from dbdyno.model.plan.generators import Constant, Gaussian, Generator, Reference, Serial, Uniform, Zipf
from dbdyno.model.plan.steps import Execute, Step, flat, rewritten_steps
from dbdyno.model.plan.tasks import TrialTask

# Statements that select rows by their parameters. Inserts use distinct keys anyway.
_LOOKING = ("select", "update", "delete", "with")

# A column that is compared with a value.
_COMPARED = re.compile(r"[\"`\[]?(?P<column>\w+)[\"`\]]?\s*=\s*\?", re.IGNORECASE)


def can_have_own_keys(compiled: CompiledCell) -> bool:
    """Whether a cell's transactions write, and select rows by keys that can be partitioned among its clients."""
    texts = [statement.sql.lstrip().lower() for statement in compiled.task.statements]
    writes = any(text.startswith(("update", "delete")) or " for update" in text for text in texts)
    return writes and any(
        _own_keys(step, compiled) for transaction in compiled.task.transactions for step in flat(transaction.steps)
    )


def with_own_keys(compiled: CompiledCell) -> TrialTask:
    """Return the task of a cell's trial with keys partitioned among n clients: each client uses every n-th key.

    A constant key becomes n consecutive keys that start with it.
    """

    def rewrite(step: Step) -> Iterator[Step]:
        keys = _own_keys(step, compiled)
        if isinstance(step, Execute) and keys:
            yield replace(
                step, params=[keys.get(position, generator) for position, generator in enumerate(step.params)]
            )
        else:
            yield step

    task = compiled.task
    return replace(
        task,
        # The example values no longer represent the parameters.
        statements=[replace(statement, example=()) for statement in task.statements],
        transactions=[
            replace(transaction, steps=rewritten_steps(transaction.steps, rewrite)) for transaction in task.transactions
        ],
    )


def _own_keys(step: Step, compiled: CompiledCell) -> Mapping[int, Generator]:
    """Return the generators to use instead of a step's parameters that are keys, by their places."""
    if not isinstance(step, Execute):
        return {}
    statement = compiled.task.statements[step.statement]
    if not statement.sql.lstrip().lower().startswith(_LOOKING):
        return {}
    keys, clients = _key_columns(compiled.definition), compiled.definition.load.clients
    made: dict[int, Generator] = {}
    for match in _COMPARED.finditer(statement.sql):
        rows = keys.get(match["column"].lower())
        start = len(statement.sql[: match.end() - 1].encode())
        if rows is None or start not in statement.places:
            continue
        position = statement.places.index(start)
        key = _partitioned_key(step.params[position], clients, rows) if position < len(step.params) else None
        if key is not None:
            made[position] = key
    return made


def _key_columns(definition: Definition) -> dict[str, int]:
    """Return the rows of the table by primary key column in lower case; the minimum if tables share a column name."""
    found: dict[str, int] = {}
    for table in definition.tables.values():
        for name, column in table.columns.items():
            if column.primary_key:
                found[name.lower()] = min(table.rows, found.get(name.lower(), table.rows))
    return found


def _partitioned_key(generator: Generator, clients: int, rows: int) -> Generator | None:
    """Return an expression that draws from a client's own keys; None if the keys are not a range of integers."""
    match generator:
        case Constant(value=int(value)) if not isinstance(value, bool) and value + clients <= rows:
            return _partitioned_range(value, value + clients - 1, clients)
        case Uniform() | Zipf() | Gaussian() if generator.high - generator.low >= clients:
            return _partitioned_range(generator.low, generator.high, clients)
        case Reference(of=Serial(start=start, step=1), row=Uniform() | Zipf() | Gaussian() as row):
            if row.high - row.low >= clients:
                return _partitioned_range(start + row.low, start + row.high, clients)
    return None


def _partitioned_range(low: int, high: int, clients: int) -> Generator:
    """Return an expression for a client's own keys between ``low`` and ``high``."""
    each = (high - low + 1) // clients
    text = f"{low} + :client_id + {clients} * random(0, {each - 1})"
    return compile_expression(Expression(expression=parse_expression(text)))
