"""The commands that show and write experiments."""

from pathlib import Path
from typing import Annotated

import typer

from dbdyno.base.errors import InputError
from dbdyno.base.resources import template_names
from dbdyno.cli.completion import complete_builtin, complete_templates
from dbdyno.cli.options import (
    AllowWritesOption,
    ClientsOption,
    DefineOption,
    DirOption,
    ExperimentsArgument,
    MixOption,
    PgbenchOption,
    ScaleOption,
    SetOption,
    SystemOption,
    TranslateOption,
)
from dbdyno.cli.strict_command import refuse_typed


def list_experiments() -> None:
    """List the built-in experiments."""
    from dbdyno.cli.show import print_experiments

    print_experiments()


def describe(
    experiment: ExperimentsArgument,
    chosen: SetOption = None,
    system: SystemOption = None,
    mix: MixOption = False,
    clients: ClientsOption = None,
    pgbench: PgbenchOption = False,
    scale: ScaleOption = None,
    define: DefineOption = None,
    toml: Annotated[bool, typer.Option("--toml", help="Print only its file")] = False,
    check: Annotated[
        bool, typer.Option("--check", help="Open each system and prepare each statement; exit code 2: one cannot be")
    ] = False,
    allow_writes: AllowWritesOption = False,
    translate: TranslateOption = False,
    directory: DirOption = None,
) -> None:
    """Show an experiment: its question, its factors, and the exact statements."""
    from dbdyno.cli.experiment_source import ExperimentSource, divide_chosen, is_sql_file
    from dbdyno.cli.show import print_description, print_opened, print_toml

    levels, values = divide_chosen([] if pgbench else experiment, chosen or [], mix=mix, clients=clients)
    named = ExperimentSource(
        experiment, pgbench, scale, define or [], values=values, directory=directory, translate=translate, mix=mix
    )
    if toml:
        refuse_typed(("check",), "with `--toml`")
        if not pgbench and not any(map(is_sql_file, experiment)):
            refuse_typed(("chosen", "system"), "with `--toml`")
        if levels:
            raise InputError(f"--set {levels[0]}", "it has no effect with `--toml`", "leave it out")
    if not check:
        refuse_typed(("allow_writes", "directory"), "without `--check`", "leave it out, or add `--check`")
    if toml:
        print_toml(named, system or [])
    elif check:
        print_opened(named, levels, system or [], directory, allow_writes)
    else:
        print_description(named, levels, system or [])


def init(
    file: Annotated[Path, typer.Argument(help="The file to write; it must not exist")],
    builtin: Annotated[
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
    """Write an experiment to start from: a general one, a template, or a built-in one."""
    from dbdyno.cli.show import write_template

    write_template(file, builtin, template)
