"""A file of statements, each measured by itself, with values for its parameters: read, and made an experiment."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import tomli_w

from dbdyno.engines.known import known_engine
from dbdyno.engines.quoting import COMMENTS, FLAGS
from dbdyno.engines.statements import places
from dbdyno.errors import InputError
from dbdyno.experiment.document import parse
from dbdyno.experiment.experiment import Experiment, make_experiment
from dbdyno.experiment.factors import QUERY_FACTOR

MOST_VALUES = 1000
"""How many rows `@column of table` draws values from."""

Generator = Any
"""What makes a value, as an experiment's file has it."""

_WARMUP_S, _WINDOW_S = 0.1, 0.5
_MOST = 200

# What stands before a statement.
_BEFORE = re.compile(rf"(?:\s | {COMMENTS})*", FLAGS)
_NAME = r"[A-Za-z_][A-Za-z0-9_]*"
_PARAMETER = re.compile(rf"(?<![:\w]):({_NAME})")
_SAYS_NAME = re.compile(r"name\s*[:=]\s*(\S.*)", re.IGNORECASE)
_SAYS_VALUES = re.compile(rf":({_NAME})\s*=\s*(\S.*)")
_RANGE = re.compile(r"(-?\d+)\s*\.\.\s*(-?\d+)")
# A name as SQL has it, in quotes where it has blanks in it or is one of SQL's words.
_SQL_NAME = r"\"[^\"]+\"|`[^`]+`|\S+"
_COLUMN = re.compile(rf"@\s*({_SQL_NAME})\s+of\s+({_SQL_NAME})", re.IGNORECASE)
_LIST = re.compile(r"\s*(?:'((?:[^']|'')*)'|([^,']+?))\s*(?:,|$)")

# What begins, ends or divides a transaction.
_CONTROL = re.compile(
    r"(begin|commit|end|rollback|abort)(\s+(work|transaction|deferred|immediate|exclusive))*$"
    r"|start\s+transaction\b|savepoint\b|release\b|rollback\s+to\b",
    re.IGNORECASE,
)

_HINT = "write `1..1000`, `'a', 'b'`, or `@column of table`"


@dataclass(frozen=True)
class Column:
    """Values are drawn from a column of a table that is there."""

    table: str
    column: str


@dataclass(frozen=True)
class Query:
    """A statement of a file, with `?` for its parameters, which are named in order; ``line``: where it begins."""

    name: str
    sql: str
    parameters: tuple[str, ...]
    line: int
    values: Mapping[str, str] = field(default_factory=dict)


def read_queries(text: str, place: str, engine: str) -> list[Query]:
    """Read statements that end with `;`.

    A comment ``-- name: NAME`` names the one it stands before, ``-- :parameter = VALUES`` gives a parameter its values
    from there on. Raises InputError.
    """
    pattern = re.compile(rf"{known_engine(engine).quoted.pattern} | {COMMENTS} | ;", FLAGS)
    queries: list[Query] = []
    values: dict[str, str] = {}
    name, begin = "", 0
    for found in pattern.finditer(text):
        if found[0].startswith("--"):
            words = found[0][2:].strip()
            given = _SAYS_VALUES.fullmatch(words)
            named = _SAYS_NAME.fullmatch(words)
            if given:
                values[given[1]] = given[2].strip()
            elif named:
                name = named[1].strip()
        elif found[0] == ";":
            queries += _query(
                text[begin : found.start()], engine, (place, _line(text, begin)), name, dict(values), queries
            )
            name, begin = "", found.end()
    queries += _query(text[begin:], engine, (place, _line(text, begin)), name, dict(values), queries)
    if not queries:
        raise InputError(place, "there is no statement", "write statements that end with `;`")
    if len(queries) > _MOST:
        raise InputError(place, f"{len(queries)} statements are more than {_MOST}", "divide the file")
    names = [each.name for each in queries]
    twice = next((each for each in names if names.count(each) > 1), None)
    if twice is not None:
        raise InputError(place, f"two statements are called {twice}", "give each a name of its own")
    return queries


def _query(
    text: str, engine: str, place: tuple[str, int], name: str, values: dict[str, str], before: Sequence[Query]
) -> Iterator[Query]:
    """Give the statement in a part of a file, if there is one; ``place``: the file, and the line of the part.

    Raises InputError.
    """
    file, line = place
    quoted = known_engine(engine).quoted
    parameters: list[str] = []

    def named(found: re.Match[str]) -> str:
        if found[0].startswith(("--", "/*")):
            return " "
        if found.lastindex is None:
            return found[0]
        parameters.append(found[found.lastindex])
        return "?"

    pattern = re.compile(rf"{quoted.pattern} | {COMMENTS} | {_PARAMETER.pattern}", FLAGS)
    sql = pattern.sub(named, text).strip()
    if sql:
        skipped = _BEFORE.match(text)
        at = line + (skipped[0].count("\n") if skipped else 0)
        name = name or f"q{len(before) + 1}"
        where = f"{file}, line {at}: {name}"
        if places(sql, engine) > len(parameters):
            hint = "write `:name` in its place, and its values as `-- :name = 1..1000` or `--set name=1..1000`"
            raise InputError(where, "nothing says which values a `?` has", hint)
        if _CONTROL.match(sql):
            problem = f"`{' '.join(sql.split())}` changes nothing by itself: each statement is a transaction of its own"
            raise InputError(where, problem, "for several in one, write an experiment: `dbdyno init`")
        yield Query(name, sql, tuple(parameters), at, values)


