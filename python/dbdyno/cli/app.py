"""The commands and their options."""

import signal
import sys
from io import TextIOWrapper
from pathlib import Path
from types import FrameType
from typing import Annotated, Any

import typer

from dbdyno.cli.completing import (
    complete_builtin,
    complete_experiments,
    complete_runs,
    complete_runs_and_experiments,
    complete_systems,
    complete_templates,
)
from dbdyno.cli.cpu import cpu
from dbdyno.cli.options import DirOption, SeedOption, SetOption, StoreOption
from dbdyno.cli.predict import predict
from dbdyno.engines import all_engines
from dbdyno.errors import DbdynoError
from dbdyno.shipped import template_names

app = typer.Typer(
    name="dbdyno",
    help="A dynamometer for databases: how fast, how sure, what limits it, what to change.",
    invoke_without_command=True,
    pretty_exceptions_enable=False,
)

app.add_typer(cpu, name="cpu")
app.command()(predict)
for _engine in all_engines():
    _commands = _engine.commands()
    if _commands is not None:
        app.add_typer(_commands, name=_engine.name)

_EXPERIMENTS = typer.Argument(
    help="A built-in experiment, a file: ./my.toml, or with --pgbench scripts", autocompletion=complete_experiments
)
_Experiments = Annotated[list[str], _EXPERIMENTS]
_ExperimentsOrNone = Annotated[list[str] | None, _EXPERIMENTS]
_Pgbench = Annotated[
    bool,
    typer.Option("--pgbench", help="The experiment is pgbench scripts: script.sql@WEIGHT, or tpcb-like and its kin"),
]
_Scale = Annotated[int | None, typer.Option(min=1, help="--pgbench: times 100,000 accounts (1)")]
_Define = Annotated[
    list[str] | None, typer.Option("--define", "-D", metavar="NAME=VALUE", help="--pgbench: a variable")
]
_System = Annotated[
    list[str] | None,
    typer.Option(
        "--system",
        metavar="URL",
        help="What to measure, as sqlite:?journal_mode=wal",
        autocompletion=complete_systems,
    ),
]
_Json = Annotated[Path | None, typer.Option("--json", metavar="FILE", help="Write the result document")]
_Csv = Annotated[Path | None, typer.Option("--csv", metavar="FILE", help="Write a row a round")]
_Markdown = Annotated[Path | None, typer.Option("--markdown", metavar="FILE", help="Write a table in Markdown")]
_Report = Annotated[
    Path | None, typer.Option("--report", metavar="FILE.html", help="Write the report, one file with all in it")
]
_Parquet = Annotated[
    Path | None,
    typer.Option(
        "--parquet", metavar="DIR|FILE.parquet", help="Write a row a round as Parquet, or all tables into a directory"
    ),
]
_Openmetrics = Annotated[
    Path | None, typer.Option("--openmetrics", metavar="FILE", help="Write gauges in the text format of OpenMetrics")
]
_Budget = Annotated[
    str | None, typer.Option("--budget", metavar="TIME", help="auto: begin no round after this long, as 10m")
]
_Interleave = Annotated[
    str | None,
    typer.Option(
        "--interleave", metavar="TIME|none", help="The cells of a block are interleaved in slices of so long: 20ms"
    ),
]
_AllowWrites = Annotated[
    bool, typer.Option("--allow-writes", help="Let statements write to what dbdyno did not make: your own tables")
]
_Margin = Annotated[str | None, typer.Option("--margin", metavar="SHARE", help="The difference that matters, as 2%")]
_Run = Annotated[
    str, typer.Argument(metavar="RUN", help="A run's id, the end of it, or `last`", autocompletion=complete_runs)
]

# What a shell gives a program that Ctrl-C ended.
_INTERRUPTED = 130


@app.command("list")
def list_experiments() -> None:
    """List the built-in experiments."""
    from dbdyno.cli.show import print_experiments

    print_experiments()


