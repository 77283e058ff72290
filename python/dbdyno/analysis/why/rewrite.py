"""Rewriting of a plan's transactions: merged transactions, joined reads, and inserts of several rows."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from dbdyno.model.plan.fix import Fix
from dbdyno.model.plan.generators import generator_of_row
from dbdyno.model.plan.steps import (
    Begin,
    BeginMode,
    Commit,
    Execute,
    Pause,
    Repeat,
    Rollback,
    Step,
    Think,
    Transaction,
    flat,
    nested,
    rewritten_steps,
)
from dbdyno.model.plan.tasks import Statement, TrialTask

_CONTROLS = re.compile(r"\s*(?:begin|start|commit|end|rollback|savepoint|release)\b", re.IGNORECASE)
_INSERT = re.compile(r"\s*(?:insert|replace)\s+into\b.*?\bvalues\s*(?=\()", re.IGNORECASE | re.DOTALL)


def can_batch(transactions: Sequence[Transaction], texts: Sequence[str]) -> bool:
    """Whether repetitions of each transaction can be merged into one."""
    return bool(transactions) and all(_body(transaction.steps, texts) is not None for transaction in transactions)


def can_join_reads(transactions: Sequence[Transaction], texts: Sequence[str], writes: Sequence[bool]) -> bool:
    """Whether a transaction reads several times in separate transactions and doesn't write.

    ``writes``: for each statement, whether it changes rows.
    """
    return any(_only_reads(transaction.steps, texts, writes) for transaction in transactions)


def can_insert_rows(transactions: Sequence[Transaction], texts: Sequence[str]) -> bool:
    """Whether each transaction only inserts one row."""
    return bool(transactions) and all(
        _inserting_step(transaction.steps, texts) is not None for transaction in transactions
    )


def rewritten(task: TrialTask, fix: Fix, writes: Sequence[bool]) -> TrialTask:
    """Return the task of a trial rewritten by a fix. ``writes``: for each statement, whether it changes rows."""
    made, texts = task, [statement.sql for statement in task.statements]
    if fix.begins:
        changed = [_begin_in_mode(transaction, fix.begins, writes) for transaction in made.transactions]
        made = replace(made, transactions=changed)
    if fix.rows > 1:
        made = _with_row_count(made, texts, fix.rows)
    if fix.batch > 1:
        made = replace(made, transactions=[_merge(transaction, texts, fix.batch) for transaction in made.transactions])
    if fix.reads:
        joined = [
            _in_transaction(transaction, transaction.steps)
            if _only_reads(transaction.steps, texts, writes)
            else transaction
            for transaction in made.transactions
        ]
        made = replace(made, transactions=joined)
    return made


def _body(steps: Sequence[Step], texts: Sequence[str]) -> list[Step] | None:
    """Return the steps between begin and commit; None if the steps can't be merged into one transaction."""
    body = list(steps)
    if body and isinstance(body[0], Begin) and isinstance(body[-1], Commit):
        body = body[1:-1]
    # A deliberate pause would keep the merged transaction open.
    if not body or any(isinstance(step, Begin | Commit | Rollback | Think | Pause) for step in flat(body)):
        return None
    if any(_CONTROLS.match(texts[each]) for each in _run(body)):
        return None
    return body


def _run(steps: Sequence[Step]) -> list[int]:
    """Return the statements that steps execute, by index."""
    return [step.statement for step in flat(steps) if isinstance(step, Execute)]


def _in_transaction(transaction: Transaction, steps: Sequence[Step], mode: BeginMode = "deferred") -> Transaction:
    return replace(transaction, steps=[Begin(mode=mode), *steps, Commit()])


def _merge(transaction: Transaction, texts: Sequence[str], count: int) -> Transaction:
    body = _body(transaction.steps, texts)
    if body is None:
        return transaction
    first = transaction.steps[0]
    mode = first.mode if isinstance(first, Begin) else "deferred"
    return _in_transaction(transaction, [Repeat(times=count, steps=body)], mode)


def _only_reads(steps: Sequence[Step], texts: Sequence[str], writes: Sequence[bool]) -> bool:
    body = _body(steps, texts)
    if body is None or len(body) < len(steps):
        return False
    return _count_statements(body) > 1 and not any(writes[each] for each in _run(body))


def _count_statements(steps: Sequence[Step]) -> int:
    """Return an upper limit of the executed statements, sufficient to distinguish one from several."""
    count = 0
    for step in steps:
        # A drawn number, and the rows of a result, count as several.
        times = step.times if isinstance(step, Repeat) and isinstance(step.times, int) else 2
        times = times if isinstance(step, Repeat | Execute) else 1
        count += isinstance(step, Execute) + times * sum(_count_statements(inner) for inner in nested(step))
    return count


def _begin_in_mode(transaction: Transaction, mode: BeginMode, writes: Sequence[bool]) -> Transaction:
    """Return a transaction that begins in ``mode`` if it writes."""
    if not any(writes[each] for each in _run(transaction.steps)):
        return transaction

    def in_mode(step: Step) -> Iterator[Step]:
        yield replace(step, mode=mode) if isinstance(step, Begin) else step

    return replace(transaction, steps=rewritten_steps(transaction.steps, in_mode))


def _inserting_step(steps: Sequence[Step], texts: Sequence[str]) -> Execute | None:
    """Return the only step of a transaction if it inserts one row of values, otherwise None."""
    body = _body(steps, texts)
    if body is None or len(body) != 1:
        return None
    (step,) = body
    if not isinstance(step, Execute) or step.into or _split_values(texts[step.statement]) is None:
        return None
    return step


def _split_values(text: str) -> tuple[str, str] | None:
    """Split an insert of one row before its values; None for other statements, or if text follows the values."""
    match = _INSERT.match(text)
    rest = text[match.end() :].rstrip() if match else ""
    # A string may contain parentheses.
    if match is None or not rest.endswith(")") or any(mark in rest for mark in "'\"`"):
        return None
    depth = 0
    for position, character in enumerate(rest):
        depth += (character == "(") - (character == ")")
        if depth == 0 and position < len(rest) - 1:
            return None
    return text[: match.end()], rest


def _with_row_count(task: TrialTask, texts: Sequence[str], count: int) -> TrialTask:
    """Return a task whose transactions insert ``count`` rows per statement."""
    return replace(
        task,
        statements=[_insert_of_rows(statement, count) for statement in task.statements],
        transactions=[_insert_rows(transaction, texts, count) for transaction in task.transactions],
    )


def _insert_of_rows(statement: Statement, count: int) -> Statement:
    divided = _split_values(statement.sql)
    if divided is None:
        return statement
    length = len(f"{divided[1]}, ".encode())
    return replace(
        statement,
        sql=divided[0] + ", ".join([divided[1]] * count),
        places=[row * length + position for row in range(count) for position in statement.places],
        example=(),
        analyze=None,
    )


def _insert_rows(transaction: Transaction, texts: Sequence[str], count: int) -> Transaction:
    one = _inserting_step(transaction.steps, texts)
    if one is None:
        return transaction
    params = [generator_of_row(param, row, count) for row in range(count) for param in one.params]
    made = [replace(one, params=params) if step is one else step for step in transaction.steps]
    return replace(transaction, steps=made)
