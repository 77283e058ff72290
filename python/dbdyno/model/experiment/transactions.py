"""Transactions and their steps. A step is a table with one key that names its action."""

from typing import Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    Discriminator,
    Field,
    Tag,
    ValidationInfo,
    model_validator,
)

from dbdyno.model.experiment.conditions import ConditionText
from dbdyno.model.experiment.engines import engines_of
from dbdyno.model.experiment.generators import Amount, Generator
from dbdyno.model.experiment.requests import RequestParts
from dbdyno.model.experiment.sql import SqlText
from dbdyno.model.experiment.strict import Duration, Name, Positive, Share, Strict
from dbdyno.model.experiment.validation import TAG, nearest, show, wrong
from dbdyno.model.limits import MAX_REPETITIONS, MAX_VALUES

# Shortest gap in seconds between two executions beside the clients.
_MIN_GAP_S = 1e-3

VERBS = ("execute", "request", "copy", "begin", "commit", "rollback", "set", "when", "chance", "repeat", "think")


def _known_engine(name: str, info: ValidationInfo) -> str:
    engines = engines_of(info)
    if engines is not None and name not in engines.names:
        raise wrong(f"unknown engine `{name}`", engines.nearest(name))
    return name


class Step(Strict):
    """The keys of all steps.

    ``include``: false removes the step. ``engines``: the engines that have the step; None for all.
    """

    include: bool = True
    engines: Annotated[list[Annotated[str, AfterValidator(_known_engine)]], Field(min_length=1)] | None = None


class Execute(Step):
    """Run a statement, with a value for each ``?``; ``into`` names variables for the first row's columns.

    ``each``: steps that run for each row, with its columns in these variables.
    """

    execute: SqlText
    name: Name | None = None
    params: list[Generator] = Field(default_factory=list)
    into: list[Name] = Field(default_factory=list)
    each: list["AnyStep"] = Field(default_factory=list)

    @model_validator(mode="after")
    def _has_columns(self) -> Self:
        if self.each and not self.into:
            raise wrong("the steps need variables for the columns of a row", 'add `into = ["id"]`', key="each")
        return self

    @model_validator(mode="after")
    def _one_value_each(self, info: ValidationInfo) -> Self:
        engines = engines_of(info)
        if engines is None:
            return self
        for engine, text in self.execute.texts:
            readings = engines.places(text, engine)
            if len(self.params) not in readings:
                problem = f"number of `?` in {show(text)}: {readings[0]}, number of values: {len(self.params)}"
                raise wrong(problem, "give one value for each `?`", key="params")
        return self


class Copy(Step):
    """Insert rows into a table on the engine's fastest path. ``columns``: their values."""

    copy_: Name = Field(alias="copy")
    rows: Annotated[int, Field(ge=1, le=MAX_VALUES)]
    columns: Annotated[dict[Name, Generator], Field(min_length=1)]
    name: Name | None = None

    @model_validator(mode="after")
    def _is_small(self) -> Self:
        values = self.rows * len(self.columns)
        if values > MAX_VALUES:
            problem = f"{self.rows:,} rows of {len(self.columns)} columns are {values:,} values"
            raise wrong(
                problem, f"at most {MAX_VALUES:,} fit into a step; copy fewer rows, and `repeat` it", key="rows"
            )
        return self


class Request(Step, RequestParts):
    """Send a request to a service. ``into``: by variable, its source in the reply."""


class Control(Step):
    """Begin or end a transaction. ``optional``: engines without transactions omit the step."""

    optional: bool = False


class Begin(Control):
    """Begin a transaction, with a lock on the database or an isolation level."""

    begin: Literal[
        "deferred",
        "immediate",
        "exclusive",
        "read uncommitted",
        "read committed",
        "repeatable read",
        "snapshot",
        "serializable",
    ]


class Commit(Control):
    """Commit the transaction."""

    commit: Literal[True]


class Rollback(Control):
    """Roll the transaction back."""

    rollback: Literal[True]


class Set(Step):
    """Set a variable. With ``once``, only the first time that a client reaches such a step."""

    set: Name
    value: Generator
    once: bool = False


