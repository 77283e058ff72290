"""Short, unique names of systems and of combinations of levels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import PurePath
from typing import Any

from dbdyno.base.errors import InputError
from dbdyno.base.numbers import level as level_text
from dbdyno.engines.url import parse_url
from dbdyno.model.plan.system import SystemSpec

SYSTEM = "system"

AS_IT_IS = "as it is"
"""The name of the first of several configurations that differ in more than one factor."""

# With at least this many levels, `all but X` is shorter than the list of names.
_ALL_BUT_ONE = 3
MAX_NAME_LENGTH = 24
"""Maximum length of a configuration's name in characters."""

Levels = tuple[tuple[str, Any], ...]
"""Levels by factor."""

STATEMENT = "statement"
"""The factor whose levels are the statements of a file, or several statements to compare."""


def short_systems(names: Sequence[str]) -> dict[str, str]:
    """Return a short name for each system name (a URL): what distinguishes it, such as ``wal`` or ``postgresql``.

    A system keeps its own name if the short name is not unique or the URL is invalid.
    """
    specs: dict[str, SystemSpec] = {}
    for name in names:
        try:
            specs[name] = parse_url(name)
        except InputError:
            continue
    made = {name: _short(spec, list(specs.values())) for name, spec in specs.items()}
    shared = {short for short, times in Counter(made.values()).items() if times > 1}
    return {name: name if made.get(name, name) in shared else made.get(name, name) for name in names}


def _short(spec: SystemSpec, everything: Sequence[SystemSpec]) -> str:
    if spec.label and not spec.label.isdecimal():
        return spec.label
    if spec.command:
        return _distinct_words(spec, everything)
    alike = [system for system in everything if system.engine == spec.engine]
    engine = spec.engine if len(alike) < len(everything) else ""
    if len(alike) == 1:
        return spec.engine
    parts = [*_address_words(spec, alike), *_settings(spec, alike)]
    if spec.label:
        parts.append(f"#{spec.label}")
    return " ".join([engine, *parts] if engine else parts) or spec.engine


def _distinct_words(spec: SystemSpec, everything: Sequence[SystemSpec]) -> str:
    """Return the words of a command without the words that all commands share at the start and at the end."""
    commands = [(system.command or "").split() for system in everything]
    if not all(commands) or len(commands) <= 1:
        return spec.name
    shortest = min(map(len, commands))
    start = next((at for at in range(shortest) if len({each[at] for each in commands}) > 1), shortest)
    rest = shortest - start
    end = next((at for at in range(rest) if len({each[-1 - at] for each in commands}) > 1), rest)
    own = (spec.command or "").split()
    return " ".join(own[start : len(own) - end]) or spec.name


def _address_words(spec: SystemSpec, alike: Sequence[SystemSpec]) -> list[str]:
    """Return a server's host and database, or a file's name, if systems differ in it."""
    if len({(system.host, system.port, system.database) for system in alike}) == 1:
        return []
    if spec.host:
        return [spec.host + (f":{spec.port}" if spec.port else "") + (f"/{spec.database}" if spec.database else "")]
    return [PurePath(spec.database).name] if spec.database else []


def _settings(spec: SystemSpec, alike: Sequence[SystemSpec]) -> list[str]:
    differing = [
        name
        for name in dict.fromkeys(name for system in alike for name in system.settings)
        if len({system.settings.get(name) for system in alike}) > 1
    ]
    given = [name for name in differing if name in spec.settings]
    # Words don't need the setting's name; numbers and Booleans do.
    values = [system.settings[name] for system in alike for name in differing if name in system.settings]
    if all(value[:1].isalpha() and value not in ("on", "off", "true", "false", "yes", "no") for value in values):
        return [spec.settings[name] for name in given]
    return [f"{name}={spec.settings[name]}" for name in given]


def named(levels: Mapping[str, Any], systems: Mapping[str, str]) -> str:
    """Write levels such as ``threads=2 cache=private``, with the short names of systems."""
    return " ".join(level_name(name, value, systems) for name, value in levels.items())


def level_name(factor: str, value: Any, systems: Mapping[str, str]) -> str:
    """Write one level with its factor; a system without it."""
    if factor == SYSTEM:
        return systems.get(str(value), str(value))
    return f"{factor}={level_text(value)}"


# Levels that are ambiguous without their factor.
_AMBIGUOUS = frozenset({"on", "off", "yes", "no", "true", "false", "default", "none", "full", "normal", "all"})


def unambiguous_levels(levels: Mapping[str, Iterable[Any]]) -> frozenset[str]:
    """Return the levels that can be written without their factor: words that only one factor has."""
    factors: dict[str, set[str]] = {}
    for name, own in levels.items():
        if name != SYSTEM:
            for each in own:
                factors.setdefault(str(each), set()).add(name)
    words = {each for own in levels.values() for each in own if isinstance(each, str) and each[:1].isalpha()}
    return frozenset(word for word in words if len(factors.get(word, ())) == 1 and word not in _AMBIGUOUS)


def configuration_names(
    combinations: Sequence[Levels], first: Levels, systems: Mapping[str, str], alone: Collection[str]
) -> list[str]:
    """Return a unique name of at most 24 characters for each combination: its differences from the ``first`` one.

    ``alone``: levels that are written without their factor (:func:`unambiguous_levels`).
    """
    several = len({value for levels in combinations for name, value in levels if name == SYSTEM}) > 1
    made = [_candidates(levels, first, systems, alone, several) for levels in combinations]
    if len(first) == 1 and any(len(options[0]) > MAX_NAME_LENGTH for options in made):
        # Write all levels of one factor in the same form.
        made = [options[1:] for options in made]
    shared = Counter(options[0] for options in made)
    names: list[str] = []
    for position, options in enumerate(made):
        fitting = (
            option
            for option in options
            if len(option) <= MAX_NAME_LENGTH and option not in names and shared[option] <= 1
        )
        number = f" #{position + 1}"
        names.append(next(fitting, options[0][: MAX_NAME_LENGTH - len(number) - 1].rstrip() + "…" + number))
    return names


def _brief_level(factor: str, value: Any, systems: Mapping[str, str]) -> str:
    """Write a level without its factor if it is a word, and a Boolean as its factor: ``index``, ``no index``."""
    text = level_text(value)
    if factor == SYSTEM or text.lstrip("+-")[:1].isdigit():
        return level_name(factor, value, systems)
    return {"true": factor, "false": f"no {factor}"}.get(text, text)


def _candidates(
    levels: Levels, first: Levels, systems: Mapping[str, str], alone: Collection[str], several: bool
) -> list[str]:
    """Return possible names of a combination, the best one first. ``several``: systems are compared."""
    differing = [
        (name, value)
        for (name, value), (_, known) in zip(levels, first, strict=True)
        if value != known or (several and name == SYSTEM)
    ]
    if not differing:
        differing = list(levels) if len(levels) == 1 else []
    words = [str(value) if value in alone else level_name(name, value, systems) for name, value in differing]
    if len(levels) == 1 and not several:
        values = [level_text(value) for _, value in differing]
    else:
        values = [_brief_level(name, value, systems) for name, value in differing]
    options = [" ".join(words) or AS_IT_IS, " ".join(values) or AS_IT_IS]
    if not several and len(levels) >= _ALL_BUT_ONE:
        same = [name for (name, value), (_, known) in zip(levels, first, strict=True) if value == known]
        options += ["all"] if not same else [f"all but {same[0]}"] if len(same) == 1 else []
    return options
