"""The commands that measure."""

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from dbdyno.cli.completion import complete_runs
from dbdyno.cli.option_values import read_bytes, read_design, read_duration, read_interleaving, read_rounds, read_share
from dbdyno.cli.options import (
    AllowWritesOption,
    BudgetOption,
    ClientsOption,
    CsvOption,
    DefineOption,
    DirOption,
    ExperimentsOrNoneArgument,
    IndexBudgetOption,
    InterleaveOption,
    JsonOption,
    MarginOption,
    MarkdownOption,
    MixOption,
    OpenmetricsOption,
    ParquetOption,
    PgbenchOption,
    ReportOption,
    ScaleOption,
    SeedOption,
    SetOption,
    StatementBudgetOption,
    StoreOption,
    SystemOption,
    TranslateOption,
    ValuesOption,
    VerboseOption,
)
from dbdyno.cli.strict_command import refuse_typed_besides
from dbdyno.model.limits import MAX_ROUNDS
from dbdyno.model.run_options import RunOptions

if TYPE_CHECKING:
    from dbdyno.cli.exports import Exports
    from dbdyno.cli.run import RunCommand


def run(
    experiment: ExperimentsOrNoneArgument = None,
    chosen: SetOption = None,
    system: SystemOption = None,
    mix: MixOption = False,
    clients: ClientsOption = None,
    pgbench: PgbenchOption = False,
    scale: ScaleOption = None,
    define: DefineOption = None,
    rounds: Annotated[
        str | None, typer.Option(metavar="N|auto", help="Blocks in which every cell is measured once")
    ] = None,
    seed: SeedOption = None,
    directory: DirOption = None,
    resume: Annotated[
        str | None,
        typer.Option(
            "--resume", metavar="RUN", help="Go on with a run that was cut short", autocompletion=complete_runs
        ),
    ] = None,
    margin: MarginOption = None,
    target: Annotated[
        str | None,
        typer.Option(
            metavar="SHARE",
            help="Half of each interval that is precise enough (3%, or a tenth of the difference); "
            "implies --rounds auto",
        ),
    ] = None,
    min_rounds: Annotated[
        int | None, typer.Option(min=2, max=MAX_ROUNDS, help="Minimum number of rounds (5); implies --rounds auto")
    ] = None,
    max_rounds: Annotated[
        int | None, typer.Option(min=2, max=MAX_ROUNDS, help="Maximum number of rounds (30); implies --rounds auto")
    ] = None,
    budget: BudgetOption = None,
    wait_idle: Annotated[
        bool, typer.Option("--wait-idle", help="Wait for a quiet machine before each trial, at most a minute")
    ] = False,
    instructions: Annotated[
        bool, typer.Option("--instructions", help="Count the instructions of each trial too, under valgrind")
    ] = False,
    interleaving: InterleaveOption = None,
    try_recommendations: Annotated[
        bool,
        typer.Option("--try-recommendations", help="Also measure the recommendations of the experiment"),
    ] = False,
    design: Annotated[
        str,
        typer.Option(
            metavar="full|screening", help="screening: measure a part of the cells that shows each factor's effect"
        ),
    ] = "full",
    same_durability: Annotated[
        str | None,
        typer.Option("--same-durability", metavar="CLASS", help="Set all systems to power-safe, or to process-safe"),
    ] = None,
    processors: Annotated[
        str | None,
        typer.Option("--processors", metavar="TIER=N,…", help="Keep the tiers of a system apart, as web=0,db=1"),
    ] = None,
    allow_writes: AllowWritesOption = False,
    translate: TranslateOption = False,
    cluster: Annotated[
        str | None,
        typer.Option(
            "--cluster", metavar="ray://HOST:PORT|local:N", help="The load comes from the machines of a Ray cluster"
        ),
    ] = None,
    slo: Annotated[
        str | None,
        typer.Option("--slo", metavar="OBJECTIVE", help="Find the highest rate that holds it, e.g. 'p99 < 50 ms'"),
    ] = None,
    store: StoreOption = None,
    json: JsonOption = None,
    csv: CsvOption = None,
    markdown: MarkdownOption = None,
    report: ReportOption = None,
    parquet: ParquetOption = None,
    openmetrics: OpenmetricsOption = None,
    verbose: VerboseOption = False,
) -> None:
    """Run an experiment: measure it, find the bottleneck, store and show the result."""
    from dbdyno.cli.experiment_source import ExperimentSource, divide_chosen
    from dbdyno.cli.exports import Exports
    from dbdyno.cli.run import RunCommand, resume_run
    from dbdyno.runtime.cluster.address import read_cluster

    exports = Exports(json, csv, markdown, report, parquet, openmetrics)
    if resume is not None:
        names = ("resume", "system", "store", "json", "csv", "markdown", "report", "parquet", "openmetrics", "verbose")
        condition = "with `--resume`: a run that is resumed keeps its experiment, levels, systems, rounds and seed"
        refuse_typed_besides(names, condition)
        _end(resume_run(resume, system or [], store, exports, verbose=verbose))
        return
    levels, values = divide_chosen([] if pgbench else experiment or [], chosen or [], mix=mix, clients=clients)
    options = RunOptions(
        set=levels,
        systems=system or [],
        rounds=read_rounds(rounds),
        seed=seed,
        directory=directory,
        margin=read_share(margin, "--margin"),
        target=read_share(target, "--target"),
        min_rounds=min_rounds,
        max_rounds=max_rounds,
        budget_s=read_duration(budget, "--budget"),
        wait_idle=wait_idle,
        instructions=instructions,
        try_recommendations=try_recommendations,
        interleaving=read_interleaving(interleaving),
        allow_writes=allow_writes,
        design=read_design(design),
        cluster=None if cluster is None else read_cluster(cluster).shown,
        slo=slo,
    )
    command = RunCommand(
        source=ExperimentSource(experiment or [], pgbench, scale, define or [], [], values, directory, translate, mix),
        options=options,
        same_durability=same_durability,
        processors=processors,
        uses_objective=True,
    )
    _measure(command, store, exports, verbose=verbose)


