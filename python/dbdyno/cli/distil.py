"""`dbdyno distil`, and traces as files of statements."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from shlex import quote
from typing import Any

from dbdyno.base.console import Console
from dbdyno.base.errors import InputError, SystemFailed
from dbdyno.base.numbers import percent
from dbdyno.base.resources import EXPERIMENT_SUFFIX
from dbdyno.cli.synthetic import synthetic_document, without_tables
from dbdyno.engines import engine_of
from dbdyno.engines.url import parse_url
from dbdyno.experiment.distil.experiment import experiment_document
from dbdyno.experiment.distil.parameters import Chooser, ColumnFacts, Columns, Describe, Ranked
from dbdyno.experiment.distil.units import opens_connections, recognize
from dbdyno.experiment.distil.workload import Form, Workload, WorkloadWriter, made_up_words, run_command
from dbdyno.experiment.document import parse
from dbdyno.experiment.experiment import make_experiment
from dbdyno.experiment.queries import is_savepoint, queries_experiment, read_queries
from dbdyno.experiment.toml_text import write_toml
from dbdyno.model.plan.system import SystemSpec
from dbdyno.report.export import check_writable, write_text
from dbdyno.run.column_samples import column_facts, ranked_values, table_columns
from dbdyno.run.plan_tries import rejected_statements, statement_cells
from dbdyno.run.provisioners import Provisioners
from dbdyno.run.questions import questions
from dbdyno.trace.reading import open_trace
from dbdyno.trace.values import key_path, known_key

# If less of the time is covered, some reasons are shown.
_COVERED = 0.9
_SHOWN_LEFT_OUT = 3
# The least part of the time for which made-up values matter.
_MADE_UP = 0.05
# Different values of a column among which recorded ones are found.
_MOST_RANKS = 10_000


@dataclass(frozen=True)
class DistilOptions:
    """How to make a workload. ``think``: with the pauses of clients; ``top``: at most so many transactions.

    ``form``: see :class:`WorkloadWriter`.
    """

    directory: str | None = None
    think: bool = True
    top: int = 50
    form: Form = "statements"


def distil_trace(file: str, output: str, systems: Sequence[str], options: DistilOptions) -> None:
    """Write the workload of a trace: statements to a .sql file, an experiment to a .toml file. Raises DbdynoError."""
    is_experiment = output.endswith(EXPERIMENT_SUFFIX)
    if not is_experiment and not output.lower().endswith(".sql"):
        hint = "name a .sql file for statements, or a .toml file for an experiment"
        raise InputError(f"--output {output}", "its name does not end in `.sql` or `.toml`", hint)
    if options.form == "synthetic" and not is_experiment:
        raise InputError("--synthetic", "only an experiment contains tables", "name a .toml file with `--output`")
    if options.form == "synthetic" and not systems:
        raise InputError("--synthetic", "it needs a database", "name the application's database with `--system`")
    if is_experiment and options.form == "statements":
        options = replace(options, form="experiment")
    check_writable(output, "--output")
    _check_overwritten(Path(output))
    if len(systems) > 1:
        raise InputError("--system", "several systems are named", "name the database that the application used")
    workload = distilled(file, systems[0] if systems else None, options)
    if options.form == "synthetic":
        document = synthetic_document(workload, output, file, parse_url(systems[0]), options.directory)
    else:
        document = experiment_document(workload, output, file, workload.engine)
    # `dbdyno run` must be able to read it.
    experiment = make_experiment(parse(write_toml(document), output, Path()))
    write_text(output, experiment.text if is_experiment else workload.text)
    number = f"{workload.transactions} {'transaction' if workload.transactions == 1 else 'transactions'}"
    console = Console()
    console.print(f"{output}: {number}, {percent(workload.covered)} of the recorded {workload.of}", soft_wrap=True)
    for words in _warnings(workload, options.form, has_system=bool(systems)):
        console.print(words, soft_wrap=True)
    shown = None if not systems else _copy_of(systems[0]) if workload.writes else parse_url(systems[0])
    console.print(run_command(output, workload, shown, options.form), soft_wrap=True)
    console.print(f"dbdyno trace compare {quote(file)} last    # how well the run agrees", soft_wrap=True)


def _warnings(workload: Workload, form: Form, *, has_system: bool) -> Iterator[str]:
    """Yield why a run may differ from the recording."""
    if workload.problem:
        yield workload.problem
    if workload.errors:
        yield f"Failed in the recording, and left out: {workload.errors}"
    if workload.covered < _COVERED:
        yield from (f"Left out: {each}" for each in workload.left_out[:_SHOWN_LEFT_OUT])
    if workload.made_up and workload.made_up_share >= _MADE_UP:
        hint = "Record with `--values keep`, or edit them." if has_system else "Name the database with `--system`."
        yield f"{made_up_words(workload)} {hint}"
    if workload.writes and form != "synthetic":
        yield "It changes rows, so run it on a copy of the database:"


def _copy_of(url: str) -> SystemSpec:
    """Return a server's system with the name of a copy for its database."""
    system = parse_url(url)
    path, mark, settings = system.name.partition("?")
    is_named = bool(system.database) and path.endswith(f"/{system.database}")
    return parse_url(f"{path}_copy{mark}{settings}") if is_named else system