@app.command("systems")
def list_systems() -> None:
    """List the systems that can be measured here, and what to install for others."""
    from dbdyno.cli.systems import print_systems

    print_systems()


@app.command("check")
def check_command(
    url: Annotated[
        str,
        typer.Argument(
            metavar="URL", help="What to check, as postgresql://me@host/database", autocompletion=complete_systems
        ),
    ],
    allow_writes: _AllowWrites = False,
) -> None:
    """Check that a system does what every engine must: types, failures, transactions, loading. Exit code 1: not all."""
    from dbdyno.cli.checking import print_checks

    code = print_checks(url, allow_writes)
    if code:
        raise typer.Exit(code)


@app.command()
def describe(
    experiment: _Experiments,
    chosen: SetOption = None,
    system: _System = None,
    pgbench: _Pgbench = False,
    scale: _Scale = None,
    define: _Define = None,
    toml: Annotated[bool, typer.Option("--toml", help="Write its file to the output, and nothing else")] = False,
    check: Annotated[
        bool, typer.Option("--check", help="Open each system and prepare each statement; exit code 2: one cannot be")
    ] = False,
    allow_writes: _AllowWrites = False,
    directory: DirOption = None,
) -> None:
    """Show what an experiment asks, its factors, and the exact statements."""
    from dbdyno.cli.naming import Named
    from dbdyno.cli.show import print_description, print_opened, print_toml

    if toml:
        print_toml(Named(experiment, pgbench, scale, define or []), system or [])
        return
    if check:
        named = Named(experiment, pgbench, scale, define or [], directory=directory)
        print_opened(named, chosen or [], system or [], directory, allow_writes)
        return
    print_description(Named(experiment, pgbench, scale, define or []), chosen or [], system or [])


@app.command()
def init(
    file: Annotated[Path, typer.Argument(help="The file to write; it must not exist")],
    of: Annotated[
        str | None,
        typer.Option(
            "--from", metavar="NAME", help="A built-in experiment, to change it", autocompletion=complete_builtin
        ),
    ] = None,
    template: Annotated[
        str | None,
        typer.Option(
            "--template",
            metavar="NAME",
            help=f"One for a purpose: {', '.join(template_names())}",
            autocompletion=complete_templates,
        ),
    ] = None,
) -> None:
    """Write a commented experiment to begin with: a general one, a template for a purpose, or a built-in one."""
    from dbdyno.cli.show import write_template

    write_template(file, of, template)


@app.command()
def run(
    experiment: _ExperimentsOrNone = None,
    chosen: SetOption = None,
    system: _System = None,
    pgbench: _Pgbench = False,
    scale: _Scale = None,
    define: _Define = None,
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
    margin: _Margin = None,
    target: Annotated[
        str | None, typer.Option(metavar="SHARE", help="auto: half the interval that is precise enough (3%)")
    ] = None,
    min_rounds: Annotated[int | None, typer.Option(min=2, help="auto: at least so many rounds (5)")] = None,
    max_rounds: Annotated[int | None, typer.Option(min=2, help="auto: at most so many rounds (30)")] = None,
    budget: _Budget = None,
    wait_idle: Annotated[
        bool, typer.Option("--wait-idle", help="Wait for a quiet machine before each trial, at most a minute")
    ] = False,
    instructions: Annotated[
        bool, typer.Option("--instructions", help="Count the instructions of each trial too, under valgrind")
    ] = False,
    interleaving: _Interleave = None,
    try_recommendations: Annotated[
        bool,
        typer.Option("--try-recommendations", help="Measure the experiment's recommendations beside what they are for"),
    ] = False,
    design: Annotated[
        str,
        typer.Option(metavar="full|screening", help="screening: a part of the cells that tells what each factor does"),
    ] = "full",
    same_durability: Annotated[
        str | None,
        typer.Option("--same-durability", metavar="CLASS", help="Set all systems to power-safe, or to process-safe"),
    ] = None,
    allow_writes: _AllowWrites = False,
    store: StoreOption = None,
    json: _Json = None,
    csv: _Csv = None,
    markdown: _Markdown = None,
    report: _Report = None,
    parquet: _Parquet = None,
    openmetrics: _Openmetrics = None,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Show all that is known, below the answer")] = False,
) -> None:
    """Run an experiment: measure it, find what limits it, store and show the result."""
    from dbdyno.cli.naming import Named
    from dbdyno.cli.running import Asked, Exports, run_experiment

    exports = Exports(json, csv, markdown, report, parquet, openmetrics)
    asked = Asked(
        named=Named(experiment or [], pgbench, scale, define or []),
        chosen=chosen or [],
        systems=system or [],
        rounds=rounds,
        seed=seed,
        directory=directory,
        resumed=resume,
        margin=margin,
        target=target,
        min_rounds=min_rounds,
        max_rounds=max_rounds,
        budget=budget,
        wait_idle=wait_idle,
        instructions=instructions,
        same_durability=same_durability,
        try_recommendations=try_recommendations,
        interleaving=interleaving,
        allow_writes=allow_writes,
        design=design,
    )
    code = run_experiment(asked, store, exports, sys.argv, verbose=verbose)
    if code:
        raise typer.Exit(code)


