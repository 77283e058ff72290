"""Compile transactions of an experiment to the transactions and the statements of a plan."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import get_args

from pydantic import BaseModel

from dbdyno.base.errors import InputError
from dbdyno.base.text import shortened
from dbdyno.engines import COMMON
from dbdyno.engines.dialect import Dialect
from dbdyno.engines.lookup import known_engine
from dbdyno.engines.statements import Bound, bind
from dbdyno.engines.transpile.transpile import columns_of
from dbdyno.experiment.compile.generators import Columns, compile_plain
from dbdyno.experiment.compile.representative import representatives
from dbdyno.experiment.compile.requests import compile_request, request_text
from dbdyno.model.experiment.conditions import Condition
from dbdyno.model.experiment.definition import Definition
from dbdyno.model.experiment.draws import Draw, DrawLatest
from dbdyno.model.experiment.generators import Expression, Key, Next, RowOf, Variable
from dbdyno.model.experiment.sql import ANY
from dbdyno.model.experiment.strict import models_in
from dbdyno.model.experiment.transactions import (
    AnyStep,
    Begin,
    Chance,
    Commit,
    Control,
    Copy,
    Execute,
    Repeat,
    Request,
    Rollback,
    Set,
    Think,
    Transaction,
    When,
)
from dbdyno.model.plan import generators
from dbdyno.model.plan import steps as plan
from dbdyno.model.plan.expression import Call
from dbdyno.model.plan.tasks import Statement

_NAME_LENGTH = 60

# The modes of ``begin`` in a plan, by their names in an experiment.
_MODES: Mapping[str, plan.BeginMode] = {mode.replace("_", " "): mode for mode in get_args(plan.BeginMode)}


def _drawn_latest(models: Iterable[BaseModel]) -> Iterator[str]:
    """Yield the tables of which some generator draws the latest rows."""
    for model in models:
        match model:
            case RowOf(draw=Draw(latest=DrawLatest())):
                yield model.row_of
            case Key(row=None, draw=Draw(latest=DrawLatest())):
                yield model.key.rpartition(".")[0]


class TransactionCompiler:
    """Compiles transactions. ``statements``: the distinct statements of the transactions compiled so far.

    ``left_out``: the kinds of steps that were omitted because they are for other engines.
    """

    def __init__(self, definition: Definition, dialect: Dialect, location: str) -> None:
        """``location``: the experiment file, for errors."""
        self._estimates = definition.measure.estimates
        self.statements: list[Statement] = []
        self.left_out: set[str] = set()
        models = list(models_in([definition.transactions, definition.beside]))
        self._columns = Columns(
            definition.tables,
            definition.samples,
            shared=frozenset(_drawn_latest(models)),
            numbered=frozenset(
                model.next for model in models if isinstance(model, Next) and model.next in definition.tables
            ),
        )
        # The kinds of control steps of the current transaction, and the kinds of its omitted steps.
        self._controls: set[str] = set()
        self._missing: set[str] = set()
        self._dialect = dialect
        self._location = location

    def transaction(self, transaction: Transaction) -> plan.Transaction:
        """Return the transaction of a plan. Raises InputError for a statement without text for the engine."""
        made = self.work(transaction.steps, transaction.name)
        return plan.Transaction(
            name=transaction.name, weight=transaction.weight, clients=transaction.clients, steps=made
        )

    def work(self, steps: Iterable[AnyStep], owner: str) -> list[plan.Step]:
        """Return the steps of a transaction, or of work beside the clients, that the engine executes."""
        self._controls, self._missing = set(), set()
        made = self._steps(steps, owner)
        # Another step of the transaction may begin or end it instead, such as with another isolation level.
        self.left_out |= self._missing - self._controls
        return made

    def _steps(self, steps: Iterable[AnyStep], owner: str) -> list[plan.Step]:
        made: list[plan.Step] = []
        for step in steps:
            verb = type(step).__name__.lower()
            if self.applies(step):
                if isinstance(step, Control):
                    self._controls.add(verb)
                made += self._step(step, owner)
            elif step.include:
                self._missing.add(verb)
        return made

    def applies(self, step: AnyStep) -> bool:
        """Whether the engine executes a step."""
        elsewhere = step.engines is not None and self._dialect.engine not in step.engines
        needless = isinstance(step, Control) and step.optional and not self._dialect.has_transactions
        return step.include and not elsewhere and not needless

    def _step(self, step: AnyStep, owner: str) -> list[plan.Step]:  # noqa: PLR0911, PLR0912 - one per kind
        match step:
            case Execute():
                return [self._execute(step, owner)]
            case Copy():
                return [self._copy(step, owner)]
            case Request():
                return [self._request(step, owner)]
            case Control() if not self._dialect.has_transactions:
                raise self._no_transactions(type(step).__name__.lower(), owner)
            case Begin():
                return [self._begin(step, owner)]
            case Commit():
                return [plan.Commit()]
            case Rollback():
                return [plan.Rollback()]
            case Set():
                return [plan.Set(variable=step.set, value=self._columns.compile(step.value), once=step.once)]
            case When():
                then, otherwise = self._steps(step.then, owner), self._steps(step.otherwise, owner)
                return [_when(step.when, then, otherwise)]
            case Chance():
                return [plan.Chance(probability=step.chance, then=self._steps(step.then, owner))]
            case Repeat():
                inner = self._steps(step.steps, owner)
                # Omit a loop with one iteration, so that a factor's level 1 has no overhead.
                if step.repeat == 1:
                    return inner
                times = step.repeat if isinstance(step.repeat, int) else self._columns.compile(step.repeat)
                return [plan.Repeat(times=times, steps=inner)]
            case Think():
                time = self._columns.compile(step.think)
                if step.unit == "us":
                    return [plan.Pause(microseconds=time)]
                return [plan.Think(milliseconds=time)]

    def _execute(self, step: Execute, owner: str) -> plan.Step:
        text = self._dialect.statement(step.execute)
        if text is None:
            engine = self._dialect.engine
            known, other = step.execute.texts[0]
            problem = f"a statement of `{owner}` has no text for {engine}, only for {known}: `{_short(other)}`"
            hint = f"add `{engine}` or `any` to its texts"
            raise InputError(self._location, problem, f"{hint}; in a script, use SQL that {engine} supports")
        self._check_into(step, owner)
        bound = self._bound(text, step, owner)
        params = [self._columns.compile(step.params[index]) for index in bound.order]
        # Use the text in the file, so that a statement has the same name on all engines.
        written = dict(step.execute.texts)
        name = step.name or _short(written.get(ANY, next(iter(written.values()))))
        made = Statement(name=name, sql=bound.text, places=bound.byte_places, example=_example(params))
        statement = self._statement(made)
        if self._estimates and self.statements[statement].analyze is None:
            # If the statement is used several times, use the first representative values.
            self.statements[statement] = replace(self.statements[statement], analyze=representatives(params))
        each = self._steps(step.each, owner)
        return plan.Execute(statement=statement, params=params, into=list(step.into), each=each)

    def _copy(self, step: Copy, owner: str) -> plan.Step:
        """Return the step that copies rows: with `copy` if the engine has it, otherwise an insert of several rows."""
        dialect, values = self._dialect, step.rows * len(step.columns)
        most = dialect.most_parameters
        if not most:
            problem = f"the step `copy` of `{owner}` is not possible on {dialect.engine}"
            raise InputError(self._location, problem, "limit the step to its `engines`")
        columns = ", ".join(map(dialect.quote, step.columns))
        table = f"{dialect.quote(step.copy_)} ({columns})"
        made = [self._columns.compile(generator) for generator in step.columns.values()]
        params = [
            generators.generator_of_row(generator, row, step.rows) if step.rows > 1 else generator
            for row in range(step.rows)
            for generator in made
        ]
        name = step.name or f"copy {step.rows:,} row{'s' if step.rows > 1 else ''} into {step.copy_}"
        if dialect.copies:
            statement = Statement(name=name, sql=f"copy {table} from stdin")
        else:
            if values > most:
                problem = f"the step `copy` of `{owner}` inserts {values:,} values at once"
                raise InputError(self._location, problem, f"{dialect.engine} allows {most:,}; copy fewer rows")
            row = f"({', '.join('?' * len(made))})"
            text = f"insert into {table} values {', '.join([row] * step.rows)}"  # noqa: S608 - of an experiment
            places = [at for at, one in enumerate(text.encode()) if one == ord("?")]
            # A name can contain a question mark.
            statement = Statement(name=name, sql=text, places=places[-values:])
        return plan.Execute(statement=self._statement(statement), params=params)

    def _request(self, step: Request, owner: str) -> plan.Step:
        if not self._dialect.has_requests:
            problem = f"the step `{_short(step.request.text)}` of `{owner}` is not possible on {self._dialect.engine}"
            hint = "measure a service, such as `http://host/`, or limit the step to its `engines`"
            raise InputError(self._location, f"{problem}, which doesn't accept requests", hint)
        request, names = compile_request(step)
        params = [
            self._columns.compile(step.params[name] if name in step.params else Variable(variable=name))
            for name in names
        ]
        name = step.name or _short(step.request.text)
        statement = self._statement(Statement(name=name, sql=request_text(step), request=request))
        return plan.Execute(statement=statement, params=params, into=list(step.into))

    def _bound(self, text: str, step: Execute, owner: str) -> Bound:
        """Bind a statement's values. Raises InputError if the number of `?` in the engine's SQL is different."""
        engine = self._dialect.engine
        bound = bind(text, engine, len(step.params))
        if bound is None:
            problem = f"`{_short(text)}` of `{owner}` has {known_engine(engine).places(text)} `?` on {engine}"
            raise InputError(self._location, f"{problem}, but {len(step.params)} values", "give one value for each `?`")
        return bound

    def _check_into(self, step: Execute, owner: str) -> None:
        """Raise InputError if a statement returns fewer columns than `into` has variables."""
        # Parse SQL only if necessary: importing the parser takes 0.1 s, and most statements return one column.
        text = step.execute.text_for(COMMON) if len(step.into) > 1 else None
        given = columns_of(text) if text is not None else None
        if text is not None and given is not None and len(step.into) > given:
            columns = f"{given} column{'s' if given > 1 else ''}"
            problem = f"`{_short(text)}` of `{owner}` returns {columns}, but `into` has {len(step.into)} variables"
            raise InputError(self._location, problem, "give one variable per column")

    def _begin(self, step: Begin, owner: str) -> plan.Begin:
        mode = _MODES[step.begin]
        levels = self._dialect.isolation_levels
        if mode in get_args(plan.IsolationLevel) and mode not in levels:
            engine = self._dialect.engine
            problem = f"the step `begin` of `{owner}` can't choose the isolation level `{step.begin}` on {engine}"
            known = ", ".join(f"`{level.replace('_', ' ')}`" for level in levels)
            hint = f"choose {known}" if levels else 'write `"deferred"`'
            raise InputError(self._location, problem, f"{hint}, or limit the step to its `engines`")
        return plan.Begin(mode=mode)

    def _no_transactions(self, verb: str, owner: str) -> InputError:
        problem = f"the step `{verb}` of `{owner}` is not possible on {self._dialect.engine}, "
        problem += "which doesn't support transactions on a single server"
        return InputError(
            self._location, problem, "write `optional = true` in the step to leave it out on such an engine"
        )

    def _statement(self, made: Statement) -> int:
        """Return the index of a statement with the same text; add the statement if necessary."""
        for index, known in enumerate(self.statements):
            if (known.sql, known.places, known.request) == (made.sql, made.places, made.request):
                if known.example != made.example:
                    self.statements[index] = replace(known, example=())
                return index
        self.statements.append(replace(made, name=self._free_name(made.name)))
        return len(self.statements) - 1

    def _free_name(self, wanted: str) -> str:
        taken = {statement.name for statement in self.statements}
        names = [wanted, *(f"{wanted} ({number})" for number in range(2, len(taken) + 2))]
        return next(name for name in names if name not in taken)


def _example(params: Sequence[generators.Generator]) -> Sequence[generators.Scalar]:
    """Return the values of parameters if all are constants, otherwise nothing."""
    values = [param.value for param in params if isinstance(param, generators.Constant)]
    return values if len(values) == len(params) else ()


def _short(sql: str) -> str:
    return shortened(" ".join(sql.split()), _NAME_LENGTH)


def _when(condition: Condition, then: list[plan.Step], otherwise: list[plan.Step]) -> plan.When:
    left = _truth(condition.left) if isinstance(condition.left, Expression) else compile_plain(condition.left)
    right = None if condition.right is None else compile_plain(condition.right)
    return plan.When(left=left, compare=condition.compare, right=right, then=then, otherwise=otherwise)


def _truth(expression: Expression) -> generators.Generator:
    """Return the left side of a comparison: 1 if an expression is true, otherwise 0."""
    made = expression.expression
    return generators.Expression(text=made.text, tree=Call(function="truth", arguments=[made.tree]))
