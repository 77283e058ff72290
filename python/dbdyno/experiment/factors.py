"""The factors of an experiment file, their levels, and excluded combinations."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dbdyno.engines import ENGINES
from dbdyno.experiment.substitute import references, substitute
from dbdyno.model.experiment.levels import Level, as_text
from dbdyno.model.experiment.validation import Invalid, nearest, show

Scalar = bool | int | float | str

# The factor whose levels are the URLs of systems.
SYSTEM = "system"

_RESERVED = {
    "reason": "it is a key of `exclude`",
    "engines": "it is a key of `exclude`",
    "except_engines": "it is a key of `exclude`",
}
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")


@dataclass(frozen=True)
class Factor:
    """A factor. ``named``: its levels are tables in the file, so other levels can't be chosen."""

    name: str
    levels: tuple[Level, ...]
    named: bool

    def level(self, name: str) -> Level | None:
        """Return the level with a name, or None."""
        return next((level for level in self.levels if level.name == name), None)


@dataclass(frozen=True)
class Exclusion:
    """Excluded combinations: those in which each factor in ``levels`` has one of the given levels.

    ``engines``: the engines on which they are excluded, ``None`` for all. ``except_engines``: engines on which they
    are not excluded.
    """

    levels: Mapping[str, tuple[str, ...]]
    reason: str
    engines: tuple[str, ...] | None = None
    except_engines: tuple[str, ...] = ()

    def covers(self, levels: Mapping[str, Level], engine: str) -> bool:
        """Whether a combination of levels is excluded on an engine."""
        if engine in self.except_engines or (self.engines is not None and engine not in self.engines):
            return False
        return all(levels[factor].name in names for factor, names in self.levels.items())


def read_factors(data: Any) -> tuple[dict[str, Factor], list[Invalid]]:
    """Read the table ``factors``. Returns the factors in the order of the file, and the validation errors."""
    if not isinstance(data, dict):
        return {}, [Invalid(("factors",), f"{show(data)} is not a table", "such as `factors = { threads = [1, 2] }`")]
    factors: dict[str, Factor] = {}
    errors: list[Invalid] = []
    # Levels can't contain references, but `$${` is an escaped `${` as everywhere.
    for name, levels in substitute(data, {}).items():
        where = ("factors", name)
        if not _NAME.fullmatch(name) or name in _RESERVED:
            problem = f"invalid name of a factor: {_RESERVED.get(name, 'it contains other characters')}"
            errors.append(Invalid(where, problem, "use letters, digits and `_`, such as `cache_size`"))
        elif isinstance(levels, list):
            factors[name] = Factor(name, tuple(Level.of(value) for value in levels if isinstance(value, Scalar)), False)
            errors += _wrong_scalars(where, levels)
        elif isinstance(levels, dict):
            tables = {level: values for level, values in levels.items() if isinstance(values, dict)}
            made = (Level(level, level, tuple(values.items())) for level, values in tables.items())
            factors[name] = Factor(name, tuple(made), True)
            errors += _wrong_tables(where, levels)
        else:
            errors.append(Invalid(where, f"{show(levels)} is not a list of levels", f"write `[{show(levels)}]`"))
    errors += [
        Invalid(("factors", *where), f"a level can't refer to a factor (`${{{name}}}`)", "write its value")
        for where, name in references(data)
    ]
    return factors, errors


def _wrong_scalars(where: tuple[str, str], levels: list[Any]) -> list[Invalid]:
    errors = [] if levels else [Invalid(where, "missing levels", "give at least one, such as `[1]`")]
    seen: set[str] = set()
    for index, value in enumerate(levels):
        if not isinstance(value, Scalar):
            hint = f"give a number, string or Boolean, or a named level: `[factors.{where[1]}.its_name]`"
            errors.append(Invalid((*where, index), f"{show(value)} is not a level", hint))
        elif as_text(value) in seen:
            errors.append(Invalid((*where, index), f"duplicate level {show(value)}", "remove one"))
        else:
            seen.add(as_text(value))
    return errors


def _wrong_tables(where: tuple[str, str], levels: dict[str, Any]) -> list[Invalid]:
    errors = [] if levels else [Invalid(where, "missing levels", f"add a table `[factors.{where[1]}.its_name]`")]
    first: dict[str, Any] = {}
    for name, values in levels.items():
        if not isinstance(values, dict):
            hint = 'give the values of the level, such as `{ prepare = "once" }`'
            errors.append(Invalid((*where, name), f"{show(values)} is not a table", hint))
            continue
        first = first or values
        for key in sorted(first.keys() ^ values.keys()):
            if key in values:
                errors.append(Invalid((*where, name, key), "the first level lacks this key", nearest(key, first)))
            else:
                errors.append(Invalid((*where, name), f"missing key `{key}`, which the first level has", "add it"))
    return errors


def read_exclusions(data: Any, factors: Mapping[str, Factor]) -> tuple[list[Exclusion], list[Invalid]]:
    """Read the tables ``exclude``. Returns the exclusions and the validation errors."""
    if not isinstance(data, list) or not all(isinstance(item, dict) for item in data):
        return [], [Invalid(("exclude",), "not a list of tables", "write each as `[[exclude]]`")]
    exclusions: list[Exclusion] = []
    errors: list[Invalid] = []
    for index, item in enumerate(data):
        where = ("exclude", index)
        levels: dict[str, tuple[str, ...]] = {}
        for name, value in item.items():
            if name in _RESERVED:
                continue
            if name not in factors:
                errors.append(Invalid((*where, name), "unknown factor", nearest(name, factors)))
                continue
            names = [as_text(level) for level in (value if isinstance(value, list) else [value])]
            known = [level.name for level in factors[name].levels]
            errors += [
                Invalid((*where, name), f"unknown level `{level}`", nearest(level, known))
                for level in names
                if level not in known
            ]
            levels[name] = tuple(names)
        engines, wrong_engines = _read_engines(item, "engines", where)
        others, wrong_others = _read_engines(item, "except_engines", where)
        errors += [*wrong_engines, *wrong_others]
        if engines is not None and others is not None:
            hint = "keep the shorter list"
            errors.append(Invalid((*where, "except_engines"), "redundant, because `engines` is given", hint))
        reason = item.get("reason")
        if not isinstance(reason, str) or not reason.strip():
            errors.append(Invalid((*where, "reason"), "missing reason", 'add `reason = "…"`'))
        elif not levels and engines is None and others is None:
            errors.append(Invalid(where, "missing factor", "give one, such as `threads = [8, 16]`"))
        else:
            exclusions.append(Exclusion(levels, reason, engines, others or ()))
    return exclusions, errors


def _read_engines(
    item: Mapping[str, Any], key: str, where: tuple[str, int]
) -> tuple[tuple[str, ...] | None, list[Invalid]]:
    if key not in item:
        return None, []
    written = item[key]
    engines = written if isinstance(written, list) else [written]
    errors = [
        Invalid((*where, key), f"{show(engine)} is not an engine", nearest(str(engine), ENGINES))
        for engine in engines
        if engine not in ENGINES
    ]
    if not engines:
        hint = "leave it out to include all engines"
        errors.append(Invalid((*where, key), "empty list", hint))
    return tuple(map(str, engines)), errors


QUERY_FACTOR = "statement"
"""The factor whose levels are the statements of a SQL file."""

MIX_FACTORS = ("clients", "seconds", "prepare", "connect", "begin")
"""The factors of a SQL file that is run as one workload."""
