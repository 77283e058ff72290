"""Create an experiment from pgbench scripts: one transaction per script, and pgbench's tables."""

import re
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from dbdyno.base.errors import InputError, reason
from dbdyno.base.resources import package_path
from dbdyno.engines.url import parse_url
from dbdyno.experiment.design import DEFAULT_SYSTEM
from dbdyno.experiment.document import parse
from dbdyno.experiment.experiment import Experiment, make_experiment
from dbdyno.experiment.pgbench.lexer import POSTGRESQL
from dbdyno.experiment.pgbench.script import Presets, Script, assigned_variables, read_script
from dbdyno.experiment.toml_text import write_toml
from dbdyno.model.experiment.expression import AUTOMATIC, NAME
from dbdyno.model.experiment.sql import ANY
from dbdyno.model.experiment.validation import nearest_or
from dbdyno.model.limits import MAX_SCALE

# Rows that `pgbench -i` creates per unit of scale.
BRANCHES = 1
TELLERS = 10
ACCOUNTS = 100_000

_SUFFIX = ".sql"
_SECONDS = 10
_WARMUP_SECONDS = 1
# On servers, transactions wait for locks of others. SQLite waits only for this time.
_BUSY_TIMEOUT_MS = 10_000


class PgbenchSource(NamedTuple):
    """A script. ``location``: its name in messages. ``folder``: the base of relative paths in it."""

    name: str
    location: str
    folder: Path
    weight: int
    text: str


def builtin_scripts() -> list[str]:
    """Return the names of pgbench's built-in scripts, sorted."""
    return sorted(path.stem for path in package_path("experiment", "pgbench", "scripts").glob("*" + _SUFFIX))


def pgbench_experiment(
    scripts: Sequence[str],
    scale: int = 1,
    defines: Mapping[str, str] | None = None,
    own_tables: bool = True,
    engines: Collection[str] = (POSTGRESQL,),
) -> Experiment:
    """Create an experiment from pgbench scripts.

    ``scripts``: files, or names of pgbench's built-in scripts, each optionally followed by ``@`` and a weight.
    ``scale``: number of branches in the tables. ``defines``: initial values of variables, by name, as strings.
    ``own_tables``: create pgbench's tables; otherwise the scripts use existing tables. ``engines``: the engines of the
    measured systems. Raises InputError with file and line.
    """
    return experiment_of([_source(script) for script in scripts], scale, defines, own_tables, engines)


def experiment_of(
    sources: Sequence[PgbenchSource],
    scale: int,
    defines: Mapping[str, str] | None,
    own_tables: bool,
    engines: Collection[str] = (POSTGRESQL,),
) -> Experiment:
    """Create an experiment from the content of scripts; see :func:`pgbench_experiment`. Raises InputError."""
    sources = [source for source in sources if source.weight]
    if not sources:
        raise InputError("--pgbench", "no script to run", "give a script with a weight above 0")
    if scale < 1:
        raise InputError(f"--scale {scale}", "the scale is below 1", "give an integer from 1")
    if scale > MAX_SCALE:
        raise InputError(f"--scale {scale}", "the scale is too large", f"give at most {MAX_SCALE:,}")
    presets = Presets({"scale": str(scale)} | dict(defines or {}))
    for name, text in presets.texts.items():
        if not re.fullmatch(NAME, name) or not text:
            raise InputError(f"--define {name}={text}", "not a definition", "write `--define name=value`")
    assigned = set().union(*(assigned_variables(source.text, source.location) for source in sources))
    dynamic = {name for name in presets.texts if name in assigned}
    dynamic |= {name for name in defines or {} if name in AUTOMATIC}
    read = [
        read_script(source.text, source.location, presets=presets, begin="${begin}", dynamic=dynamic, assigned=assigned)
        for source in sources
    ]
    _check_own(sources, read, engines)
    used = set(AUTOMATIC).union(*(script.used for script in read))
    for name, text in (defines or {}).items():
        if name not in used:
            hint = nearest_or(name, used - {*AUTOMATIC}, "leave it out") if used - {*AUTOMATIC} else "leave it out"
            raise InputError(f"--define {name}={text}", f"no script uses `:{name}`", hint)
    if scale > 1 and not own_tables and "scale" not in used:
        problem = "no effect: the database has its own tables, and no script uses `:scale`"
        raise InputError(f"--scale {scale}", problem, "leave it out")
    data = _data(sources, read, scale, own_tables)
    location = ", ".join(dict.fromkeys(source.location for source in sources))
    return make_experiment(parse(write_toml(data), location, sources[0].folder))


def from_options(scripts: Sequence[str], scale: int, defines: Sequence[str], systems: Sequence[str]) -> Experiment:
    """Create the experiment of a command line. ``defines``: ``name=value``. ``systems``: URLs.

    pgbench's tables are created unless a system is an existing file or a server with a host. Raises InputError.
    """
    texts: dict[str, str] = {}
    for define in defines:
        name, equals, text = define.partition("=")
        if not equals:
            raise InputError(f"--define {define}", "missing `=`", "write `--define name=value`")
        if name in texts:
            raise InputError(f"--define {define}", f"`{name}` is defined twice", "remove one")
        texts[name] = text
    specs = [parse_url(system) for system in systems or [DEFAULT_SYSTEM]]
    named = any(spec.database or spec.host for spec in specs)
    return pgbench_experiment(scripts, scale, texts, not named, {spec.engine for spec in specs})


