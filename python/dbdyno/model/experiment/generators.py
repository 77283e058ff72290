"""Generators as an experiment writes them: a literal, or a table with one key that names the kind."""

from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Discriminator, Field, PlainValidator, Tag, model_validator

from dbdyno.model.experiment import expression as pgbench
from dbdyno.model.experiment.draws import Draw, DrawOf
from dbdyno.model.experiment.strict import (
    Name,
    Number,
    Positive,
    Share,
    Strict,
    Whole,
    check_fits,
    read_length,
    read_range,
    read_whole_range,
)
from dbdyno.model.experiment.validation import TAG, nearest, show, wrong
from dbdyno.model.limits import LONGEST_TEXT, MOST_WORDS

Scalar = bool | int | float | str


def _check_sent(value: Scalar) -> Scalar:
    if isinstance(value, int | float):
        check_fits(value)
    return value


Sent = Annotated[Scalar, AfterValidator(_check_sent)]
Range = Annotated[tuple[int, int] | tuple[float, float], PlainValidator(read_range)]
WholeRange = Annotated[tuple[int, int], PlainValidator(read_whole_range)]
Characters = Annotated[tuple[int, int], PlainValidator(lambda value: read_length(value, LONGEST_TEXT))]
WordCount = Annotated[tuple[int, int], PlainValidator(lambda value: read_length(value, MOST_WORDS))]


class Constant(Strict):
    """Always the same value. A literal stands for it: ``5`` is ``{ constant = 5 }``."""

    constant: Sent


class Null(Strict):
    """SQL null."""

    null: Literal[True]


class Variable(Strict):
    """The value of a variable of the transaction."""

    variable: Name


def read_expression(value: Any) -> pgbench.Expression:
    """Read an expression; a text that is none is a validation error."""
    if isinstance(value, pgbench.Expression):
        return value
    if not isinstance(value, str):
        raise wrong(f"{show(value)} is not an expression", 'write it as a text, as in `"random(1, 10 * :n)"`')
    try:
        return pgbench.parse_expression(value)
    except pgbench.WrongExpression as error:
        raise wrong(f"{show(value)}: {error.problem}", error.hint) from None


ExpressionText = Annotated[pgbench.Expression, PlainValidator(read_expression)]


class Expression(Strict):
    """What an expression in pgbench's language gives; in transactions only, and not within another generator."""

    expression: ExpressionText


class SerialOf(Strict):
    """``start``, ``start + step`` and so on."""

    start: Whole = 1
    step: Whole = 1


class Serial(Strict):
    """Ascending integers; a number alone is the start."""

    serial: Annotated[SerialOf, BeforeValidator(lambda v: {"start": v} if isinstance(v, int) else v)]


class Uniform(Strict):
    """A number of a range: whole if both ends are."""

    uniform: Range


def _range_alone(value: Any) -> Any:
    return dict(zip(("low", "high"), read_whole_range(value), strict=True)) if isinstance(value, list) else value


class ZipfOf(Strict):
    """The range, and how steep."""

    low: Whole
    high: Whole
    exponent: Annotated[Number, Field(gt=0)] = 1.0
    scattered: bool = False

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        read_range([self.low, self.high])
        return self


class Zipf(Strict):
    """The k-th value of a range with a probability in proportion to 1 / k^exponent."""

    zipf: Annotated[ZipfOf, BeforeValidator(_range_alone)]


class GaussianOf(Strict):
    """The range, and how many standard deviations lie from its middle to either end."""

    low: Whole
    high: Whole
    deviations: Annotated[Number, Field(ge=1)] = 3.0

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        read_range([self.low, self.high])
        return self


class Gaussian(Strict):
    """A whole number of a range, normally distributed about its middle."""

    gaussian: Annotated[GaussianOf, BeforeValidator(_range_alone)]


class Text(Strict):
    """Random characters; a number is the length, a list the least and the greatest."""

    text: Characters


class WordsOf(Strict):
    """How many words, and the list they are drawn from: its size, how steep, and what no word of it contains."""

    count: WordCount
    vocabulary: Annotated[int, Field(ge=1, le=1_000_000)] | None = None
    exponent: Annotated[Number, Field(gt=0)] = 1.0
    without: list[Name] = Field(default_factory=list)

    @model_validator(mode="after")
    def _list_is_there(self) -> Self:
        for key in sorted(self.model_fields_set & {"exponent", "without"}):
            if self.vocabulary is None:
                raise wrong("there is no list of words to draw from", "add `vocabulary`, its size", key=key)
        return self


class Words(Strict):
    """Pronounceable words; a number is how many, a list the least and the greatest."""

    words: Annotated[WordsOf, BeforeValidator(lambda v: v if isinstance(v, dict) else {"count": v})]


class PickOf(Strict):
    """The values and their weights."""

    values: Annotated[list[Sent], Field(min_length=1)]
    weights: list[Annotated[Number, Field(ge=0)]] | None = None

    @model_validator(mode="after")
    def _weights_match(self) -> Self:
        if self.weights is not None and (len(self.weights) != len(self.values) or sum(self.weights) <= 0):
            raise wrong("the weights do not fit the values", "give one weight for each value, not all 0", key="weights")
        return self


class Pick(Strict):
    """One of the values given; a list stands for values all alike."""

    pick: Annotated[PickOf, BeforeValidator(lambda v: {"values": v} if isinstance(v, list) else v)]


