"""Describe a compiled cell in words and SQL (``dbdyno describe``)."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from dbdyno.base.text import shortened
from dbdyno.engines import engine_of
from dbdyno.model.plan import generators
from dbdyno.model.plan import steps as plan
from dbdyno.model.plan.cell import CompiledCell
from dbdyno.model.plan.serialization import as_json
from dbdyno.model.plan.tasks import Beside, LoadTable, Open, Statement, TrialTask

# Maximum number of values of a list that are shown.
_MAX_VALUES_SHOWN = 8

# Maximum number of parameters that are shown, and the length at which a statement with more is cut.
_MAX_PARAMETERS = 60
_MAX_STATEMENT_LENGTH = 200


@dataclass(frozen=True)
class TransactionText:
    """A transaction: one line per step, indented by four spaces per nesting level.

    ``clients``: the number of clients that run only this transaction; None: it is chosen by weight.
    """

    name: str
    weight: float
    lines: tuple[str, ...]
    clients: int | None = None

    @property
    def chosen(self) -> str:
        """Who runs it: a weight, or the number of its clients."""
        if self.clients is None:
            return f"weight {self.weight:g}"
        return f"run by {self.clients:,} client{'' if self.clients == 1 else 's'}"


@dataclass(frozen=True)
class BesideText:
    """Work beside the clients: its times in words, and one line per step."""

    name: str
    times: str
    lines: tuple[str, ...]


@dataclass(frozen=True)
class Description:
    """The description of a cell. ``settings``: names and values of the system's settings. ``load``: lines of text.

    ``samples``: columns whose values were sampled, with some values of each.
    """

    cell: str
    settings: tuple[tuple[str, str], ...]
    definitions: tuple[str, ...]
    rows: tuple[str, ...]
    setup: tuple[str, ...]
    samples: tuple[str, ...]
    load: tuple[str, ...]
    transactions: tuple[TransactionText, ...]
    beside: tuple[BesideText, ...]
    checks: tuple[str, ...]


def describe(compiled: CompiledCell) -> Description:
    """Describe a compiled cell: definitions and statements in the engine's SQL, the rows and the load."""
    engine = compiled.cell.system.engine
    # A user's program (`exec:`) has neither statements nor transactions.
    statements = [_sent(statement, engine, compiled.task) for statement in compiled.task.statements]
    measure = compiled.definition.measure
    return Description(
        cell=compiled.cell.id,
        settings=tuple(compiled.settings.shown()),
        definitions=tuple(compiled.before),
        rows=tuple(_rows(table) for table in compiled.tables),
        setup=tuple(compiled.after),
        samples=tuple(f"{name}: {_value(values)}" for name, values in compiled.definition.samples.items()),
        load=tuple(_load(compiled.task, [*measure.transactions, *measure.statements])),
        transactions=tuple(
            TransactionText(
                transaction.name,
                transaction.weight,
                tuple(_steps(transaction.steps, statements, engine, 0)),
                transaction.clients,
            )
            for transaction in compiled.task.transactions
        ),
        beside=tuple(_beside(beside, engine, compiled.task) for beside in compiled.task.beside),
        checks=tuple(f"{' '.join(check.sql.split())}   -- must return {check.equals}" for check in compiled.checks),
    )


def _beside(beside: Beside, engine: str, task: TrialTask) -> BesideText:
    statements = [_sent(statement, engine, task) for statement in beside.statements]
    times = f"after {beside.at_s:g} s"
    if beside.every_s is not None:
        first = "" if beside.at_s == beside.every_s else f", the first time {times}"
        times = f"every {beside.every_s:g} s{first}"
    return BesideText(beside.name, times, tuple(_steps(beside.steps, statements, engine, 0)))


def _sent(statement: Statement, engine: str, task: TrialTask) -> str:
    """Return a statement as it is sent to the engine, except that values replace its ``?`` if it isn't prepared."""
    beginning = engine_of(engine).parameter_prefix
    if beginning is None or task.prepare == "never":
        return statement.sql
    content, pieces, start = statement.sql.encode(), [], 0
    for number, position in enumerate(statement.places, 1):
        pieces.append(f"{content[start:position].decode()}{beginning}{number}")
        start = position + 1
    return "".join([*pieces, content[start:].decode()])


def _rows(table: LoadTable) -> str:
    columns = "".join(f"\n    {column.name} = {generator_text(column.fill)}" for column in table.columns)
    if table.file:
        limit = f"at most {table.rows:,}" if table.rows else "all"
        return f"{table.name}: {limit} rows of {table.file}"
    if table.per is not None:
        count = generator_text(table.per.count)
        return f"{table.name}: {count} rows per parent, about {table.rows:,}{columns}"
    return f"{table.name}: {table.rows:,} rows{columns}"


