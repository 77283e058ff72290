"""Tables: columns, what goes into them, and indexes."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from dbdyno.model.experiment.column_types import TypeText
from dbdyno.model.experiment.generators import Generator
from dbdyno.model.experiment.strict import Name, Positive, Rows, Strict
from dbdyno.model.experiment.validation import nearest, wrong


class Column(Strict):
    """A column. Without a fill it can be in a table without rows only, or be filled by the engine."""

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


class Index(Strict):
    """An index, made after loading or, with ``build = "before"``, before it.

    ``column_options``: by engine, what stands behind each of its columns, such as ``collate nocase``.
    """

    columns: Annotated[list[Name], Field(min_length=1)]
    name: Name | None = None
    unique: bool = False
    build: Literal["before", "after"] = "after"
    prefix: Positive | None = None
    column_options: dict[Name, str] = Field(default_factory=dict)
    include: bool = True


class Part(Strict):
    """Rows that come after the table's own, made in another way. A column not named is filled as in the table."""

    rows: Rows
    columns: dict[Name, Generator]


class Table(Strict):
    """A table and its rows: generated, or with ``file`` as many at most from a tab-separated file."""

    rows: Rows
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
                raise wrong(f"the table has no column `{column}`", nearest(column, known), key=key)
        if self.primary_key and any(column.primary_key for column in known.values()):
            raise wrong("a column is the primary key already", "keep one of the two", key="primary_key")
        return self

    @model_validator(mode="after")
    def _rows_can_be_made(self) -> Self:
        for name, column in self.columns.items():
            filled = column.fill is not None or column.autoincrement or self.file is not None
            if self.rows and not filled:
                hint = "add `fill`, as in `fill = { text = 20 }` or `fill = { null = true }`"
                problem = "the table has rows, but nothing says what goes into this column"
                raise wrong(problem, hint, key=f"columns.{name}")
        return self
