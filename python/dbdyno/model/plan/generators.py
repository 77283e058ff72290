"""The generators of a plan, which give parameters and columns their values (crates/protocol/src/plan/generator.rs)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from typing import Annotated, Any, Literal, get_args

from pydantic import Discriminator

from dbdyno.model.events.base import Count
from dbdyno.model.plan.expression import Tree
from dbdyno.model.plan.serialization import OMITTED

Scalar = bool | int | float | str | None
"""A value in a plan."""


@dataclass(frozen=True, kw_only=True)
class Constant:
    """Always the same value."""

    kind: Literal["constant"] = "constant"
    value: Scalar


@dataclass(frozen=True, kw_only=True)
class Variable:
    """The value of a variable of the transaction."""

    kind: Literal["variable"] = "variable"
    name: str


@dataclass(frozen=True, kw_only=True)
class Expression:
    """The value of an expression. ``text``: as the user wrote it, for errors.

    ``columns``: in a column, the generators of the other columns that it uses, which give their values in the same row.
    """

    kind: Literal["expression"] = "expression"
    text: str = ""
    tree: Tree
    columns: Mapping[str, Generator] = field(default_factory=dict, metadata=OMITTED)


@dataclass(frozen=True, kw_only=True)
class Serial:
    """``start + step * index``. In transactions, generators with the same ``counter`` count together."""

    kind: Literal["serial"] = "serial"
    start: int = 1
    step: int = 1
    counter: str | None = field(default=None, metadata=OMITTED)


@dataclass(frozen=True, kw_only=True)
class NextKey:
    """``start`` plus the number of the next key in the key space ``space``, which all clients share."""

    kind: Literal["next_key"] = "next_key"
    space: str
    start: Count


@dataclass(frozen=True, kw_only=True)
class LatestKey:
    """A number from 0 to the last acknowledged key of a key space, the latest most often.

    The k-th from the end has a probability in proportion to 1 / k^exponent. ``start``: the numbers that exist from the
    beginning.
    """

    kind: Literal["latest_key"] = "latest_key"
    space: str
    start: Count
    exponent: float


@dataclass(frozen=True, kw_only=True)
class Uniform:
    """An integer from ``low`` to ``high`` inclusive, all equally likely."""

    kind: Literal["uniform"] = "uniform"
    low: int
    high: int


@dataclass(frozen=True, kw_only=True)
class UniformReal:
    """A number from ``low`` to ``high``, excluding ``high``."""

    kind: Literal["uniform_real"] = "uniform_real"
    low: float
    high: float


@dataclass(frozen=True, kw_only=True)
class Zipf:
    """The k-th integer from ``low`` to ``high`` with a probability in proportion to 1 / k^exponent.

    ``scattered``: a fixed permutation spreads the frequent values over the range.
    """

    kind: Literal["zipf"] = "zipf"
    low: int
    high: int
    exponent: float = 1.0
    scattered: bool = False


@dataclass(frozen=True, kw_only=True)
class Gaussian:
    """An integer from ``low`` to ``high``, normally distributed; ``deviations`` from the middle to either end."""

    kind: Literal["gaussian"] = "gaussian"
    low: int
    high: int
    deviations: float = 3.0


@dataclass(frozen=True, kw_only=True)
class Text:
    """Random characters. ``min``, ``max``: limits of the length; ``characters``: None for a usual set."""

    kind: Literal["text"] = "text"
    min: Count
    max: Count
    characters: str | None = field(default=None, metadata=OMITTED)


@dataclass(frozen=True, kw_only=True)
class Vocabulary:
    """Words to draw from. ``size``: their number; ``exponent``: of Zipf's law; ``without``: what no word contains."""

    size: Count
    exponent: float = 1.0
    without: Sequence[str] = ()


@dataclass(frozen=True, kw_only=True)
class Words:
    """Pronounceable words. ``min``, ``max``: limits of their number."""

    kind: Literal["words"] = "words"
    min: Count
    max: Count
    vocabulary: Vocabulary | None = field(default=None, metadata=OMITTED)


@dataclass(frozen=True, kw_only=True)
class Pick:
    """One of the values, in proportion to the weights; without weights, all equally likely."""

    kind: Literal["pick"] = "pick"
    values: Sequence[Scalar]
    weights: Sequence[float] | None = field(default=None, metadata=OMITTED)


@dataclass(frozen=True, kw_only=True)
class Choice:
    """The value of one of several generators, drawn by weight. ``index``: gives its number instead, from 0."""

    kind: Literal["choice"] = "choice"
    of: Sequence[Generator]
    weights: Sequence[float] | None = field(default=None, metadata=OMITTED)
    index: Generator | None = field(default=None, metadata=OMITTED)


@dataclass(frozen=True, kw_only=True)
class TimeBlocks:
    """A prefix that counts intervals of ``interval_length`` seconds, and repeats after ``interval_count``."""

    interval_length: Count
    interval_count: Count


@dataclass(frozen=True, kw_only=True)
class SequenceBlocks:
    """A prefix that counts blocks of ``block_size`` keys, and repeats after ``block_count``.

    ``start``: the index of the first key; None for 0.
    """

    block_size: Count
    block_count: Count
    start: Count | None = field(default=None, metadata=OMITTED)


