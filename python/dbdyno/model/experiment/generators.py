"""Generators of values in an experiment: a literal, or a table with one key that names the kind."""

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, date, datetime
from typing import Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    Discriminator,
    Field,
    PlainValidator,
    Tag,
    model_validator,
)

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
from dbdyno.model.limits import MAX_TEXT_LENGTH, MAX_WORDS
from dbdyno.model.plan.generators import UuidFormat

Scalar = bool | int | float | str


def _check_sent(value: Scalar) -> Scalar:
    if isinstance(value, int | float):
        check_fits(value)
    return value


Sent = Annotated[Scalar, AfterValidator(_check_sent)]
Range = Annotated[tuple[int, int] | tuple[float, float], PlainValidator(read_range)]
Characters = Annotated[tuple[int, int], PlainValidator(lambda value: read_length(value, MAX_TEXT_LENGTH))]
WordCount = Annotated[tuple[int, int], PlainValidator(lambda value: read_length(value, MAX_WORDS))]


class Constant(Strict):
    """Always the same value. A literal is an abbreviation: ``5`` means ``{ constant = 5 }``."""

    constant: Sent


class Null(Strict):
    """SQL null."""

    null: Literal[True]


class Variable(Strict):
    """The value of a variable of the transaction; in a column, of another column of the same row."""

    variable: Name


def read_expression(value: Any) -> pgbench.Expression:
    """Read an expression. Raises a validation error if it is invalid."""
    if isinstance(value, pgbench.Expression):
        return value
    if not isinstance(value, str):
        raise wrong(f"{show(value)} is not an expression", 'write it as a string, such as `"random(1, 10 * :n)"`')
    try:
        return pgbench.parse_expression(value)
    except pgbench.ExpressionError as error:
        raise wrong(f"{show(value)}: {error.problem}", error.hint) from None


ExpressionText = Annotated[pgbench.Expression, PlainValidator(read_expression)]


class Expression(Strict):
    """The value of a pgbench expression. In a column, its variables are other columns of the same row."""

    expression: ExpressionText


class SerialOf(Strict):
    """``start``, ``start + step`` and so on."""

    start: Whole = 1
    step: Whole = 1


def _read_serial(value: Any) -> Any:
    if isinstance(value, int):
        return {"start": value}
    if not isinstance(value, dict | SerialOf):
        raise wrong(f"{show(value)} is not an integer", "give the start, such as `1` or `{ start = 1, step = 2 }`")
    return value


class Serial(Strict):
    """Ascending integers; a number is an abbreviation for the start."""

    serial: Annotated[SerialOf, BeforeValidator(_read_serial)]


class Uniform(Strict):
    """A number from a range: an integer if both ends are integers."""

    uniform: Range


def _range_alone(value: Any) -> Any:
    return dict(zip(("low", "high"), read_whole_range(value), strict=True)) if isinstance(value, list) else value


class ZipfOf(Strict):
    """The range and the exponent. ``scattered``: frequent values are spread over the range."""

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
    """The range. ``deviations``: the number of standard deviations from its middle to either end."""

    low: Whole
    high: Whole
    deviations: Annotated[Number, Field(ge=1)] = 3.0

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        read_range([self.low, self.high])
        return self


class Gaussian(Strict):
    """An integer from a range, normally distributed around its middle."""

    gaussian: Annotated[GaussianOf, BeforeValidator(_range_alone)]


_RANGE = re.compile(r"(.)-(.)", re.DOTALL)
_MAX_CHARACTERS = 10_000


def _read_characters(value: Any) -> str:
    """Read a set of characters, in which ``A-Z`` is a range; ``-`` at the start or the end is itself."""
    if not isinstance(value, str) or not value:
        raise wrong(f"{show(value)} is not a set of characters", 'write ranges and characters, such as `"A-Z0-9_"`')
    characters: dict[str, None] = {}
    at = 0
    while at < len(value):
        match = _RANGE.match(value, at)
        first, last = (match[1], match[2]) if match else (value[at], value[at])
        if first > last:
            raise wrong(f"the range `{first}-{last}` is empty", f"write `{last}-{first}`")
        if ord(last) - ord(first) >= _MAX_CHARACTERS:
            raise wrong(f"the range `{first}-{last}` has too many characters", f"give at most {_MAX_CHARACTERS:,}")
        characters.update(dict.fromkeys(map(chr, range(ord(first), ord(last) + 1))))
        at += 3 if match else 1
    if any("\ud800" <= character <= "\udfff" or character == "\0" for character in characters):
        raise wrong("the set contains a character that no text can contain", "use printable characters")
    return "".join(characters)


