"""Write tables that are like others, from their statistics: generated values instead of real ones."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dbdyno.base.errors import InputError
from dbdyno.experiment.distil.statistics import ColumnStatistics, IndexStatistics, TableStatistics
from dbdyno.experiment.parameter_values import read_values
from dbdyno.experiment.toml_text import COMMENT

Generator = Any

# A larger rank correlation means that values are in the order of the primary key.
_ORDERED = 0.9
# Digits of stand-ins, without the character that fills them up.
_DIGITS = "0123456789abcdefghijklmnopqrstuvw"
_FILLER = "x"
# Parents with children from which all have some.
_NEARLY_ALL = 0.95
_MOST_PRODUCT = 2**62
_TIMES = ("date", "timestamp")
_NUMBERS = ("boolean", "integer", "number", *_TIMES)
# The length of an identifier without dashes.
_HEX_LENGTH = 32


@dataclass(frozen=True)
class _Number:
    """The number of a value, from 0 to ``values`` - 1: an expression, or zipf distributed."""

    values: int
    expression: str = ""
    exponent: float | None = None

    @property
    def is_random(self) -> bool:
        """Whether rows have random values."""
        return self.exponent is not None or self.expression.startswith("random")

    @property
    def generator(self) -> Generator:
        return {"expression": self.expression} if self.exponent is None else _zipf(0, self.values, self.exponent)


class SyntheticTables:
    """Tables of an experiment that have the statistics of other tables.

    ``generated``: tables whose primary key the statements don't insert.
    """

    def __init__(self, tables: Sequence[TableStatistics], generated: frozenset[str] = frozenset()) -> None:
        self._tables = {each.name: each for each in _parents_first(tables)}
        self._generated = generated
        self._places = {name: place for place, name in enumerate(self._tables)}

    def document(self) -> dict[str, Any]:
        """Return the tables as an experiment has them."""
        return {name: self._table(each) for name, each in self._tables.items()}

    def foreign_keys(self, quote: Callable[[str], str]) -> list[str]:
        """Return the statements that add the foreign keys. ``quote``: quotes a name."""
        return [
            f"alter table {quote(table.name)} add foreign key ({quote(column.name)}) "
            f"references {quote(column.parent[0])} ({quote(column.parent[1])})"
            for table in self._tables.values()
            for column in table.columns
            if column.parent is not None and column.parent[0] in self._tables
        ]

    def parameter(self, table: str, column: str, exponent: float | None) -> Generator:
        """Return values of a column for a parameter; ``exponent``: of their skew, if they have one."""
        of = self._tables[table]
        made = self._column(of, column)
        key = f"{table}.{made.name}"
        parent = self._parent(of, made)
        if exponent is None:
            number = self._number(of, made, {})
            is_random = number is not None and number.is_random and not _is_by_row(of, made)
            return self._value(of, made, number) if is_random else {"key": key}
        if parent is not None:
            return {"key": f"{parent[0].name}.{parent[1].name}", "draw": {"zipf": exponent}}
        if _is_by_row(of, made) or made.spread is None:
            return {"key": key, "draw": {"zipf": exponent}}
        if made.listed:
            values = [value for value, share in zip(_stand_ins(made), made.listed, strict=True) if share[0]]
            return {"pick": {"values": values, "weights": [round(k**-exponent, 4) for k in range(1, len(values) + 1)]}}
        return self._value(of, made, _Number(made.spread.values, exponent=exponent))

    def ranked(self, table: str, column: str, ranks: Sequence[int]) -> Generator:
        """Return a column's values by rank, the most frequent first. If values are unique, return some rows' values."""
        of = self._tables[table]
        made = self._column(of, column)
        if not made.listed or self._parent(of, made) is not None:
            rows = [(rank - 1) % max(of.rows, 1) for rank in ranks]
            return {"key": f"{table}.{column}", "row": {"pick": rows}}
        shares = zip(_stand_ins(made), made.listed, strict=True)
        frequent = [value for value, _ in sorted(shares, key=lambda pair: -pair[1][0])]
        return {"pick": [frequent[min(rank, len(frequent)) - 1] for rank in ranks]}

    def _column(self, table: TableStatistics, name: str) -> ColumnStatistics:
        """Return a column. Raises InputError for a name that isn't one, such as SQLite's `rowid`."""
        named = [each for each in table.columns if each.name == name]
        named = named or [each for each in table.columns if each.name.lower() == name.lower()]
        if not named:
            problem = "a parameter has its values, but it is not a column that can be generated"
            raise InputError(f"{table.name}.{name}", problem, "leave out `--synthetic`")
        return named[0]

    def _parent(
        self, table: TableStatistics, column: ColumnStatistics
    ) -> tuple[TableStatistics, ColumnStatistics] | None:
        """Return the table and the column that a column refers to, if it is generated before."""
        if column.parent is None or column.parent[0] not in self._tables:
            return None
        if self._places[column.parent[0]] >= self._places[table.name]:
            return None
        parent = self._tables[column.parent[0]]
        return (parent, self._column(parent, column.parent[1])) if parent.rows else None

    def _table(self, table: TableStatistics) -> dict[str, Any]:
        composite, left_out = self._composite(table)
        columns = {}
        for each in table.columns:
            made: dict[str, Any] = {"type": self._type(table, each, composite)}
            if list(table.primary_key) == [each.name]:
                made["primary_key"] = True
                if table.name in self._generated and each.kind == "integer":
                    made["autoincrement"] = True
            if any(_is_of_column(index) and each.name in index.columns for index in table.indexes):
                made["unique"] = True
            if table.rows:
                made["fill"] = self._fill(table, each, composite)
            columns[each.name] = made
        document: dict[str, Any] = {COMMENT: [f"Left out: {each}" for each in (*table.left_out, *left_out)]}
        document["rows"] = table.rows
        if len(table.primary_key) > 1:
            document["primary_key"] = list(table.primary_key)
        indexes = [_index(each) for each in table.indexes if not _is_of_column(each)]
        if indexes:
            document["indexes"] = indexes
        return {**document, "columns": columns}

    def _type(self, table: TableStatistics, column: ColumnStatistics, composite: Mapping[str, _Number]) -> str:
        """Return the type of a column, wide enough for the numbers of its stand-ins."""
        parent = self._parent(table, column)
        if parent is not None:
            return self._type(*parent, {})
        number = self._number(table, column, composite)
        if column.kind != "text" or number is None or column.listed:
            return column.type
        digits = len(str(number.values - 1))
        return column.type if digits <= column.lengths[2] else f"varchar({digits})"

    def _fill(self, table: TableStatistics, column: ColumnStatistics, composite: Mapping[str, _Number]) -> Generator:
        made = self._value(table, column, self._number(table, column, composite))
        if column.empty:
            made = {"pick": {"values": ["", made], "weights": [_share(column.empty), _share(1 - column.empty)]}}
        if column.nulls == 1:
            return read_values("null", table.name)
        if column.nulls and column.name not in composite:
            return {"nullable": {"share": _share(column.nulls), "of": made}}
        return made

    def _number(
        self, table: TableStatistics, column: ColumnStatistics, composite: Mapping[str, _Number]
    ) -> _Number | None:
        """Return which value each row has; ``None``: each has another one, by chance."""
        rows = table.rows
        if column.name in composite:
            return composite[column.name]
        is_ordered = abs(column.order) >= _ORDERED and not column.listed
        if column.unique or (is_ordered and column.spread is None):
            row = ":row" if column.order >= 0 else f"({rows - 1} - :row)"
            return _Number(rows, row if is_ordered or column.order > _ORDERED else self._permuted(table, column))
        if is_ordered and column.spread is not None:
            row = ":row" if column.order >= 0 else f"({rows - 1} - :row)"
            return _Number(column.distinct, f"({row} * {column.distinct} / {rows})")
        if column.spread is None:
            return None
        if column.spread.exponent is not None:
            return _Number(column.spread.values, exponent=column.spread.exponent)
        return _Number(column.spread.values, f"random(0, {column.spread.values - 1})")

    def _permuted(self, table: TableStatistics, column: ColumnStatistics) -> str:
        """Return the rows' numbers in an order of the column's own."""
        seed = [each.name for each in table.columns].index(column.name) + 1
        return f"permute(:row, {table.rows}, {seed})"

    def _value(self, table: TableStatistics, column: ColumnStatistics, number: _Number | None) -> Generator:
        parent = self._parent(table, column)
        is_listed = bool(column.listed) and number is not None and number.is_random
        if parent is not None:
            key = f"{parent[0].name}.{parent[1].name}"
            if is_listed:
                return {"key": key, "row": _weighted(list(range(parent[0].rows))[: len(column.listed)], column)}
            return _reference(parent[0].rows, key, number)
        if is_listed:
            made = _weighted(_stand_ins(column), column)
            if column.distinct == table.rows and isinstance(made["pick"], list):
                return {"pick": {"values": made["pick"], "index": {"variable": "row"}}}
            return made
        if column.kind == "real":
            return {"uniform": [float(column.low), float(max(column.high, column.low + 1))]}
        return _of_range(column, number) if column.kind in _NUMBERS else _string(column, number)

    def _composite(self, table: TableStatistics) -> tuple[dict[str, _Number], list[str]]:
        """Number the values of keys of several columns, so that no two rows have the same.

        Return what this leaves out, too.
        """
        numbers: dict[str, _Number] = {}
        left_out = []
        keys = [list(table.primary_key), *(list(each.columns) for each in table.indexes if each.unique)]
        for key in keys:
            columns = [self._column(table, name) for name in key]
            is_several = len(key) > 1 and not any(each.unique for each in columns)
            if is_several and table.rows and not set(key) & set(numbers):
                made, is_varied = self._key(table, columns)
                numbers |= made
                if not is_varied:
                    left_out.append(f"how many rows have the same {key[0]}; all have equally many.")
        return numbers, left_out

    def _key(self, table: TableStatistics, columns: Sequence[ColumnStatistics]) -> tuple[dict[str, _Number], bool]:
        """Number the values of one key. Return whether its first value has different numbers of rows, too."""
        first, *others = columns
        rows, values = table.rows, [self._values(table, each) for each in columns]
        capacity = math.prod(self._capacity(table, each) for each in others)
        groups = min(max(values[0], -(-rows // capacity)), rows)
        parent = self._parent(table, first)
        if parent is not None and _NEARLY_ALL * parent[0].rows <= groups:
            groups = min(parent[0].rows, rows)
        is_ordered = first.order >= _ORDERED or first.name == next(iter(table.primary_key), None)
        row = ":row" if is_ordered else self._permuted(table, first)
        group, start = f"({row} * {groups} / {rows})", f"({{0}} * {rows} + {groups - 1}) / {groups}"
        left = -(-rows // groups)
        # Each group begins some rows later, so that their sizes differ.
        later = min(rows // groups, min(capacity, math.prod(values[1:])) - left + 1)
        low = self._first_key(table, first, groups)
        is_varied = is_ordered and low is not None and later > 1
        if is_varied:
            start += f" + permute({{0}}, {groups}) % {later} * least({{0}}, 1)"
            group = f"({group} - case when :row < {start.format(group)} then 1 else 0 end)"
            left += later - 1
        numbers = {first.name: _Number(groups, group)}
        known = f"(:{first.name} - {low})" if is_varied else group
        # The number of the row within its group.
        rest = f"({row} - ({start.format(known)}))"
        for each, count in zip(others, values[1:], strict=True):
            if left <= 1:
                break
            size = max(count, left) if each is others[-1] else count
            if size > 2 * left:
                # Neighbors differ, and so do the groups.
                step = next(k for k in range(round(size * 0.618), 0, -1) if math.gcd(k, size) == 1)
                numbers[each.name] = _Number(size, f"(({rest} * {step} + {group}) % {size})")
            else:
                numbers[each.name] = _Number(size, f"({rest} % {size})")
            rest, left = f"({rest} / {size})", -(-left // size)
        return numbers, is_varied

    def _first_key(self, table: TableStatistics, column: ColumnStatistics, groups: int) -> int | None:
        """Return the first value of a column that has each key of its parent table, if these are consecutive."""
        parent = self._parent(table, column)
        if parent is None or parent[0].rows != groups or not column.name.isidentifier():
            return None
        key = parent[1]
        is_dense = key.kind == "integer" and key.unique and key.high - key.low + 1 == groups
        return key.low if is_dense and key.order >= _ORDERED else None

    def _capacity(self, table: TableStatistics, column: ColumnStatistics) -> int:
        """Return how many different values a column can have."""
        parent = self._parent(table, column)
        if parent is not None:
            return parent[0].rows
        return column.high - column.low + 1 if column.kind in _NUMBERS else table.rows

    def _values(self, table: TableStatistics, column: ColumnStatistics) -> int:
        """Return how many different values a column may have."""
        parent = self._parent(table, column)
        return max(min(column.distinct, parent[0].rows) if parent is not None else column.distinct, 1)


def _parents_first(tables: Sequence[TableStatistics]) -> list[TableStatistics]:
    """Order tables so that each follows those it refers to, as far as they don't refer to one another."""
    left, made = {each.name: each for each in tables}, []
    while left:
        free = [
            each
            for each in left.values()
            if not any(column.parent and column.parent[0] in left.keys() - {each.name} for column in each.columns)
        ]
        made += [left.pop(each.name) for each in free or list(left.values())[:1]]
    return made


