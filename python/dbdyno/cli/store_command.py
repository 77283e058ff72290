"""The commands about stores of runs."""

from typing import Annotated

import typer

store = typer.Typer(name="store", help="Copy runs between stores: files, or PostgreSQL for a team.")


@store.callback()
def _of_stores() -> None:
    pass


@store.command("copy")
def copy(
    source: Annotated[str, typer.Argument(metavar="FROM", help="A path, postgresql://…, or `default`: your own store")],
    target: Annotated[str, typer.Argument(metavar="TO", help="The target store; created if it is missing")],
    runs: Annotated[
        list[str] | None, typer.Argument(metavar="RUN", help="Runs to copy, as `dbdyno show` names them (all)")
    ] = None,
) -> None:
    """Copy runs from one store to another. Runs that the target already has stay unchanged."""
    from dbdyno.cli.copy_stores import copy_stores

    code = copy_stores(source, target, runs or [])
    if code:
        raise typer.Exit(code)
