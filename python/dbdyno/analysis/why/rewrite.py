"""Transactions of a plan written otherwise: several in one, their reads in one, several rows in one insert."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from dbdyno.model.plan.fix import Fix
from dbdyno.model.plan.steps import PlanStep, flat

Json = Mapping[str, Any]

_CONTROL = frozenset({"begin", "commit", "rollback"})
# Who waits on purpose would hold the transaction open meanwhile.
_WAITING = frozenset({"think", "pause"})
_CONTROLS = re.compile(r"\s*(?:begin|start|commit|end|rollback|savepoint|release)\b", re.IGNORECASE)
_INSERT = re.compile(r"\s*(?:insert|replace)\s+into\b.*?\bvalues\s*(?=\()", re.IGNORECASE | re.DOTALL)


def can_batch(transactions: Sequence[Json], texts: Sequence[str]) -> bool:
    """Whether several of each transaction can be done in one."""
    return bool(transactions) and all(_body(each["steps"], texts) is not None for each in transactions)


def can_join_reads(transactions: Sequence[Json], texts: Sequence[str], writes: Sequence[bool]) -> bool:
    """Whether a transaction reads several times, each in a transaction of its own, and writes nothing.

    ``writes``: of each statement, whether it changes rows.
    """
    return any(_reads(each["steps"], texts, writes) for each in transactions)


def can_insert_rows(transactions: Sequence[Json], texts: Sequence[str]) -> bool:
    """Whether all that each transaction does is to insert one row."""
    return bool(transactions) and all(_insert(each["steps"], texts) is not None for each in transactions)


def rewritten(trial: Json, fix: Fix, writes: Sequence[bool]) -> dict[str, Any]:
    """Give the task of a trial as a fix has it; ``writes``: of each of its statements, whether it changes rows."""
    made = dict(trial)
    texts = [str(each["sql"]) for each in trial.get("statements", [])]
    if fix.begins:
        made["transactions"] = [_begun(each, fix.begins, writes) for each in made["transactions"]]
    if fix.rows > 1:
        made = _with_rows(made, texts, fix.rows)
    if fix.batch > 1:
        made["transactions"] = [_batched(each, texts, fix.batch) for each in made["transactions"]]
    if fix.reads:
        made["transactions"] = [
            _wrapped(each, each["steps"]) if _reads(each["steps"], texts, writes) else each
            for each in made["transactions"]
        ]
    return made


def _body(steps: Sequence[PlanStep], texts: Sequence[str]) -> list[PlanStep] | None:
    """Give the steps of a transaction without those that begin and commit it; ``None``: it is no such one."""
    body = list(steps)
    if body and body[0]["do"] == "begin" and body[-1]["do"] == "commit":
        body = body[1:-1]
    if not body or any(each["do"] in _CONTROL | _WAITING for each in flat(body)):
        return None
    if any(_CONTROLS.match(texts[each["statement"]]) for each in flat(body) if each["do"] == "execute"):
        return None
    return body


def _wrapped(transaction: Json, steps: Sequence[PlanStep], mode: str = "deferred") -> dict[str, Any]:
    return {**transaction, "steps": [{"do": "begin", "mode": mode}, *steps, {"do": "commit"}]}


def _batched(transaction: Json, texts: Sequence[str], count: int) -> dict[str, Any]:
    steps = transaction["steps"]
    body = _body(steps, texts)
    if body is None:
        return dict(transaction)
    mode = steps[0]["mode"] if steps[0]["do"] == "begin" else "deferred"
    return _wrapped(transaction, [{"do": "repeat", "times": count, "steps": body}], mode)


def _reads(steps: Sequence[PlanStep], texts: Sequence[str], writes: Sequence[bool]) -> bool:
    body = _body(steps, texts)
    if body is None or len(body) < len(steps):
        return False
    run = [each["statement"] for each in flat(body) if each["do"] == "execute"]
    return _count(body) > 1 and not any(writes[each] for each in run)


def _count(steps: Sequence[PlanStep]) -> int:
    """Count the statements that steps execute at most, so far that one is told from several."""
    count = 0
    for each in steps:
        inner = [inside for name in ("steps", "then", "otherwise") for inside in each.get(name) or []]
        count += (each["do"] == "execute") + _count(inner) * (each["times"] if each["do"] == "repeat" else 1)
    return count


def _begun(transaction: Json, mode: str, writes: Sequence[bool]) -> dict[str, Any]:
    """Give a transaction that begins in a mode, where it writes."""
    run = [each["statement"] for each in flat(transaction["steps"]) if each["do"] == "execute"]
    if not any(writes[each] for each in run):
        return dict(transaction)
    return {**transaction, "steps": list(_in_mode(transaction["steps"], mode))}


def _in_mode(steps: Sequence[PlanStep], mode: str) -> Iterator[PlanStep]:
    for each in steps:
        inner = {name: list(_in_mode(each[name], mode)) for name in ("steps", "then", "otherwise") if each.get(name)}
        yield {**each, **inner, "mode": mode} if each["do"] == "begin" else {**each, **inner}


def _insert(steps: Sequence[PlanStep], texts: Sequence[str]) -> PlanStep | None:
    """Give the one step of a transaction that inserts one row of values; ``None`` where it does something else."""
    body = _body(steps, texts)
    if body is None or len(body) != 1 or body[0]["do"] != "execute" or body[0].get("into"):
        return None
    return body[0] if _values(texts[body[0]["statement"]]) is not None else None


def _values(text: str) -> tuple[str, str] | None:
    """Divide an insert of one row before its values; ``None`` where it is none, or more comes after them."""
    found = _INSERT.match(text)
    rest = text[found.end() :].rstrip() if found else ""
    # A text may have parentheses in it.
    if found is None or not rest.endswith(")") or any(mark in rest for mark in "'\"`"):
        return None
    depth = 0
    for place, character in enumerate(rest):
        depth += (character == "(") - (character == ")")
        if depth == 0 and place < len(rest) - 1:
            return None
    return text[: found.end()], rest


def _with_rows(trial: dict[str, Any], texts: Sequence[str], count: int) -> dict[str, Any]:
    """Give a task whose transactions insert so many rows by one statement."""
    statements = [dict(each) for each in trial["statements"]]
    for each in statements:
        divided = _values(str(each["sql"]))
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
        "transactions": [_more(each, texts, count) for each in trial["transactions"]],
    }


def _more(transaction: Json, texts: Sequence[str], count: int) -> dict[str, Any]:
    one = _insert(transaction["steps"], texts)
    made: list[PlanStep] = []
    for each in transaction["steps"]:
        step: PlanStep = each
        if step is one:
            step = {**step, "params": [_apart(param, row, count) for row in range(count) for param in step["params"]]}
        made.append(step)
    return {**transaction, "steps": made}


def _apart(generator: Any, row: int, count: int) -> Any:
    """Give a generator for one of so many rows of a statement: those that count up each take every n-th value."""
    match generator:
        case {"kind": "serial", "start": start, "step": step}:
            return {**generator, "start": start + row * step, "step": step * count}
        case dict():
            # The column that is referred to is as it was; the row that is taken of it is another.
            kept = {"of"} if generator.get("kind") == "reference" else set()
            return {name: each if name in kept else _apart(each, row, count) for name, each in generator.items()}
        case list():
            return [_apart(each, row, count) for each in generator]
    return generator