def _measure(command: "RunCommand", store: str | None, exports: "Exports", *, verbose: bool) -> None:
    from dbdyno.cli.run import run_experiment

    _end(run_experiment(command, store, exports, sys.argv, verbose=verbose))


def _end(code: int) -> None:
    if code:
        raise typer.Exit(code)


def try_statements(
    statements: Annotated[list[str], typer.Argument(metavar="SQL…", help="Statements, each in quotes")],
    system: SystemOption = None,
    values: ValuesOption = None,
    budget: Annotated[
        str | None,
        typer.Option("--budget", metavar="TIME", help="Time that the run may take (30s; 3s without --system)"),
    ] = None,
    target: Annotated[
        str | None,
        typer.Option(
            metavar="SHARE",
            help="Half of each interval that is precise enough (3%, or a tenth of the difference)",
        ),
    ] = None,
    directory: DirOption = None,
    allow_writes: AllowWritesOption = False,
    translate: TranslateOption = False,
    store: StoreOption = None,
    json: JsonOption = None,
    report: ReportOption = None,
    verbose: VerboseOption = False,
) -> None:
    """Compare statements with each other, or one statement on several systems or settings."""
    from dbdyno.cli.experiment_source import ExperimentSource
    from dbdyno.cli.exports import Exports
    from dbdyno.cli.run import RunCommand

    options = RunOptions(
        systems=system or [],
        target=read_share(target, "--target"),
        budget_s=read_duration(budget or ("30s" if system else "3s"), "--budget"),
        directory=directory,
        allow_writes=allow_writes,
    )
    source = ExperimentSource(statements=statements, values=values or [], directory=directory, translate=translate)
    _measure(RunCommand(source=source, options=options), store, Exports(json=json, report=report), verbose=verbose)


def queries(
    file: Annotated[str, typer.Argument(metavar="FILE.sql", help="Statements that end with `;`, or a trace")],
    system: SystemOption = None,
    values: ValuesOption = None,
    budget: StatementBudgetOption = "1m",
    target: Annotated[str, typer.Option(metavar="SHARE", help="Half of each interval that is precise enough")] = "5%",
    try_indexes: Annotated[
        bool,
        typer.Option(
            "--try-indexes/--no-try-indexes", help="Build candidate indexes on a copy of the data, and measure them"
        ),
    ] = True,
    index_budget: IndexBudgetOption = None,
    directory: DirOption = None,
    allow_writes: AllowWritesOption = False,
    translate: TranslateOption = False,
    store: StoreOption = None,
    json: JsonOption = None,
    report: ReportOption = None,
    verbose: VerboseOption = False,
) -> None:
    """Measure each statement of a .sql file: its time, its plan, and the indexes that make it faster."""
    from dbdyno.base.errors import InputError
    from dbdyno.cli.experiment_source import ExperimentSource, is_sql_file
    from dbdyno.cli.exports import Exports
    from dbdyno.cli.run import RunCommand

    if not is_sql_file(file):
        raise InputError(
            file, "its name ends in neither `.sql` nor `.trace`", "name a SQL file; `dbdyno run` takes experiments"
        )
    if index_budget is not None and not try_indexes:
        raise InputError("--index-budget", "no index is tried", "leave out `--no-try-indexes`")
    options = RunOptions(
        systems=system or [],
        target=read_share(target, "--target"),
        budget_s=read_duration(budget, "--budget"),
        directory=directory,
        allow_writes=allow_writes,
        try_indexes=try_indexes,
        index_budget_bytes=read_bytes(index_budget, "--index-budget"),
    )
    source = ExperimentSource([file], values=values or [], directory=directory, translate=translate)
    _measure(RunCommand(source=source, options=options), store, Exports(json=json, report=report), verbose=verbose)


def tour(
    budget: Annotated[str, typer.Option("--budget", metavar="TIME", help="About how long it may take")] = "15m",
    only: Annotated[
        list[str] | None, typer.Option("--only", metavar="NAME", help="Only this experiment; may be repeated")
    ] = None,
    report: ReportOption = None,
    directory: DirOption = None,
    store: StoreOption = None,
) -> None:
    """Run a short version of each built-in experiment, and compare it with the published results."""
    from dbdyno.cli.tour import make_tour

    code = make_tour(budget, only or [], report, directory, store)
    if code:
        raise typer.Exit(code)
