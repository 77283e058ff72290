"""The commands that show experiments, runs and the cache."""

import shutil
import sys
import textwrap
from collections.abc import Iterator
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from rich.segment import Segment, Segments
from rich.table import Table

from dbdyno.base.console import Console
from dbdyno.base.errors import InputError, reason
from dbdyno.base.resources import template_names
from dbdyno.base.text import printable
from dbdyno.cli.exports import Exports

if TYPE_CHECKING:
    from dbdyno.cli.experiment_source import ExperimentSource
    from dbdyno.experiment import Experiment
    from dbdyno.experiment.compile import Description
    from dbdyno.model.result import Document

# Lines that `show` prints without `--verbose`.
_MAX_LINES = 60


def print_experiments() -> None:
    """List the built-in experiments with their factors."""
    from dbdyno.experiment import builtin_experiments

    table = Table(box=None, pad_edge=False)
    for column in ("experiment", "title", "factors"):
        table.add_column(column)
    for experiment in builtin_experiments():
        factors = [name for name, factor in experiment.factors.items() if len(factor.levels) > 1]
        table.add_row(experiment.name, experiment.title, ", ".join(factors))
    console = Console()
    console.print(table)
    console.print(f"\nto begin your own, `dbdyno init FILE --template NAME`: {', '.join(template_names())}")


def print_description(named: "ExperimentSource", chosen: list[str], systems: list[str]) -> None:
    """Show an experiment and the statements of its first cell on each system. Raises InputError."""
    from dbdyno.cli.effect_checks import check_levels
    from dbdyno.engines.url import parse_url
    from dbdyno.experiment.compile import compile_cell, describe, outside_effects, refusal
    from dbdyno.experiment.design import make_cells, parse_set
    from dbdyno.model.plan.cell import ResolvedCell

    experiment = named.experiment(systems)
    specs = [parse_url(url) for url in systems]
    check_levels(experiment, chosen, specs)
    cells = make_cells(experiment, parse_set(chosen, experiment), specs, refusal)
    # Show one cell per system; `--set` shows other levels. Report errors before the first line.
    firsts: dict[str, ResolvedCell] = {}
    for cell in cells.cells:
        firsts.setdefault(cell.system.name, cell)
    compiled = [compile_cell(experiment, cell) for cell in cells.cells]
    described = {name: describe(compiled[cells.cells.index(cell)]) for name, cell in firsts.items()}
    effects = dict.fromkeys(outside_effect for cell in compiled for outside_effect in outside_effects(cell))
    console = Console()

    def line(text: str = "") -> None:
        for each in wrapped_lines(text, console.width) if console.is_terminal else [text]:
            console.print(each, soft_wrap=True)

    line(f"{experiment.name}: {experiment.title}")
    for text in (experiment.question, experiment.head.source and f"source: {experiment.head.source}"):
        if text:
            line(text)
    line(_what_a_run_measures(experiment, len(cells.cells)))
    line("\nfactors")
    for text in _factors(experiment):
        line(f"    {text}")
    if effects:
        line("\nexecutes, loads and connects to")
        for text in effects:
            line(f"    {text}")
    if experiment.head.recommendations:
        line("\nrecommendations, with --try-recommendations")
        for recommendation in experiment.head.recommendations:
            line(f"    {recommendation.name}: {recommendation.does}, on {recommendation.engine}")
    if cells.excluded:
        line("\nnot measured")
        for reason in dict.fromkeys(excluded.reason for excluded in cells.excluded):
            ids = [excluded.cell.id for excluded in cells.excluded if excluded.reason == reason]
            line(f"    {', '.join(ids)}: {reason}")
    for name, description in described.items():
        for text in _cell_lines(name, description):
            line(text)


def wrapped_lines(text: str, width: int) -> Iterator[str]:
    """Wrap each line of a text at blanks; continuations are indented by four more than the line."""
    for line in text.split("\n"):
        indent = " " * (len(line) - len(line.lstrip(" ")) + 4)
        yield from textwrap.wrap(
            line, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
        ) or [""]


