"""The commands that prove a cell's bottleneck, and find what makes it faster."""

import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from dbdyno.cli.completion import complete_runs_and_experiments
from dbdyno.cli.option_values import read_bytes, read_duration, read_rounds
from dbdyno.cli.options import (
    AllowWritesOption,
    CellOption,
    ClientsOption,
    DirOption,
    IndexBudgetOption,
    JsonOption,
    MarkdownOption,
    MixOption,
    ReportOption,
    SeedOption,
    SetOption,
    StoreOption,
    SystemOption,
    VerboseOption,
)
from dbdyno.model.run_options import RunOptions

if TYPE_CHECKING:
    from dbdyno.cli.exports import Exports

_Subject = Annotated[
    str,
    typer.Argument(
        metavar="EXPERIMENT|RUN",
        help="A built-in experiment, a file: ./my.toml or load.sql, or a run that is stored",
        autocompletion=complete_runs_and_experiments,
    ),
]
_BudgetOption = Annotated[str, typer.Option("--budget", metavar="TIME", help="Time that the run may take, e.g. 5m")]


def why(
    subject: _Subject = "last",
    cell: CellOption = None,
    chosen: SetOption = None,
    system: SystemOption = None,
    mix: MixOption = False,
    clients: ClientsOption = None,
    rounds: Annotated[
        str, typer.Option(metavar="N|auto", help="Blocks in which the cell and each change are measured once")
    ] = "auto",
    budget: _BudgetOption = "1m",
    fix: Annotated[
        bool, typer.Option("--fix", help="Then measure possible fixes and their price; takes as long again")
    ] = False,
    seed: SeedOption = None,
    directory: DirOption = None,
    allow_writes: AllowWritesOption = False,
    store: StoreOption = None,
    json: JsonOption = None,
    markdown: MarkdownOption = None,
    report: ReportOption = None,
    verbose: VerboseOption = False,
) -> None:
    """Find the bottleneck of a cell experimentally: make one resource slower, or free, at a time.

    For an open loop, find what determines its response time (p99). For a .sql file, `--clients` implies `--mix`.
    """
    from dbdyno.cli.experiment_source import is_sql_file
    from dbdyno.cli.exports import Exports

    options = RunOptions(
        systems=system or [],
        rounds=read_rounds(rounds),
        seed=seed,
        directory=directory,
        budget_s=read_duration(budget, "--budget"),
        interleaving="none",
        allow_writes=allow_writes,
        cell=cell,
        fix=fix,
    )
    exports = Exports(json=json, markdown=markdown, report=report)
    # A statement alone has one client.
    mix = mix or (clients is not None and is_sql_file(subject))
    _answer(subject, chosen, options, store, exports, mix=mix, clients=clients, verbose=verbose)


def tune(
    subject: _Subject,
    cell: CellOption = None,
    chosen: SetOption = None,
    system: SystemOption = None,
    clients: ClientsOption = None,
    budget: _BudgetOption = "3m",
    index_budget: IndexBudgetOption = None,
    seed: SeedOption = None,
    directory: DirOption = None,
    allow_writes: AllowWritesOption = False,
    store: StoreOption = None,
    json: JsonOption = None,
    markdown: MarkdownOption = None,
    report: ReportOption = None,
    verbose: VerboseOption = False,
) -> None:
    """Find what makes a load faster: settings, forms of transactions and indexes, alone and together.

    A .sql file runs as one workload: its transactions by weight.
    """
    from dbdyno.cli.experiment_source import is_sql_file
    from dbdyno.cli.exports import Exports

    options = RunOptions(
        systems=system or [],
        rounds="auto",
        seed=seed,
        directory=directory,
        budget_s=read_duration(budget, "--budget"),
        interleaving="none",
        allow_writes=allow_writes,
        cell=cell,
        tune=True,
        index_budget_bytes=read_bytes(index_budget, "--index-budget"),
    )
    exports = Exports(json=json, markdown=markdown, report=report)
    _answer(subject, chosen, options, store, exports, mix=is_sql_file(subject), clients=clients, verbose=verbose)


def _answer(
    subject: str,
    chosen: list[str] | None,
    options: RunOptions,
    store: str | None,
    exports: "Exports",
    *,
    mix: bool,
    clients: str | None,
    verbose: bool,
) -> None:
    """Measure, and end with the exit code. ``chosen``: levels of factors, and values of a file's parameters."""
    from dbdyno.cli.experiment_source import ExperimentSource, divide_chosen
    from dbdyno.cli.why import answer_why

    levels, values = divide_chosen([subject], chosen or [], mix=mix, clients=clients)
    source = ExperimentSource([subject], values=values, directory=options.directory, mix=mix)
    code = answer_why(source, replace(options, set=levels), store, exports, sys.argv, verbose=verbose)
    if code:
        raise typer.Exit(code)
