"""Transactions of an experiment as a plan's transactions and its list of statements."""

from collections.abc import Iterable
from typing import Any

from dbdyno.base.errors import InputError
from dbdyno.base.text import shortened
from dbdyno.engines import COMMON
from dbdyno.engines.dialect import Dialect
from dbdyno.engines.lookup import known_engine
from dbdyno.engines.statements import Bound, bind
from dbdyno.engines.transpile.transpile import columns_of
from dbdyno.experiment.compile.generators import Columns, compile_expression, compile_plain
from dbdyno.experiment.compile.representative import representatives
from dbdyno.experiment.compile.requests import compile_request, request_text
from dbdyno.model.experiment.conditions import Condition
from dbdyno.model.experiment.definition import Definition
from dbdyno.model.experiment.generators import Constant, Expression, Variable
from dbdyno.model.experiment.sql import ANY
from dbdyno.model.experiment.transactions import (
    AnyStep,
    Begin,
    Chance,
    Commit,
    Control,
    Execute,
    Repeat,
    Request,
    Rollback,
    Set,
    Think,
    Transaction,
    When,
)
from dbdyno.model.plan.steps import PlanStep

_NAME_LENGTH = 60


class TransactionCompiler:
    """Compiles transactions one after another; ``statements`` grows with what they use, each text once.

    ``left_out``: the kinds of steps that are for other engines only.
    """

    def __init__(self, definition: Definition, dialect: Dialect, place: str) -> None:
        """``place`` is the experiment's file, for errors."""
        self._estimates = definition.measure.estimates
        self.statements: list[dict[str, Any]] = []
        self.left_out: set[str] = set()
        self._columns = Columns(definition.tables)
        self._dialect = dialect
        self._place = place

    def transaction(self, transaction: Transaction) -> dict[str, Any]:
        """Say a transaction in the plan's words. Raises InputError for a statement that the engine has no text for."""
        steps = self._steps(transaction.steps, transaction.name)
        return {"name": transaction.name, "weight": transaction.weight, "steps": steps}

    def _steps(self, steps: Iterable[AnyStep], owner: str) -> list[PlanStep]:
        return [made for step in steps if self._is_there(step) for made in self._step(step, owner)]

    def _is_there(self, step: AnyStep) -> bool:
        elsewhere = step.engines is not None and self._dialect.engine not in step.engines
        needless = isinstance(step, Control) and step.optional and not self._dialect.has_transactions
        if step.include and (elsewhere or needless):
            self.left_out.add(type(step).__name__.lower())
            return False
        return step.include

    def _step(self, step: AnyStep, owner: str) -> list[PlanStep]:  # noqa: PLR0911 - one per kind
        match step:
            case Execute():
                return [self._execute(step, owner)]
            case Request():
                return [self._request(step, owner)]
            case Control() if not self._dialect.has_transactions:
                raise self._no_transactions(type(step).__name__.lower(), owner)
            case Begin():
                return [{"do": "begin", "mode": step.begin}]
            case Commit():
                return [{"do": "commit"}]
            case Rollback():
                return [{"do": "rollback"}]
            case Set():
                made = {"do": "set", "variable": step.set, "value": self._columns.compile(step.value)}
                return [made | {"once": True} if step.once else made]
            case When():
                then, otherwise = self._steps(step.then, owner), self._steps(step.otherwise, owner)
                return [{"do": "when", **_condition(step.when), "then": then, "otherwise": otherwise}]
            case Chance():
                return [{"do": "chance", "probability": step.chance, "then": self._steps(step.then, owner)}]
            case Repeat():
                inner = self._steps(step.steps, owner)
                # Once needs no loop, so that a factor's level 1 costs nothing.
                return inner if step.repeat == 1 else [{"do": "repeat", "times": step.repeat, "steps": inner}]
            case Think():
                time = self._columns.compile(step.think)
                if step.unit == "us":
                    return [{"do": "pause", "microseconds": time}]
                return [{"do": "think", "milliseconds": time}]

    def _execute(self, step: Execute, owner: str) -> PlanStep:
        text = self._dialect.statement(step.execute)
        if text is None:
            engine = self._dialect.engine
            known, other = step.execute.texts[0]
            problem = f"a statement of `{owner}` has no text for {engine}, but for {known}: `{_short(other)}`"
            hint = f"add `{engine}` or `any` to its texts"
            raise InputError(self._place, problem, f"{hint}; of a script, take what {engine} reads as well")
        self._check_into(step, owner)
        bound = self._bound(text, step, owner)
        params = [self._columns.compile(step.params[index]) for index in bound.order]
        # By the text in the file, so that a statement has one name on all engines.
        written = dict(step.execute.texts)
        name = step.name or _short(written.get(ANY, next(iter(written.values()))))
        places = {"places": bound.byte_places} if bound.places else {}
        statement = self._statement({"sql": bound.text, **places}, name, _example(params))
        values = representatives(params) if self._estimates else None
        if values is not None:
            # Of several uses, the first with values that stand for others decides.
            self.statements[statement].setdefault("analyze", values)
        return {"do": "execute", "statement": statement, "params": params, "into": list(step.into)}

    def _request(self, step: Request, owner: str) -> PlanStep:
        if not self._dialect.has_requests:
            problem = f"the step `{_short(step.request.text)}` of `{owner}` cannot be done on {self._dialect.engine}"
            hint = "name a service, as `http://host/`, or write in the step which `engines` it is for"
            raise InputError(self._place, f"{problem}, which takes no requests", hint)
        request, names = compile_request(step)
        params = [
            self._columns.compile(step.params[name] if name in step.params else Variable(variable=name))
            for name in names
        ]
        text = {"sql": request_text(step), "request": request}
        statement = self._statement(text, step.name or _short(step.request.text), [])
        return {"do": "execute", "statement": statement, "params": params, "into": list(step.into)}

    def _bound(self, text: str, step: Execute, owner: str) -> Bound:
        """Find the places of a statement's values. Raises InputError if their engine reads another number of them."""
        engine = self._dialect.engine
        bound = bind(text, engine, len(step.params))
        if bound is None:
            problem = f"`{_short(text)}` of `{owner}` has {known_engine(engine).places(text)} places `?` on {engine}"
            raise InputError(self._place, f"{problem}, and {len(step.params)} values", "give one value for each `?`")
        return bound

    def _check_into(self, step: Execute, owner: str) -> None:
        """Raise InputError where a statement surely gives fewer columns than there are variables for them."""
        # Reading SQL takes a tenth of a second to begin with, and most statements that give anything give one.
        text = step.execute.text_for(COMMON) if len(step.into) > 1 else None
        given = columns_of(text) if text is not None else None
        if text is not None and given is not None and len(step.into) > given:
            columns = f"{given} column{'s' if given > 1 else ''}"
            problem = f"`{_short(text)}` of `{owner}` gives {columns}, and `into` names {len(step.into)} variables"
            raise InputError(self._place, problem, "name one for each column")

    def _no_transactions(self, verb: str, owner: str) -> InputError:
        problem = f"the step `{verb}` of `{owner}` cannot be done on {self._dialect.engine}, "
        problem += "where a single server has no transactions"
        return InputError(self._place, problem, "write `optional = true` in the step to leave it out on such an engine")

    def _statement(self, text: dict[str, Any], name: str, example: list[Any]) -> int:
        """Return the index of a statement with a text, which is added if no statement has it."""
        for index, known in enumerate(self.statements):
            if all(known.get(key) == text.get(key) for key in ("sql", "places", "request")):
                if known.get("example", []) != example:
                    known.pop("example", None)
                return index
        made = {"name": self._free_name(name), **text}
        self.statements.append(made | {"example": example} if example else made)
        return len(self.statements) - 1

    def _free_name(self, wanted: str) -> str:
        taken = {statement["name"] for statement in self.statements}
        names = [wanted, *(f"{wanted} ({number})" for number in range(2, len(taken) + 2))]
        return next(name for name in names if name not in taken)


def _example(params: list[dict[str, Any]]) -> list[Any]:
    """Give the values of parameters that are the same at each use; none where one is not."""
    if any(param["kind"] != "constant" for param in params):
        return []
    return [param["value"] for param in params]


def _short(sql: str) -> str:
    return shortened(" ".join(sql.split()), _NAME_LENGTH)


def _condition(condition: Condition) -> dict[str, Any]:
    if isinstance(condition.left, Expression):
        return _truth(condition.left) | {"compare": "ne", "right": compile_plain(Constant(constant=0))}
    made = {"left": compile_plain(condition.left), "compare": condition.compare}
    return made if condition.right is None else made | {"right": compile_plain(condition.right)}


def _truth(expression: Expression) -> dict[str, Any]:
    """Give the left side of a comparison that an expression's own truth decides: 1 or 0."""
    made = compile_expression(expression)
    return {"left": made | {"tree": {"op": "call", "function": "truth", "arguments": [made["tree"]]}}}
