"""Rewriting of a plan's transactions: merged transactions, joined reads, and inserts of several rows."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from dbdyno.model.plan.fix import Fix
from dbdyno.model.plan.steps import PlanStep, flat

Json = Mapping[str, Any]

_CONTROL = frozenset({"begin", "commit", "rollback"})
# A deliberate pause would keep the merged transaction open.
_WAITING = frozenset({"think", "pause"})
_CONTROLS = re.compile(r"\s*(?:begin|start|commit|end|rollback|savepoint|release)\b", re.IGNORECASE)
_INSERT = re.compile(r"\s*(?:insert|replace)\s+into\b.*?\bvalues\s*(?=\()", re.IGNORECASE | re.DOTALL)


def can_batch(transactions: Sequence[Json], texts: Sequence[str]) -> bool:
    """Whether repetitions of each transaction can be merged into one."""
    return bool(transactions) and all(_body(each["steps"], texts) is not None for each in transactions)


def can_join_reads(transactions: Sequence[Json], texts: Sequence[str], writes: Sequence[bool]) -> bool:
    """Whether a transaction reads several times in separate transactions and doesn't write.

    ``writes``: for each statement, whether it changes rows.
    """
    return any(_only_reads(each["steps"], texts, writes) for each in transactions)


def can_insert_rows(transactions: Sequence[Json], texts: Sequence[str]) -> bool:
    """Whether each transaction only inserts one row."""
    return bool(transactions) and all(_inserting_step(each["steps"], texts) is not None for each in transactions)


def rewritten(trial: Json, fix: Fix, writes: Sequence[bool]) -> dict[str, Any]:
    """Return the task of a trial rewritten by a fix. ``writes``: for each statement, whether it changes rows."""
    made = dict(trial)
    texts = [str(each["sql"]) for each in trial.get("statements", [])]
    if fix.begins:
        made["transactions"] = [_begin_in_mode(each, fix.begins, writes) for each in made["transactions"]]
    if fix.rows > 1:
        made = _with_row_count(made, texts, fix.rows)
    if fix.batch > 1:
        made["transactions"] = [_merge(each, texts, fix.batch) for each in made["transactions"]]
    if fix.reads:
        made["transactions"] = [
            _in_transaction(each, each["steps"]) if _only_reads(each["steps"], texts, writes) else each
            for each in made["transactions"]
        ]
    return made


def _body(steps: Sequence[PlanStep], texts: Sequence[str]) -> list[PlanStep] | None:
    """Return the steps between begin and commit; None if the steps can't be merged into one transaction."""
    body = list(steps)
    if body and body[0]["do"] == "begin" and body[-1]["do"] == "commit":
        body = body[1:-1]
    if not body or any(each["do"] in _CONTROL | _WAITING for each in flat(body)):
        return None
    if any(_CONTROLS.match(texts[each["statement"]]) for each in flat(body) if each["do"] == "execute"):
        return None
    return body


def _in_transaction(transaction: Json, steps: Sequence[PlanStep], mode: str = "deferred") -> dict[str, Any]:
    return {**transaction, "steps": [{"do": "begin", "mode": mode}, *steps, {"do": "commit"}]}


def _merge(transaction: Json, texts: Sequence[str], count: int) -> dict[str, Any]:
    steps = transaction["steps"]
    body = _body(steps, texts)
    if body is None:
        return dict(transaction)
    mode = steps[0]["mode"] if steps[0]["do"] == "begin" else "deferred"
    return _in_transaction(transaction, [{"do": "repeat", "times": count, "steps": body}], mode)


def _only_reads(steps: Sequence[PlanStep], texts: Sequence[str], writes: Sequence[bool]) -> bool:
    body = _body(steps, texts)
    if body is None or len(body) < len(steps):
        return False
    run = [each["statement"] for each in flat(body) if each["do"] == "execute"]
    return _count_statements(body) > 1 and not any(writes[each] for each in run)


