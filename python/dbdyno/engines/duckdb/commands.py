"""The commands about DuckDB's library."""

from typing import Annotated

import typer

commands = typer.Typer(help="Get the library of DuckDB, which the worker loads.", no_args_is_help=True)


@commands.callback()
def _duckdb() -> None:
    pass


@commands.command("get")
def get_library(
    version: Annotated[str | None, typer.Argument(metavar="VERSION", help="A release, as 1.5.6")] = None,
) -> None:
    """Print the path of a release's library; fetch it with npm where it is not cached."""
    from dbdyno.engines.duckdb import packages

    path = packages.get_library(version or packages.TESTED)
    typer.echo(f"DuckDB {version or packages.TESTED}: `--system duckdb:` uses the newest that was fetched", err=True)
    # The path alone is on standard output, for use in other commands.
    typer.echo(path)
