"""Statistics of tables, from a sample of their rows. They contain no value of the database but the ends of ranges.

Integers keep their range; it is rounded outward to two significant digits, except for keys. Dates keep their months.
"""

from __future__ import annotations

import calendar
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any, Literal

import numpy as np

from dbdyno.experiment.distil.skew import exponent_of, fitted_skew

Kind = Literal["binary", "boolean", "date", "integer", "json", "number", "real", "text", "timestamp", "uuid"]

SHOWN_CHARACTERS = 40
"""Characters of a string that are read, with its length."""

_KINDS: Mapping[str, tuple[Kind, str]] = {
    "bigint": ("integer", "bigint"), "binary": ("binary", "blob"), "boolean": ("boolean", "boolean"),
    "blob": ("binary", "blob"), "char": ("text", "char"), "date": ("date", "date"),
    "datetime": ("timestamp", "timestamp"),
    "decimal": ("number", "decimal"), "double": ("number", "double"), "float": ("number", "real"),
    "int": ("integer", "integer"), "json": ("json", "json"), "jsonb": ("json", "jsonb"),
    "longblob": ("binary", "blob"), "longtext": ("text", "text"), "mediumint": ("integer", "integer"),
    "mediumtext": ("text", "text"), "nchar": ("text", "char"), "nvarchar": ("text", "varchar"),
    "smallint": ("integer", "smallint"), "text": ("text", "text"), "timestamp": ("timestamp", "timestamp"),
    "timestampntz": ("timestamp", "timestamp"), "timestamptz": ("timestamp", "timestamp"),
    "tinyint": ("integer", "smallint"), "ubigint": ("integer", "bigint"), "uint": ("integer", "bigint"),
    "usmallint": ("integer", "integer"), "utinyint": ("integer", "smallint"), "uuid": ("uuid", "uuid"),
    "varbinary": ("binary", "blob"), "varchar": ("text", "varchar"),
}  # fmt: skip
_MOST_DECIMALS = 4
_INT_32 = 2**31
_DAY_S = 86_400
_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_TIME = re.compile(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d(?::(\d\d))?(\.\d+)?(Z|[+-]\d\d(?::?\d\d)?)?")
_UUID = re.compile(r"[0-9a-fA-F]{8}(-?)(?:[0-9a-fA-F]{4}\1){3}[0-9a-fA-F]{12}")
# Different values of which each has its own share, and their length.
MOST_LISTED = 50
_LONGEST_LISTED = 60
# Columns with a larger share of different values have hardly any value twice.
_NEARLY_ALL = 0.9
_MOST_SUMMED = 1_000_000
# Values that rows are drawn from, in relation to the rows.
_MOST_UNUSED = 20


@dataclass(frozen=True)
class Declared:
    """A column as the catalog has it. ``type``: as an experiment has it.

    ``parent``: the table and the column that it refers to.
    """

    name: str
    kind: Kind | None
    type: str
    unique: bool = False
    parent: tuple[str, str] | None = None


@dataclass(frozen=True)
class Spread:
    """How values are distributed: ``values`` different ones, used equally or with a zipf ``exponent``."""

    values: int
    exponent: float | None = None


@dataclass(frozen=True)
class ColumnStatistics:
    """Statistics of a column.

    ``nulls``: the share of null; ``spread``: of other values, ``None`` if hardly any value occurs twice; ``low``,
    ``high``: the range, in days, in seconds, or in units of 10^-``decimals``; ``lengths``: of strings, the least, the
    mean and the greatest; ``listed``: the share and the length of each value, if there are few; ``order``: the rank
    correlation with the primary key; ``template``: how a string contains the time.
    """

    name: str
    kind: Kind
    type: str
    nulls: float = 0.0
    distinct: int = 0
    spread: Spread | None = None
    low: int = 0
    high: int = 0
    decimals: int = 0
    lengths: tuple[int, float, int] = (0, 0.0, 0)
    listed: Sequence[tuple[float, int]] = ()
    empty: float = 0.0
    order: float = 0.0
    template: str = ""
    unique: bool = False
    parent: tuple[str, str] | None = None


@dataclass(frozen=True)
class IndexStatistics:
    """An index. ``options``: by engine, what follows each of its columns."""

    name: str
    columns: Sequence[str]
    unique: bool = False
    prefix: int | None = None
    options: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class TableStatistics:
    """Statistics of a table. ``left_out``: properties that an experiment can't have."""

    name: str
    rows: int
    columns: Sequence[ColumnStatistics]
    primary_key: Sequence[str] = ()
    indexes: Sequence[IndexStatistics] = ()
    left_out: Sequence[str] = field(default=())


@dataclass(frozen=True)
class Counts:
    """What is known of a whole column: its table's rows, and if known, its number of different values and range."""

    rows: int
    distinct: int | None = None
    ends: tuple[int, int] | None = None


def declared_type(declared: str, grammar: str) -> tuple[Kind | None, str, bool]:
    """Return the kind of a declared type, its type in an experiment, and whether that is the same."""
    from sqlglot import exp
    from sqlglot.errors import SqlglotError

    if not declared:
        return None, "", True
    try:
        made = exp.DataType.build(declared, dialect=grammar)
    except (SqlglotError, ValueError):
        return "text", "text", False
    kind, name = _KINDS.get(str(made.this.value).lower(), ("text", ""))
    arguments = [each.name for each in made.expressions if each.name.isdigit()]
    if not name or made.args.get("nested"):
        return "text", "text", False
    if name in ("char", "varchar"):
        name = f"{name}({arguments[0]})" if arguments else "text" if name == "varchar" else "char(1)"
    elif name == "decimal" and arguments:
        name = f"decimal({', '.join(arguments)})"
    return kind, name, True


def column_statistics(
    declared: Declared, values: Sequence[Any], keys: Sequence[Any], table: Counts
) -> ColumnStatistics:
    """Describe a column by its ``values`` in a sample of the table's rows.

    A string is a pair: its beginning, and its length. ``keys``: the primary key's values in the same rows.
    """
    pairs = [(key, each) for key, each in zip(keys, values, strict=True) if each is not None and each != [None, None]]
    present = [each for _, each in pairs]
    nulls = 1 - len(present) / len(values) if values else 0.0
    kind = _kind(declared.kind, present)
    made = ColumnStatistics(
        declared.name, kind, _type(declared.type, kind), nulls, parent=declared.parent, unique=declared.unique
    )
    if not present:
        return made
    numbers, decimals, template = _numbers(kind, present)
    if kind == "number" and numbers is None:
        kind, numbers = "real", [float(each) for each in present]
    made = replace(made, kind=kind, type=_type(declared.type, kind), decimals=decimals, template=template)
    filled = table.rows * (1 - nulls)
    if numbers is not None:
        ends = table.ends or (min(numbers), max(numbers))
        if kind == "integer" and max(map(abs, ends)) >= _INT_32:
            made = replace(made, type="bigint")
        if table.ends is None:
            most = _greatest(made.type, decimals)
            low, high = _rounded(kind, *ends)
            ends = (max(low, -most), min(high, most)) if kind in ("integer", "number") else (low, high)
        made = replace(made, low=ends[0], high=ends[1])
    strings = [each if isinstance(each, list) else [str(each), len(str(each))] for each in present]
    lengths = [int(str(length)) for _, length in strings]
    made = replace(made, lengths=(min(lengths), sum(lengths) / len(lengths), max(lengths)))
    if kind in ("binary", "json"):
        return made
    identities = numbers if numbers is not None else [tuple(each) for each in strings]
    made = replace(made, order=_rank_correlation([key for key, _ in pairs], [each for _, each in pairs]))
    counts = Counter(identities)
    is_short = numbers is not None or max(lengths) <= _LONGEST_LISTED
    if len(counts) <= MOST_LISTED and is_short and not declared.unique:
        listed = sorted(counts.items()) if numbers is not None else counts.most_common()
        sizes = [0 if numbers is not None else each[1] for each, _ in listed]
        shares = [count / len(present) for _, count in listed]
        found = Spread(len(counts))
        return replace(made, listed=list(zip(shares, sizes, strict=True)), spread=found, distinct=len(counts))
    if kind == "text" and counts[("", 0)] > 1:
        made = replace(made, empty=counts.pop(("", 0)) / len(present))
        full = [each for each in lengths if each]
        made = replace(made, lengths=(min(full), sum(full) / len(full), max(full)))
        filled *= 1 - made.empty
    if declared.unique:
        return replace(made, distinct=round(filled))
    spread, distinct = fitted_spread(list(counts.values()), filled, table.distinct)
    return replace(made, spread=spread, distinct=distinct)


def _kind(kind: Kind | None, present: Sequence[Any]) -> Kind:
    """Return what the values are. SQLite's types don't decide it."""
    if not present or kind in ("binary", "json"):
        return kind or "text"
    values = [each[0] if isinstance(each, list) else each for each in present]
    if any(isinstance(each, str) for each in values):
        return _kind_of_strings([str(each) for each in values])
    if all(isinstance(each, bool) for each in values) or (kind == "boolean" and set(values) <= {0, 1}):
        return "boolean"
    return "integer" if all(isinstance(each, int) for each in values) else "number"


def _kind_of_strings(texts: Sequence[str]) -> Kind:
    with suppress(ValueError):
        # Texts like 2026-02-30 are not times.
        if all(_DATE.fullmatch(each) and date.fromisoformat(each) for each in texts):
            return "date"
        if all(_TIME.fullmatch(each) and datetime.fromisoformat(each) for each in texts):
            return "timestamp"
    is_identifier = all(map(_UUID.fullmatch, texts)) and len(set(texts)) == len(texts) > 1
    return "uuid" if is_identifier else "text"


def _greatest(type_: str, decimals: int) -> int:
    """Return the greatest number that a column can have, in units of its decimals."""
    if match := re.fullmatch(r"decimal\((\d+)(?:, (\d+))?\)", type_):
        return int(10 ** (int(match[1]) - int(match[2] or 0) + decimals)) - 1
    return {"smallint": 2**15 - 1, "integer": _INT_32 - 1}.get(type_, 2**63 - 1)


def _type(declared: str, kind: Kind) -> str:
    """Return the type in an experiment; strings and times may be in columns of other types in SQLite."""
    usual = {"number": "double", "real": "double", "binary": "blob"}
    is_text = declared == "text" or declared.startswith(("char", "varchar"))
    if is_text or not declared:
        return declared or usual.get(kind, kind)
    if declared in ("date", "timestamp") and kind != declared:
        return usual.get(kind, kind)
    return declared


def _numbers(kind: Kind, present: Sequence[Any]) -> tuple[list[Any] | None, int, str]:
    """Return the values as integers, their number of decimals, and the template of times."""
    texts = [str(each[0] if isinstance(each, list) else each) for each in present]
    match kind:
        case "boolean" | "integer":
            return [int(each) for each in present], 0, ""
        case "number":
            exact = [Decimal(each).normalize() for each in texts]
            decimals = max([0, *(-int(str(each.as_tuple().exponent)) for each in exact)])
            scaled = [int(each.scaleb(decimals)) for each in exact]
            return (None, 0, "") if decimals > _MOST_DECIMALS else (scaled, decimals, "")
        case "date":
            return [_days(date.fromisoformat(each)) for each in texts], 0, ""
        case "timestamp":
            return [_seconds(each) for each in texts], 0, _template(texts)
    return None, 0, ""


def _template(texts: Sequence[str]) -> str:
    """Return what follows the seconds of times, as parts of a format."""
    ends = [(match[2], match[3]) for each in texts if (match := _TIME.fullmatch(each))]
    zone = Counter(zone or "" for _, zone in ends).most_common(1)[0][0]
    return (".{:06}" if any(fraction for fraction, _ in ends) else "") + zone


def _days(day: date) -> int:
    return (day - date(1970, 1, 1)).days


def _seconds(text: str) -> int:
    moment = datetime.fromisoformat(text)
    return int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp())


