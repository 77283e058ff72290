"""The commands about runs that are stored."""

from pathlib import Path
from typing import Annotated

import typer

from dbdyno.cli.completion import complete_experiments, complete_runs
from dbdyno.cli.options import (
    AcrossOption,
    CsvOption,
    JsonOption,
    MarginOption,
    MarkdownOption,
    MetricOption,
    OpenmetricsOption,
    ParquetOption,
    ReportOption,
    RunArgument,
    StoreOption,
)
from dbdyno.cli.strict_command import refuse_typed


def runs(
    experiment: Annotated[
        str | None, typer.Argument(help="Only runs of this experiment", autocompletion=complete_experiments)
    ] = None,
    limit: Annotated[int, typer.Option(min=1, help="Show the newest N runs")] = 30,
    store: StoreOption = None,
) -> None:
    """List stored runs, newest first."""
    from dbdyno.cli.show import print_runs

    print_runs(experiment, limit, store)


def show(
    run: RunArgument = "last",
    store: StoreOption = None,
    json: JsonOption = None,
    csv: CsvOption = None,
    markdown: MarkdownOption = None,
    report: ReportOption = None,
    parquet: ParquetOption = None,
    openmetrics: OpenmetricsOption = None,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Print all details, however many lines they take")
    ] = False,
) -> None:
    """Show a stored run, in at most 60 lines."""
    from dbdyno.cli.exports import Exports
    from dbdyno.cli.show import show_run

    show_run(run, store, Exports(json, csv, markdown, report, parquet, openmetrics), verbose=verbose)


def report_command(
    run: RunArgument = "last",
    report: Annotated[
        Path | None, typer.Option("--report", metavar="FILE.html", help="Default: dbdyno-RUN.html")
    ] = None,
    store: StoreOption = None,
) -> None:
    """Write the report of a stored run as one HTML file."""
    from dbdyno.cli.show import report_run

    report_run(run, report, store)


def compare(
    a: Annotated[
        str,
        typer.Argument(metavar="RUN_A", help="A run, or a cell of one: RUN/threads=1", autocompletion=complete_runs),
    ],
    b: Annotated[
        str,
        typer.Argument(metavar="RUN_B", help="The run or cell that is compared with it", autocompletion=complete_runs),
    ],
    margin: MarginOption = None,
    metric: MetricOption = None,
    across_machines: AcrossOption = False,
    store: StoreOption = None,
    json: JsonOption = None,
) -> None:
    """Compare two runs, or two cells: what differs, and the change with its interval."""
    from dbdyno.cli.compare import print_comparison

    print_comparison(
        a, b, margin=margin, metric=metric, across_machines=across_machines, store_location=store, json=json
    )


def history(
    experiment: Annotated[
        str,
        typer.Argument(
            help="A built-in experiment, the name of one, or a file: ./my.toml", autocompletion=complete_experiments
        ),
    ],
    metric: Annotated[
        str | None,
        typer.Option(help="throughput, p50, p99, p99.9, cpu or instructions; by default what a table is judged by"),
    ] = None,
    cell: Annotated[
        list[str] | None, typer.Option("--cell", metavar="ID", help="Only this cell; may be repeated")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, help="Number of runs, newest first")] = 100,
    store: StoreOption = None,
    json: Annotated[Path | None, typer.Option("--json", metavar="FILE", help="Write the history's document")] = None,
    report: Annotated[
        Path | None, typer.Option("--report", metavar="FILE.html", help="Write one file with charts")
    ] = None,
) -> None:
    """Show a metric over the stored runs, and where it changed."""
    from dbdyno.cli.history import print_history

    print_history(experiment, metric, cell or [], limit=limit, store_location=store, json=json, report=report)


def baseline(
    name: Annotated[str | None, typer.Argument(help="The baseline's name; without one, all are listed")] = None,
    run: Annotated[
        str | None,
        typer.Argument(metavar="RUN", help="The run to keep; by default the last", autocompletion=complete_runs),
    ] = None,
    remove: Annotated[bool, typer.Option("--remove", help="Forget the name; the run stays")] = False,
    store: StoreOption = None,
) -> None:
    """Name a stored run as a baseline for the gate, or list the baselines."""
    from dbdyno.cli.compare import baseline_command

    if name is None:
        refuse_typed(("remove",), "without a name", "name the baseline")
    if remove:
        refuse_typed(("run",), "with `--remove`")
    baseline_command(name, run, remove, store)
