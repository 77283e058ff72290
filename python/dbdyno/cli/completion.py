"""Completion in shells: experiments, factors and their levels, runs, systems.

A shell calls this at each press of the Tab key, so the module imports little and reads the store without SQLAlchemy.
Errors return no completions, because a message would appear in the command line that the user types.
"""

import contextlib
import glob
import os
import sqlite3
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import typer

from dbdyno.base.numbers import level
from dbdyno.base.paths import default_path, named_store
from dbdyno.base.resources import EXPERIMENT_SUFFIX, builtin_names, package_path, template_names
from dbdyno.engines import NAMES, all_engines

_RUNS = 100
_FILES = 50
# Timeout in seconds. Completion doesn't wait for a store that is locked.
_TIMEOUT = 0.2
# Bash splits words at these characters.
_BREAKS = "=:"
# A level with one of these characters needs quotes in the shell.
_SPECIAL = frozenset(" \t\n\"'`$\\,;&|<>()*?[]{}!#~")

# Names of the parameters that contain a command's experiment.
_EXPERIMENT_PARAMETERS = ("experiment", "work", "run")


def complete_experiments(context: typer.Context, incomplete: str) -> list[str]:
    """Return the names of built-in experiments, and experiment files."""
    words = _words_of_bash()
    if len(words) > 1 and words[-2].startswith("--"):
        # Bash has split the value of an option, and the last part looks like an argument.
        done = max(words[-1].rfind(each) for each in _BREAKS) + 1
        found = _of_set(context, words[-1]) if words[-2] == "--set" else []
        return [each[done:] for each in found]
    return [*(name for name in builtin_names() if name.startswith(incomplete)), *_files(incomplete)]


def complete_builtin(incomplete: str) -> list[str]:
    """Return the names of built-in experiments."""
    return [name for name in builtin_names() if name.startswith(incomplete)]


def complete_templates(incomplete: str) -> list[str]:
    """Return the names of templates and built-in experiments."""
    return [name for name in (*template_names(), *builtin_names()) if name.startswith(incomplete)]


def complete_set(context: typer.Context, incomplete: str) -> list[str]:
    """Return the factors of the named experiment, or the levels of the factor that is typed."""
    return _of_set(context, incomplete)


def complete_systems(incomplete: str) -> list[str]:
    """Return the prefixes of systems' URLs."""
    hosts = {name for engine in all_engines() if engine.location == "host" for name in (engine.name, *engine.aliases)}
    found = [start for name in NAMES for start in (f"{name}:", *([f"{name}://"] if name in hosts else []))]
    return [each for each in found if each.startswith(incomplete)]


def complete_runs(context: typer.Context, incomplete: str) -> list[tuple[str, str]]:
    """Return ``last`` and the ids of the newest runs, each with its experiment and start time."""
    found = [("last", "the newest run"), *_runs(context.params.get("store"))]
    return [each for each in found if each[0].startswith(incomplete)]


def complete_runs_and_experiments(context: typer.Context, incomplete: str) -> list[tuple[str, str]]:
    """Return runs, and experiments for `--against`."""
    experiments = [(name, "experiment") for name in complete_experiments(context, incomplete)]
    return [*complete_runs(context, incomplete), *experiments]


def _of_set(context: typer.Context, text: str) -> list[str]:
    factors = _factors(context)
    name, equals, levels = text.partition("=")
    if not equals:
        names = [factor for factor in factors if factor.startswith(name)]
        if len(names) != 1:
            return [f"{each}=" for each in names]
        # Add a level, because the shell would append a space otherwise.
        (name,) = names
    before, comma, last = levels.rpartition(",")
    given = before.split(",")
    return [
        f"{name}={before}{comma}{level}"
        for level in factors.get(name, ())
        if level.startswith(last) and level not in given
    ]


def _factors(context: typer.Context) -> dict[str, list[str]]:
    """Return the levels of each factor of the named experiment, as users type them."""
    # If an option has no value yet, arguments are not assigned to their parameters.
    named = [context.params.get(each) for each in _EXPERIMENT_PARAMETERS] + list(context.args)
    for each in named:
        first = each[0] if isinstance(each, list | tuple) and each else each
        factors = _read_factors(first) if isinstance(first, str) else {}
        if factors:
            return {name: list(_levels(levels)) for name, levels in factors.items()}
    return {}


def _read_factors(experiment: str) -> Mapping[str, Any]:
    is_file = "/" in experiment or experiment.endswith(EXPERIMENT_SUFFIX)
    path = Path(experiment) if is_file else package_path("experiments", experiment + EXPERIMENT_SUFFIX)
    # Invalid TOML and UTF-8 raise ValueError.
    with contextlib.suppress(OSError, ValueError):
        factors = tomllib.loads(path.read_text(encoding="utf-8-sig")).get("factors")
        return factors if isinstance(factors, dict) else {}
    return {}


def _levels(levels: object) -> Iterator[str]:
    """Return the entries of a list, or the names in a table."""
    for each in levels if isinstance(levels, list | dict) else ():
        text = level(each)
        if isinstance(each, str | bool | int | float) and text and not _SPECIAL & set(text):
            yield text


def _runs(store: object) -> list[tuple[str, str]]:
    location = named_store(None if store is None else str(store)) or str(default_path())
    if "://" in location:
        # A server may be slow, and may require a password.
        return []
    path = Path(location).expanduser().absolute()
    query = "select id, experiment, started from dbdyno_runs order by started desc, id limit ?"
    with contextlib.suppress(sqlite3.Error, OSError, ValueError, TypeError):
        if not path.is_file():
            return []
        return _newest(path.as_uri() + "?mode=ro", query)
    return []


def _newest(uri: str, query: str) -> list[tuple[str, str]]:
    with contextlib.closing(_connect(uri)) as connection:
        return [
            (run, f"{experiment}, {started[:16].replace('T', ' ')}")
            for run, experiment, started in connection.execute(query, (_RUNS,))
        ]


def _connect(uri: str) -> sqlite3.Connection:
    return sqlite3.connect(uri, uri=True, timeout=_TIMEOUT)


def _files(incomplete: str) -> list[str]:
    """Return experiment files in the directory typed so far, and in its subdirectories."""
    start = glob.escape(incomplete)
    found = [
        path
        for pattern in ("*", "*/*")
        for path in sorted(glob.glob(f"{start}{pattern}{EXPERIMENT_SUFFIX}"))  # noqa: PTH207
    ]
    return [each for each in found if not _SPECIAL & set(each)][:_FILES]


def _words_of_bash() -> list[str]:
    """Return the typed words up to the cursor, which Bash has split; empty for other shells."""
    words, location = os.environ.get("COMP_WORDS"), os.environ.get("COMP_CWORD", "")
    return _together(words.split("\n")[: int(location) + 1]) if words is not None and location.isdecimal() else []


def _together(parts: Iterable[str]) -> list[str]:
    words: list[str] = []
    is_open = False
    for part in parts:
        is_break = bool(part) and not part.strip(_BREAKS)
        if words and (is_break or is_open):
            words[-1] += part
        else:
            words.append(part)
        is_open = is_break
    return words