def _rounded(kind: Kind, low: Any, high: Any) -> tuple[int, int]:
    """Round a range outward: to two significant digits, or to months."""
    if kind in ("date", "timestamp"):
        size = 1 if kind == "date" else _DAY_S
        days = [date.fromordinal(int(end // size) + date(1970, 1, 1).toordinal()) for end in (low, high)]
        last = calendar.monthrange(days[1].year, days[1].month)[1]
        return _days(days[0].replace(day=1)) * size, (_days(days[1].replace(day=last)) + 1) * size - 1
    return _two_digits(low, up=False), _two_digits(high, up=True)


def _two_digits(number: float, *, up: bool) -> int:
    size = 10 ** max(len(str(int(abs(number)))) - 2, 0)
    return int((-(-number // size) if up else number // size) * size)


def _rank_correlation(keys: Sequence[Any], values: Sequence[Any]) -> float:
    """Return Spearman's rank correlation; 0 if the values can't be ordered."""
    try:
        ranks = [_ranks(keys), _ranks(values)]
    except TypeError:
        return 0.0
    if any(len(each) < 2 or each.std() == 0 for each in ranks):  # noqa: PLR2004 - a line needs two points
        return 0.0
    return float(np.corrcoef(*ranks)[0, 1])


def _ranks(values: Sequence[Any]) -> Any:
    order = {each: rank for rank, each in enumerate(sorted({_orderable(each) for each in values}))}
    return np.array([order[_orderable(each)] for each in values], dtype=float)


def _orderable(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def fitted_spread(counts: Sequence[int], rows: float, distinct: int | None = None) -> tuple[Spread | None, int]:
    """Fit a distribution, from which ``rows`` draws are likely to have as many different values and equal pairs.

    ``counts``: how often a sample contains each value; ``distinct``: different values of all rows, if that is known.
    Return the number of different values, too. The distribution is ``None`` if hardly any value occurs twice.
    """
    drawn, found = (float(sum(counts)), len(counts)) if distinct is None else (rows, distinct)
    if found >= drawn:
        return None, round(rows)
    is_skewed = fitted_skew(counts, found) is not None

    def exponent(values: int) -> float:
        return exponent_of(counts, values) if is_skewed else 0.0

    # A sum over more values takes too long.
    most = max(min(round(rows), _MOST_SUMMED), found) if is_skewed else round(_MOST_UNUSED * rows)
    values = _solved(lambda values: _expected(values, exponent(values), drawn), found, most)
    different = round(_expected(values, exponent(values), rows)) if distinct is None else distinct
    if different >= _NEARLY_ALL * rows:
        return None, different
    return Spread(values, exponent(values) or None), different


def _solved(expected: Callable[[int], float], distinct: int, most: int) -> int:
    """Return the number of values, at most ``most``, of which ``distinct`` ones are expected to be drawn."""
    low, high = distinct, max(most, distinct)
    while high - low > max(low // 200, 1):
        middle = (low + high) // 2
        low, high = (middle, high) if expected(middle) < distinct else (low, middle)
    return low if expected(low) >= distinct else high


def _expected(values: int, exponent: float, rows: float) -> float:
    """Return the expected number of different values among ``rows`` draws."""
    if exponent == 0:
        return values * -float(np.expm1(rows * np.log1p(-1 / values)))
    weights = np.arange(1, values + 1, dtype=float) ** -exponent
    shares = np.minimum(weights / weights.sum(), 1 - 1e-12)
    return float(-np.expm1(rows * np.log1p(-shares)).sum())
