"""Find an experiment file and parse its TOML."""

import re
import tomllib
from pathlib import Path
from shlex import quote
from typing import Any, NamedTuple

from dbdyno.base.errors import InputError, reason
from dbdyno.base.resources import EXPERIMENT_SUFFIX, builtin_names, package_path, template_names
from dbdyno.engines import engine_named
from dbdyno.model.experiment.validation import nearest_or

# Maximum nesting, because documents are processed recursively. Nested steps need the deepest nesting.
_DEEPEST = 50

# A larger file is not an experiment; a device could be infinite.
_MAX_BYTES = 16 << 20


_SUFFIXES = f"experiments end in `{EXPERIMENT_SUFFIX}`, statement files in `.sql`"


class Document(NamedTuple):
    """A file's content. ``location``: its name in messages. ``folder``: the base of relative paths in it."""

    location: str
    folder: Path
    data: dict[str, Any]
    text: str


def read_experiment_file(name_or_path: str) -> Document:
    """Read a built-in experiment by its name, or a file by its path (with a slash or the suffix ``.toml``).

    Raises InputError if it doesn't exist, and with the line for invalid TOML.
    """
    scheme, colon, _ = name_or_path.partition(":")
    if colon and engine_named(scheme) is not None:
        hint = f"give an experiment, followed by `--system {quote(name_or_path)}`"
        raise InputError(name_or_path, "this is a system, not an experiment", hint)
    if "/" not in name_or_path and not name_or_path.endswith(EXPERIMENT_SUFFIX):
        names = builtin_names()
        if name_or_path not in names:
            if name_or_path in template_names():
                hint = f"create a file from it with `dbdyno init FILE.toml --template {name_or_path}`"
                raise InputError(name_or_path, "this is a template, not an experiment", hint)
            hint = nearest_or(name_or_path, names, f"for a file, give its suffix: {_SUFFIXES}")
            raise InputError(name_or_path, "no such experiment", hint)
        path = package_path("experiments", name_or_path + EXPERIMENT_SUFFIX)
        return parse(path.read_text(encoding="utf-8"), path.name, path.parent)
    path = Path(name_or_path)
    try:
        with path.open("rb") as file:
            content = file.read(_MAX_BYTES + 1)
        # Some editors write a byte order mark at the beginning of a file.
        text = content.decode("utf-8-sig")
    except FileNotFoundError:
        hint = "create one with `dbdyno init`" if name_or_path.endswith(EXPERIMENT_SUFFIX) else _SUFFIXES
        raise InputError(name_or_path, "no such file", hint) from None
    except OSError as error:
        raise InputError(name_or_path, f"could not read the file: {reason(error)}") from None
    except UnicodeDecodeError as error:
        raise InputError(name_or_path, f"byte {error.start} is not UTF-8", "save the file as UTF-8") from None
    if len(content) > _MAX_BYTES:
        raise InputError(name_or_path, f"larger than {_MAX_BYTES >> 20} MB", "give the file of an experiment")
    return parse(text, name_or_path, path.parent)


def parse(text: str, location: str, folder: Path) -> Document:
    """Parse TOML. Raises InputError with the line of an error."""
    too_deep = InputError(location, f"tables or arrays are nested more than {_DEEPEST} deep", "use fewer levels")
    try:
        data = tomllib.loads(text)
    except RecursionError:
        raise too_deep from None
    except tomllib.TOMLDecodeError as error:
        match = re.fullmatch(r"(?P<problem>.*?) \(at (?:line (?P<line>\d+), column \d+|end of document)\)", str(error))
        problem = match["problem"] if match else str(error)
        line = (match["line"] if match else None) or str(text.count("\n") + 1)
        hint = "see https://toml.io" if location.endswith(EXPERIMENT_SUFFIX) else _SUFFIXES
        problem = f"invalid TOML: {problem[:1].lower()}{problem[1:]}"
        raise InputError(f"{location}: line {line}", problem, hint) from None
    if _depth(data) > _DEEPEST:
        raise too_deep
    return Document(location, folder, data, text)


def _depth(data: dict[str, Any]) -> int:
    """Return how deep tables and arrays are nested, without recursion."""
    depth = 0
    level: list[Any] = [data]
    while level and depth <= _DEEPEST:
        depth += 1
        values = (value for each in level for value in (each.values() if isinstance(each, dict) else each))
        level = [value for value in values if isinstance(value, dict | list)]
    return depth