def _line(text: str, at: int) -> int:
    return text.count("\n", 0, at) + 1


def read_values(words: str, place: str) -> Generator | Column:
    """Read what a parameter's values are: a range, a list, one value, or a column of a table. Raises InputError."""
    words = words.strip()
    made = _RANGE.fullmatch(words)
    if made:
        low, high = int(made[1]), int(made[2])
        if low > high:
            raise InputError(place, f"{words} begins above its end", _HINT)
        return {"uniform": [low, high]}
    named = _COLUMN.fullmatch(words)
    if named:
        return Column(table=named[2], column=named[1])
    if words.startswith("@"):
        raise InputError(place, f"{words} names no column of a table", _HINT)
    picked, at = [], 0
    while at < len(words):
        found = _LIST.match(words, at)
        if found is None or found.end() == at:
            raise InputError(place, f"{words} is no list of values", _HINT)
        picked.append(found[1].replace("''", "'") if found[1] is not None else _number(found[2].strip()))
        at = found.end()
    if not picked:
        raise InputError(place, "there are no values", _HINT)
    return {"pick": picked}


def _number(words: str) -> int | float | str:
    for kind in (int, float):
        try:
            return kind(words)
        except ValueError:
            continue
    return words


def queries_experiment(
    queries: Sequence[Query],
    given: Mapping[str, str],
    place: str,
    sample: Callable[[Column], Sequence[Any]],
) -> Experiment:
    """Make an experiment of statements that one client runs, each by itself, on a database that is there.

    ``given``: values of parameters, before those of the file; ``sample``: draws values of a column. Raises InputError.
    """
    levels = statement_levels(queries, given, place, sample)
    data = {
        "name": "queries",
        "title": f"Statements of {Path(place).name}",
        "question": f"What does each statement of {Path(place).name} take?",
        "rounds": "auto",
        "factors": {QUERY_FACTOR: levels},
        "load": {"warmup": {"seconds": _WARMUP_S}, "stop": {"seconds": _WINDOW_S}},
        "measure": {"label": "executions", "estimates": True},
        # What a statement asks is given; a system is chosen.
        "report": {"roles": {QUERY_FACTOR: "load"}, "questions": [QUERY_FACTOR], "times": True},
        "transactions": [
            {
                "name": "statement",
                "steps": [{"execute": f"${{{QUERY_FACTOR}.sql}}", "params": f"${{{QUERY_FACTOR}.params}}"}],
            }
        ],
    }
    return make_experiment(parse(tomli_w.dumps(data), place, Path()))


def statement_levels(
    queries: Sequence[Query], given: Mapping[str, str], place: str, sample: Callable[[Column], Sequence[Any]]
) -> dict[str, dict[str, Any]]:
    """Give each statement with what makes its parameters, by its name; as :func:`queries_experiment`."""
    known: dict[str, Generator] = {}

    def generator(query: Query, name: str) -> Generator:
        words = given.get(name, query.values.get(name))
        where = f"{place}, line {query.line}: {query.name}"
        if words is None:
            hint = f"write `-- :{name} = 1..1000` above it, or give `--set {name}=1..1000`; {_HINT[6:]} serve too"
            raise InputError(where, f":{name} has no values", hint)
        if words not in known:
            read = read_values(words, f"{where}: :{name}")
            known[words] = {"pick": list(sample(read))} if isinstance(read, Column) else read
        return known[words]

    unused = sorted(set(given) - {name for query in queries for name in query.parameters})
    if unused:
        there = ", ".join(f":{name}" for name in dict.fromkeys(name for query in queries for name in query.parameters))
        hint = f"they have {there}" if there else "they have none; write `:name` where a value is to stand"
        raise InputError("--set", f"no statement has a parameter :{unused[0]}", hint)
    return {
        each.name: {"sql": each.sql, "params": [generator(each, name) for name in each.parameters]} for each in queries
    }


def as_query(text: str, name: str, engine: str) -> Query | None:
    """Read one statement that was given by itself; ``None`` where it is empty. Raises InputError for several."""
    if not text.strip():
        return None
    several = read_queries(text, name, engine)
    if len(several) > 1:
        problem = f"{len(several)} statements stand in one text, and one is measured"
        raise InputError(name, problem, "give each by itself, or a file of them to `dbdyno queries`")
    return replace(several[0], name=name, values={})