@app.command("try")
def try_statements(
    statements: Annotated[list[str], typer.Argument(metavar="SQL…", help="Statements, each in quotes")],
    system: _System = None,
    budget: Annotated[str, typer.Option("--budget", metavar="TIME", help="Begin no round after this long")] = "30s",
    target: Annotated[str, typer.Option(metavar="SHARE", help="Half the interval that is precise enough")] = "3%",
    directory: DirOption = None,
    allow_writes: _AllowWrites = False,
    store: StoreOption = None,
    json: _Json = None,
    report: _Report = None,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Show all that is known, below the answer")] = False,
) -> None:
    """Measure statements against each other, or one on several systems: on a database that is there."""
    from dbdyno.cli.naming import Named
    from dbdyno.cli.running import Asked, Exports, run_experiment

    asked = Asked(
        named=Named(statements=statements),
        systems=system or [],
        target=target,
        budget=budget,
        directory=directory,
        allow_writes=allow_writes,
    )
    code = run_experiment(asked, store, Exports(json, None, None, report), sys.argv, verbose=verbose)
    if code:
        raise typer.Exit(code)


@app.command()
def queries(
    file: Annotated[str, typer.Argument(metavar="FILE.sql", help="Statements that end with `;`")],
    system: _System = None,
    values: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUES", help="Of a parameter :NAME: 1..1000, 'a','b', @column of table"),
    ] = None,
    budget: Annotated[str, typer.Option("--budget", metavar="TIME", help="Begin no round after this long")] = "1m",
    target: Annotated[str, typer.Option(metavar="SHARE", help="Half the interval that is precise enough")] = "5%",
    directory: DirOption = None,
    allow_writes: _AllowWrites = False,
    store: StoreOption = None,
    json: _Json = None,
    report: _Report = None,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Show all that is known, below the answer")] = False,
) -> None:
    """Measure each statement of a file by itself: its time, its plan, and the index that would serve it."""
    from dbdyno.cli.naming import Named
    from dbdyno.cli.running import Asked, Exports, run_experiment

    asked = Asked(
        named=Named([file], values=values or [], directory=directory),
        systems=system or [],
        target=target,
        budget=budget,
        directory=directory,
        allow_writes=allow_writes,
    )
    code = run_experiment(asked, store, Exports(json=json, report=report), sys.argv, verbose=verbose)
    if code:
        raise typer.Exit(code)


