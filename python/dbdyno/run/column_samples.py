"""Sample values of an existing column, for the parameters of a user's statements."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from typing import Any

from dbdyno.base.errors import InputError, SystemFailed
from dbdyno.engines import engine_of
from dbdyno.experiment.distil.parameters import ColumnFacts
from dbdyno.experiment.samples import MAX_VALUES
from dbdyno.model.experiment.generators import read_after, read_pattern, read_ranks
from dbdyno.model.plan.system import SystemSpec
from dbdyno.run.questions import questions

_NAME = re.compile(r"[\w.$]+|\"[^\"]+\"|`[^`]+`|[\w.$\"`]+")
_QUOTE, _QUOTES = "'", '`"'
_CAST = "dbdyno_column"
_VALUE = "v"
_HINT = 'name an existing table and column, quoted as in SQL: `@"e mail" of "order"`'


Scalar = int | float | str


def sample_columns(
    system: SystemSpec, table: str, columns: Sequence[str], most: int, directory: str | None = None
) -> list[list[Scalar]]:
    """Draw the values that a table's columns have in up to ``most`` random rows. Rows with a null are left out.

    A name may end with ranks or a distance, see :class:`dbdyno.model.experiment.generators.Column`. ``directory``:
    where trials work. Raises InputError if a column doesn't exist or the engine cannot return its values at once, and
    DbdynoError if the system is unavailable.
    """
    if len(columns) == 1 and not read_after(columns[0])[1]:
        return [_sample_column(system, table, columns[0], most, directory)]
    named = [read_after(each) for each in columns]
    location = f"@{', '.join(name for name, _ in named)} of {table}"
    if not _NAME.fullmatch(table) or not all(_NAME.fullmatch(name) for name, _ in named):
        raise InputError(location, "these are not columns of a table", _HINT)
    with questions(system, directory) as answer:
        try:
            rows = _rows(answer, system.engine, table, named, most)
        except SystemFailed as error:
            raise InputError(f"{system.name}: {location}", str(error), _HINT) from error
    if rows is None:
        problem = f"{engine_of(system.engine).title} does not give values of several columns"
        raise InputError(location, problem, "give ranges or lists")
    if not rows:
        raise InputError(location, "each row of the table has a null in these columns", "name other columns")
    return [list(values) for values in zip(*rows, strict=True)]


def _rows(
    answer: Callable[[str], str | None], engine: str, table: str, columns: Sequence[tuple[str, int]], most: int
) -> list[list[Scalar]] | None:
    """Return the values of columns, each with a distance, in random rows; ``None``: unsupported."""
    array = engine_of(engine).row_as_json
    if array is None:
        return None
    written = [name if not after else f"lead({name}, {after}) over (order by {name})" for name, after in columns]
    names = [f"dbdyno_{number}" for number in range(len(columns))]
    listed = ", ".join(f"{each} as {name}" for each, name in zip(written, names, strict=True))
    known = " and ".join(f"{name} is not null" for name in names)

    def drawn(values: Sequence[str]) -> list[list[Any]] | None:
        made = f"select {array}({', '.join(values)}) as v from (select {listed} from {table}) as d where {known}"  # noqa: S608
        found = _values(answer, engine, f"({made}) as drawn", "v", most)
        return None if found is None else [_decoded(each) for each in found]

    rows = drawn(names)
    others = {place for row in rows or () for place, value in enumerate(row) if not _is_scalar(value)}
    if not others:
        return rows
    return drawn([_as_text(name, engine) if place in others else name for place, name in enumerate(names)])


def _is_scalar(value: Any) -> bool:
    return isinstance(value, int | float | str) and not isinstance(value, bool)


def _sample_column(
    system: SystemSpec, table: str, column: str, most: int, directory: str | None = None
) -> list[Scalar]:
    """Draw up to ``most`` values of a column, with equal probability for each row. Nulls are left out."""
    column, pattern = read_pattern(column)
    if pattern != _VALUE:
        return [pattern.replace(_VALUE, str(each)) for each in _sample_column(system, table, column, most, directory)]
    column, ranks = read_ranks(column)
    location = f"@{column} of {table}"
    if not (_NAME.fullmatch(table) and _NAME.fullmatch(column)):
        raise InputError(location, "this is not a column and a table", _HINT)
    engine = engine_of(system.engine)
    with questions(system, directory) as answer:
        try:
            drawn = ranked_values(answer, system.engine, table, column, max(ranks)) if ranks else None
            if drawn is None and not ranks:
                drawn = _sampled(answer, system.engine, table, column, most)
        except SystemFailed as error:
            raise InputError(f"{system.name}: {location}", str(error), _HINT) from error
    if drawn is None:
        raise InputError(location, f"{engine.title} does not give values of a column", "give a range or a list")
    if not drawn:
        raise InputError(location, "the column is empty", "name another column")
    if ranks and max(ranks) > len(drawn):
        problem = f"the column has {len(drawn)} different values, so none has rank {max(ranks)}"
        raise InputError(location, problem, "name smaller ranks")
    return [drawn[rank - 1] for rank in ranks] if ranks else drawn


def ranked_values(
    answer: Callable[[str], str | None], engine: str, table: str, column: str, most: int
) -> list[Scalar] | None:
    """Return up to ``most`` different values of a column, the most frequent first; ``None``: unsupported.

    ``answer``: runs a query for one value. Raises SystemFailed.
    """
    array = engine_of(engine).row_as_json
    if array is None:
        return None
    order = f"order by count(*) desc, {column}"
    counted = f"select {array}(row_number() over ({order}), {column}) as v from {table} where {column} is not null"  # noqa: S608
    ranked = f"({counted} group by {column} {order} limit {most}) as ranked"
    found = [_decoded(each) for each in _values(answer, engine, ranked, "v", most) or ()]
    return [value for _, value in sorted(found, key=lambda pair: int(pair[0]))]


def _decoded(value: Any) -> Any:
    """Return an array or object; some engines return nested ones as strings."""
    return json.loads(value) if isinstance(value, str) else value


def _sampled(
    answer: Callable[[str], str | None], engine: str, table: str, column: str, most: int
) -> list[Scalar] | None:
    """Return values of random rows; ``None``: unsupported."""
    values = _values(answer, engine, table, column, most)
    if values is None or all(map(_is_scalar, values)):
        return values
    # Arrays, documents and Booleans as the engine writes them.
    return _values(answer, engine, table, _as_text(column, engine), most)


def _values(answer: Callable[[str], str | None], engine: str, table: str, column: str, most: int) -> list[Any] | None:
    question = engine_of(engine).sample(table, column, most)
    return None if question is None else json.loads(answer(question) or "[]")


def _as_text(column: str, engine: str) -> str:
    """Return SQL that casts a column, written as in SQL, to a string."""
    from sqlglot import exp

    cast = exp.cast(exp.column(_CAST), "text").sql(dialect=engine_of(engine).grammar)
    return cast.replace(_CAST, column)


def column_facts(answer: Callable[[str], str | None], engine: str, table: str, column: str) -> ColumnFacts | None:
    """Describe a column; ``None`` if it doesn't exist or the engine doesn't return its values.

    ``answer``: runs a query for one value.
    """
    question = engine_of(engine).sample(table, column, MAX_VALUES)
    if question is None or not (_NAME.fullmatch(table) and _NAME.fullmatch(column)):
        return None
    asked = [question, f"select count(*) from {table}"]  # noqa: S608
    keys_question = _keys_question(engine, table, column)
    try:
        found = _answers(answer, engine, asked if keys_question is None else [*asked, keys_question])
        sample = found[0] or []
        ends: list[int | None] = [None, None]
        if sample and all(isinstance(each, int) and not isinstance(each, bool) for each in sample):
            questions_ = [f"select {end}({column}) from {table}" for end in ("min", "max")]  # noqa: S608
            ends = [int(each) for each in _answers(answer, engine, questions_)]
    except (SystemFailed, ValueError):
        return None
    sample = [each if isinstance(each, int | float | str) else json.dumps(each) for each in sample]
    keys = None if keys_question is None else found[2]
    unique, foreign = (None, None) if keys is None else (bool(keys.get("unique")), bool(keys.get("foreign")))
    parent = _decoded(keys["foreign"])[0] if keys is not None and foreign else ""
    return ColumnFacts(int(found[1]), ends[0], ends[1], sample, unique, foreign, str(parent))


def _answers(answer: Callable[[str], str | None], engine: str, asked: Sequence[str]) -> list[Any]:
    """Return the answers to questions for JSON values, asked at once if the engine can: each needs a connection."""
    array = engine_of(engine).row_as_json
    if array is None:
        return [json.loads(answer(each) or "null") for each in asked]
    together = ", ".join(f"({each})" for each in asked)
    return [_decoded(each) for each in json.loads(answer(f"select {array}({together})") or "[]")]


def table_columns(answer: Callable[[str], str | None], engine: str, table: str) -> list[tuple[str, str]]:
    """Return the names and types of a table's columns in their order; nothing if the engine can't be asked.

    ``answer``: runs a query for one value.
    """
    found = (column_keys(answer, engine, table, "") or {}).get("columns") or []
    return [(str(name), str(type_)) for _, name, type_ in sorted(map(_decoded, _decoded(found)))]


def column_keys(answer: Callable[[str], str | None], engine: str, table: str, column: str) -> dict[str, Any] | None:
    """Return the answer to the engine's question for keys, see :attr:`Engine.column_keys`; ``None``: unknown."""
    question = _keys_question(engine, table, column)
    if question is None:
        return None
    try:
        found: dict[str, Any] = json.loads(answer(question) or "{}")
        if isinstance(found.get("foreign"), str):
            # Some engines return nested arrays as strings.
            found["foreign"] = json.loads(found["foreign"])
    except (SystemFailed, ValueError):
        return None
    return found


def _keys_question(engine: str, table: str, column: str) -> str | None:
    question = engine_of(engine).column_keys
    table_name, column_name = (f"'{each.strip(_QUOTES).replace(_QUOTE, _QUOTE * 2)}'" for each in (table, column))
    return None if question is None else question.format(table=table_name, column=column_name)