# Versions of identifiers that are made from the time of day.
FROM_THE_CLOCK = frozenset({"v7", "v7_monotonic", "ulid", "time_blocked"})


class UuidOf(Strict):
    """The kind, the way it is written, and the blocks of the blocked kinds."""

    version: Literal["v4", "v7", "v7_monotonic", "ulid", "time_blocked", "sequence_blocked"]
    format: Literal["dashed", "hex", "bytes", "base32"] | None = None
    interval_length: Positive = 60
    interval_count: Positive = 65536
    block_size: Positive = 65536
    block_count: Positive = 65536

    @model_validator(mode="after")
    def _blocks_belong(self) -> Self:
        for key in sorted(self.model_fields_set - {"version", "format"}):
            owner = "time_blocked" if key.startswith("interval") else "sequence_blocked"
            if self.version != owner:
                raise wrong(f"a `{self.version}` has none", f'leave it out, or write `version = "{owner}"`', key=key)
        return self

    @property
    def written(self) -> str:
        """How it is written: left out, as its kind is by custom."""
        return self.format or ("base32" if self.version == "ulid" else "dashed")


class Uuid(Strict):
    """A UUID or ULID; a text alone is the version."""

    uuid: Annotated[UuidOf, BeforeValidator(lambda v: {"version": v} if isinstance(v, str) else v)]


class FormatOf(Strict):
    """The text with a ``{}`` for each part."""

    template: str
    parts: list["Generator"]

    @model_validator(mode="after")
    def _parts_match(self) -> Self:
        places = self.template.count("{}")
        if places != len(self.parts):
            problem = f"the template has {places} places `{{}}` for {len(self.parts)} parts"
            raise wrong(problem, "give one part for each place", key="template")
        return self


class Format(Strict):
    """A text with the values of other generators in it."""

    format: FormatOf


class Now(Strict):
    """The current time."""

    now: Literal["unix_seconds", "unix_milliseconds", "text"]


class NullableOf(Strict):
    """The probability of null, and the other generator."""

    share: Share
    of: "Generator"


class Nullable(Strict):
    """Null with a probability, else the value of another generator."""

    nullable: NullableOf


class RowOf(Strict):
    """The number, from 0, of a row of a table."""

    row_of: Name
    draw: DrawOf = Draw()


class Key(Strict):
    """The value that a column, ``table.column``, has in a row: in a drawn one, or in the one whose number is given."""

    key: Name
    draw: DrawOf = Draw()
    row: "Generator | None" = None

    @model_validator(mode="after")
    def _row_or_draw(self) -> Self:
        if self.row is not None and "draw" in self.model_fields_set:
            raise wrong("a row is given, so that none is drawn", "keep `row` or `draw`", key="draw")
        return self


class Next(Strict):
    """A new value for a column, ``table.column``: what the column's serial goes on with after the table's rows."""

    next: Name


_PLAIN_KINDS = (Constant, Null, Variable, Serial, Uniform, Zipf, Gaussian, Text, Words, Pick, Uuid)
_KINDS = (*_PLAIN_KINDS, Format, Now, Nullable, Expression)
_KINDS_OF_TABLES = (RowOf, Key, Next)
KINDS: tuple[str, ...] = tuple(next(iter(kind.model_fields)) for kind in (*_KINDS, *_KINDS_OF_TABLES))


def _read(value: Any) -> Any:
    if isinstance(value, bool | int | float | str):
        return {"constant": value}
    if not isinstance(value, dict):
        hint = "give a number, a text or a generator, as in `{ uniform = [1, 9] }`"
        raise wrong(f"{show(value)} is not a value", hint)
    found = [key for key in value if key in KINDS]
    if len(found) != 1:
        if found:
            raise wrong(f"it names {len(found)} generators: " + ", ".join(found), "keep one of them")
        if not value:
            raise wrong("it names no generator", nearest("", KINDS))
        raise wrong("there is no such generator", nearest(next(iter(value)), KINDS), key=next(iter(value)))
    return value


def _kind(value: Any) -> str:
    keys = value if isinstance(value, dict) else type(value).model_fields
    kind: str = next(key for key in keys if key in KINDS)
    return TAG + kind


Generator = Annotated[
    Annotated[Constant, Tag("#constant")]
    | Annotated[Null, Tag("#null")]
    | Annotated[Variable, Tag("#variable")]
    | Annotated[Serial, Tag("#serial")]
    | Annotated[Uniform, Tag("#uniform")]
    | Annotated[Zipf, Tag("#zipf")]
    | Annotated[Gaussian, Tag("#gaussian")]
    | Annotated[Text, Tag("#text")]
    | Annotated[Words, Tag("#words")]
    | Annotated[Pick, Tag("#pick")]
    | Annotated[Uuid, Tag("#uuid")]
    | Annotated[Format, Tag("#format")]
    | Annotated[Now, Tag("#now")]
    | Annotated[Nullable, Tag("#nullable")]
    | Annotated[Expression, Tag("#expression")]
    | Annotated[RowOf, Tag("#row_of")]
    | Annotated[Key, Tag("#key")]
    | Annotated[Next, Tag("#next")],
    Discriminator(_kind),
    BeforeValidator(_read),
]
