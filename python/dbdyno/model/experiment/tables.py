"""Tables: columns, generators of their values, and indexes."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from dbdyno.model.experiment.column_types import TypeText
from dbdyno.model.experiment.generators import Constant, Generator, Uniform
from dbdyno.model.experiment.strict import Name, Positive, Rows, Strict
from dbdyno.model.experiment.validation import nearest, show, wrong

ROW_NUMBERS = ("row", "parent", "child")
"""The variables of a column that aren't other columns: numbers from 0 of the row, of its parent's row, and of the row
among the rows of its parent."""


class Column(Strict):
    """A column. ``fill`` is required if the table has rows, unless the engine or a file provides the values."""

    type: TypeText
    primary_key: bool = False
    autoincrement: bool = False
    not_null: bool = False
    unique: bool = False
    fill: Generator | None = None

    @model_validator(mode="after")
    def _autoincrement_fits(self) -> Self:
        if self.autoincrement and not (self.primary_key and self.type.is_integer):
            problem = "only an integer primary key can be autoincrement"
            raise wrong(problem, 'write `type = "integer", primary_key = true`', key="autoincrement")
        return self

    @model_validator(mode="after")
    def _integers_are_drawn(self) -> Self:
        ends = self.fill.uniform if isinstance(self.fill, Uniform) else ()
        if self.type.is_integer and any(isinstance(end, float) for end in ends):
            problem = f"`uniform` draws real numbers from {show(ends)}, but the type is `{self.type.name}`"
            raise wrong(problem, "write both ends without decimals", key="fill.uniform")
        return self


class Index(Strict):
    """An index, created after loading or, with ``build = "before"``, before it.

    ``column_options``: by engine, the options that follow each column, such as ``collate nocase``.
    """

    columns: Annotated[list[Name], Field(min_length=1)]
    name: Name | None = None
    unique: bool = False
    build: Literal["before", "after"] = "after"
    prefix: Positive | None = None
    column_options: dict[Name, str] = Field(default_factory=dict)
    include: bool = True


class Part(Strict):
    """Rows that follow the table's own rows, with other generators. Other columns are filled as in the table."""

    rows: Rows
    columns: dict[Name, Generator]


class Table(Strict):
    """A table and its rows: generated or, with ``file``, at most ``rows`` rows from a tab-separated file.

    ``per``: the table whose rows have ``count`` rows each. ``rows`` is then their expected number.
    """

    rows: Rows = 0
    per: Name | None = None
    count: Generator | None = None
    columns: Annotated[dict[Name, Column], Field(min_length=1)]
    primary_key: list[Name] = Field(default_factory=list)
    indexes: list[Index] = Field(default_factory=list)
    parts: list[Part] = Field(default_factory=list)
    file: Name | None = None
    options: dict[Name, str] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _names_match(self) -> Self:
        known = self.columns
        named = [("primary_key", column) for column in self.primary_key]
        named += [(f"indexes[{i}].columns", column) for i, index in enumerate(self.indexes) for column in index.columns]
        named += [(f"parts[{i}].columns", column) for i, part in enumerate(self.parts) for column in part.columns]
        for key, column in named:
            if column not in known:
                raise wrong(f"unknown column `{column}`", nearest(column, known), key=key)
        if self.primary_key and any(column.primary_key for column in known.values()):
            raise wrong(
                "the table has two primary keys",
                "remove `primary_key` of the table or of the column",
                key="primary_key",
            )
        return self

    @model_validator(mode="after")
    def _has_rows(self) -> Self:
        if self.per is None:
            if self.count is not None:
                raise wrong("`count` requires `per`", 'add `per = "TABLE"`, or write `rows`', key="count")
            if "rows" not in self.model_fields_set:
                raise wrong("required key", 'add the number of rows, or `per = "TABLE"` and `count`', key="rows")
            return self
        if self.count is None:
            raise wrong("required key", f"add the number of rows per row of `{self.per}`", key="count")
        for key in ("rows", "parts", "file"):
            if key in self.model_fields_set:
                problem = f"the rows of this table are generated per row of `{self.per}`"
                raise wrong(problem, f"remove `{key}`, or `per` and `count`", key=key)
        return self

    @property
    def children(self) -> int | None:
        """Rows per row of the parent table, if the number is constant."""
        constant = self.count.constant if isinstance(self.count, Constant) else None
        return constant if isinstance(constant, int) else None

    @model_validator(mode="after")
    def _rows_can_be_made(self) -> Self:
        for name, column in self.columns.items():
            filled = column.fill is not None or column.autoincrement or self.file is not None
            if self.rows and not filled:
                hint = "add `fill`, such as `fill = { text = 20 }` or `fill = { null = true }`"
                problem = "the table has rows, but this column has no values"
                raise wrong(problem, hint, key=f"columns.{name}")
        return self