def _load(task: TrialTask, counted: Iterable[str]) -> Iterable[str]:
    yield f"{task.clients:,} client{'s' if task.clients > 1 else ''}, connect {task.connect}, prepare {task.prepare}"
    if isinstance(task.arrival, Open):
        stages = task.arrival.stages
        rate = "stages" if stages else f"{_number(task.arrival.rate)} transactions per second"
        yield f"open loop: {rate}, {task.arrival.gaps} gaps"
        for stage in stages:
            ramp = _number(stage.from_) if stage.from_ == stage.to else f"{_number(stage.from_)} to {_number(stage.to)}"
            yield f"    {_number(stage.seconds)} s: {ramp} transactions per second"
    warmup = [f"{_number(value)} {unit}" for unit, value in as_json(task.warmup).items() if value]
    if warmup:
        longer = ", whichever is longer" if len(warmup) > 1 else ""
        yield f"warm-up: {' or '.join(warmup)} of each client{longer}"
    window = [f"{_number(value)} {unit}" for unit, value in as_json(task.window).items() if value is not None]
    yield f"until {' or '.join(window)} of each client"
    if counted:
        yield f"throughput counts {', '.join(counted)}"
    if task.retry.attempts > 1:
        kinds = ", ".join(task.retry.on) or "locked, deadlock, serialization"
        yield f"{task.retry.attempts} attempts on {kinds}, {task.retry.wait_ms:g} ms apart"


def _number(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:g}"


def _steps(steps: Sequence[plan.Step], statements: list[str], engine: str, depth: int) -> Iterable[str]:
    for step in steps:
        yield "    " * depth + _step(step, statements, engine)
        if isinstance(step, plan.Execute) and step.each:
            yield "    " * depth + "for each row"
        for number, inner in enumerate(plan.nested(step)):
            if number and inner:
                yield "    " * depth + "else"
            yield from _steps(inner, statements, engine, depth + 1)


def _step(step: plan.Step, statements: list[str], engine: str) -> str:  # noqa: PLR0911 - one per kind
    match step:
        case plan.Execute():
            text = statements[step.statement]
            if len(step.params) > _MAX_PARAMETERS:
                text = f"{shortened(text, _MAX_STATEMENT_LENGTH)}   -- {len(step.params):,} values"
            elif step.params:
                text += "   -- " + ", ".join(map(generator_text, step.params))
            return text + (f"   -> {', '.join(step.into)}" if step.into else "")
        case plan.Begin():
            return engine_of(engine).control_text("begin", step.mode)
        case plan.Commit() | plan.Rollback():
            return engine_of(engine).control_text(step.do, "deferred")
        case plan.Set():
            return f"{step.variable} = {generator_text(step.value)}"
        case plan.When():
            if isinstance(step.left, generators.Expression):
                return f"when {generator_text(step.left)}"
            right = f" {generator_text(step.right)}" if step.right is not None else ""
            return f"when {generator_text(step.left)} {_COMPARISONS[step.compare]}{right}"
        case plan.Chance():
            return f"with probability {step.probability:g}"
        case plan.Repeat():
            return f"{step.times:,} times" if isinstance(step.times, int) else f"{generator_text(step.times)} times"
        case plan.Think():
            return f"think {generator_text(step.milliseconds)} ms"
        case plan.Pause():
            return f"think {generator_text(step.microseconds)} us"


_COMPARISONS = {
    "eq": "=",
    "ne": "<>",
    "lt": "<",
    "le": "<=",
    "gt": ">",
    "ge": ">=",
    "is_null": "is null",
    "is_not_null": "is not null",
}


def generator_text(generator: generators.Generator) -> str:  # noqa: PLR0911 - one per kind
    """Return a plan's generator for display."""
    match generator:
        case generators.Constant(value=value):
            return "null" if value is None else repr(value)
        case generators.Variable(name=text) | generators.Expression(text=text):
            return text
        case generators.Reference(of=of, row=generators.Serial(start=0, step=1)):
            return generator_text(of)
        case generators.Reference(of=of, row=row):
            return f"{generator_text(of)} of row {generator_text(row)}"
        case generators.Format(template=template, parts=parts):
            return f"'{template}' of {', '.join(map(generator_text, parts))}"
        case generators.Object(names=names, of=members):
            inner = (f"{name}: {generator_text(each)}" for name, each in zip(names, members, strict=True))
            return f"json {{{', '.join(inner)}}}"
        case generators.List(of=values, count=count):
            repeated = "" if count is None else f", {generator_text(count)} times"
            return f"json [{', '.join(map(generator_text, values))}{repeated}]"
        case generators.Choice(of=chosen, index=index) if index is not None:
            return f"choice {generator_text(index)} of {_value(list(map(generator_text, chosen)))}"
        case generators.Choice(of=chosen, weights=weights):
            shares = [f"{weight / sum(weights) * 100:.3g}% " for weight in weights] if weights else [""] * len(chosen)
            return f"choice({_value([f'{s}{generator_text(v)}' for s, v in zip(shares, chosen, strict=True)])})"
        case generators.Time(of=of, format=form):
            return f"{form}({generator_text(of)})"
        case generators.Nullable(share=share, of=of):
            return f"null ({share:g}) or {generator_text(of)}"
        case generators.Pick(values=values, weights=weights) if weights is not None:
            return f"pick(values {_value(values)}, weights {_value([f'{weight:.3g}' for weight in weights])})"
    details = ", ".join(f"{key} {_value(value)}" for key, value in as_json(generator).items() if key != "kind")
    return f"{generator.kind}({details})"


def _value(value: Any) -> str:
    if isinstance(value, dict):
        return "; ".join(f"{key}: {_value(inner)}" for key, inner in value.items())
    if not isinstance(value, list):
        return str(value)
    if len(value) > _MAX_VALUES_SHOWN:
        return f"{', '.join(map(str, value[: _MAX_VALUES_SHOWN - 1]))}, … {value[-1]} ({len(value):,} values)"
    return ", ".join(map(str, value))