def _what_a_run_measures(experiment: "Experiment", cells: int) -> str:
    objective = experiment.head.slo
    if objective is not None:
        return f"a run searches for the highest rate that holds {objective}"
    rounds = f"{experiment.rounds} round{'' if experiment.rounds == 1 else 's'}"
    return f"{rounds} of {cells} cell{'' if cells == 1 else 's'}"


def print_opened(
    named: "ExperimentSource", chosen: list[str], systems: list[str], directory: str | None, allow_writes: bool
) -> None:
    """Open each system of an experiment, prepare its statements, and show a line each. Raises InputError."""
    from dbdyno.cli.effect_checks import check_levels, check_write_options
    from dbdyno.engines.url import parse_url
    from dbdyno.experiment.compile import compile_cell, refusal
    from dbdyno.experiment.design import make_cells, parse_set
    from dbdyno.run.statement_checks import open_systems

    experiment = named.experiment(systems)
    specs = [parse_url(url) for url in systems]
    check_write_options(check_levels(experiment, chosen, specs), directory, allow_writes=allow_writes)
    cells = make_cells(experiment, parse_set(chosen, experiment), specs, refusal)
    compiled = [compile_cell(experiment, cell) for cell in cells.cells]
    console = Console()
    for opened in open_systems(compiled, directory, allow_writes):
        what = " ".join(filter(None, (opened.engine, opened.version)))
        if opened.statements is None:
            result = "nothing to prepare"
        else:
            result = f"{opened.statements} statement{'' if opened.statements == 1 else 's'} prepared"
            if opened.unprepared:
                result += f"; not those of {' and '.join(f'`[[{key}]]`' for key in opened.unprepared)}"
        console.print(f"{opened.system}  {what}, {result}", soft_wrap=True, markup=False)


def _cell_lines(system: str, described: "Description") -> Iterator[str]:
    """Return the lines about a cell's statements on its system."""
    yield f"\ncell {described.cell}, on {system}"
    for title, lines in (
        ("settings", [f"{key} = {value}" for key, value in described.settings]),
        ("definitions", described.definitions),
        ("rows", described.rows),
        ("setup", described.setup),
        ("values drawn from columns", described.samples),
        ("load", described.load),
    ):
        if lines:
            yield f"  {title}"
            for line in lines:
                yield "    " + line.replace("\n", "\n    ")
    for transaction in described.transactions:
        yield f"  transaction {transaction.name}, {transaction.chosen}"
        for line in transaction.lines:
            yield f"    {line}"
    for beside in described.beside:
        yield f"  beside the load: {beside.name}, {beside.times}"
        for line in beside.lines:
            yield f"    {line}"
    if described.checks:
        yield "  checks after each trial"
        for check in described.checks:
            yield f"    {check}"


def _factors(experiment: "Experiment") -> Iterator[str]:
    """Yield a line per factor with its levels, and one for factors that only `--set` varies."""
    for name, usual in experiment.usual_factors().items():
        yield f"{name} = {', '.join(level.name for level in usual.levels)}"
        others = [level.name for level in experiment.factors[name].levels if level not in usual.levels]
        if others:
            yield f"{name} only with --set: {', '.join(others)}"


def print_toml(named: "ExperimentSource", systems: list[str]) -> None:
    """Write an experiment's file to the output: as it is, except to a terminal. Raises InputError."""
    text = named.written(systems).text
    sys.stdout.write(printable(text) if sys.stdout.isatty() else text)


def write_template(file: Path, builtin: str | None = None, template: str | None = None) -> None:
    """Write the commented experiment, a built-in one, or a template.

    Raises InputError for an unknown name, and for a file that exists or cannot be written.
    """
    from dbdyno.experiment import load_experiment, template_text

    if builtin is not None and template is not None:
        raise InputError("--template", "the file is a template, or with --from a built-in experiment", "give one")
    content = template_text(template) if builtin is None else load_experiment(builtin).text
    try:
        with file.open("x", encoding="utf-8") as out:
            out.write(content)
    except FileExistsError:
        raise InputError(str(file), "it exists already", "give another name") from None
    except OSError as error:
        raise InputError(str(file), f"it cannot be written: {reason(error)}") from error
    path = file if file.is_absolute() else f"./{file}"
    Console().print(f"wrote {file}; run it with: dbdyno run {path}", soft_wrap=True)


