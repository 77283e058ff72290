"""The commands for the sources of SQLite releases."""

from typing import Annotated

import typer

commands = typer.Typer(help="Get the source code of SQLite releases, to build libraries from.", no_args_is_help=True)


@commands.command("versions")
def list_versions() -> None:
    """List the SQLite releases available from source packages, and whether they are cached."""
    from rich.table import Table

    from dbdyno.base.console import Console
    from dbdyno.engines.sqlite.releases import known_releases, release_source

    console = Console()
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("version", "spec", "family", "package", "client", "cached"):
        table.add_column(column, overflow="fold")
    for release in known_releases():
        client = release.family.client + ("" if release.family.client_is_installed() else " (not installed)")
        cached = "yes" if release.cached else ""
        table.add_row(release.version, release.spec, release.family.name, release.package, client, cached)
    table.add_row(release_source("bundled").version, "bundled", "bundled", "", "", "yes")
    console.print(table)


@commands.command("get")
def get_source(
    spec: Annotated[
        str,
        typer.Argument(
            metavar="VERSION|PATH", help="E.g. 3.21.0, go:3.21.0, go@v1.6.0, bundled, or the path of an amalgamation"
        ),
    ],
) -> None:
    """Print the directory of a release's sqlite3.c. Fetch it with npm, go or cargo if it isn't cached."""
    from dbdyno.engines.sqlite.releases import release_source

    source = release_source(spec)
    # Standard output contains only the directory, for use in other commands.
    typer.echo(f"SQLite {source.version}, {source.title}", err=True)
    if source.difference:
        typer.echo(f"note: {source.difference}", err=True)
    typer.echo(source.directory)