def _check_own(sources: Sequence[PgbenchSource], read: Sequence[Script], engines: Collection[str]) -> None:
    """Raise InputError for statements that only PostgreSQL supports if other engines are measured."""
    others = sorted(set(engines) - {POSTGRESQL})
    for source, script in zip(sources, read, strict=True):
        for line, text in script.own if others else []:
            hint = "run it on `postgresql:`, or leave out the modes"
            raise InputError(f"{source.location}: line {line}", f"{others[0]} doesn't support `{text}`", hint)


def _source(argument: str) -> PgbenchSource:
    """Read a script: ``name``, ``path.sql``, either with ``@weight``."""
    path, at, weight = argument.rpartition("@")
    if not at:
        path, weight = argument, "1"
    if not re.fullmatch("[0-9]{1,9}", weight) or not path:
        raise InputError(argument, f"`{weight}` is not a weight", "give an integer, such as `script.sql@3`")
    names = builtin_scripts()
    if path in names:
        file, name = package_path("experiment", "pgbench", "scripts", path + _SUFFIX), path
    else:
        file = Path(path)
        name = file.stem
    try:
        text = file.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise InputError(path, "no such script", nearest_or(path, names, "or give the path of a file")) from None
    except OSError as error:
        raise InputError(path, f"could not read the file: {reason(error)}") from None
    except UnicodeDecodeError as error:
        raise InputError(path, f"byte {error.start} is not UTF-8", "save the file as UTF-8") from None
    return PgbenchSource(name, path, file.parent, int(weight), text)


def _data(sources: list[PgbenchSource], read: list[Script], scale: int, own_tables: bool) -> dict[str, Any]:
    names = _distinct([source.name for source in sources])
    # If the script creates a table itself, statements can't be prepared before that.
    prepare = "never" if any(script.changes_schema for script in read) else "once"
    factors: dict[str, Any] = {"clients": [1], "seconds": [_SECONDS], "prepare": [prepare]}
    if any(script.begins for script in read):
        factors["begin"] = ["deferred"]
    return {
        "name": _identifier("-".join(["pgbench", *dict.fromkeys(source.name for source in sources)])),
        "title": f"pgbench: {', '.join(names)}",
        "question": "How many of these transactions per second?",
        "source": f"pgbench scripts {', '.join(source.location for source in sources)}, scale {scale}",
        # Engines that support less of PostgreSQL's SQL get a translation.
        "dialect": "sqlite",
        "factors": factors,
        "tables": _tables(scale) if own_tables else {},
        "system": {"sqlite": {"busy_timeout": _BUSY_TIMEOUT_MS}},
        "load": {
            "clients": "${clients}",
            "prepare": "${prepare}",
            "warmup": {"seconds": _WARMUP_SECONDS},
            "stop": {"seconds": "${seconds}"},
        },
        "report": {"x": "clients"},
        "transactions": [
            {"name": name, "weight": source.weight, "steps": _as_written_for_postgresql(script.steps)}
            for name, source, script in zip(names, sources, read, strict=True)
        ],
    }


def _as_written_for_postgresql(steps: Any) -> Any:
    """Return steps whose statements are sent to PostgreSQL unchanged and translated for other engines."""
    if isinstance(steps, list):
        return [_as_written_for_postgresql(step) for step in steps]
    if not isinstance(steps, dict):
        return steps
    made = {key: _as_written_for_postgresql(value) for key, value in steps.items()}
    text = made.get("execute")
    return made | {"execute": {ANY: text, POSTGRESQL: text}} if isinstance(text, str) else made


def _distinct(names: list[str]) -> list[str]:
    made: list[str] = []
    for name in names:
        same = sum(each == name for each in names[: len(made)])
        made.append(f"{name} ({same + 1})" if same else name)
    return made


def _identifier(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9._-]+", "-", text)


def _tables(scale: int) -> dict[str, Any]:
    """Return the tables as ``pgbench -i`` creates and fills them (PostgreSQL 15).

    PostgreSQL pads a ``char(84)`` with spaces, so an account's filler has 84 spaces for all engines.
    """
    integer = {"type": "integer"}
    key = integer | {"primary_key": True, "fill": {"serial": 1}}
    zero = integer | {"fill": 0}

    def branch(rows: int) -> dict[str, Any]:
        # The rows of each branch are a part of the table, because they are consecutive.
        parts = [{"rows": rows, "columns": {"bid": number}} for number in range(2, scale + 1)]
        return {"parts": parts} if parts else {}

    def filler(length: int, fill: Any) -> dict[str, Any]:
        return {"type": f"char({length})", "fill": fill}

    null = {"null": True}
    of_first = integer | {"fill": 1}
    history = {"tid": integer, "bid": integer, "aid": integer, "delta": integer}
    return {
        "pgbench_branches": {
            "rows": BRANCHES * scale,
            "columns": {"bid": key, "bbalance": zero, "filler": filler(88, null)},
        },
        "pgbench_tellers": {
            "rows": TELLERS,
            "columns": {"tid": key, "bid": of_first, "tbalance": zero, "filler": filler(84, null)},
            **branch(TELLERS),
        },
        "pgbench_accounts": {
            "rows": ACCOUNTS,
            "columns": {"aid": key, "bid": of_first, "abalance": zero, "filler": filler(84, " " * 84)},
            **branch(ACCOUNTS),
        },
        "pgbench_history": {
            "rows": 0,
            "columns": {**history, "mtime": {"type": "timestamp"}, "filler": {"type": "char(22)"}},
        },
    }
