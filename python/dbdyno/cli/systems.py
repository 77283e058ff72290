"""The command that lists the systems of this machine."""

from rich.table import Table

from dbdyno.base.console import Console
from dbdyno.base.errors import InputError
from dbdyno.engines import ENGINES, engine_of


def print_systems() -> None:
    """List the systems found here, and what to install for the others."""
    console = Console()
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("system", "version", "where", "note"):
        table.add_column(column, overflow="fold")
    for name in ENGINES:
        try:
            rows = list(engine_of(name).found_here())
        except InputError as error:
            # A wrong variable must hide one system only.
            rows = [(name, "", "", str(error))]
        for row in rows:
            table.add_row(*row)
    console.print(table)
