"""Factors, their levels, and the combinations left out, as a file states them."""

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
    "reason": "it is the key that gives an exclusion's reason",
    "engines": "it is the key that says on which engines an exclusion holds",
    "except_engines": "it is the key that says on which engines an exclusion does not hold",
}
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")


@dataclass(frozen=True)
class Factor:
    """A thing varied. ``named``: its levels are tables of the file, so that no others can be chosen."""

    name: str
    levels: tuple[Level, ...]
    named: bool

    def level(self, name: str) -> Level | None:
        """Find a level by its name."""
        return next((level for level in self.levels if level.name == name), None)


@dataclass(frozen=True)
class Exclusion:
    """Combinations left out: those in which each factor named has one of the levels named.

    ``engines``: those on whose systems they are left out, ``None``: on all; ``except_engines``: those on whose not.
    """

    levels: Mapping[str, tuple[str, ...]]
    reason: str
    engines: tuple[str, ...] | None = None
    except_engines: tuple[str, ...] = ()

    def covers(self, levels: Mapping[str, Level], engine: str) -> bool:
        """Whether a combination of levels is left out on an engine."""
        if engine in self.except_engines or (self.engines is not None and engine not in self.engines):
            return False
        return all(levels[factor].name in names for factor, names in self.levels.items())


def read_factors(data: Any) -> tuple[dict[str, Factor], list[Invalid]]:
    """Read the table ``factors``: the factors in the file's order, and the validation errors in it."""
    if not isinstance(data, dict):
        return {}, [Invalid(("factors",), f"{show(data)} is not a table", "as in `factors = { threads = [1, 2] }`")]
    factors: dict[str, Factor] = {}
    errors: list[Invalid] = []
    # A level has no references, but `$${` stands for `${` in it as well.
    for name, levels in substitute(data, {}).items():
        where = ("factors", name)
        if not _NAME.fullmatch(name) or name in _RESERVED:
            problem = f"a factor cannot have this name: {_RESERVED.get(name, 'it has other characters')}"
            errors.append(Invalid(where, problem, "use letters, digits and `_`, as in `cache_size`"))
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
        Invalid(("factors", *where), f"a level cannot refer to a factor, as `${{{name}}}` does", "write its value")
        for where, name in references(data)
    ]
    return factors, errors


def _wrong_scalars(where: tuple[str, str], levels: list[Any]) -> list[Invalid]:
    errors = [] if levels else [Invalid(where, "it has no levels", "give at least one, as in `[1]`")]
    seen: set[str] = set()
    for index, value in enumerate(levels):
        if not isinstance(value, Scalar):
            hint = f"give a number, a text or a truth value, or name the level: `[factors.{where[1]}.its_name]`"
            errors.append(Invalid((*where, index), f"{show(value)} is not a level", hint))
        elif as_text(value) in seen:
            errors.append(Invalid((*where, index), f"the level {show(value)} is there already", "take one away"))
        else:
            seen.add(as_text(value))
    return errors


def _wrong_tables(where: tuple[str, str], levels: dict[str, Any]) -> list[Invalid]:
    errors = [] if levels else [Invalid(where, "it has no levels", f"add a table `[factors.{where[1]}.its_name]`")]
    first: dict[str, Any] = {}
    for name, values in levels.items():
        if not isinstance(values, dict):
            hint = 'give the values that the level binds, as in `{ prepare = "once" }`'
            errors.append(Invalid((*where, name), f"{show(values)} is not a table", hint))
            continue
        first = first or values
        for key in sorted(first.keys() ^ values.keys()):
            if key in values:
                errors.append(Invalid((*where, name, key), "the first level does not bind this", nearest(key, first)))
            else:
                errors.append(Invalid((*where, name), f"it does not bind `{key}`, as the first level does", "add it"))
    return errors


def read_exclusions(data: Any, factors: Mapping[str, Factor]) -> tuple[list[Exclusion], list[Invalid]]:
    """Read the tables ``exclude``: what they leave out, and the validation errors in them."""
    if not isinstance(data, list) or not all(isinstance(item, dict) for item in data):
        return [], [Invalid(("exclude",), "it is not a list of tables", "write each as `[[exclude]]`")]
    exclusions: list[Exclusion] = []
    errors: list[Invalid] = []
    for index, item in enumerate(data):
        where = ("exclude", index)
        levels: dict[str, tuple[str, ...]] = {}
        for name, value in item.items():
            if name in _RESERVED:
                continue
            if name not in factors:
                errors.append(Invalid((*where, name), "there is no such factor", nearest(name, factors)))
                continue
            names = [as_text(level) for level in (value if isinstance(value, list) else [value])]
            known = [level.name for level in factors[name].levels]
            errors += [
                Invalid((*where, name), f"there is no level `{level}`", nearest(level, known))
                for level in names
                if level not in known
            ]
            levels[name] = tuple(names)
        engines, wrong_engines = _read_engines(item, "engines", where)
        others, wrong_others = _read_engines(item, "except_engines", where)
        errors += [*wrong_engines, *wrong_others]
        if engines is not None and others is not None:
            hint = "give the shorter list of the two"
            errors.append(Invalid((*where, "except_engines"), "`engines` says it already", hint))
        reason = item.get("reason")
        if not isinstance(reason, str) or not reason.strip():
            errors.append(Invalid((*where, "reason"), "an exclusion needs a reason", 'add `reason = "…"`'))
        elif not levels and engines is None and others is None:
            errors.append(Invalid(where, "it names no factor", "as in `threads = [8, 16]`"))
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
        Invalid((*where, key), f"{show(engine)} is no engine", nearest(str(engine), ENGINES))
        for engine in engines
        if engine not in ENGINES
    ]
    if not engines:
        hint = "leave it out where all engines are meant"
        errors.append(Invalid((*where, key), "it is empty", hint))
    return tuple(map(str, engines)), errors


QUERY_FACTOR = "statement"
"""Of a file of statements the factor is which of them is run."""
