"""The commands that judge runs in CI, and the noise of the machine."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from dbdyno.cli.completion import complete_experiments, complete_runs, complete_runs_and_experiments, complete_systems
from dbdyno.cli.option_values import read_duration, read_interleaving, read_rounds, read_share
from dbdyno.cli.options import (
    AcrossOption,
    AllowWritesOption,
    ClientsOption,
    DirOption,
    InconclusiveOption,
    InterleaveOption,
    JsonOption,
    JunitOption,
    LossOption,
    MarginOption,
    MarkdownOption,
    MetricOption,
    MixOption,
    ReportOption,
    SeedOption,
    SetOption,
    StoreOption,
    SystemOption,
    ValuesOption,
    VerdictsOption,
)
from dbdyno.cli.strict_command import refuse_typed
from dbdyno.model.run_options import RunOptions

# The levels that select a cell of pk-lookup, if a system has these factors.
_USUAL = {"threads": "1", "cache": "private"}


def gate(
    run: Annotated[
        str,
        typer.Argument(
            metavar="RUN|EXPERIMENT",
            help="A run, or with `--against` the experiment to measure: built-in, .toml or .sql",
            autocompletion=complete_runs_and_experiments,
        ),
    ] = "last",
    baseline: Annotated[
        str,
        typer.Option(
            "--baseline",
            metavar="RUN|NAME",
            help="The stored run to compare with",
            autocompletion=complete_runs,
        ),
    ] = "",
    against: Annotated[
        str | None,
        typer.Option(
            "--against",
            metavar="COMMIT|URL|FILE",
            help="Measure the experiment and this baseline together: a commit, a system, or an experiment's file",
        ),
    ] = None,
    build: Annotated[
        str | None,
        typer.Option("--build", metavar="COMMAND", help="Shell command that builds the commit of `--against`"),
    ] = None,
    chosen: SetOption = None,
    system: SystemOption = None,
    mix: MixOption = False,
    clients: ClientsOption = None,
    rounds: Annotated[str, typer.Option("--rounds", metavar="N|auto", help="Of `--against`")] = "auto",
    budget: Annotated[
        str | None,
        typer.Option("--budget", metavar="TIME", help="Stop measuring after this time, settled or not (5m)"),
    ] = None,
    interleaving: InterleaveOption = None,
    seed: SeedOption = None,
    directory: DirOption = None,
    inconclusive: InconclusiveOption = "pass",
    margin: LossOption = "5%",
    fail_on: Annotated[
        list[str] | None,
        typer.Option(
            "--fail-on",
            metavar="CONDITION",
            help="Exit with 3 also for: scan, scan:TABLE, plan-change, missing-index, estimates:100x (repeatable)",
        ),
    ] = None,
    allow_writes: AllowWritesOption = False,
    metric: MetricOption = None,
    across_machines: AcrossOption = False,
    store: StoreOption = None,
    junit: JunitOption = None,
    markdown: MarkdownOption = None,
    report: ReportOption = None,
    json: VerdictsOption = None,
    count: Annotated[bool, typer.Option("--count", help="RUN and baseline are counts kept by `dbdyno cpu`")] = False,
    counts: Annotated[Path | None, typer.Option("--counts", metavar="DIR", help="Directory of those counts")] = None,
) -> None:
    """Compare a run with a baseline, for CI. Exit code 0: pass; 3: regression.

    Verdicts that are not settled pass with a notice; `--inconclusive fail` makes the exit code 4. `--against` measures
    both sides together, which holds on a machine that others use. `--fail-on` judges plans, also without a baseline.
    """
    from dbdyno.base.errors import InputError
    from dbdyno.cli.experiment_source import ExperimentSource, divide_chosen
    from dbdyno.cli.gate import GateOptions, gate_against, gate_count, gate_plans, gate_run
    from dbdyno.cli.run import RunCommand
    from dbdyno.engines import names_program

    options = GateOptions(margin, inconclusive, metric, junit, markdown, report, json, fail_on or [])
    is_alone = against is None and not baseline and bool(fail_on)
    if (against is None) == (not baseline) and not is_alone:
        problem = "no baseline given" if against is None else "two baselines given"
        hint = "use `--against COMMIT` to measure both versions now, or `--baseline RUN` to compare with a stored run"
        raise InputError("gate", problem, hint)
    is_measured = against is not None or (
        is_alone and (run.lower().endswith((".toml", ".sql", ".trace")) or bool(system))
    )
    if not is_measured:
        names = (
            "chosen",
            "system",
            "mix",
            "clients",
            "rounds",
            "budget",
            "interleaving",
            "seed",
            "directory",
            "allow_writes",
        )
        refuse_typed(names, "without `--against`", "leave it out, or add `--against`")
    if against is None:
        refuse_typed(("build",), "without `--against`", "leave it out, or add `--against`")
    if is_alone:
        refuse_typed(("margin", "metric", "across_machines", "count", "counts"), "without a baseline")
        if rounds == "auto":
            refuse_typed(("budget",), "without a baseline, since plans need one round")
    if is_measured:
        refuse_typed(("across_machines", "count", "counts"), "with `--against`")
        programs = run == "last" and system and all(map(names_program, system))
        levels, values = divide_chosen([run], chosen or [], mix=mix, clients=clients)
        measured = RunOptions(
            set=levels,
            systems=system or [],
            # Plans need one round.
            rounds=1 if is_alone and rounds == "auto" else read_rounds(rounds),
            seed=seed,
            directory=directory,
            budget_s=read_duration(budget, "--budget"),
            interleaving=read_interleaving(interleaving),
            allow_writes=allow_writes,
        )
        source = ExperimentSource([] if programs else [run], values=values, directory=directory, mix=mix)
        command = RunCommand(source=source, options=measured)
        if against is None:
            code = gate_plans(command, store_location=store, options=options, command=sys.argv)
        else:
            code = gate_against(command, against, build, store_location=store, options=options, command=sys.argv)
    elif is_alone:
        code = gate_plans(run, store_location=store, options=options, command=sys.argv)
    elif count or counts is not None:
        refuse_typed(("metric", "across_machines", "store", "report", "fail_on"), "with `--count`")
        code = gate_count(run, baseline, counts, options)
    else:
        code = gate_run(run, baseline, across_machines, store, options)
    if code:
        raise typer.Exit(code)


def upgrade(
    file: Annotated[str, typer.Argument(metavar="FILE.sql", help="Statements that end with `;`, or a trace")],
    old: Annotated[
        str, typer.Option("--from", metavar="URL", help="The system as it is", autocompletion=complete_systems)
    ],
    new: Annotated[
        str, typer.Option("--to", metavar="URL", help="The system to upgrade to", autocompletion=complete_systems)
    ],
    values: ValuesOption = None,
    bisect: Annotated[
        bool, typer.Option("--bisect", help="Name the release in which each statement changed (SQLite, or --via)")
    ] = False,
    via: Annotated[
        list[str] | None,
        typer.Option(
            "--via",
            metavar="URL",
            help="--bisect: a system between both, oldest first (repeatable)",
            autocompletion=complete_systems,
        ),
    ] = None,
    budget: Annotated[
        str, typer.Option("--budget", metavar="TIME", help="Time for measuring, and again for trying changes")
    ] = "2m",
    margin: LossOption = "5%",
    inconclusive: InconclusiveOption = "pass",
    interleaving: InterleaveOption = None,
    seed: SeedOption = None,
    directory: DirOption = None,
    allow_writes: AllowWritesOption = False,
    store: StoreOption = None,
    junit: JunitOption = None,
    markdown: MarkdownOption = None,
    report: ReportOption = None,
    json: VerdictsOption = None,
) -> None:
    """Compare statements on two versions or settings: rows, times, plans. Exit code 3: slower, or other rows.

    For a slower statement with another plan, it tries settings and fresh statistics on copies, and prints what brings
    the old plan back.
    """
    from dbdyno.base.errors import InputError
    from dbdyno.cli.experiment_source import ExperimentSource, is_sql_file
    from dbdyno.cli.gate import GateOptions
    from dbdyno.cli.run import RunCommand
    from dbdyno.cli.upgrade import UpgradeOptions, upgrade_statements

    if not is_sql_file(file):
        raise InputError(
            file, "its name ends in neither `.sql` nor `.trace`", "name a SQL file; `dbdyno gate` takes experiments"
        )
    budget_s = read_duration(budget, "--budget")
    measured = RunOptions(
        systems=[new],
        seed=seed,
        directory=directory,
        interleaving=read_interleaving(interleaving),
        allow_writes=allow_writes,
    )
    code = upgrade_statements(
        RunCommand(source=ExperimentSource([file], values=values or [], directory=directory), options=measured),
        UpgradeOptions(old, new, budget_s or 0.0, bisect, via or []),
        store_location=store,
        options=GateOptions(margin, inconclusive, None, junit, markdown, report, json),
        command=sys.argv,
    )
    if code:
        raise typer.Exit(code)


def noise(
    experiment: Annotated[
        str | None,
        typer.Argument(
            help="A built-in experiment, or a file: ./my.toml; without one pk-lookup",
            autocompletion=complete_experiments,
        ),
    ] = None,
    chosen: SetOption = None,
    system: Annotated[
        str, typer.Option("--system", metavar="URL", help="What to measure", autocompletion=complete_systems)
    ] = "sqlite:",
    mix: MixOption = False,
    clients: ClientsOption = None,
    runs: Annotated[
        int | None,
        typer.Option("--runs", min=3, help="Measure how much N runs differ; the gate then allows for it"),
    ] = None,
    rounds: Annotated[
        int | None,
        typer.Option(min=2, help="Blocks in which the cell is measured twice (20); with --runs of a run (5)"),
    ] = None,
    seed: SeedOption = None,
    directory: DirOption = None,
    margin: MarginOption = None,
    wait_idle: Annotated[bool, typer.Option("--wait-idle", help="Wait for a quiet machine before each trial")] = False,
    interleaving: InterleaveOption = None,
    allow_writes: AllowWritesOption = False,
    store: StoreOption = None,
    json: JsonOption = None,
) -> None:
    """Measure one cell against itself (an A/A test): the smallest change that this machine can show."""
    from dbdyno.base.errors import InputError
    from dbdyno.cli.effect_checks import matters
    from dbdyno.cli.experiment_source import ExperimentSource, divide_chosen
    from dbdyno.cli.noise import DEFAULT_ROUNDS, MIN_ROUNDS, ROUNDS_OF_A_RUN, measure_noise, measure_noise_of_runs
    from dbdyno.cli.run import RunCommand
    from dbdyno.engines import names_program
    from dbdyno.engines.url import parse_url
    from dbdyno.experiment import load_experiment

    # A user's program needs no experiment.
    if experiment is None and not names_program(system):
        experiment = "pk-lookup"
    if experiment == "pk-lookup" and not chosen:
        made, spec = load_experiment(experiment), parse_url(system)
        chosen = [f"{name}={level}" for name, level in _USUAL.items() if matters(made, name, spec)]
    named = [] if experiment is None else [experiment]
    levels, values = divide_chosen(named, chosen or [], mix=mix, clients=clients)
    options = RunOptions(
        set=levels,
        systems=[system] if runs is not None else [system, system],
        rounds=rounds or (DEFAULT_ROUNDS if runs is None else ROUNDS_OF_A_RUN),
        seed=seed,
        directory=directory,
        margin=read_share(margin, "--margin"),
        wait_idle=wait_idle,
        interleaving=read_interleaving(interleaving),
        allow_writes=allow_writes,
    )
    command = RunCommand(source=ExperimentSource(named, values=values, directory=directory, mix=mix), options=options)
    if runs is not None:
        refuse_typed(("margin",), "with `--runs`")
        code = measure_noise_of_runs(command, runs, store, json, sys.argv)
    elif rounds is not None and rounds < MIN_ROUNDS:
        raise InputError("--rounds", f"{rounds} rounds are too few to measure the noise", f"give {MIN_ROUNDS} or more")
    else:
        code = measure_noise(command, store, json, sys.argv)
    if code:
        raise typer.Exit(code)