def _count_statements(steps: Sequence[PlanStep]) -> int:
    """Return an upper limit of the executed statements, sufficient to distinguish one from several."""
    count = 0
    for each in steps:
        inner = [inside for name in ("steps", "then", "otherwise") for inside in each.get(name) or []]
        count += (each["do"] == "execute") + _count_statements(inner) * (each["times"] if each["do"] == "repeat" else 1)
    return count


def _begin_in_mode(transaction: Json, mode: str, writes: Sequence[bool]) -> dict[str, Any]:
    """Return a transaction that begins in ``mode`` if it writes."""
    run = [each["statement"] for each in flat(transaction["steps"]) if each["do"] == "execute"]
    if not any(writes[each] for each in run):
        return dict(transaction)
    return {**transaction, "steps": list(_set_mode(transaction["steps"], mode))}


def _set_mode(steps: Sequence[PlanStep], mode: str) -> Iterator[PlanStep]:
    for each in steps:
        inner = {name: list(_set_mode(each[name], mode)) for name in ("steps", "then", "otherwise") if each.get(name)}
        yield {**each, **inner, "mode": mode} if each["do"] == "begin" else {**each, **inner}


def _inserting_step(steps: Sequence[PlanStep], texts: Sequence[str]) -> PlanStep | None:
    """Return the only step of a transaction if it inserts one row of values, otherwise None."""
    body = _body(steps, texts)
    if body is None or len(body) != 1 or body[0]["do"] != "execute" or body[0].get("into"):
        return None
    return body[0] if _split_values(texts[body[0]["statement"]]) is not None else None


def _split_values(text: str) -> tuple[str, str] | None:
    """Split an insert of one row before its values; None for other statements, or if text follows the values."""
    found = _INSERT.match(text)
    rest = text[found.end() :].rstrip() if found else ""
    # A string may contain parentheses.
    if found is None or not rest.endswith(")") or any(mark in rest for mark in "'\"`"):
        return None
    depth = 0
    for place, character in enumerate(rest):
        depth += (character == "(") - (character == ")")
        if depth == 0 and place < len(rest) - 1:
            return None
    return text[: found.end()], rest


def _with_row_count(trial: dict[str, Any], texts: Sequence[str], count: int) -> dict[str, Any]:
    """Return a task whose transactions insert ``count`` rows per statement."""
    statements = [dict(each) for each in trial["statements"]]
    for each in statements:
        divided = _split_values(str(each["sql"]))
        if divided is not None:
            each["sql"] = divided[0] + ", ".join([divided[1]] * count)
            if "places" in each:
                length = len(f"{divided[1]}, ".encode())
                each["places"] = [row * length + place for row in range(count) for place in each["places"]]
            each.pop("example", None)
            each.pop("analyze", None)
    return {
        **trial,
        "statements": statements,
        "transactions": [_insert_rows(each, texts, count) for each in trial["transactions"]],
    }


def _insert_rows(transaction: Json, texts: Sequence[str], count: int) -> dict[str, Any]:
    one = _inserting_step(transaction["steps"], texts)
    made: list[PlanStep] = []
    for each in transaction["steps"]:
        step: PlanStep = each
        if step is one:
            step = {
                **step,
                "params": [_row_generator(param, row, count) for row in range(count) for param in step["params"]],
            }
        made.append(step)
    return {**transaction, "steps": made}


def _row_generator(generator: Any, row: int, count: int) -> Any:
    """Return the generator for one of ``count`` rows of a statement; serial generators use every n-th value."""
    match generator:
        case {"kind": "serial", "start": start, "step": step}:
            return {**generator, "start": start + row * step, "step": step * count}
        case dict():
            # The referenced column stays the same; only the choice of its row changes.
            kept = {"of"} if generator.get("kind") == "reference" else set()
            return {
                name: each if name in kept else _row_generator(each, row, count) for name, each in generator.items()
            }
        case list():
            return [_row_generator(each, row, count) for each in generator]
    return generator
