"""The commands for DuckDB's library."""

from typing import Annotated

import typer

commands = typer.Typer(help="Get DuckDB's library, which the worker loads.", no_args_is_help=True)


@commands.callback()
def _duckdb() -> None:
    pass


@commands.command("get")
def get_library(
    version: Annotated[str | None, typer.Argument(metavar="VERSION", help="A release, e.g. 1.5.6")] = None,
) -> None:
    """Print the path of a release's library. Fetch it with npm if it isn't cached."""
    from dbdyno.engines.duckdb import packages

    path = packages.get_library(version or packages.TESTED)
    typer.echo(f"DuckDB {version or packages.TESTED}: `--system duckdb:` uses the newest fetched release", err=True)
    # Standard output contains only the path, for use in other commands.
    typer.echo(path)