@app.command()
def tour(
    budget: Annotated[str, typer.Option("--budget", metavar="TIME", help="About how long it may take")] = "15m",
    only: Annotated[
        list[str] | None, typer.Option("--only", metavar="NAME", help="Only this experiment; may be repeated")
    ] = None,
    report: _Report = None,
    directory: DirOption = None,
    store: StoreOption = None,
) -> None:
    """Run a short version of each built-in experiment, and show it beside what its source published."""
    from dbdyno.cli.touring import make_tour

    code = make_tour(budget, only or [], report, directory, store)
    if code:
        raise typer.Exit(code)


@app.command()
def runs(
    experiment: Annotated[
        str | None, typer.Argument(help="Only runs of this experiment", autocompletion=complete_experiments)
    ] = None,
    limit: Annotated[int, typer.Option(min=1, help="The newest so many")] = 30,
    store: StoreOption = None,
) -> None:
    """List the stored runs, newest first."""
    from dbdyno.cli.show import print_runs

    print_runs(experiment, limit, store)


@app.command()
def show(
    run: _Run = "last",
    store: StoreOption = None,
    json: _Json = None,
    csv: _Csv = None,
    markdown: _Markdown = None,
    parquet: _Parquet = None,
    openmetrics: _Openmetrics = None,
) -> None:
    """Show a stored run."""
    from dbdyno.cli.running import Exports
    from dbdyno.cli.show import show_run

    show_run(run, store, Exports(json, csv, markdown, None, parquet, openmetrics))


@app.command("report")
def report_command(
    run: _Run = "last",
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE.html", help="Default: dbdyno-RUN.html")
    ] = None,
    store: StoreOption = None,
) -> None:
    """Write the report of a stored run: one HTML file with all in it."""
    from dbdyno.cli.show import report_run

    report_run(run, output, store)


_Metric = Annotated[
    str | None,
    typer.Option(
        help="throughput, instructions, or p50, p90, p99, p99_9, mean, max of the response time; "
        "by default throughput, of open loops that keep up p99"
    ),
]
_Across = Annotated[bool, typer.Option("--across-machines", help="Rank runs of different machines all the same")]


@app.command()
def compare(
    a: Annotated[
        str,
        typer.Argument(metavar="RUN_A", help="A run, or a cell of one: RUN/threads=1", autocompletion=complete_runs),
    ],
    b: Annotated[
        str,
        typer.Argument(metavar="RUN_B", help="The run or cell that is compared with it", autocompletion=complete_runs),
    ],
    margin: _Margin = None,
    metric: _Metric = None,
    across_machines: _Across = False,
    store: StoreOption = None,
    json: _Json = None,
) -> None:
    """Compare two runs, or two cells: what differs, the change with its interval, whether it is more than chance."""
    from dbdyno.cli.comparing import print_comparison

    print_comparison(a, b, margin, metric, across_machines, store, json)