class When(Step):
    """Run ``then`` if a condition is true, otherwise ``else``."""

    when: ConditionText
    then: Annotated[list["AnyStep"], Field(min_length=1)]
    otherwise: list["AnyStep"] = Field(alias="else", default_factory=list)


class Chance(Step):
    """Run ``then`` with a probability."""

    chance: Share
    then: Annotated[list["AnyStep"], Field(min_length=1)]


_Number = Annotated[int, Field(ge=1, le=MAX_REPETITIONS)]


class Repeat(Step):
    """Run the steps ``repeat`` times: a number, or a generator of it, which is used when the loop begins."""

    repeat: Annotated[
        Annotated[_Number, Tag("#number")] | Annotated[Generator, Tag("#generator")],
        Discriminator(lambda value: TAG + ("generator" if isinstance(value, dict | BaseModel) else "number")),
    ]
    steps: Annotated[list["AnyStep"], Field(min_length=1)]


class Think(Step):
    """Pause for a number of milliseconds or microseconds."""

    think: Amount
    unit: Literal["ms", "us"] = "ms"


def _read(value: Any) -> Any:
    if not isinstance(value, dict):
        raise wrong(f"{show(value)} is not a step", 'give a table, such as `{ execute = "select 1" }`')
    found = [key for key in value if key in VERBS]
    if len(found) > 1:
        raise wrong("several actions in one step: " + ", ".join(found), "write one step for each")
    if not found:
        words = [key for key in value if key not in ("include", "engines")]
        raise wrong("unknown step", nearest(words[0] if words else "", VERBS), key=words[0] if words else "")
    return value


def _verb(value: Any) -> str:
    keys = value if isinstance(value, dict) else type(value).model_fields
    verb: str = next(key for key in keys if key.rstrip("_") in VERBS).rstrip("_")
    return TAG + verb


AnyStep = Annotated[
    Annotated[Execute, Tag("#execute")]
    | Annotated[Copy, Tag("#copy")]
    | Annotated[Request, Tag("#request")]
    | Annotated[Begin, Tag("#begin")]
    | Annotated[Commit, Tag("#commit")]
    | Annotated[Rollback, Tag("#rollback")]
    | Annotated[Set, Tag("#set")]
    | Annotated[When, Tag("#when")]
    | Annotated[Chance, Tag("#chance")]
    | Annotated[Repeat, Tag("#repeat")]
    | Annotated[Think, Tag("#think")],
    Discriminator(_verb),
    BeforeValidator(_read),
]


class Transaction(Strict):
    """A unit of work that is counted, timed and retried as a whole.

    ``clients``: the number of clients that run only this transaction; None: all clients without such a transaction.
    """

    name: Name
    weight: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 1.0
    clients: Positive | None = None
    include: bool = True
    steps: Annotated[list[AnyStep], Field(min_length=1)]

    @model_validator(mode="after")
    def _is_chosen_or_own(self) -> Self:
        if self.clients is not None and "weight" in self.model_fields_set:
            raise wrong("its clients run no other transaction", "remove `weight` or `clients`", key="weight")
        return self


class Beside(Strict):
    """Steps that run beside the clients, in a session of their own: once ``at`` a time, or ``every`` so often.

    ``at``: seconds from the window's start to the first execution; by default, ``every`` or 0. ``allow_errors``: errors
    don't fail the trial.
    """

    name: Name
    at: Duration | None = None
    every: Duration | None = None
    steps: Annotated[list[AnyStep], Field(min_length=1)]
    allow_errors: bool = False
    include: bool = True

    @model_validator(mode="after")
    def _runs_at_a_time(self) -> Self:
        if self.at is None and self.every is None:
            raise wrong("the time is missing", 'add `at = "2s"` or `every = "1s"`')
        if self.every is not None and self.every < _MIN_GAP_S:
            raise wrong(f"{self.every:g} s is out of range", 'give at least `"1ms"`', key="every")
        return self

    @property
    def at_s(self) -> float:
        """Seconds from the window's start to the first execution."""
        return (self.every or 0.0) if self.at is None else self.at