@dataclass(frozen=True, kw_only=True)
class TimeBlocked:
    """The version of a UUID that begins with a prefix of the time."""

    time_blocked: TimeBlocks


@dataclass(frozen=True, kw_only=True)
class SequenceBlocked:
    """The version of a UUID that begins with a prefix of its index."""

    sequence_blocked: SequenceBlocks


UuidVersion = Literal["v4", "v7", "v7_monotonic", "ulid"] | TimeBlocked | SequenceBlocked
"""The version of a UUID."""

UuidFormat = Literal["dashed", "hex", "bytes", "base32"]
"""The form of a UUID: with dashes, as hexadecimal digits, as bytes, or in Crockford's base 32."""


@dataclass(frozen=True, kw_only=True)
class Uuid:
    """A UUID."""

    kind: Literal["uuid"] = "uuid"
    version: UuidVersion
    format: UuidFormat = "dashed"
    counter: str | None = field(default=None, metadata=OMITTED)

    @property
    def version_name(self) -> str:
        """The name of the version, without its parameters."""
        match self.version:
            case TimeBlocked():
                return "time_blocked"
            case SequenceBlocked():
                return "sequence_blocked"
        return self.version


@dataclass(frozen=True, kw_only=True)
class Format:
    """A string in which each ``{}`` of the template is replaced by the value of the next part."""

    kind: Literal["format"] = "format"
    template: str
    parts: Sequence[Generator]


@dataclass(frozen=True, kw_only=True)
class Object:
    """A JSON object as a string. Numbers, null, Booleans, objects and lists keep their types; others are strings."""

    kind: Literal["object"] = "object"
    names: Sequence[str]
    of: Sequence[Generator]


@dataclass(frozen=True, kw_only=True)
class List:
    """A JSON list as a string. ``count``: how often the values of the generators are repeated; None: once."""

    kind: Literal["list"] = "list"
    of: Sequence[Generator]
    count: Generator | None = field(default=None, metadata=OMITTED)


@dataclass(frozen=True, kw_only=True)
class Now:
    """The current time."""

    kind: Literal["now"] = "now"
    format: Literal["unix_seconds", "unix_milliseconds", "text"] = "unix_seconds"


@dataclass(frozen=True, kw_only=True)
class Time:
    """A time as text, in UTC. ``of``: days (for a date) or seconds since 1970."""

    kind: Literal["time"] = "time"
    of: Generator
    format: Literal["date", "timestamp"]


@dataclass(frozen=True, kw_only=True)
class Reference:
    """The value of a column in the row with the number ``row``, from 0.

    ``of``: the column's generator; ``stream``: the number of its random stream.
    """

    kind: Literal["reference"] = "reference"
    of: Generator
    stream: Count
    row: Generator


@dataclass(frozen=True, kw_only=True)
class Nullable:
    """Null with the probability ``share``, otherwise the value of ``of``."""

    kind: Literal["nullable"] = "nullable"
    share: float
    of: Generator


Generator = Annotated[
    Constant
    | Variable
    | Expression
    | Serial
    | NextKey
    | LatestKey
    | Uniform
    | UniformReal
    | Zipf
    | Gaussian
    | Text
    | Words
    | Pick
    | Choice
    | Uuid
    | Format
    | Object
    | List
    | Now
    | Time
    | Reference
    | Nullable,
    Discriminator("kind"),
]
"""A generator of values."""


def generator_of_row(generator: Generator, row: int, count: int) -> Generator:
    """Return the generator for one of ``count`` rows of a statement; serial generators use every n-th value."""
    match generator:
        # With a counter that others use, too, the generator takes the next value for each row.
        case Serial(start=start, step=step, counter=None):
            return replace(generator, start=start + row * step, step=step * count)
        case Reference():
            # The referenced column stays the same; only the choice of its row changes.
            return replace(generator, row=generator_of_row(generator.row, row, count))
        case Nullable():
            return replace(generator, of=generator_of_row(generator.of, row, count))
        case Format():
            return replace(generator, parts=[generator_of_row(part, row, count) for part in generator.parts])
        case Object() | List():
            return replace(generator, of=[generator_of_row(each, row, count) for each in generator.of])
    return generator


def generators_in(part: Any, *, of_columns: bool = True) -> Iterator[Generator]:
    """Yield the generators in a part of a plan, including nested ones.

    ``of_columns``: also the generators of referenced columns.
    """
    match part:
        case Pick():
            # Its values can be many.
            yield part
        case Reference() if not of_columns:
            yield part
            yield from generators_in(part.row, of_columns=False)
        case _ if is_dataclass(part):
            if isinstance(part, get_args(get_args(Generator)[0])):
                yield part
            for each in fields(part):
                yield from generators_in(getattr(part, each.name), of_columns=of_columns)
        case Mapping():
            yield from generators_in(list(part.values()), of_columns=of_columns)
        case Sequence() if not isinstance(part, str):
            for each in part:
                yield from generators_in(each, of_columns=of_columns)