def _is_by_row(table: TableStatistics, column: ColumnStatistics) -> bool:
    """Whether the number of a row decides the column's value."""
    in_key = any(column.name in each for each in (table.primary_key, *(i.columns for i in table.indexes if i.unique)))
    return column.unique or in_key or (abs(column.order) >= _ORDERED and not column.listed)


def _is_of_column(index: IndexStatistics) -> bool:
    """Whether an index belongs to a column that is declared unique."""
    return index.unique and not index.name and len(index.columns) == 1


def _index(index: IndexStatistics) -> dict[str, Any]:
    made: dict[str, Any] = {"columns": list(index.columns)}
    if index.name:
        made["name"] = index.name
    if index.unique:
        made["unique"] = True
    if index.prefix is not None:
        made["prefix"] = index.prefix
    return {**made, "column_options": dict(index.options)} if index.options else made


def _weighted(values: Sequence[Any], column: ColumnStatistics) -> Generator:
    """Return a generator of listed values with their shares."""
    weights = [_share(share) for share, _ in column.listed[: len(values)]]
    return {"pick": list(values) if len(set(weights)) == 1 else {"values": list(values), "weights": weights}}


def _share(share: float) -> float:
    return float(f"{share:.3g}")


def _zipf(low: int, values: int, exponent: float) -> Generator:
    return {"zipf": {"low": low, "high": low + values - 1, "exponent": _share(max(exponent, 0.01)), "scattered": True}}


