"""Finding an experiment's file and reading its TOML."""

import re
import tomllib
from pathlib import Path
from shlex import quote
from typing import Any, NamedTuple

from dbdyno.base.errors import InputError, reason
from dbdyno.base.resources import EXPERIMENT_SUFFIX, builtin_names, package_path, template_names
from dbdyno.engines import engine_named
from dbdyno.model.experiment.validation import nearest_or

# What reads a document follows its nesting by recursion. Steps within steps are the deepest that makes sense.
_DEEPEST = 50

# A file beyond this is another file, or a device that never ends.
_MOST_BYTES = 16 << 20


_SUFFIXES = f"experiments end in `{EXPERIMENT_SUFFIX}`, files of statements in `.sql`"


class Document(NamedTuple):
    """A file's content. ``place`` is what messages call it; ``folder`` is where its relative paths begin."""

    place: str
    folder: Path
    data: dict[str, Any]
    text: str


def read_experiment_file(name_or_path: str) -> Document:
    """Read a built-in experiment by its name, or a file by its path (one with a slash or the suffix ``.toml``).

    Raises InputError where there is no such experiment or file, or where its TOML is broken, with the line.
    """
    scheme, colon, _ = name_or_path.partition(":")
    if colon and engine_named(scheme) is not None:
        hint = f"name an experiment, and `--system {quote(name_or_path)}` after it"
        raise InputError(name_or_path, "this is a system, and no experiment", hint)
    if "/" not in name_or_path and not name_or_path.endswith(EXPERIMENT_SUFFIX):
        names = builtin_names()
        if name_or_path not in names:
            if name_or_path in template_names():
                hint = f"write a file of it: `dbdyno init FILE.toml --template {name_or_path}`"
                raise InputError(name_or_path, "this is a template, and no experiment", hint)
            hint = nearest_or(name_or_path, names, f"a file of your own needs its suffix: {_SUFFIXES}")
            raise InputError(name_or_path, "there is no such experiment", hint)
        path = package_path("experiments", name_or_path + EXPERIMENT_SUFFIX)
        return parse(path.read_text(encoding="utf-8"), path.name, path.parent)
    path = Path(name_or_path)
    try:
        with path.open("rb") as file:
            content = file.read(_MOST_BYTES + 1)
        # Some editors begin a file with a byte order mark.
        text = content.decode("utf-8-sig")
    except FileNotFoundError:
        hint = "`dbdyno init` writes one to begin with" if name_or_path.endswith(EXPERIMENT_SUFFIX) else _SUFFIXES
        raise InputError(name_or_path, "there is no such file", hint) from None
    except OSError as error:
        raise InputError(name_or_path, f"it cannot be read: {reason(error)}") from None
    except UnicodeDecodeError as error:
        raise InputError(name_or_path, f"byte {error.start} is not UTF-8", "save the file as UTF-8") from None
    if len(content) > _MOST_BYTES:
        raise InputError(name_or_path, f"larger than {_MOST_BYTES >> 20} MB", "name the file of an experiment")
    return parse(text, name_or_path, path.parent)


def parse(text: str, place: str, folder: Path) -> Document:
    """Read TOML. Raises InputError with the line where it is broken."""
    too_deep = InputError(place, f"tables or arrays are nested more than {_DEEPEST} deep", "use fewer levels")
    try:
        data = tomllib.loads(text)
    except RecursionError:
        raise too_deep from None
    except tomllib.TOMLDecodeError as error:
        found = re.fullmatch(r"(?P<problem>.*?) \(at (?:line (?P<line>\d+), column \d+|end of document)\)", str(error))
        problem = found["problem"] if found else str(error)
        line = (found["line"] if found else None) or str(text.count("\n") + 1)
        hint = "see https://toml.io" if place.endswith(EXPERIMENT_SUFFIX) else _SUFFIXES
        problem = f"this is not TOML: {problem[:1].lower()}{problem[1:]}"
        raise InputError(f"{place}: line {line}", problem, hint) from None
    if _depth(data) > _DEEPEST:
        raise too_deep
    return Document(place, folder, data, text)


def _depth(data: dict[str, Any]) -> int:
    """Return how deep tables and arrays are nested, without recursion."""
    depth = 0
    level: list[Any] = [data]
    while level and depth <= _DEEPEST:
        depth += 1
        values = (value for each in level for value in (each.values() if isinstance(each, dict) else each))
        level = [value for value in values if isinstance(value, dict | list)]
    return depth