class TextOf(Strict):
    """The length, and the characters to draw from; by default letters, digits, ``-`` and ``_``."""

    length: Characters
    characters: Annotated[str, PlainValidator(_read_characters)] | None = None


def _text_of(value: Any) -> Any:
    return value if isinstance(value, dict) else {"length": list(read_length(value, MAX_TEXT_LENGTH))}


class Text(Strict):
    """Random characters: a number is the length, a list the minimum and maximum length."""

    text: Annotated[TextOf, BeforeValidator(_text_of)]


class WordsOf(Strict):
    """The number of words, and the list that they are drawn from.

    ``vocabulary``: the size of the list. ``exponent``: of the Zipf distribution over it. ``without``: strings that its
    words don't contain.
    """

    count: WordCount
    vocabulary: Annotated[int, Field(ge=1, le=1_000_000)] | None = None
    exponent: Annotated[Number, Field(gt=0)] = 1.0
    without: list[Name] = Field(default_factory=list)

    @model_validator(mode="after")
    def _list_is_there(self) -> Self:
        for key in sorted(self.model_fields_set & {"exponent", "without"}):
            if self.vocabulary is None:
                raise wrong("it requires a list of words", "add `vocabulary`, the size of the list", key=key)
        return self


class Words(Strict):
    """Pronounceable words: a number is their count, a list the minimum and maximum count."""

    words: Annotated[WordsOf, BeforeValidator(lambda v: v if isinstance(v, dict) else {"count": v})]


class PickOf(Strict):
    """The values or generators, and their weights. ``index``: the number of the value to use, from 0."""

    values: Annotated[list["Generator"], Field(min_length=1)]
    weights: list[Annotated[Number, Field(ge=0)]] | None = None
    index: "Generator | None" = None

    @model_validator(mode="after")
    def _weights_match(self) -> Self:
        if self.weights is not None and (len(self.weights) != len(self.values) or sum(self.weights) <= 0):
            raise wrong("the weights do not fit the values", "give one weight for each value, not all 0", key="weights")
        if self.weights is not None and self.index is not None:
            raise wrong("`index` chooses the value, so weights have no effect", "remove one of them", key="weights")
        return self

    @property
    def constants(self) -> list[Scalar] | None:
        """The values, if all are constants."""
        constants = [value.constant for value in self.values if isinstance(value, Constant)]
        return constants if len(constants) == len(self.values) else None


def _read_pick(value: Any) -> Any:
    if value == []:
        raise wrong("the list is empty", "give at least one value")
    return {"values": value} if isinstance(value, list) else value


class Pick(Strict):
    """One of several values; a list is an abbreviation for values with equal weights."""

    pick: Annotated[PickOf, BeforeValidator(_read_pick)]


# Versions of identifiers that contain the current time.
FROM_THE_CLOCK = frozenset({"v7", "v7_monotonic", "ulid", "time_blocked"})


class UuidOf(Strict):
    """The version, the format, and the parameters of the blocked versions.

    ``interval_length``: in seconds.
    """

    version: Literal["v4", "v7", "v7_monotonic", "ulid", "time_blocked", "sequence_blocked"]
    format: UuidFormat | None = None
    interval_length: Positive = 60
    interval_count: Positive = 65536
    block_size: Positive = 65536
    block_count: Positive = 65536

    @model_validator(mode="after")
    def _blocks_belong(self) -> Self:
        for key in sorted(self.model_fields_set - {"version", "format"}):
            owner = "time_blocked" if key.startswith("interval") else "sequence_blocked"
            if self.version != owner:
                raise wrong(
                    f"not a parameter of `{self.version}`", f'leave it out, or write `version = "{owner}"`', key=key
                )
        return self

    @property
    def written(self) -> UuidFormat:
        """The format; by default the usual one of the version."""
        return self.format or ("base32" if self.version == "ulid" else "dashed")


