"""What can be measured on this machine."""

from rich.console import Console
from rich.table import Table

from dbdyno.systems.managed import find_installations, how_to_install
from dbdyno.systems.sqlite_library import find_library
from dbdyno.systems.sqlite_settings import SqliteSettings


def print_systems() -> None:
    """List the systems found here, and what to install for the others."""
    console = Console()
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("system", "version", "where", "note"):
        table.add_column(column, overflow="fold")
    table.add_row("sqlite:", _bundled(), "bundled", "any other by source=, cflags= or library=")
    for engine in ("postgresql", "mysql", "mongodb"):
        found = find_installations(engine)
        for number, installation in enumerate(found):
            note = "" if number == 0 else f"taken by `{engine}:?program={installation.server}`"
            table.add_row(f"{engine}:", installation.title, str(installation.server), note)
        if not found:
            table.add_row(f"{engine}:", "none found", "", how_to_install(engine))
    table.add_row("sqlserver://…", "", "", "one that runs already; untested: none was at hand")
    table.add_row("exec:PROGRAM", "", "", "any program, timed as a whole")
    table.add_row("null:", "", "", "no database: the worker's own ceiling")
    console.print(table)


def _bundled() -> str:
    return f"SQLite {find_library(SqliteSettings()).identity.split()[0]}"
