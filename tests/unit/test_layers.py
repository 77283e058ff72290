"""Packages import lower ones only, and no files of a package or a crate import one another in a cycle."""

import ast
import re
from collections.abc import Iterable, Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import dbdyno

PACKAGE = Path(dbdyno.__file__).parent
CRATES = Path(__file__).parents[2] / "crates"

# All files are read once for all tests.
pytestmark = pytest.mark.xdist_group("layers")

# Each package imports only those before it.
LAYERS = (
    "base",
    "stats",
    "model",
    "runtime",
    "engines",
    "trace",
    "experiment",
    "store",
    "analysis",
    "run",
    "report",
    "cpu",
    "cli",
)
# Parts that most commands don't use: they are imported by the commands that do.
OPTIONAL = ("dbdyno.cpu", "dbdyno.experiment.pgbench")


def imports(nodes: Iterable[ast.AST]) -> Iterator[str]:
    """The modules of the package that some statements import."""
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (each.name for each in node.names if each.name.startswith("dbdyno."))
        elif isinstance(node, ast.ImportFrom) and node.module == "dbdyno":
            yield from (f"dbdyno.{each.name}" for each in node.names)
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("dbdyno."):
            yield str(node.module)


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def imported(path: Path) -> frozenset[str]:
    """The modules of the package that a file imports, wherever in it."""
    return frozenset(imports(ast.walk(tree(path))))


def package_of(module: str) -> str:
    return module.split(".")[1]


def upward(importing: dict[str, frozenset[str]]) -> list[str]:
    """The imports that lead from a package to itself or one above it, by the modules."""
    found = []
    for name, modules in importing.items():
        if name.count(".") and package_of(name) in LAYERS:
            own = LAYERS.index(package_of(name))
            found += [f"{name}: {each}" for each in modules if LAYERS.index(package_of(each)) > own]
    return found


def importing() -> dict[str, frozenset[str]]:
    """By module, those that it imports, wherever in the file: for types alone, or within a function, too."""
    return {module_of(path): imported(path) for path in sorted(PACKAGE.rglob("*.py"))}


def module_of(path: Path) -> str:
    parts = ("dbdyno", *path.relative_to(PACKAGE).with_suffix("").parts)
    return ".".join(parts).removesuffix(".__init__")


def files() -> dict[str, set[str]]:
    """By file, those that it imports itself; that a package reads its own file first says nothing of the others."""
    paths = {module_of(path): path for path in PACKAGE.rglob("*.py")}
    found: dict[str, set[str]] = {}
    for name, path in paths.items():
        own = found.setdefault(name, set())
        for node in ast.walk(tree(path)):
            if isinstance(node, ast.Import):
                own |= {each.name for each in node.names}
            elif isinstance(node, ast.ImportFrom):
                # The module where there is one of that name, else the one that it is in.
                names = {f"{node.module}.{each.name}" for each in node.names}
                own |= {each if each in paths else str(node.module) for each in names}
        own &= paths.keys() - {name, "dbdyno"}
    return found


def cycle(of: dict[str, set[str]]) -> list[str]:
    """One cycle of names, the first again at its end; empty where there is none."""
    try:
        TopologicalSorter(of).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def test_each_package_imports_only_those_below_it() -> None:
    packages = {path.name for path in PACKAGE.iterdir() if (path / "__init__.py").exists()}
    assert packages == set(LAYERS)
    assert upward(importing()) == []
    assert upward({"dbdyno.base.text": frozenset({"dbdyno.cli.app"})}) == ["dbdyno.base.text: dbdyno.cli.app"]


def test_files_do_not_import_in_a_cycle() -> None:
    found = files()
    assert "dbdyno.engines.lookup" in found["dbdyno.engines.registry"]
    assert cycle(found) == []
    found["dbdyno.engines.lookup"].add("dbdyno.engines.registry")
    assert cycle(found) != []


def uses(text: str, within: str) -> Iterator[str]:
    """The modules of a crate that one of its files names, by their paths; ``within``: the path of the file's module."""
    code = re.sub(r"(?m)^\s*//.*", "", text.partition("#[cfg(test)]")[0])
    for start, names in re.findall(r"\b(crate|super)::([\w:]+|\{[^}]*\})", code):
        around = "" if start == "crate" else within.rpartition("::")[0]
        for name in re.findall(r"[\w:]+", names):
            yield f"{around}::{name}".removeprefix("::")


def files_of_crate(source: Path) -> dict[str, set[str]]:
    """By file of a crate, those that it uses: a name stands for the longest part of it that is a module."""
    texts = {}
    for path in source.rglob("*.rs"):
        name = "::".join(path.relative_to(source).with_suffix("").parts)
        texts[re.sub(r"(^|::)(mod|lib|main)$", "", name)] = path.read_text(encoding="utf-8")
    found: dict[str, set[str]] = {}
    for name, text in texts.items():
        own = found.setdefault(name, set())
        for each in uses(text, name):
            used = each
            while used and used not in texts:
                used = used.rpartition("::")[0]
            own |= {used} & texts.keys()
        own.discard(name)
    return found


@pytest.mark.parametrize("crate", sorted(CRATES.glob("*/src")), ids=lambda each: each.parent.name)
def test_files_of_a_crate_do_not_use_one_another_in_a_cycle(crate: Path) -> None:
    assert cycle(files_of_crate(crate)) == []


def test_a_cycle_of_a_crate_is_seen(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "lib.rs").write_text("mod a;\n")
    (tmp_path / "a" / "mod.rs").write_text("mod b;\nmod c;\n")
    (tmp_path / "a" / "b.rs").write_text("use super::c::Name;\n// crate::a::b\n")
    (tmp_path / "a" / "c.rs").write_text("use crate::{a::b::f};\n")
    assert set(cycle(files_of_crate(tmp_path))) == {"a::b", "a::c"}


@pytest.mark.parametrize("part", OPTIONAL)
def test_only_the_command_line_imports_an_optional_part(part: str) -> None:
    """Files of the command line that are about the part alone are imported within a function themselves."""
    using = {name for name, of in importing().items() if any(f"{each}.".startswith(f"{part}.") for each in of)}
    assert {package_of(name) for name in using if not name.startswith(f"{part}.") and name != part} == {"cli"}
    at_once = {path: set(imports(tree(path).body)) for path in (PACKAGE / "cli").glob("*.py")}
    about_it = {path for path, of in at_once.items() if any(each.startswith(f"{part}.") for each in of)}
    assert all(path.stem.startswith(part.rpartition(".")[2]) for path in about_it)
    named = {f"dbdyno.cli.{path.stem}" for path in about_it}
    assert [path.name for path, of in at_once.items() if of & named] == []
