"""Mutated experiment files: each is an experiment or an InputError, and never another exception."""

from __future__ import annotations

import contextlib
import copy
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import tomli_w
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dbdyno.base.errors import InputError
from dbdyno.base.resources import package_path
from dbdyno.base.sql_tree import sql_tree
from dbdyno.engines.url import parse_url
from dbdyno.experiment.compile import compile_cell, refusal
from dbdyno.experiment.compile.describe import describe
from dbdyno.experiment.design import make_cells
from dbdyno.experiment.document import parse

# Larger files take longer and have no other keys.
_MAX_BYTES = 6_000
_NAMES = (("experiments", ""), ("experiment", ""), ("experiment", "templates"))
SOURCES = [
    (path, path.read_text(encoding="utf-8"))
    for parts in _NAMES
    for path in sorted(package_path(*parts, "").glob("*.toml"))
    if path.stat().st_size < _MAX_BYTES
]

SYSTEMS: list[list[str]] = [[], [], ["postgresql:"], ["mysql:"], ["duckdb:"], ["mongodb:"]]

# Pieces of files that mutations put in: syntax, keys and values of the format in places where they do not belong.
PIECES = [
    *("[", "]", "[[", "]]", "{", "}", "=", ",", ".", '"', "'", '"""', "\\", "\n", "#", "${", "}", "$", "\x00", "\x1b"),
    *(
        "\ufeff",
        "\u202e",
        "é",
        "[" * 3000,
        "(" * 3000,
        "-" * 3000,
        "not " * 3000,
        "{a=" * 3000,
        "a." * 3000 + "a = 1\n",
        "0",
        "-1",
        "nan",
        "inf",
    ),
    *("9" * 400, "1e999", "0x10", "1979-05-27", "07:32:00", "true", '"${threads}"', '"${a.b}"', '"$${x}"', '"${}"'),
    *("tables", "columns", "factors", "load", "stop", "transactions", "steps", "execute", "params", "key", "set"),
    *("uniform", "zipf", "serial", "choose", "if", "repeat", "foreach", "report", "published", "growth", "exclude"),
    *("select 1", "select '", "/*", "--", "insert into t values (?)", ":name", "?", "1 +", "row + (", "abs(row)"),
    *("sqlite:", "postgresql://u:p@h/d", "duckdb:", "http://h", "exec:x", "mongodb:", "sqlite:?a=", "x:y:z"),
]
VALUES: list[Any] = [
    *(None, True, 0, -1, 1, 2**31, 2**63 - 1, -(2**63), 1.5, -0.0, float("nan"), float("inf"), "", "a", "${x}", "\x00"),
    *([], [[]], {}, {"a": {}}, [1, "a", {}], {"": ""}, {"x": [{"x": []}]}, {"uniform": [0, 9]}, {"key": "t.id"}),
    *({"type": "integer"}, {"rate": 1}, {"seconds": 1}, ["a", "a"], {"values": [1, 2]}, {"variable": "i"}, "select 1"),
    *({"execute": "select ?", "params": [{"uniform": [9, 0]}]}, {"repeat": 3, "steps": []}, {"set": "i", "value": 1}),
]


class Mutation(NamedTuple):
    """``kind``: which; ``at``: where, as a share of the whole in 1/2^16; ``of``: which replacement; ``size``: bytes."""

    kind: int
    at: int
    of: int
    size: int


MUTATIONS = st.lists(
    st.builds(Mutation, st.integers(0, 7), st.integers(0, 2**16 - 1), st.integers(0, 2**16 - 1), st.integers(1, 40)),
    min_size=1,
    max_size=4,
)


def mutated(text: str, mutation: Mutation) -> str:
    """Change a text in one place: bytes, tokens or lines, or a value if it is TOML."""
    at = mutation.at * len(text) >> 16
    piece = PIECES[mutation.of % len(PIECES)]
    match mutation.kind:
        case 0:
            return text[:at] + chr(mutation.of % 0xD800) + text[at + 1 :]
        case 1:
            return text[:at] + text[at + mutation.size :]
        case 2:
            return text[:at] + piece + text[at:]
        case 3:
            return text[:at] + piece + text[at + mutation.size :]
        case 4:
            lines = text.split("\n")
            place, other = mutation.at * len(lines) >> 16, mutation.of % len(lines)
            lines[place] = lines[other]
            return "\n".join(lines)
        case _:
            return with_other_value(text, mutation)


def with_other_value(text: str, mutation: Mutation) -> str:
    """Replace, remove, add or move a value of a TOML document."""
    try:
        document = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError):
        return text
    places = [*_places(document)]
    if not places:
        return text
    holder, key = places[mutation.at * len(places) >> 16]
    # A document can be nested too deeply to be copied or written.
    try:
        match mutation.kind:
            case 5:
                holder[key] = copy.deepcopy(VALUES[mutation.of % len(VALUES)])
            case 6:
                other, name = places[mutation.of % len(places)]
                holder[key] = copy.deepcopy(other[name])
            case _:
                value = holder.pop(key)
                if isinstance(holder, dict) and mutation.of % 2:
                    holder[PIECES[mutation.of % len(PIECES)]] = value
        return tomli_w.dumps(document)
    except (TypeError, ValueError, RecursionError):
        return text


def _places(document: Any) -> Iterator[tuple[Any, Any]]:
    values = [document]
    while values:
        value = values.pop()
        items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
        for key, each in items:
            yield value, key
            values.append(each)


def read_and_describe(text: str, place: Path, systems: Sequence[str] = ()) -> None:
    """Do what `dbdyno describe` does with a file."""
    from dbdyno.experiment.experiment import make_experiment

    experiment = make_experiment(parse(text, place.name, place.parent))
    firsts = {}
    for cell in make_cells(experiment, {}, [parse_url(each) for each in systems], refusal).cells:
        firsts.setdefault(cell.system.name, cell)
    for cell in firsts.values():
        describe(compile_cell(experiment, cell))


@pytest.mark.parametrize(("place", "text"), SOURCES, ids=[path.name for path, _ in SOURCES])
def test_the_sources_are_experiments(place: Path, text: str) -> None:
    # The experiment of programs needs one.
    read_and_describe(text, place, ["exec:true"] if place.name == "command.toml" else [])


@settings(max_examples=5_000, deadline=None, suppress_health_check=list(HealthCheck))
@given(source=st.sampled_from(SOURCES), system=st.sampled_from(SYSTEMS), mutations=MUTATIONS)
def test_a_mutated_file_is_an_experiment_or_an_input_error(
    source: tuple[Path, str], system: list[str], mutations: list[Mutation]
) -> None:
    place, text = source
    for each in mutations:
        text = mutated(text, each)
    with contextlib.suppress(InputError):
        read_and_describe(text, place, system)


@pytest.mark.parametrize("dialect", ["sqlite", "postgres", "mysql", "duckdb", "tsql"])
def test_sql_that_the_parser_fails_on_is_not_read(dialect: str) -> None:
    for text in ("select " + "(" * 5000, "select 'a", "select case when"):
        assert sql_tree(text, dialect) is None