class Uuid(Strict):
    """A UUID or ULID; a string is an abbreviation for the version."""

    uuid: Annotated[UuidOf, BeforeValidator(lambda v: {"version": v} if isinstance(v, str) else v)]


PLACE = re.compile(r"\{(?::0\d{1,2}|:\.\d{1,2})?\}")
"""A place for a part in a template: ``{}``, ``{:05}`` with zeros on the left, ``{:.2}`` with two decimals."""


class FormatOf(Strict):
    """The template, with a ``{}`` for each part. ``{:05}`` fills up with zeros, ``{:.2}`` writes two decimals."""

    template: str
    parts: list["Generator"]

    @model_validator(mode="after")
    def _parts_match(self) -> Self:
        places = len(PLACE.findall(self.template))
        if places != len(self.parts):
            problem = f"number of `{{}}` in the template: {places}, number of parts: {len(self.parts)}"
            raise wrong(problem, "give one part for each `{}`", key="template")
        return self


class Format(Strict):
    """A string that contains the values of other generators."""

    format: FormatOf


def _check_members(value: Any) -> Any:
    """Raise a validation error for a generator that should be an object."""
    for key, member in value.items() if isinstance(value, dict) else ():
        if key in KINDS and isinstance(member, list):
            problem = f"`{key}` is a key of the JSON object here, and {show(member)} is not a value"
            raise wrong(
                problem, f"name the member, such as `{{ json = {{ n = {{ {key} = {show(member)} }} }} }}`", key=key
            )
    return value


class Json(Strict):
    """A string with a JSON object of named generators, or a JSON list of generators."""

    json_: Annotated[
        Annotated[dict[str, "Generator"], Tag("#object")] | Annotated[list["Generator"], Tag("#list")],
        Field(alias="json"),
        Discriminator(lambda value: TAG + ("list" if isinstance(value, list) else "object")),
        BeforeValidator(_check_members),
    ]


class ListOf(Strict):
    """The generator of the values, and their number."""

    of: "Generator"
    count: "Amount"


class ListOfValues(Strict):
    """A string with a JSON list of values of one generator: an array or a vector."""

    list_: ListOf = Field(alias="list")


class Now(Strict):
    """The current time."""

    now: Literal["unix_seconds", "unix_milliseconds", "text"]


def _days(word: str) -> int:
    try:
        return (date.fromisoformat(word) - _EPOCH).days
    except ValueError:
        raise wrong(f"{show(word)} is not a date", 'write it as `"2026-01-31"`') from None