@app.command()
def gate(
    run: Annotated[
        str,
        typer.Argument(
            metavar="RUN|EXPERIMENT",
            help="A run, or with `--against` what is to be measured",
            autocompletion=complete_runs_and_experiments,
        ),
    ] = "last",
    baseline: Annotated[
        str,
        typer.Option(
            "--baseline",
            metavar="RUN|NAME",
            help="The run that it must not be slower than",
            autocompletion=complete_runs,
        ),
    ] = "",
    against: Annotated[
        str | None,
        typer.Option(
            "--against",
            metavar="COMMIT|URL|FILE",
            help="Measure the experiment and this baseline in the same blocks: a commit, a system, or an experiment",
        ),
    ] = None,
    build: Annotated[
        str | None, typer.Option("--build", metavar="COMMAND", help="What builds the commit of `--against`")
    ] = None,
    chosen: SetOption = None,
    system: _System = None,
    rounds: Annotated[str, typer.Option("--rounds", metavar="N|auto", help="Of `--against`")] = "auto",
    budget: _Budget = None,
    interleaving: _Interleave = None,
    seed: SeedOption = None,
    directory: DirOption = None,
    margin: Annotated[str, typer.Option("--margin", metavar="SHARE", help="The loss allowed, as 3%")] = "3%",
    allow_writes: _AllowWrites = False,
    metric: _Metric = None,
    across_machines: _Across = False,
    store: StoreOption = None,
    junit: Annotated[
        Path | None, typer.Option("--junit", metavar="FILE", help="Write the answers as JUnit XML")
    ] = None,
    markdown: _Markdown = None,
    count: Annotated[bool, typer.Option("--count", help="RUN and baseline are counts kept by `dbdyno cpu`")] = False,
    counts: Annotated[Path | None, typer.Option("--counts", metavar="DIR", help="Where those counts are kept")] = None,
) -> None:
    """Judge a run, or a count, against a baseline, for CI: exit code 0 passed, 3 regression, 4 inconclusive.

    With `--against` both sides are measured in the same blocks, which is what holds on a machine that others share.
    """
    from dbdyno.cli.gating import GateOutputs, gate_against, gate_count, gate_run
    from dbdyno.cli.naming import Named
    from dbdyno.cli.running import Asked
    from dbdyno.engines import names_program
    from dbdyno.errors import InputError

    outputs = GateOutputs(junit, markdown)
    if (against is None) == (not baseline):
        problem = "no baseline is named" if against is None else "two baselines are named"
        hint = "give `--against COMMIT` to measure both sides now, or `--baseline RUN` of a run that is stored"
        raise InputError("gate", problem, hint)
    if against is not None:
        programs = run == "last" and system and all(map(names_program, system))
        asked = Asked(
            named=Named([] if programs else [run]),
            chosen=chosen or [],
            systems=system or [],
            rounds=rounds,
            seed=seed,
            directory=directory,
            budget=budget,
            interleaving=interleaving,
            allow_writes=allow_writes,
        )
        code = gate_against(asked, against, build, margin, metric, store, outputs, sys.argv)
    elif count or counts is not None:
        code = gate_count(run, baseline, margin, counts, outputs)
    else:
        code = gate_run(run, baseline, margin, metric, across_machines, store, outputs)
    if code:
        raise typer.Exit(code)


@app.command()
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
    limit: Annotated[int, typer.Option(min=1, help="Show the newest so many runs")] = 100,
    store: StoreOption = None,
    json: Annotated[Path | None, typer.Option("--json", metavar="FILE", help="Write the history's document")] = None,
    report: Annotated[
        Path | None, typer.Option("--report", metavar="FILE.html", help="Write one file with charts")
    ] = None,
) -> None:
    """Show how a metric went over the stored runs, and where it changed."""
    from dbdyno.cli.history import print_history

    print_history(experiment, metric, cell or [], limit, store, json, report)


@app.command()
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
    runs: Annotated[
        int | None,
        typer.Option("--runs", min=3, help="Measure how much so many runs differ, which the gate then allows for"),
    ] = None,
    rounds: Annotated[
        int | None,
        typer.Option(min=2, help="Blocks in which the cell is measured twice (20); with --runs of a run (5)"),
    ] = None,
    seed: SeedOption = None,
    directory: DirOption = None,
    margin: _Margin = None,
    wait_idle: Annotated[bool, typer.Option("--wait-idle", help="Wait for a quiet machine before each trial")] = False,
    interleaving: _Interleave = None,
    allow_writes: _AllowWrites = False,
    store: StoreOption = None,
    json: _Json = None,
) -> None:
    """Measure one cell against itself (an A/A test): this machine's false alarms, and the smallest change it shows."""
    from dbdyno.cli.naming import Named
    from dbdyno.cli.noise import DEFAULT_ROUNDS, LEAST_ROUNDS, ROUNDS_OF_A_RUN, measure_noise, measure_noise_of_runs
    from dbdyno.cli.running import Asked
    from dbdyno.engines import names_program
    from dbdyno.errors import InputError

    # A program of one's own needs no experiment.
    if experiment is None and not names_program(system):
        experiment = "pk-lookup"
    if experiment == "pk-lookup" and not chosen:
        chosen = ["threads=1", "cache=private"]
    asked = Asked(
        named=Named([] if experiment is None else [experiment]),
        chosen=chosen or [],
        systems=[system] if runs is not None else [system, system],
        rounds=str(rounds or (DEFAULT_ROUNDS if runs is None else ROUNDS_OF_A_RUN)),
        seed=seed,
        directory=directory,
        margin=margin,
        wait_idle=wait_idle,
        interleaving=interleaving,
        allow_writes=allow_writes,
    )
    if runs is not None:
        code = measure_noise_of_runs(asked, runs, store, json, sys.argv)
    elif rounds is not None and rounds < LEAST_ROUNDS:
        raise InputError("--rounds", f"{rounds} blocks tell nothing of the noise", f"give {LEAST_ROUNDS} or more")
    else:
        code = measure_noise(asked, store, json, sys.argv)
    if code:
        raise typer.Exit(code)