def _reference(rows: int, key: str, number: _Number | None) -> Generator:
    """Return a value of a parent's column."""
    if number is None:
        return {"key": key}
    used = min(number.values, rows)
    if number.exponent is not None:
        if used >= _NEARLY_ALL * rows:
            return {"key": key, "draw": {"zipf": _share(number.exponent)}}
        return {"key": key, "row": _zipf(0, used, number.exponent)}
    if number.is_random:
        if used >= _NEARLY_ALL * rows:
            return {"key": key}
        return {"key": key, "row": {"expression": f"permute(random(0, {used - 1}), {rows})"}}
    expression = number.expression if used == rows else f"{number.expression} * {rows} / {number.values}"
    return {"key": key, "row": {"expression": expression}}


def _stand_ins(column: ColumnStatistics) -> list[Any]:
    """Return a value for each listed one: of the same length, or in the same range and order."""
    if column.kind == "boolean":
        return [bool(value) for value in range(column.low, column.low + len(column.listed))]
    if column.kind in ("integer", "number"):
        span, count = column.high - column.low, max(len(column.listed) - 1, 1)
        values = [column.low + span * at // count for at in range(len(column.listed))]
        return [value / 10**column.decimals if column.decimals else value for value in values]
    if column.kind in _TIMES:
        count = max(len(column.listed), 1)
        size = (column.high - column.low + 1) // count
        return [_time(column, {"constant": column.low + size * at}) for at in range(count)]
    return [_digits(at).ljust(length, _FILLER) if length else "" for at, (_, length) in enumerate(column.listed)]


def _digits(number: int) -> str:
    high, low = divmod(number, len(_DIGITS))
    return (_digits(high) if high else "") + _DIGITS[low]


def _time(column: ColumnStatistics, number: Generator) -> Generator:
    made = {column.kind: number}
    if not column.template:
        return made
    parts = [made, {"uniform": [0, 999_999]}] if "{" in column.template else [made]
    return {"format": {"template": "{}" + column.template, "parts": parts}}


def _of_range(column: ColumnStatistics, number: _Number | None) -> Generator:
    """Return numbers, dates or times of a range."""
    low, span = column.low, column.high - column.low
    scaled = f" / {10**column.decimals}.0" if column.decimals else ""
    if number is None or (number.exponent is None and number.is_random and number.values > span):
        made: Generator = {"uniform": [low, column.high]}
        if scaled:
            made = {"expression": f"random({low}, {column.high}){scaled}"}
    elif number.exponent is not None and not scaled:
        made = _zipf(low, number.values, number.exponent)
    else:
        values = number.values
        expression = number.expression if number.exponent is None else f"random(0, {values - 1})"
        size = span + 1
        if size % values == 0:
            step = f"{expression} * {size // values}"
        elif values * size < _MOST_PRODUCT:
            step = f"{expression} * {size} / {values}"
        else:
            step = f"{expression} * {max(size // values, 1)}"
        step = step.removesuffix(" * 1")
        made = {"expression": f"({low} + {step}){scaled}" if scaled else f"{low} + {step}"}
        if expression == ":row" and size == values and not scaled:
            made = {"serial": low}
    return _time(column, made) if column.kind in _TIMES else made


def _lengths(column: ColumnStatistics, less: int = 0) -> list[int]:
    """Return the range of lengths with the column's mean, less the length of something before."""
    least, mean, greatest = column.lengths
    middle = round(mean)
    half = min(middle - least, greatest - middle)
    return [max(middle - half - less, 1), max(middle + half - less, 1)]


def _string(column: ColumnStatistics, number: _Number | None) -> Generator:
    if column.kind == "uuid":
        return {"uuid": {"version": "v4", "format": "hex"} if column.lengths[2] == _HEX_LENGTH else "v4"}
    if column.kind == "json":
        return {"json": {"value": {"text": _lengths(column, len('{"value":""}'))}}}
    if number is None:
        return {"text": _lengths(column)}
    digits = len(str(number.values - 1))
    part: Generator = number.generator
    if not number.is_random and column.lengths[1] > digits + 1:
        low, high = _lengths(column, digits)
        return {"format": {"template": f"{{:0{digits}}}{{}}", "parts": [part, {"text": [low, high]}]}}
    filler = _FILLER * (round(column.lengths[1]) - digits)
    return {"format": {"template": f"{{:0{digits}}}{filler}", "parts": [part]}}