def _seconds(word: str) -> int:
    try:
        moment = datetime.fromisoformat(word)
    except ValueError:
        raise wrong(f"{show(word)} is not a time", 'write it as `"2026-01-31 23:59:59"`') from None
    return int((moment.replace(tzinfo=UTC) - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds())


_EPOCH = date(1970, 1, 1)


def _times(value: Any, read: Callable[[str], int]) -> Any:
    """Read ``[first, last]``, one time, or a generator of numbers."""
    match value:
        case str():
            return {"constant": read(value)}
        case [str(first), str(last)]:
            low, high = read(first), read(last)
            if low > high:
                raise wrong(f"{show(first)} is after {show(last)}", f'write `["{last}", "{first}"]`')
            return {"uniform": [low, high]}
    return value


class Date(Strict):
    """A date: of a range ``[first, last]``, or a generator of days since 1970-01-01."""

    date: Annotated["Generator", BeforeValidator(lambda v: _times(v, _days))]


class Timestamp(Strict):
    """A time in UTC: of a range ``[first, last]``, or a generator of seconds since 1970-01-01."""

    timestamp: Annotated["Generator", BeforeValidator(lambda v: _times(v, _seconds))]


class NullableOf(Strict):
    """``share``: the probability of null. ``of``: the generator of other values."""

    share: Share
    of: "Generator"


class Nullable(Strict):
    """Null with a probability, otherwise the value of another generator."""

    nullable: NullableOf


class RowOf(Strict):
    """The number of a drawn row of a table, from 0."""

    row_of: Name
    draw: DrawOf = Draw()


class Key(Strict):
    """The value of a column, ``table.column``, in a drawn row or in the row with a given number."""

    key: Name
    draw: DrawOf = Draw()
    row: "Generator | None" = None

    @model_validator(mode="after")
    def _row_or_draw(self) -> Self:
        if self.row is not None and "draw" in self.model_fields_set:
            raise wrong("`draw` has no effect if `row` is given", "remove `row` or `draw`", key="draw")
        return self


class Column(Strict):
    """A value of a column, ``table.column``, of a table that exists: of a random row, or with ``zipf`` a skew.

    ``row``: the number of a random row, modulo the number of rows. ``with``: other columns with values in the same
    rows. The name of the column may end with:

    - ``rank 1, 1, 3``: a value with a rank of the list. The most frequent value has rank 1.
    - ``pattern %v%``: a pattern with the value.
    - ``after 10``, with ``row``: the value 10 rows later in the column's order.
    """

    column: Name
    draw: DrawOf = Draw()
    row: "Generator | None" = None
    with_: list[Name] = Field(alias="with", default_factory=list)

    @property
    def sample(self) -> str:
        """The name of its values in the experiment's ``samples``."""
        return sample_name(self.column, self.with_)

    @model_validator(mode="after")
    def _names_a_column(self) -> Self:
        if self.row is None and self.with_:
            raise wrong("only a row has other columns", "give a `row`", key="with")
        if self.row is not None and "draw" in self.model_fields_set:
            raise wrong("`draw` has no effect if `row` is given", "remove `row` or `draw`", key="draw")
        if self.row is None and read_column(self.column) and read_after(self.column)[1]:
            raise wrong("only a row has later ones", "give a `row`", key="column")
        if read_column(self.column) is None:
            problem = f"{show(self.column)} is not a column of a table"
            raise wrong(problem, 'write `"table.column"`, names quoted as in SQL', key="column")
        if self.draw.latest is not None:
            raise wrong("rows of an existing table have no order of insertion", "write `{ zipf = 1.1 }`", key="draw")
        if self.draw.gaussian is not None:
            raise wrong("a column's values have no middle", "write `{ zipf = 1.1 }`", key="draw")
        return self


_RANKS = r" rank [1-9]\d*(?:, [1-9]\d*)*"
_AFTER = r" after [1-9]\d{0,8}"
_PATTERN = r" pattern (?:%v%?|v%)"
_COLUMN = re.compile(rf"(.*[^.])\.((?:\"[^\"]+\"|`[^`]+`|[^\s.\"`]+)(?:{_RANKS}|{_AFTER}|{_PATTERN})?)", re.DOTALL)


def read_column(text: str) -> tuple[str, str] | None:
    """Return the table and the column of ``table.column``, quoted as in SQL; None if it names none.

    Ranks belong to the column, see :func:`read_ranks`, and so do distances, see :func:`read_after`.
    """
    match = _COLUMN.fullmatch(text)
    return None if match is None else (match[1], match[2])


def read_ranks(column: str) -> tuple[str, list[int]]:
    """Return the column of ``column rank 1, 1, 3``, and its ranks, if any."""
    match = re.fullmatch(rf"(.*)({_RANKS})", column, re.DOTALL)
    return (column, []) if match is None else (match[1], [int(each) for each in re.findall(r"\d+", match[2])])


def sample_name(column: str, others: Sequence[str]) -> str:
    """Return the name of a column's values that are in the same rows as the values of ``others``."""
    return " with ".join([column, *sorted(others)])


def read_after(column: str) -> tuple[str, int]:
    """Return the column of ``column after 10``, and the number; 0 without one."""
    match = re.fullmatch(rf"(.*)({_AFTER})", column, re.DOTALL)
    return (column, 0) if match is None else (match[1], int(match[2].rpartition(" ")[2]))


def read_pattern(column: str) -> tuple[str, str]:
    """Return the column of ``column pattern %v%``, and the pattern with ``v`` for its value; ``v`` without one."""
    match = re.fullmatch(rf"(.*)({_PATTERN})", column, re.DOTALL)
    return (column, "v") if match is None else (match[1], match[2].rpartition(" ")[2])


class Next(Strict):
    """A new value for a column, ``table.column``, which continues the column after the table's rows.

    Without a column it is the number of a new row.
    """

    next: Name


_PLAIN_KINDS = (Constant, Null, Variable, Serial, Uniform, Zipf, Gaussian, Text, Words, Pick, Uuid)
_KINDS = (*_PLAIN_KINDS, Format, Json, ListOfValues, Now, Date, Timestamp, Nullable, Expression, Column)
_KINDS_OF_TABLES = (RowOf, Key, Next)
KINDS: tuple[str, ...] = tuple(next(iter(kind.model_fields)).rstrip("_") for kind in (*_KINDS, *_KINDS_OF_TABLES))


def _read(value: Any) -> Any:
    if isinstance(value, bool | int | float | str):
        return {"constant": value}
    if not isinstance(value, dict):
        hint = "give a number, a string or a generator, such as `{ uniform = [1, 9] }`"
        raise wrong(f"{show(value)} is not a value", hint)
    found = [key for key in value if key in KINDS]
    if len(found) != 1:
        if found:
            raise wrong("several generators are given: " + ", ".join(found), "keep only one")
        if not value:
            raise wrong("a generator is missing", nearest("", KINDS))
        raise wrong("unknown generator", nearest(next(iter(value)), KINDS), key=next(iter(value)))
    return value


def _kind(value: Any) -> str:
    keys = value if isinstance(value, dict) else type(value).model_fields
    kind: str = next(key for key in keys if key.rstrip("_") in KINDS).rstrip("_")
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
    | Annotated[Json, Tag("#json")]
    | Annotated[ListOfValues, Tag("#list")]
    | Annotated[Now, Tag("#now")]
    | Annotated[Date, Tag("#date")]
    | Annotated[Timestamp, Tag("#timestamp")]
    | Annotated[Nullable, Tag("#nullable")]
    | Annotated[Expression, Tag("#expression")]
    | Annotated[Column, Tag("#column")]
    | Annotated[RowOf, Tag("#row_of")]
    | Annotated[Key, Tag("#key")]
    | Annotated[Next, Tag("#next")],
    Discriminator(_kind),
    BeforeValidator(_read),
]