@app.command()
def baseline(
    name: Annotated[str | None, typer.Argument(help="The baseline's name; without one, all are listed")] = None,
    run: Annotated[
        str | None,
        typer.Argument(metavar="RUN", help="The run to keep; by default the last", autocompletion=complete_runs),
    ] = None,
    remove: Annotated[bool, typer.Option("--remove", help="Forget the name; the run stays")] = False,
    store: StoreOption = None,
) -> None:
    """Keep a run as a baseline under a name, for the gate; or list the baselines."""
    from dbdyno.cli.comparing import baseline_command

    baseline_command(name, run, remove, store)


@app.command()
def cache(
    clear: Annotated[bool, typer.Option("--clear", help="Remove it all; it is made again when needed")] = False,
) -> None:
    """Show the size of the cache (loaded tables, built libraries), or clear it."""
    from dbdyno.cli.show import cache_command

    cache_command(clear)


def _version(value: bool) -> None:
    if value:
        from importlib.metadata import version

        typer.echo(f"dbdyno {version('dbdyno')}")
        raise typer.Exit


_FIRST = """\
A dynamometer for databases: how fast, how sure, what limits it, what to change.

Three commands to try:
  dbdyno run pk-lookup --set threads=1,2 --rounds auto --budget 1m
  dbdyno try 'select …' 'select …' --system sqlite:my.db
  dbdyno init my.toml && dbdyno run ./my.toml

`dbdyno list` has the built-in experiments, `dbdyno systems` what is installed
here, `dbdyno --help` all commands."""


@app.callback()
def _root(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version")
    ] = False,
) -> None:
    del version
    if context.invoked_subcommand is None:
        typer.echo(_FIRST)


def _interrupt(_signal: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def _show_what_can_be_shown() -> None:
    """Have a character that the terminal's encoding does not know shown as another, in place of an error."""
    for stream in (sys.stdout, sys.stderr):
        # Whatever else somebody has chosen, as in PYTHONIOENCODING, holds.
        if isinstance(stream, TextIOWrapper) and stream.errors in ("strict", "surrogateescape"):
            # One for one, so that columns stay where they are.
            stream.reconfigure(errors="replace")


def main(arguments: list[str] | None = None) -> Any:
    """Run the command line and exit: 0 done, 1 a trial failed, 2 bad input, 3 and 4 from the gate, 130 interrupted."""
    # Where nobody listens to it, SIGTERM ends dbdyno as Ctrl-C does: what is unfinished is removed on the way.
    signal.signal(signal.SIGTERM, _interrupt)
    _show_what_can_be_shown()
    try:
        app(args=arguments)
    except DbdynoError as error:
        # What the terminal's encoding does not know is shown as another character, and by no other encoding.
        sys.stderr.write(f"dbdyno: {error}\n")
        sys.exit(error.exit_code)
    except BrokenPipeError:
        # Whoever read the output has had enough of it.
        sys.stderr.close()
        sys.exit(0)
    except KeyboardInterrupt:
        sys.exit(_INTERRUPTED)
