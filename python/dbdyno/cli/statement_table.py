"""A table of statements that fits the terminal."""

from collections.abc import Mapping, Sequence

from rich.table import Table
from rich.text import Text

from dbdyno.cli.shortened_statements import shortened_statements

# Characters of statements for which columns are left out, and which are shown in any case.
_MUCH, _LEAST = 36, 20
_GAP = 2


def statement_table(
    statements: Sequence[str], rows: Sequence[Mapping[str, str]], width: int, dispensable: Sequence[str]
) -> Table:
    """Return a table with the statements in the last column, shortened. Empty columns are left out.

    ``rows``: the other cells, by column. ``dispensable``: columns to leave out on a narrow terminal, in this order.
    """
    columns = {
        head: max(map(len, (head, *cells))) + _GAP
        for head, cells in ((head, [row[head] for row in rows]) for head in (rows[0] if rows else {}))
        if any(cells)
    }
    needed = min(_MUCH, max(map(len, statements), default=0))
    for head in dispensable:
        if width - sum(columns.values()) - _GAP < needed:
            columns.pop(head, None)
    table = Table(box=None, padding=(0, _GAP, 0, 0))
    for head, needed in columns.items():
        table.add_column(head, justify="right", no_wrap=True, min_width=needed - _GAP)
    table.add_column("statement", no_wrap=True)
    rest = max(width - sum(columns.values()) - _GAP, _LEAST)
    for statement, row in zip(shortened_statements(statements, rest), rows, strict=True):
        table.add_row(*(row[head] for head in columns), Text(statement))
    return table