_NOT_NUMBERS = (Text, Words, Uuid, Format, Json, ListOfValues, Date, Timestamp)


def amount_problem(  # noqa: PLR0911 - one per kind
    generator: BaseModel, fills: Mapping[str, BaseModel | None] | None = None
) -> str | None:
    """Return why a generator can't be an amount, from 0, as far as its range is known.

    ``fills``: the generators that variables refer to.
    """
    fills = fills or {}
    match generator:
        case Constant(constant=bool() | str() as value):
            return f"{show(value)} is not a number"
        case Constant(constant=int() | float() as low) | Uniform(uniform=(low, _)):
            return f"{low} is negative" if low < 0 else None
        case Zipf(zipf=inner) | Gaussian(gaussian=inner):
            return f"{inner.low} is negative" if inner.low < 0 else None
        case Pick(pick=pick):
            return next((problem for each in pick.values if (problem := amount_problem(each, fills))), None)
        case Nullable(nullable=nullable):
            return amount_problem(nullable.of, fills)
        case Variable(variable=name) if (fill := fills.get(name)) is not None:
            others = {key: each for key, each in fills.items() if key != name}
            problem = amount_problem(fill, others)
            return problem and f"{problem}, in the column `{name}`"
    return "the values are strings, not numbers" if isinstance(generator, _NOT_NUMBERS) else None


def _check_amount(generator: BaseModel) -> BaseModel:
    problem = amount_problem(generator)
    if problem is not None:
        raise wrong(problem, "give numbers from 0")
    return generator


Amount = Annotated[Generator, AfterValidator(_check_amount)]
"""A generator of numbers from 0."""
