"""The command line: its commands, in the order of its help, and how it ends."""

import signal
import sys
from collections.abc import Callable
from functools import cache as made_once
from pathlib import Path
from types import FrameType
from typing import Annotated, Any

import typer
from typer.main import get_command

from dbdyno.base.errors import DbdynoError, InputError
from dbdyno.base.text import printable
from dbdyno.cli.capture_command import capture, distil, replay, trace
from dbdyno.cli.completion import complete_systems
from dbdyno.cli.cpu_command import cpu
from dbdyno.cli.describe_command import describe, init, list_experiments
from dbdyno.cli.help import GROUPS, PlainGroup, epilog
from dbdyno.cli.judge_command import gate, noise, upgrade
from dbdyno.cli.options import AllowWritesOption
from dbdyno.cli.passwords import hide_passwords
from dbdyno.cli.predict_command import predict
from dbdyno.cli.run_command import queries, run, tour, try_statements
from dbdyno.cli.store_command import store
from dbdyno.cli.stored_command import baseline, compare, history, report_command, runs, show
from dbdyno.cli.strict_command import StrictCommand, refuse_typed
from dbdyno.cli.why_command import tune, why
from dbdyno.engines import all_engines
from dbdyno.runtime.process_limits import check_address_space

app = typer.Typer(
    name="dbdyno",
    cls=PlainGroup,
    help="A benchmark for databases: how fast, how certain, what limits it, and which change would help.",
    invoke_without_command=True,
    pretty_exceptions_enable=False,
)


# Exit code of shells for a program that Ctrl-C ended.
_INTERRUPTED = 130


def list_systems() -> None:
    """List the systems that can be measured here, and how to install others."""
    from dbdyno.cli.systems import print_systems

    print_systems()


def check_command(
    url: Annotated[
        str,
        typer.Argument(
            metavar="URL", help="What to check, as postgresql://me@host/database", autocompletion=complete_systems
        ),
    ],
    allow_writes: AllowWritesOption = False,
) -> None:
    """Check that a system behaves as dbdyno requires: types, errors, transactions, bulk loading."""
    from dbdyno.cli.check import print_checks
    from dbdyno.engines.url import parse_url

    if not parse_url(url).host:
        refuse_typed(("allow_writes",), "on a system that does not run already")

    code = print_checks(url, allow_writes)
    if code:
        raise typer.Exit(code)


def cache(
    clear: Annotated[bool, typer.Option("--clear", help="Remove it all; it is made again when needed")] = False,
) -> None:
    """Show the size of the cache (loaded tables, built libraries), or clear it."""
    from dbdyno.cli.show import cache_command

    cache_command(clear)


_COMMANDS: dict[str, Callable[..., None]] = {
    "run": run,
    "try": try_statements,
    "queries": queries,
    "init": init,
    "tour": tour,
    "why": why,
    "tune": tune,
    "show": show,
    "runs": runs,
    "report": report_command,
    "list": list_experiments,
    "describe": describe,
    "predict": predict,
    "compare": compare,
    "upgrade": upgrade,
    "history": history,
    "noise": noise,
    "capture": capture,
    "distil": distil,
    "replay": replay,
    "gate": gate,
    "baseline": baseline,
    "systems": list_systems,
    "check": check_command,
    "cache": cache,
}
_GROUPS = {"cpu": cpu, "store": store, "trace": trace} | {
    engine.name: found for engine in all_engines() if (found := engine.commands()) is not None
}
# The help has groups and commands in this order.
for _panel, _names in GROUPS.items():
    for _name in _names:
        if _name in _COMMANDS:
            app.command(_name, cls=StrictCommand, rich_help_panel=_panel, epilog=epilog(_name))(_COMMANDS[_name])
            continue
        _group = _GROUPS[_name]
        if _group is not cpu:
            _group.info.cls = PlainGroup
        app.add_typer(_group, name=_name, rich_help_panel=_panel)
        for _each in _group.registered_commands:
            _each.cls = StrictCommand
            _each.epilog = epilog(f"{_name} {_each.name}")


def _version(value: bool) -> None:
    if value:
        from dbdyno.base.version import own_version

        typer.echo(f"dbdyno {own_version()}")
        raise typer.Exit


_FIRST = """\
A benchmark for databases: how fast, how certain, what limits it, and which
change would help.

Three commands to try:
  dbdyno run pk-lookup --set threads=1,2 --budget 1m
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
    else:
        check_address_space()


def _interrupt(_signal: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


@made_once
def commands() -> Any:
    """Return all commands with their options, for command-line completion and the reference."""
    return get_command(app)


def main(arguments: list[str] | None = None) -> Any:
    """Run the command line and exit: 0 done, 1 a trial failed, 2 bad input, 3 or 4 from the gate, 130 interrupted."""
    # SIGTERM ends dbdyno like Ctrl-C and removes unfinished files, unless a run handles it.
    signal.signal(signal.SIGTERM, _interrupt)
    hide_passwords()
    try:
        commands()(args=arguments)
    except DbdynoError as error:
        sys.stderr.write(f"dbdyno: {printable(str(error))}\n")
        sys.exit(error.exit_code)
    except FileNotFoundError:
        if _is_in_a_directory():
            raise
        sys.stderr.write("dbdyno: the working directory no longer exists; change to another directory\n")
        sys.exit(InputError.exit_code)
    except KeyboardInterrupt:
        sys.exit(_INTERRUPTED)


def _is_in_a_directory() -> bool:
    try:
        Path.cwd()
    except FileNotFoundError:
        return False
    return True
