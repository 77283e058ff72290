"""The commands and their options."""

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from dbdyno.errors import DbdynoError

app = typer.Typer(
    name="dbdyno",
    help="A dynamometer for databases: how fast, how sure, what limits it, what to change.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

_Experiment = Annotated[str, typer.Argument(help="A built-in experiment, or a file: ./my.toml")]
_Set = Annotated[list[str] | None, typer.Option("--set", metavar="FACTOR=LEVEL,…", help="Narrow or widen a factor")]
_System = Annotated[
    list[str] | None, typer.Option("--system", metavar="URL", help="What to measure, as sqlite:?journal_mode=wal")
]
_Store = Annotated[str | None, typer.Option("--store", metavar="PATH|URL", help="Where runs are kept")]
_Json = Annotated[Path | None, typer.Option("--json", metavar="FILE", help="Write the result document")]
_Csv = Annotated[Path | None, typer.Option("--csv", metavar="FILE", help="Write a row a round")]
_Markdown = Annotated[Path | None, typer.Option("--markdown", metavar="FILE", help="Write a table in Markdown")]
_Report = Annotated[
    Path | None, typer.Option("--report", metavar="FILE.html", help="Write the report, one file with all in it")
]
_Run = Annotated[str, typer.Argument(metavar="RUN", help="A run's id, the end of it, or `last`")]

# What a shell gives a program that Ctrl-C ended.
_INTERRUPTED = 130


@app.command("list")
def list_experiments() -> None:
    """List the built-in experiments."""
    from dbdyno.cli.show import print_experiments

    print_experiments()


@app.command()
def describe(experiment: _Experiment, chosen: _Set = None, system: _System = None) -> None:
    """Show what an experiment asks, its factors, and the exact statements."""
    from dbdyno.cli.show import print_description

    print_description(experiment, chosen or [], system or [])


@app.command()
def init(file: Annotated[Path, typer.Argument(help="The file to write; it must not exist")]) -> None:
    """Write a commented experiment to begin with."""
    from dbdyno.cli.show import write_template

    write_template(file)


@app.command()
def run(
    experiment: Annotated[str | None, typer.Argument(help="A built-in experiment, or a file: ./my.toml")] = None,
    chosen: _Set = None,
    system: _System = None,
    rounds: Annotated[int | None, typer.Option(min=1, help="Blocks in which every cell is measured once")] = None,
    seed: Annotated[int | None, typer.Option(min=0, max=2**63 - 1, help="Seed of all random draws")] = None,
    directory: Annotated[str | None, typer.Option("--dir", help="Where the databases under test lie")] = None,
    resume: Annotated[
        str | None, typer.Option("--resume", metavar="RUN", help="Go on with a run that was cut short")
    ] = None,
    store: _Store = None,
    json: _Json = None,
    csv: _Csv = None,
    markdown: _Markdown = None,
    report: _Report = None,
) -> None:
    """Run an experiment: measure it, find what limits it, store and show the result."""
    from dbdyno.cli.running import Exports, run_experiment

    exports = Exports(json, csv, markdown, report)
    code = run_experiment(
        experiment, chosen or [], system or [], rounds, seed, directory, resume, store, exports, sys.argv
    )
    if code:
        raise typer.Exit(code)


@app.command()
def runs(
    experiment: Annotated[str | None, typer.Argument(help="Only runs of this experiment")] = None,
    limit: Annotated[int, typer.Option(min=1, help="The newest so many")] = 30,
    store: _Store = None,
) -> None:
    """List the stored runs, newest first."""
    from dbdyno.cli.show import print_runs

    print_runs(experiment, limit, store)


@app.command()
def show(
    run: _Run = "last",
    store: _Store = None,
    json: _Json = None,
    csv: _Csv = None,
    markdown: _Markdown = None,
) -> None:
    """Show a stored run."""
    from dbdyno.cli.running import Exports
    from dbdyno.cli.show import show_run

    show_run(run, store, Exports(json, csv, markdown, None))


@app.command("report")
def report_command(
    run: _Run = "last",
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE.html", help="Default: dbdyno-RUN.html")
    ] = None,
    store: _Store = None,
) -> None:
    """Write the report of a stored run: one HTML file with all in it."""
    from dbdyno.cli.show import report_run

    report_run(run, output, store)


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


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version")
    ] = False,
) -> None:
    del version


def main(arguments: list[str] | None = None) -> Any:
    """Run the command line and exit: 0 done, 1 a trial failed, 2 bad input, 130 interrupted."""
    try:
        app(args=arguments)
    except DbdynoError as error:
        typer.echo(f"dbdyno: {error}", err=True)
        sys.exit(error.exit_code)
    except BrokenPipeError:
        # Whoever read the output has had enough of it.
        sys.stderr.close()
        sys.exit(0)
    except KeyboardInterrupt:
        sys.exit(_INTERRUPTED)
