"""An engine is one folder behind one interface: nothing outside decides by an engine's name."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import dbdyno
from dbdyno.engines import ENGINES, NAMES, engine_of

PACKAGE = Path(dbdyno.__file__).parent

# About one engine: its instructions, its scripts, its lock wait, its releases. And the store, which is a database of
# dbdyno's own.
ABOUT_ONE = (
    "engines/",
    "cpu/",
    "experiment/pgbench/",
    "experiment/mix.py",
    "model/experiment/expression.py",
    "store/",
)

KNOWN = {
    name.lower()
    for engine in map(engine_of, ENGINES)
    for name in (*NAMES, *engine.products, engine.grammar, engine.original, engine.title)
    if name
}


def asked(node: ast.AST) -> Iterator[ast.expr]:
    """What a node decides by: the sides of a comparison, a case, a key."""
    match node:
        case ast.Compare():
            for side in (node.left, *node.comparators):
                yield from side.elts if isinstance(side, ast.Tuple | ast.List | ast.Set) else [side]
        case ast.MatchValue():
            yield node.value
        case ast.Subscript():
            yield node.slice
        case ast.Dict():
            yield from (key for key in node.keys if key is not None)
        case ast.Call(func=ast.Attribute(attr="get" | "startswith" | "endswith" | "setdefault" | "pop")):
            yield from node.args


def conditions(text: str) -> Iterator[tuple[int, str]]:
    """The lines of a source that name an engine where they decide something."""
    for node in ast.walk(ast.parse(text)):
        for each in asked(node):
            if (
                isinstance(each, ast.Constant)
                and isinstance(each.value, str)
                and each.value.lower().rstrip(":") in KNOWN
            ):
                yield each.lineno, each.value


def test_nothing_outside_its_folder_decides_by_an_engines_name() -> None:
    found = [
        f"{place}:{line}: {name}"
        for path in sorted(PACKAGE.rglob("*.py"))
        if not (place := str(path.relative_to(PACKAGE))).startswith(ABOUT_ONE)
        for line, name in conditions(path.read_text(encoding="utf-8"))
    ]
    assert found == []


@pytest.mark.parametrize(
    "text",
    [
        'if engine == "sqlite": pass',
        'if "PostgreSQL" != product: pass',
        'if engine in ("sqlite", "null"): pass',
        'match engine:\n    case "mysql" | "x": pass',
        'of = {"mongodb": 1}',
        'of["tsql"]',
        'of.get("MariaDB", 1)',
        'url.startswith("mongodb:")',
    ],
)
def test_what_decides_by_a_name_is_seen(text: str) -> None:
    assert len(list(conditions(text))) == 1 + ("null" in text)


@pytest.mark.parametrize("name", ENGINES)
def test_each_engine_says_what_it_is(name: str) -> None:
    engine = engine_of(name)
    assert engine.name == name
    assert engine.title
    assert engine.is_server == (engine.location == "host")
    # A class of durability is one that can be asked for.
    assert set(engine.durability) <= {"power-safe", "process-safe"}
    # What can be started is asked for by an account, and filled in a way that is known.
    family = engine.family()
    if family is not None:
        assert family.LOADING
        assert family.INSTALL