def print_runs(experiment: str | None, limit: int, store_location: str | None) -> None:
    """List the stored runs."""
    from dbdyno.store import open_store

    table = Table(box=None, pad_edge=False)
    for column in ("run", "experiment", "started (UTC)", "status", "trials", "failed"):
        table.add_column(column, justify="right" if column in ("trials", "failed") else "left", no_wrap=True)
    with closing(open_store(store_location, make=False)) as store:
        runs = store.runs(experiment, limit)
    for run in runs:
        started = run.started[:19].replace("T", " ")
        table.add_row(run.id, run.experiment, started, run.status, str(run.done), str(run.failed or ""))
    console = Console()
    console.print(table if runs else f"no runs in {store.location}; to start one: dbdyno run pk-lookup")


def show_run(name: str, store_location: str | None, exports: Exports, *, verbose: bool) -> None:
    """Show a stored run, in full if ``verbose``, and write the files asked for."""
    from dbdyno.analysis.document.run import read_run
    from dbdyno.store import open_store

    exports.check()
    with closing(open_store(store_location, make=False)) as store:
        document = read_run(store, name)
    with store.interpreting(document.id):
        exports.write(document)
        if exports.to_output:
            return
        for line in shown_lines(document, Console(), verbose=verbose):
            sys.stdout.write(f"{line}\n")


def shown_lines(document: "Document", console: Console, *, verbose: bool) -> list[str]:
    """Return the lines of a run for the console: all lines if ``verbose``, otherwise at most 60."""
    from dbdyno.report.brief import show_brief
    from dbdyno.report.table import details, show_details

    with console.capture() as shown:
        show_brief(document, console, followed=verbose)
        console.print()
        if verbose:
            show_details(document, console)
        else:
            # Lines that are not shown are not laid out either.
            further = Segment.split_lines(console.render(details(document, console.width)))
            for line in islice(further, _MAX_LINES):
                console.print(Segments([*line, Segment.line()]))
    lines = shown.get().splitlines()
    if not verbose and len(lines) > _MAX_LINES:
        lines[_MAX_LINES - 1 :] = ["more lines with --verbose"]
    return lines


def report_run(name: str, report: Path | None, store_location: str | None) -> None:
    """Write the report of a stored run."""
    from dbdyno.analysis.document.run import read_run
    from dbdyno.report.export import check_writable
    from dbdyno.report.html import write_html
    from dbdyno.store import open_store

    with closing(open_store(store_location, make=False)) as store:
        document = read_run(store, name)
    path = report or Path(f"dbdyno-{document.id}.html")
    check_writable(path, "--report")
    with store.interpreting(document.id):
        write_html(document, path)
    Console().print(f"report: {path.resolve()}", soft_wrap=True)


def cache_command(clear: bool) -> None:
    """Show the cache's place and size, or clear it."""
    from dbdyno.base.paths import cache_directory
    from dbdyno.runtime.workspace.templates import remove_unfinished, remove_unused

    root = cache_directory()
    size = sum(path.stat().st_size for path in root.rglob("*") if path.is_file())
    console = Console()
    if clear:
        for templates in (root / "templates", root / "fresh"):
            remove_unfinished(templates)
            for path in [*templates.glob("*.db"), *templates.glob("*.data")]:
                remove_unused(path)
        shutil.rmtree(root / "libraries", ignore_errors=True)
        console.print(f"cleared {root}: {size / 1e6:,.0f} MB", soft_wrap=True)
    else:
        console.print(f"{root}: {size / 1e6:,.0f} MB", soft_wrap=True)