def _check_overwritten(output: Path) -> None:
    """Raise InputError if the file exists and isn't a workload of a trace."""
    if not output.is_file():
        return
    with output.open(encoding="utf-8", errors="replace") as file:
        first = file.readline()
    if first and not first.startswith(("-- Workload of ", "# Workload of ")):
        raise InputError(f"--output {output}", "the file exists, and isn't a workload of a trace", "give another name")


def distilled(file: str, url: str | None, options: DistilOptions) -> Workload:
    """Make the workload of a trace. ``url``: the database of the application, if it is known. Raises DbdynoError."""
    trace = open_trace(Path(file))
    engine = trace.header.engine
    system = None if url is None else parse_url(url)
    if system is not None and system.engine != engine:
        problem = f"the trace has statements of {engine_of(engine).title}"
        raise InputError(f"--system {url}", problem, "name a database of this engine")
    units = recognize(trace, connects=opens_connections(trace.header, Path(file)))
    # Outside of a transaction, such as in statistics, a savepoint can't be repeated.
    units.units = [
        each
        for each in units.units
        if each.has_several or not is_savepoint(trace.texts[each.slots[0].statement], engine)
    ]
    with _database(system, options.directory) as (describe, ranked, columns):
        is_recorded = options.form != "synthetic"
        chooser = Chooser(describe, _key(file), engine_of(engine).grammar, is_recorded, ranked, columns)
        writer = WorkloadWriter(trace.header, trace.texts, chooser, file, options.think, options.top, options.form)
        workload = writer.write(units)
    if system is None:
        return workload
    found = _rejected(workload, system, options.directory, file)
    rejected = {workload.names[name]: words for name, words in found.items()}
    if options.form == "synthetic":
        rejected |= without_tables(workload, system, options.directory)
    return writer.write(units, rejected)


def _key(file: str) -> bytes | None:
    """Return the key of a trace's hashes; ``None`` without one. Raises InputError if its file is damaged."""
    path = Path(file)
    key, place = known_key(path), key_path(path)
    if key is None and place.exists():
        raise InputError(str(place), "it is not the key of a trace", "restore it, or remove it to do without the key")
    return key


def _rejected(workload: Workload, system: SystemSpec, directory: str | None, place: str) -> Mapping[str, str]:
    """Return why the database rejects statements, by name. They are prepared, but not executed."""
    queries = read_queries(workload.text, place, workload.engine)
    # The same statement may be in several transactions.
    by_text = {each.sql: each.name for each in reversed(queries)}
    nulls = {name: "null" for each in queries for name in each.parameters}
    experiment = queries_experiment(queries, nulls, place, workload.engine)
    with Provisioners(directory, allow_writes=True) as provisioners:
        found = rejected_statements(statement_cells(experiment, system, list(by_text.values())), provisioners)
    return {each.name: found[by_text[each.sql]] for each in queries if by_text[each.sql] in found}


@contextmanager
def _database(
    system: SystemSpec | None, directory: str | None
) -> Iterator[tuple[Describe | None, Ranked | None, Columns | None]]:
    """Provide functions that describe columns of the database; none without one. Raises DbdynoError."""
    if system is None:
        yield None, None, None
        return
    engine = system.engine
    with questions(system, directory) as answer:

        @cache
        def describe(table: str, column: str) -> ColumnFacts | None:
            return column_facts(answer, engine, table, column)

        def ranked(table: str, column: str) -> Sequence[Any]:
            try:
                return ranked_values(answer, engine, table, column, _MOST_RANKS) or []
            except SystemFailed:
                return []

        @cache
        def columns(table: str) -> Sequence[tuple[str, str]]:
            return table_columns(answer, engine, table)

        yield describe, ranked if engine_of(engine).row_as_json else None, columns
